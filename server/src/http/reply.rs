//! Every reply, in one place: its status, its headers, its JSON.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Serialize;

use crate::http::coding::encode::encode;
use crate::http::coding::{Accepted, Coding};
use crate::http::etag::Stamp;
use crate::http::parameters::Detail;

/// When to come back after a 503.
const RETRY_SECONDS: &str = "30";

/// Headers of replies that pages of other origins may read.
const EXPOSED: &str = "ETag, Link, Retry-After, X-Total-Count, X-Snapshot-Id, X-RateLimit-IP-Limit, \
                       X-RateLimit-IP-Remaining, X-RateLimit-IP-Reset-Seconds, \
                       X-RateLimit-Daily-Limit, X-RateLimit-Daily-Remaining";

/// How many items there are on all pages of a bare array.
const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// The message of whatever is wrong with a query.
pub const M1: &str = "Bad Request - Invalid query parameters";

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
    /// A body of another media type, or with another status or headers of its own.
    Body {
        /// The status.
        status: StatusCode,
        /// What the body is.
        media_type: &'static str,
        /// The body.
        body: Bytes,
        /// Headers beside the common ones, or in their place.
        headers: Vec<(HeaderName, HeaderValue)>,
    },
    /// 200 with JSON in another form, which may be kept. Made by [`Reply::coded`] alone.
    Coded {
        /// The body, coded.
        body: Bytes,
        /// How.
        coding: Coding,
    },
    /// 304: what the client has, in this coding, is what it would get.
    NotModified(Coding),
    /// 200 with a text of this binary, which may be kept.
    Fixed {
        /// What the text is.
        media_type: &'static str,
        /// The text, coded.
        body: Bytes,
        /// How.
        coding: Coding,
        /// Its strong tag in that coding.
        tag: HeaderValue,
        /// Headers beside the common ones.
        headers: Vec<(HeaderName, HeaderValue)>,
    },
    /// 304: the client has that text.
    NotModifiedFixed {
        /// By this tag.
        tag: HeaderValue,
    },
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
    /// 429, with `Retry-After`.
    TooMany {
        /// The message.
        message: String,
        /// Seconds until the client may ask again.
        retry_seconds: u64,
        /// The same moment in seconds since 1970; `None` omits both members of the body.
        reset_at: Option<u64>,
    },
    /// Any other error.
    Error {
        /// The status.
        status: StatusCode,
        /// The message.
        message: String,
        /// The methods allowed, for a 405.
        allow: Option<&'static str>,
    },
    /// Another, after which the connection ends.
    Closing(Box<Reply>),
    /// A bare array, with what is said of it in headers.
    Counted {
        /// The array.
        array: Box<Reply>,
        /// How many items there are on all pages.
        total: u64,
        /// The `Link` to other pages; empty where there are none.
        links: String,
    },
}

/// An error's body, as the interface has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorBody<'a> {
    status_code: u16,
    error: &'a str,
    message: &'a str,
    #[serde(rename = "reset_in_seconds", skip_serializing_if = "Option::is_none")]
    reset_in_seconds: Option<u64>,
    #[serde(rename = "reset_at_utc", skip_serializing_if = "Option::is_none")]
    reset_at_utc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a [Detail]>,
}

impl Reply {
    /// An error without more to say.
    pub fn error(status: StatusCode, message: impl Into<String>) -> Reply {
        Reply::Error { status, message: message.into(), allow: None }
    }

    /// 405, where others are allowed.
    pub fn method_not_allowed(allow: &'static str) -> Reply {
        let message = "Method Not Allowed".to_owned();
        Reply::Error { status: StatusCode::METHOD_NOT_ALLOWED, message, allow: Some(allow) }
    }

    /// The same, and the end of the connection.
    pub fn closing(self) -> Reply {
        Reply::Closing(Box::new(self))
    }

    /// 503, for as long as there is nothing to answer from.
    pub fn unavailable() -> Reply {
        Reply::error(StatusCode::SERVICE_UNAVAILABLE, "Service temporarily unavailable")
    }

    /// 500, whatever it was; the log knows.
    pub fn internal() -> Reply {
        Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
    }

    /// The same in the coding that a request likes best. Errors, what may not be kept and what would
    /// gain nothing stay as they are. Takes about as long as rendering did.
    pub fn coded(self, headers: &HeaderMap) -> Reply {
        match self {
            Reply::Json { body, lasts: true } => {
                let coding = Accepted::of(headers).best();
                match encode(coding, &body) {
                    Some(body) => Reply::Coded { body, coding },
                    None => Reply::Json { body, lasts: true },
                }
            }
            Reply::Body { status: StatusCode::OK, media_type, body, headers: mut own } => {
                own.push((header::VARY, HeaderValue::from_static("Accept-Encoding")));
                let coding = Accepted::of(headers).best();
                let coded = encode(coding, &body);
                if coded.is_some() {
                    let name = HeaderValue::from_static(coding.name());
                    own.push((header::CONTENT_ENCODING, name));
                }
                let body = coded.unwrap_or(body);
                Reply::Body { status: StatusCode::OK, media_type, body, headers: own }
            }
            Reply::Counted { array, total, links } => {
                Reply::Counted { array: Box::new(array.coded(headers)), total, links }
            }
            other => other,
        }
    }

    /// The response, for one method and from one snapshot.
    pub fn into_response(self, method: &Method, stamp: &Stamp) -> http::Response<Bytes> {
        if let Reply::Closing(reply) = self {
            let mut response = reply.into_response(method, stamp);
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return response;
        }
        let mut headers = common_headers(stamp);
        let (status, body) = self.fill(&mut headers, stamp);
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

    /// Status and body; headers of its own go beside the common ones.
    fn fill(self, headers: &mut HeaderMap, stamp: &Stamp) -> (StatusCode, Bytes) {
        let set = |headers: &mut HeaderMap, name, value| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        match self {
            Reply::Json { body, lasts } => {
                if lasts {
                    keep(headers, stamp.tag(Coding::Identity).clone());
                }
                (StatusCode::OK, body)
            }
            Reply::Body { status, media_type, body, headers: own } => {
                set(headers, header::CONTENT_TYPE, media_type);
                for (name, value) in own {
                    headers.insert(name, value);
                }
                (status, body)
            }
            Reply::Coded { body, coding } => {
                keep(headers, stamp.tag(coding).clone());
                set(headers, header::CONTENT_ENCODING, coding.name());
                (StatusCode::OK, body)
            }
            Reply::NotModified(coding) => {
                keep(headers, stamp.tag(coding).clone());
                (StatusCode::NOT_MODIFIED, Bytes::new())
            }
            Reply::Fixed { media_type, body, coding, tag, headers: own } => {
                keep(headers, tag);
                set(headers, header::CONTENT_TYPE, media_type);
                if coding != Coding::Identity {
                    set(headers, header::CONTENT_ENCODING, coding.name());
                }
                headers.extend(own);
                (StatusCode::OK, body)
            }
            Reply::NotModifiedFixed { tag } => {
                keep(headers, tag);
                (StatusCode::NOT_MODIFIED, Bytes::new())
            }
            Reply::Options { allow } => {
                set(headers, header::ALLOW, allow);
                set(headers, header::ACCESS_CONTROL_ALLOW_METHODS, allow);
                set(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, "*");
                set(headers, header::ACCESS_CONTROL_MAX_AGE, "86400");
                (StatusCode::NO_CONTENT, Bytes::new())
            }
            Reply::Moved { location, message } => {
                // A route, an id, and a query that came in a request's line.
                if let Ok(location) = HeaderValue::from_bytes(location.as_bytes()) {
                    headers.insert(header::LOCATION, location);
                }
                let status = StatusCode::MOVED_PERMANENTLY;
                (status, ErrorBody::new(status, &message).to_bytes())
            }
            Reply::BadQuery(details) => {
                let status = StatusCode::BAD_REQUEST;
                let body = ErrorBody { details: Some(&details), ..ErrorBody::new(status, M1) };
                (status, body.to_bytes())
            }
            Reply::TooMany { message, retry_seconds, reset_at } => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                headers.insert(header::RETRY_AFTER, HeaderValue::from(retry_seconds));
                let body = ErrorBody {
                    reset_in_seconds: reset_at.map(|_| retry_seconds),
                    reset_at_utc: reset_at.map(utc),
                    ..ErrorBody::new(status, &message)
                };
                (status, body.to_bytes())
            }
            Reply::Error { status, message, allow } => {
                if let Some(allow) = allow {
                    set(headers, header::ALLOW, allow);
                }
                if status == StatusCode::SERVICE_UNAVAILABLE {
                    set(headers, header::RETRY_AFTER, RETRY_SECONDS);
                }
                (status, ErrorBody::new(status, &message).to_bytes())
            }
            Reply::Closing(reply) => reply.fill(headers, stamp),
            Reply::Counted { array, total, links } => {
                headers.insert(TOTAL_COUNT, HeaderValue::from(total));
                // A route, and a query that came in a request's line, escaped.
                if let (false, Ok(links)) = (links.is_empty(), HeaderValue::from_str(&links)) {
                    headers.insert(header::LINK, links);
                }
                array.fill(headers, stamp)
            }
        }
    }
}

/// Lets a reply be kept, and asked for again by its tag. Whether it is coded or not, another request
/// might get it in another form.
fn keep(headers: &mut HeaderMap, tag: HeaderValue) {
    headers.insert(header::ETAG, tag);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
}

fn common_headers(stamp: &Stamp) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(20);
    for (name, value) in [
        (header::CONTENT_TYPE, "application/json"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(HeaderName::from_static("x-snapshot-id"), stamp.snapshot_id().clone());
    headers
}

impl ErrorBody<'_> {
    fn new(status: StatusCode, message: &str) -> ErrorBody<'_> {
        ErrorBody {
            status_code: status.as_u16(),
            error: status.canonical_reason().unwrap_or_default(),
            message,
            reset_in_seconds: None,
            reset_at_utc: None,
            details: None,
        }
    }

    fn to_bytes(&self) -> Bytes {
        // Texts and numbers alone: this is always JSON.
        Bytes::from(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// A moment in seconds since 1970 as `2026-01-31T00:00:00Z`.
fn utc(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|at| chrono::DateTime::from_timestamp(at, 0));
    moment.map_or(String::new(), |at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_interfaces_json() {
        let reply = Reply::error(StatusCode::NOT_FOUND, "Author with ID HX_A1\" not found");
        let response = reply.into_response(&Method::GET, &Stamp::new("0123"));
        assert_eq!(
            response.body(),
            r#"{"statusCode":404,"error":"Not Found","message":"Author with ID HX_A1\" not found"}"#
        );
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
        assert_eq!(response.headers()["x-snapshot-id"], "0123");
    }

    #[test]
    fn a_moved_record_keeps_whatever_query_came() {
        let reply = Reply::Moved { location: "/a/1?\u{e9}=%zz".into(), message: "m".into() };
        let response = reply.closing().into_response(&Method::GET, &Stamp::new("0123"));
        assert_eq!(response.headers()[header::LOCATION], "/a/1?\u{e9}=%zz".as_bytes());
        assert_eq!(response.headers()[header::CONNECTION], "close");
        assert_eq!(response.status(), StatusCode::MOVED_PERMANENTLY);
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let reply = Reply::Json { body: Bytes::from_static(b"{}"), lasts: true };
        let response = reply.into_response(&Method::HEAD, &Stamp::new("0123"));
        assert_eq!(response.headers()[header::CONTENT_LENGTH], "2");
        assert!(response.body().is_empty());
    }
}
