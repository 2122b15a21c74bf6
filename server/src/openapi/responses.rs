//! Headers of replies, and replies that are the same wherever they come from: errors, 301 and 304.

use http::StatusCode;
use serde_json_bytes::{ByteString, Map, Value};

use crate::admission::gate::LIMIT_HEADERS;
use crate::api::handlers::{MISSING, UNPREFIXED};
use crate::http::reply::M1;
use crate::openapi::schemas::{object, schema_at};

/// A header: its name, its type, what it is, and whether replies that may have it always do.
type Header = (&'static str, &'static str, &'static str, bool);

/// What limits say in headers, in the order of [`LIMIT_HEADERS`].
const LIMIT_DOCS: [&str; 5] = [
    "Requests in a minute; absent where no limit is for the client, as the next four.",
    "What is left of them after this request.",
    "Seconds until the minute ends, which began with its first request.",
    "Pages of lists in a day, which ends at 00:00:00 UTC.",
    "What is left of them after this request.",
];

const HEADERS: [Header; 11] = [
    ("X-Snapshot-Id", "string", "The snapshot that was asked.", true),
    ("ETag", "string", "A strong tag of these bytes; sent as `If-None-Match` it gets 304.", true),
    ("Vary", "string", "`Accept-Encoding`: another request may get other bytes.", true),
    ("Cache-Control", "string", "Whether the reply may be kept, and how.", true),
    ("Content-Encoding", "string", "`zstd`, `br` or `gzip`, where the request accepts it.", false),
    ("Retry-After", "integer", "Seconds until it is worth while to ask again.", true),
    ("Location", "string", "Where the record lives now.", true),
    ("Allow", "string", "The methods that the path takes.", true),
    ("X-Total-Count", "integer", "How many records, or groups, there are on all pages.", true),
    ("Link", "string", "The pages after and before: `rel=\"next\"`, `rel=\"prev\"`.", false),
    (
        "X-Request-Id",
        "string",
        "What tells the lines about this request in the server's log.",
        false,
    ),
];

/// Headers of whatever may be kept.
pub const KEPT: [&str; 4] = ["ETag", "Vary", "Cache-Control", "Content-Encoding"];

/// A response that is the same wherever it comes from.
pub struct Common {
    /// Its status.
    pub status: StatusCode,
    doc: &'static str,
    headers: &'static [&'static str],
    /// The schema of its body; empty where it has none.
    schema: &'static str,
    examples: &'static [Example],
}

/// A body: what it is an example of, its message, and what else is in it, as JSON.
type Example = (&'static str, &'static str, &'static str);

const fn error(
    status: StatusCode,
    doc: &'static str,
    headers: &'static [&'static str],
    examples: &'static [Example],
) -> Common {
    Common { status, doc, headers, schema: "Error", examples }
}

/// All of them.
pub const COMMON: [Common; 13] = [
    error(
        StatusCode::MOVED_PERMANENTLY,
        "The record was merged into another; the query is kept in `Location`.",
        &["Location"],
        &[("merged", "Author with ID HX_A2 was merged into HX_A1", "{}")],
    ),
    Common {
        schema: "",
        ..error(
            StatusCode::NOT_MODIFIED,
            "What the client has, by the tag in its `If-None-Match`, is what it would get.",
            &["ETag", "Vary", "Cache-Control"],
            &[],
        )
    },
    Common {
        schema: "BadRequest",
        ..error(
            StatusCode::BAD_REQUEST,
            "Something about the request is wrong; `details` say what would be right.",
            &[],
            &[
                (
                    "query",
                    M1,
                    r#"{"details":[{"parameter":"perpage","value":"50",
                    "reason":"is no parameter of this list; did you mean `per_page`?"}]}"#,
                ),
                ("prefix", UNPREFIXED, "{}"),
                ("text", MISSING, "{}"),
            ],
        )
    },
    error(
        StatusCode::NOT_FOUND,
        "There is no such record, or no such path.",
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
        "Path and query are too long together.",
        &[],
        &[("long", "URI exceeds 16384 bytes", "{}")],
    ),
    error(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "The request's body is no JSON by its `Content-Type`, or it is coded.",
        &[],
        &[("type", "Content-Type must be application/json", "{}")],
    ),
    Common {
        schema: "TooManyRequests",
        ..error(
            StatusCode::TOO_MANY_REQUESTS,
            "More than the client may ask in a minute or a day, or all clients together in a day.",
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
                ("older variant", "Rate limit exceeded. Maximum 30 requests per minute.", "{}"),
            ],
        )
    },
    error(
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The request's headers are too many or too long.",
        &[],
        &[("headers", "Request header fields too large", "{}")],
    ),
    error(
        StatusCode::INTERNAL_SERVER_ERROR,
        "The server failed; its log knows more.",
        &["X-Request-Id"],
        &[("failure", "Internal server error", "{}")],
    ),
    error(
        StatusCode::SERVICE_UNAVAILABLE,
        "There is nothing to answer from, too much to do, or the question takes too long to answer.",
        &["Retry-After", "X-Request-Id"],
        &[("busy", "Service temporarily unavailable", "{}")],
    ),
];

/// What may become of any request.
pub const ANYWHERE: [StatusCode; 7] = [
    StatusCode::BAD_REQUEST,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::URI_TOO_LONG,
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::SERVICE_UNAVAILABLE,
];

impl Common {
    /// Its name: the reason phrase without spaces.
    fn name(&self) -> String {
        let reason = self.status.canonical_reason().unwrap_or_default();
        reason.chars().filter(char::is_ascii_alphabetic).collect()
    }

    fn value(&self) -> Value {
        let mut value = Map::new();
        value.insert("description", self.doc.into());
        value.insert("headers", headers(self.headers));
        if !self.schema.is_empty() {
            let examples = self.examples.iter().map(|(name, message, more)| {
                (ByteString::from(*name), json!({ "value": (self.body(message, more)) }))
            });
            let examples: Map<ByteString, Value> = examples.collect();
            let schema = schema_at(self.schema);
            let content = json!({ "application/json": { "schema": schema, "examples": examples } });
            value.insert("content", content);
        }
        Value::Object(value)
    }

    fn body(&self, message: &str, more: &str) -> Value {
        let mut body = Map::new();
        body.insert("statusCode", self.status.as_u16().into());
        body.insert("error", self.status.canonical_reason().into());
        body.insert("message", message.into());
        let more: Map<ByteString, Value> = serde_json::from_str(more)
            .unwrap_or_else(|error| panic!("the examples above are JSON: {error}"));
        body.extend(more);
        Value::Object(body)
    }
}

/// The headers of a response: those of all, and some of its own.
pub fn headers(own: &[&str]) -> Value {
    let common = ["X-Snapshot-Id"].iter().chain(&LIMIT_HEADERS);
    let at = |name: &&str| {
        (ByteString::from(*name), json!({ "$ref": (format!("#/components/headers/{name}")) }))
    };
    Value::Object(own.iter().chain(common).map(at).collect())
}

/// Every header, to be referred to.
pub fn header_components() -> Value {
    let limits = LIMIT_HEADERS.into_iter().zip(LIMIT_DOCS);
    let limits = limits.map(|(name, doc)| (name, "integer", doc, false));
    let value = |(name, type_name, doc, is_required): Header| {
        let header =
            json!({ "description": doc, "required": is_required, "schema": { "type": type_name } });
        (ByteString::from(name), header)
    };
    Value::Object(HEADERS.into_iter().chain(limits).map(value).collect())
}

/// Every common response, to be referred to.
pub fn response_components() -> Value {
    Value::Object(COMMON.iter().map(|common| (common.name().into(), common.value())).collect())
}

/// A reference to a common response.
///
/// # Panics
///
/// Where there is none of that status: a mistake in the tables of this module and of paths.
pub fn response_at(status: StatusCode) -> Value {
    let common = COMMON.iter().find(|common| common.status == status);
    let common = common.unwrap_or_else(|| panic!("no common response has the status {status}"));
    json!({ "$ref": (format!("#/components/responses/{}", common.name())) })
}

/// The schemas of errors, by their names.
pub fn schemas() -> [(&'static str, Value); 3] {
    let members = || {
        let mut members = Map::new();
        members.insert("statusCode", json!({ "description": "The status.", "type": "integer" }));
        let error = json!({ "description": "The status's reason phrase.", "type": "string" });
        members.insert("error", error);
        let message = json!({ "description": "What is wrong, for people.", "type": "string" });
        members.insert("message", message);
        members
    };
    let with = |doc: &str, more: Value| {
        let mut schema = object(doc, members());
        if let (Some(properties), Value::Object(more)) =
            (schema.get_mut("properties").and_then(Value::as_object_mut), more)
        {
            properties.extend(more);
        }
        schema
    };
    let text = |doc: &str| json!({ "description": doc, "type": "string" });
    let detail = json!({
        "type": "object",
        "required": ["parameter", "value", "reason"],
        "properties": {
            "parameter": (text("The parameter.")),
            "value": (text("What it was, cut to 64 bytes.")),
            "reason": (text("What is wrong with it, and what would be right.")),
        },
    });
    let details = json!({
        "description": "What is wrong with each parameter, ten at most.",
        "type": "array",
        "items": detail,
    });
    let seconds = json!({
        "description": "Seconds until the limit's window ends.",
        "type": "integer",
        "minimum": 1,
    });
    let moment = json!({ "description": "When it ends.", "type": "string", "format": "date-time" });
    [
        ("Error", object("What went wrong.", members())),
        ("BadRequest", with("What is wrong with a request.", json!({ "details": details }))),
        (
            "TooManyRequests",
            with(
                "Which limit was reached; lists of the older variant do not say when it ends.",
                json!({ "reset_in_seconds": seconds, "reset_at_utc": moment }),
            ),
        ),
    ]
}
