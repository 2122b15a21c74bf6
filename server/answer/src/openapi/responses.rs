//! Headers of replies, and the responses that many paths share: errors, 301 and 304.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::openapi::schemas::{add_optional, object_of, schema_at, text};
use crate::reply::{
    BAD_QUERY_MESSAGE, LIMIT_HEADERS, PREFIX_REQUIRED, QUERY_REQUIRED, reason_phrase,
};

/// A header: name, type, description, and whether each response that lists the header always has it.
type Header = (&'static str, &'static str, &'static str, bool);

/// Descriptions of [`LIMIT_HEADERS`], in their order.
const LIMIT_DOCS: [&str; 5] = [
    "Requests that the client may send in a minute. Clients without limits get no limit headers.",
    "Requests left in this minute, after this request.",
    "Seconds until the minute ends. The first request of a minute begins it.",
    "List pages that the client may request in a day. The day ends at 00:00:00 UTC.",
    "List pages left in this day, after this request.",
];

const HEADERS: [Header; 11] = [
    ("X-Snapshot-Id", "string", "The id of the snapshot that the reply comes from.", true),
    (
        "ETag",
        "string",
        "A strong tag of the body. A request with this tag in `If-None-Match` gets 304.",
        true,
    ),
    (
        "Vary",
        "string",
        "`Accept-Encoding`, because the body's bytes depend on this request header.",
        true,
    ),
    ("Cache-Control", "string", "Whether clients and caches may keep the reply.", true),
    ("Content-Encoding", "string", "`zstd`, `br` or `gzip`, if the request accepts it.", false),
    ("Retry-After", "integer", "Seconds to wait before the next attempt.", true),
    ("Location", "string", "The path of the record.", true),
    ("Allow", "string", "The methods that the path takes.", true),
    ("X-Total-Count", "integer", "Number of records, or groups, on all pages.", true),
    ("Link", "string", "The next and the previous page: `rel=\"next\"`, `rel=\"prev\"`.", false),
    ("X-Request-Id", "string", "The id of the request in the server's log.", false),
];

/// Headers of replies that clients may keep.
pub const CACHE_HEADERS: [&str; 4] = ["ETag", "Vary", "Cache-Control", "Content-Encoding"];

/// A response that many paths share; each status has one.
pub struct SharedResponse {
    pub status: StatusCode,
    description: &'static str,
    headers: &'static [&'static str],
    /// The name of the body's schema; empty for a response without a body.
    schema: &'static str,
    examples: &'static [Example],
}

/// An example body: its name, its `message`, and a JSON object of its further members.
type Example = (&'static str, &'static str, &'static str);

const fn error(
    status: StatusCode,
    description: &'static str,
    headers: &'static [&'static str],
    examples: &'static [Example],
) -> SharedResponse {
    SharedResponse { status, description, headers, schema: "Error", examples }
}

pub const SHARED_RESPONSES: [SharedResponse; 14] = [
    error(
        StatusCode::MOVED_PERMANENTLY,
        "The record was merged into another. `Location` repeats the query of the request.",
        &["Location"],
        &[("merged", "Author with ID HX_A2 was merged into HX_A1", "{}")],
    ),
    error(
        StatusCode::SEE_OTHER,
        "One record has the identifier. `Location` is the path of the record.",
        &["Location"],
        &[("found", "Output with identifier 10.1000/x is HX_W1", "{}")],
    ),
    SharedResponse {
        schema: "",
        ..error(
            StatusCode::NOT_MODIFIED,
            "The body that the client keeps under the tag in `If-None-Match` is still current.",
            &["ETag", "Vary", "Cache-Control"],
            &[],
        )
    },
    SharedResponse {
        schema: "BadRequest",
        ..error(
            StatusCode::BAD_REQUEST,
            "The request is invalid. Each of the `details` names a parameter and a valid form.",
            &[],
            &[
                (
                    "query",
                    BAD_QUERY_MESSAGE,
                    r#"{"details":[{"parameter":"perpage","value":"50",
                    "reason":"is no parameter of this list; did you mean `per_page`?"}]}"#,
                ),
                (
                    "prefix",
                    PREFIX_REQUIRED,
                    r#"{"details":[{"parameter":"id","value":"A1",
                    "reason":"is an id in the spelling of another service; the record is `/authors/HX_A1`"}]}"#,
                ),
                ("text", QUERY_REQUIRED, "{}"),
            ],
        )
    },
    error(
        StatusCode::NOT_FOUND,
        "No record has this identifier, or the server has no such path.",
        &[],
        &[("record", "Author with ID HX_A404 not found", "{}"), ("path", "Cannot GET /nope", "{}")],
    ),
    error(
        StatusCode::METHOD_NOT_ALLOWED,
        "The path does not take this method.",
        &["Allow"],
        &[("method", "Method Not Allowed", "{}")],
    ),
    error(
        StatusCode::REQUEST_TIMEOUT,
        "The request took too long to arrive.",
        &[],
        &[("slow", "Request timed out", "{}")],
    ),
    error(
        StatusCode::PAYLOAD_TOO_LARGE,
        "The request's body is too long.",
        &[],
        &[("long", "Request body exceeds 65536 bytes", "{}")],
    ),
    error(
        StatusCode::URI_TOO_LONG,
        "Path and query together are too long.",
        &[],
        &[("long", "URI exceeds 16384 bytes", "{}")],
    ),
    error(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "The path does not take the request's `Content-Type`, or the request has a `Content-Encoding`.",
        &[],
        &[("type", "Content-Type must be application/json", "{}")],
    ),
    SharedResponse {
        schema: "TooManyRequests",
        ..error(
            StatusCode::TOO_MANY_REQUESTS,
            "A limit is reached: of the client in a minute or a day, or of all clients in a day.",
            &["Retry-After"],
            &[
                (
                    "minute",
                    "IP rate limit exceeded (max 30 requests per minute). Please try again in 12 \
                     seconds (at 09:41:00 UTC).",
                    r#"{"reset_in_seconds":12,"reset_at_utc":"2026-01-31T09:41:00Z"}"#,
                ),
                (
                    "day",
                    "Your daily quota for List/Filter requests has been exceeded. Please try again \
                     in 3 hours 12 minutes (at 00:00:00 UTC).",
                    r#"{"reset_in_seconds":11520,"reset_at_utc":"2026-02-01T00:00:00Z"}"#,
                ),
                (
                    "stream",
                    "A stream of 70000 records counts as 700 List/Filter requests, but your daily quota has \
                     480 left of 500. Please narrow the list, or try again in 3 hours 12 minutes (at 00:00:00 UTC).",
                    r#"{"reset_in_seconds":11520,"reset_at_utc":"2026-02-01T00:00:00Z"}"#,
                ),
                ("older variant", "Rate limit exceeded. Maximum 30 requests per minute.", "{}"),
            ],
        )
    },
    error(
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The request has too many headers, or their total length is too large.",
        &[],
        &[("headers", "Request header fields too large", "{}")],
    ),
    error(
        StatusCode::INTERNAL_SERVER_ERROR,
        "The server failed. Its log has the cause under the `X-Request-Id`.",
        &["X-Request-Id"],
        &[("failure", "Internal server error", "{}")],
    ),
    error(
        StatusCode::SERVICE_UNAVAILABLE,
        "The server has no usable snapshot, is overloaded, or stopped a request that took too long.",
        &["Retry-After", "X-Request-Id"],
        &[("busy", "Service temporarily unavailable", "{}")],
    ),
];

/// Statuses that any request can get.
pub const STATUSES_OF_ANY_REQUEST: [StatusCode; 7] = [
    StatusCode::BAD_REQUEST,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::URI_TOO_LONG,
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::SERVICE_UNAVAILABLE,
];

impl SharedResponse {
    /// The name of the component: the reason phrase without spaces.
    fn name(&self) -> String {
        let reason = reason_phrase(self.status);
        reason.chars().filter(char::is_ascii_alphabetic).collect()
    }

    fn value(&self) -> Value {
        let mut value =
            json!({ "description": (self.description), "headers": (headers(self.headers)) });
        if !self.schema.is_empty() {
            let examples = self.examples.iter().map(|(name, message, members)| {
                (String::from(*name), json!({ "value": (self.example(message, members)) }))
            });
            let examples: Map<String, Value> = examples.collect();
            let schema = schema_at(self.schema);
            value["content"] =
                json!({ "application/json": { "schema": schema, "examples": examples } });
        }
        value
    }

    fn example(&self, message: &str, members: &str) -> Value {
        let (code, reason) = (self.status.as_u16(), reason_phrase(self.status));
        let mut body = json!({ "statusCode": code, "error": reason, "message": message });
        let members: Map<String, Value> = serde_json::from_str(members)
            .unwrap_or_else(|error| panic!("an example in SHARED_RESPONSES is not JSON: {error}"));
        for (name, value) in members {
            body[name] = value;
        }
        body
    }
}

/// References to the headers of a response: some of its own, then the headers of every response.
pub fn headers(own: &[&str]) -> Value {
    let every = ["X-Snapshot-Id"].iter().chain(&LIMIT_HEADERS);
    let at = |name: &&str| {
        (String::from(*name), json!({ "$ref": (format!("#/components/headers/{name}")) }))
    };
    Value::Object(own.iter().chain(every).map(at).collect())
}

/// The definitions of all headers.
pub fn header_components() -> Value {
    let limits = LIMIT_HEADERS.into_iter().zip(LIMIT_DOCS);
    let limits = limits.map(|(name, doc)| (name, "integer", doc, false));
    let value = |(name, type_name, doc, is_required): Header| {
        let header =
            json!({ "description": doc, "required": is_required, "schema": { "type": type_name } });
        (String::from(name), header)
    };
    Value::Object(HEADERS.into_iter().chain(limits).map(value).collect())
}

/// The definitions of the shared responses.
pub fn response_components() -> Value {
    Value::Object(SHARED_RESPONSES.iter().map(|shared| (shared.name(), shared.value())).collect())
}

/// A reference to the shared response with a status.
///
/// # Panics
///
/// If [`SHARED_RESPONSES`] lacks the status: the tables of `openapi` contradict each other.
pub fn response_at(status: StatusCode) -> Value {
    let shared = SHARED_RESPONSES.iter().find(|shared| shared.status == status);
    let shared = shared.unwrap_or_else(|| panic!("no shared response has the status {status}"));
    json!({ "$ref": (format!("#/components/responses/{}", shared.name())) })
}

/// The schemas of error bodies, by name.
pub fn error_schemas() -> [(&'static str, Value); 3] {
    let error = |doc: &str| {
        let members = [
            ("statusCode", "The status.", json!({ "type": "integer" })),
            ("error", "The reason phrase of the status.", text()),
            ("message", "The error, in words.", text()),
        ];
        object_of(doc, members)
    };
    let detail = object_of(
        "",
        [
            ("parameter", "The name of the parameter.", text()),
            ("value", "The value that was sent, cut to 64 bytes.", text()),
            ("reason", "Why the server refuses the value, and a valid form.", text()),
        ],
    );
    let details = json!({ "type": "array", "items": detail });
    let mut invalid = error("The error of an invalid request.");
    add_optional(&mut invalid, [("details", "The invalid parameters, at most ten.", details)]);
    let mut limited =
        error("The limit that was reached. Legacy lists leave out the end of its window.");
    let seconds = json!({ "type": "integer", "minimum": 1 });
    let moment = json!({ "type": "string", "format": "date-time" });
    let reset = [
        ("reset_in_seconds", "Seconds until the window of the limit ends.", seconds),
        ("reset_at_utc", "The end of the window.", moment),
    ];
    add_optional(&mut limited, reset);
    [("Error", error("An error.")), ("BadRequest", invalid), ("TooManyRequests", limited)]
}
