//! Reads the `Accept` headers and the body of a request to `POST /graphql`.

use apollo_compiler::response::{JsonMap, JsonValue};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use crate::dialects::graphql::document::GraphqlRequest;
use crate::reply::{Detail, JSON, Reply};
use crate::request::accept::prefers;

/// The media type that GraphQL over HTTP defines for answers.
const GRAPHQL_RESPONSE: &str = "application/graphql-response+json";
/// The message for a body without a query.
const NO_QUERY: &str = "Request body must be a JSON object with a string member \"query\"";

/// The media type of an answer, which also decides the status of an invalid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`; the status is always 200.
    Json,
    /// `application/graphql-response+json`; the status is 400 if nothing was executed.
    GraphqlResponse,
}

impl MediaType {
    /// Chooses the media type from the `Accept` headers. The type of GraphQL has to be named.
    pub fn from_accept(headers: &HeaderMap) -> MediaType {
        match prefers(headers, GRAPHQL_RESPONSE) {
            true => MediaType::GraphqlResponse,
            false => MediaType::Json,
        }
    }

    /// The status of the reply to an invalid operation.
    pub fn invalid_status(self) -> StatusCode {
        match self {
            MediaType::Json => StatusCode::OK,
            MediaType::GraphqlResponse => StatusCode::BAD_REQUEST,
        }
    }

    /// A reply with this media type.
    pub fn reply(self, status: StatusCode, body: Bytes) -> Reply {
        let media_type = match self {
            MediaType::Json => JSON,
            MediaType::GraphqlResponse => GRAPHQL_RESPONSE,
        };
        Reply::text(status, media_type, body)
    }
}

/// The members of a body. Serde also parses unknown members, and so refuses malformed JSON in them.
#[derive(Deserialize)]
struct Body {
    query: String,
    #[serde(default)]
    variables: JsonValue,
    #[serde(default, rename = "operationName")]
    operation_name: JsonValue,
    #[serde(flatten)]
    _others: JsonMap,
}

/// Parses a body; the error is the reply with status 400.
pub fn parse(body: &[u8]) -> Result<GraphqlRequest, Reply> {
    let refused = || Reply::error(StatusCode::BAD_REQUEST, NO_QUERY);
    // Serde would accept an array as the members in their order. The server supports no batches.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(refused());
    }
    let Body { query, variables, operation_name, .. } =
        serde_json::from_slice(body).map_err(|_| refused())?;
    let variables = match variables {
        JsonValue::Null => JsonMap::default(),
        JsonValue::Object(variables) => variables,
        other => return Err(mistyped("variables", &other, "must be an object or null")),
    };
    let operation_name = match operation_name {
        JsonValue::Null => None,
        JsonValue::String(name) => Some(name.as_str().to_owned()),
        other => return Err(mistyped("operationName", &other, "must be a string or null")),
    };
    Ok(GraphqlRequest { query, variables, operation_name })
}

/// The reply to a member of the wrong type.
fn mistyped(member: &str, value: &JsonValue, reason: &str) -> Reply {
    Reply::bad_query(vec![Detail::new(member, &value.to_string(), reason)])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::{HeaderName, HeaderValue, header};

    use super::*;

    fn headers(name: HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn the_accept_header_chooses_the_media_type() {
        let check = |values: &[&'static str], expected: MediaType| {
            let found = MediaType::from_accept(&headers(header::ACCEPT, values));
            assert_eq!(found, expected, "{values:?}");
        };
        check(&[], MediaType::Json);
        check(&["*/*"], MediaType::Json);
        check(&["application/json"], MediaType::Json);
        check(&["application/graphql-response+json; charset=utf-8"], MediaType::GraphqlResponse);
        check(&["text/html, application/graphql-response+json;q=0.5"], MediaType::GraphqlResponse);
        check(
            &["application/json", "Application/Graphql-Response+JSON"],
            MediaType::GraphqlResponse,
        );
        check(&["application/graphql-response+json;q=0"], MediaType::Json);
        check(&["application/graphql-response+json;q=0.5, application/json"], MediaType::Json);
        check(&["application/graphql-response+json;q=0.9, */*;q=0.8"], MediaType::GraphqlResponse);
        check(&["application/graphql-response+json;q=0.7, application/*;q=0.8"], MediaType::Json);
        check(
            &["*/*, application/json;q=0.5, application/graphql-response+json;q=0.6"],
            MediaType::GraphqlResponse,
        );
        check(&["application/graphql-response+json;q=x"], MediaType::Json);
    }

    #[test]
    fn a_body_must_be_an_object_with_a_query() {
        let check = |body: &str, is_accepted: bool| {
            assert_eq!(parse(body.as_bytes()).is_ok(), is_accepted, "{body}");
        };
        check(r#"{"query":"{a}"}"#, true);
        check(
            r#" {"query":"","variables":null,"operationName":null,"extensions":{"a":[1]}}"#,
            true,
        );
        check(r#"{"query":"{a}","variables":{"a":{"b":[1]}},"operationName":"a"}"#, true);
        check("{\"query\":\"a\\u0000b\"}", true);
        for body in [
            "",
            "{",
            "null",
            "1",
            "\"x\"",
            "[]",
            "[{},{}]",
            r#"["{a}"]"#,
            r#"[{"query":"{a}"}]"#,
            "{}",
            r#"{"query":1}"#,
            r#"{"query":null}"#,
            r#"{"query":["a"]}"#,
            r#"{"query":"a","query":"b"}"#,
            r#"{"query":"a"} x"#,
            r#"{"query":"\ud800"}"#,
            r#"{"query":"a","variables":[]}"#,
            r#"{"query":"a","variables":"x"}"#,
            r#"{"query":"a","operationName":1}"#,
            "\u{feff}{\"query\":\"a\"}",
        ] {
            check(body, false);
        }
        assert!(parse(b"{\"query\":\"\xff\"}").is_err());
        let deep = format!("{{\"query\":\"a\",\"variables\":{{\"a\":{}", "[".repeat(10_000));
        check(&deep, false);
    }
}
