//! Every reply, in one place: its status, its headers, its JSON.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Serialize;

use crate::query::Detail;

/// Raised whenever the same snapshot would be rendered to other bytes.
const RENDERER_VERSION: u32 = 1;

const M1: &str = "Bad Request - Invalid query parameters";

/// What a handler answers with.
#[derive(Clone, Debug)]
pub enum Reply {
    /// 200 with a JSON body. `tag` where the bytes stay the same as long as the snapshot does.
    Json {
        /// The body.
        body: Bytes,
        /// Whether it may be kept and asked for again by its ETag.
        lasts: bool,
    },
    /// 304: what the client has is what it would get.
    NotModified,
    /// 204 to OPTIONS.
    Options {
        /// The methods allowed here.
        allow: &'static str,
    },
    /// 301 to the record another was merged into.
    Moved {
        /// Where to.
        location: String,
        /// The message.
        message: String,
    },
    /// 400 with what is wrong with the query.
    BadQuery(Vec<Detail>),
    /// Any other error.
    Error {
        /// The status.
        status: StatusCode,
        /// The message.
        message: String,
        /// The methods allowed, for a 405.
        allow: Option<&'static str>,
    },
}

/// An error's body, as the interface has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorBody<'a> {
    status_code: u16,
    error: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a [Detail]>,
}

impl Reply {
    /// An error without more to say.
    pub fn error(status: StatusCode, message: impl Into<String>) -> Reply {
        Reply::Error { status, message: message.into(), allow: None }
    }

    /// 503, for as long as there is nothing to answer from.
    pub fn unavailable() -> Reply {
        Reply::error(StatusCode::SERVICE_UNAVAILABLE, "Service temporarily unavailable")
    }

    /// 500, whatever it was; the log knows.
    pub fn internal() -> Reply {
        Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
    }

    /// The response, for one method and from one snapshot.
    pub fn into_response(self, method: &Method, snapshot_id: &str) -> http::Response<Bytes> {
        let tag = format!("\"{snapshot_id}.{RENDERER_VERSION}\"");
        let mut headers = common_headers(snapshot_id);
        let (status, body) = match self {
            Reply::Json { body, lasts } => {
                if lasts {
                    set(&mut headers, header::ETAG, &tag);
                    set(&mut headers, header::CACHE_CONTROL, "public, no-cache");
                }
                (StatusCode::OK, body)
            }
            Reply::NotModified => {
                set(&mut headers, header::ETAG, &tag);
                set(&mut headers, header::CACHE_CONTROL, "public, no-cache");
                (StatusCode::NOT_MODIFIED, Bytes::new())
            }
            Reply::Options { allow } => {
                set(&mut headers, header::ALLOW, allow);
                set(&mut headers, header::ACCESS_CONTROL_ALLOW_METHODS, allow);
                set(&mut headers, header::ACCESS_CONTROL_ALLOW_HEADERS, "*");
                set(&mut headers, header::ACCESS_CONTROL_MAX_AGE, "86400");
                (StatusCode::NO_CONTENT, Bytes::new())
            }
            Reply::Moved { location, message } => {
                set(&mut headers, header::LOCATION, &location);
                let status = StatusCode::MOVED_PERMANENTLY;
                (status, error_body(status, &message, None))
            }
            Reply::BadQuery(details) => {
                let status = StatusCode::BAD_REQUEST;
                (status, error_body(status, M1, Some(&details)))
            }
            Reply::Error { status, message, allow } => {
                if let Some(allow) = allow {
                    set(&mut headers, header::ALLOW, allow);
                }
                if status == StatusCode::SERVICE_UNAVAILABLE {
                    set(&mut headers, header::RETRY_AFTER, "30");
                }
                (status, error_body(status, &message, None))
            }
        };
        if !headers.contains_key(header::CACHE_CONTROL) {
            set(&mut headers, header::CACHE_CONTROL, "no-store");
        }
        finish(status, headers, body, method)
    }
}

fn finish(
    status: StatusCode,
    mut headers: HeaderMap,
    body: Bytes,
    method: &Method,
) -> http::Response<Bytes> {
    if matches!(status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT) {
        headers.remove(header::CONTENT_TYPE);
    } else {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    let body = if *method == Method::HEAD { Bytes::new() } else { body };
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn common_headers(snapshot_id: &str) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(10);
    set(&mut headers, header::CONTENT_TYPE, "application/json");
    set(&mut headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(&mut headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(&mut headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, "ETag, Retry-After, X-Snapshot-Id");
    set(&mut headers, HeaderName::from_static("x-snapshot-id"), snapshot_id);
    headers
}

/// Sets a header; one that no header may be is left out, which our own never are.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn error_body(status: StatusCode, message: &str, details: Option<&[Detail]>) -> Bytes {
    let error = status.canonical_reason().unwrap_or_default();
    let body = ErrorBody { status_code: status.as_u16(), error, message, details };
    // Texts and numbers alone: this is always JSON.
    Bytes::from(serde_json::to_vec(&body).unwrap_or_default())
}

/// Whether a request has, by its `If-None-Match`, what it would get.
pub fn has_current(headers: &HeaderMap, snapshot_id: &str) -> bool {
    let tag = format!("\"{snapshot_id}.{RENDERER_VERSION}\"");
    headers.get_all(header::IF_NONE_MATCH).iter().any(|value| {
        let value = value.as_bytes();
        value.trim_ascii() == b"*"
            || value.split(|byte| *byte == b',').any(|item| {
                let item = item.trim_ascii();
                item.strip_prefix(b"W/").unwrap_or(item) == tag.as_bytes()
            })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_interfaces_json() {
        let reply = Reply::error(StatusCode::NOT_FOUND, "Author with ID HX_A1\" not found");
        let response = reply.into_response(&Method::GET, "0123");
        assert_eq!(
            response.body(),
            r#"{"statusCode":404,"error":"Not Found","message":"Author with ID HX_A1\" not found"}"#
        );
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
        assert_eq!(response.headers()["x-snapshot-id"], "0123");
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let reply = Reply::Json { body: Bytes::from_static(b"{}"), lasts: true };
        let response = reply.into_response(&Method::HEAD, "0123");
        assert_eq!(response.headers()[header::CONTENT_LENGTH], "2");
        assert!(response.body().is_empty());
    }

    #[test]
    fn a_matching_tag_is_found_in_any_list() {
        let check = |value: &'static str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(value));
            assert_eq!(has_current(&headers, "0123"), expected, "{value}");
        };
        check("*", true);
        check("\"0123.1\"", true);
        check("\"x\", W/\"0123.1\"", true);
        check("\"0123.2\"", false);
        check("0123.1", false);
    }
}
