//! Replies: status, headers and JSON body of every reply that the server sends.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use hyper::ext::ReasonPhrase;
use serde::Serialize;

use crate::http::coding::encode::encode;
use crate::http::coding::{AcceptedCodings, Coding};
use crate::http::etag::{Etags, SnapshotHeaders};
use crate::http::parameters::Detail;
use crate::http::pieces::{ListStream, PendingBody, PieceSource};

/// Media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";
/// `Retry-After` of a 503.
pub const RETRY_SECONDS: &str = "30";

/// Headers that scripts of other origins may read.
const EXPOSED: &str = "ETag, Link, Retry-After, X-Total-Count, X-Snapshot-Id, X-Request-Id, \
                       X-RateLimit-IP-Limit, X-RateLimit-IP-Remaining, X-RateLimit-IP-Reset-Seconds, \
                       X-RateLimit-Daily-Limit, X-RateLimit-Daily-Remaining";

/// Header with the number of items on all pages of a bare array.
const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// The message of every 400 with details.
pub const BAD_QUERY_MESSAGE: &str = "Bad Request - Invalid query parameters";

/// The result of a handler, before coding and headers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// 200 with a JSON body.
    Json {
        body: Bytes,
        /// Whether the reply has an ETag, because the snapshot alone determines its bytes.
        is_cacheable: bool,
    },
    /// A body with a media type, status and headers of its own.
    Body {
        status: StatusCode,
        /// Media type.
        media_type: &'static str,
        body: Bytes,
        /// Headers that add to or replace the common ones.
        headers: Vec<(HeaderName, HeaderValue)>,
    },
    /// 200 with a coded, cacheable JSON body; only [`Reply::coded`] makes it.
    Coded { body: Bytes, coding: Coding },
    /// 200 with a cacheable body in pieces, without `Content-Length`.
    Streamed {
        body: PendingBody,
        /// Identity until [`Reply::coded`] chooses one.
        coding: Coding,
        /// The list, if the body is a stream of a whole list, not a page in JSON.
        list: Option<ListStream>,
    },
    /// 304: the client has the current body in this coding.
    NotModified(Coding),
    /// 200 with a [`crate::http::static_body::StaticBody`], which is cacheable.
    Static {
        /// Media type.
        media_type: &'static str,
        body: Bytes,
        coding: Coding,
        etag: HeaderValue,
        /// Headers that add to the common ones.
        headers: Vec<(HeaderName, HeaderValue)>,
    },
    /// 200 with a page for people, which is cacheable.
    Page {
        body: Bytes,
        /// Identity until [`Reply::coded`] chooses one.
        coding: Coding,
        /// On the heap, because every reply would be as large as this one.
        etags: Box<Etags>,
        /// Headers that add to the common ones.
        headers: Vec<(HeaderName, HeaderValue)>,
    },
    /// 304: the client has the static body.
    NotModifiedStatic { etag: HeaderValue },
    /// 204 to OPTIONS.
    Options {
        /// Methods of the route.
        allow: &'static str,
    },
    /// 301 or 303 to another path.
    Redirect {
        status: StatusCode,
        /// Path and query.
        location: String,
        message: String,
        /// Value of `Vary`, if the location depends on a header.
        vary: Option<&'static str>,
    },
    /// 400 with details about parameters.
    BadQuery(Vec<Detail>),
    /// 400 to an identifier of another system where an id belongs.
    BadId { message: String, details: Vec<Detail> },
    /// 429, with `Retry-After`.
    TooMany {
        message: String,
        /// Seconds until the client may ask again.
        retry_seconds: u64,
        /// The same moment in seconds since 1970; `None` omits both members of the body.
        reset_at: Option<u64>,
    },
    /// Any other error.
    Error {
        status: StatusCode,
        message: String,
        /// Methods of the route, for a 405.
        allow: Option<&'static str>,
    },
    /// A reply after which the connection closes.
    Closing(Box<Reply>),
    /// A bare array with total and links in headers.
    Counted {
        /// The reply with the array.
        array: Box<Reply>,
        /// Items on all pages.
        total: u64,
        /// `Link` header to other pages; empty for none.
        links: String,
    },
}

/// JSON body of an error.
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
    /// Makes an error reply with a message.
    pub fn error(status: StatusCode, message: impl Into<String>) -> Reply {
        Reply::Error { status, message: message.into(), allow: None }
    }

    /// Makes a 405 that names the allowed methods.
    pub fn method_not_allowed(allow: &'static str) -> Reply {
        let message = "Method Not Allowed".to_owned();
        Reply::Error { status: StatusCode::METHOD_NOT_ALLOWED, message, allow: Some(allow) }
    }

    /// Closes the connection after this reply.
    pub fn closing(self) -> Reply {
        Reply::Closing(Box::new(self))
    }

    /// Makes a 200 with a JSON body in pieces.
    pub fn streamed(source: Box<dyn PieceSource>) -> Reply {
        Reply::Streamed { body: PendingBody::new(source), coding: Coding::Identity, list: None }
    }

    /// Makes a 200 with a stream of a whole list.
    pub fn list_stream(source: Box<dyn PieceSource>, list: ListStream) -> Reply {
        let body = PendingBody::new(source);
        Reply::Streamed { body, coding: Coding::Identity, list: Some(list) }
    }

    /// The records of a stream of a whole list; `None` for other replies.
    pub fn stream_records(&self) -> Option<u64> {
        match self {
            Reply::Streamed { list: Some(list), .. } => Some(list.records),
            _ => None,
        }
    }

    /// Makes a 503.
    pub fn unavailable() -> Reply {
        Reply::error(StatusCode::SERVICE_UNAVAILABLE, "Service temporarily unavailable")
    }

    /// Makes a 500 without details, which are in the log.
    pub fn internal() -> Reply {
        Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
    }

    /// Codes the body in the coding that the request prefers.
    ///
    /// Errors, uncacheable JSON and bodies that would not shrink stay as they are. Cost: about as long as
    /// rendering.
    pub fn coded(self, headers: &HeaderMap) -> Reply {
        match self {
            Reply::Json { body, is_cacheable: true } => {
                let coding = AcceptedCodings::from_headers(headers).preferred();
                match encode(coding, &body) {
                    Some(body) => Reply::Coded { body, coding },
                    None => Reply::Json { body, is_cacheable: true },
                }
            }
            Reply::Streamed { body, list, .. } => {
                let coding = AcceptedCodings::from_headers(headers).preferred();
                Reply::Streamed { body, coding, list }
            }
            Reply::Body { status: StatusCode::OK, media_type, body, headers: mut own } => {
                own.push((header::VARY, HeaderValue::from_static("Accept-Encoding")));
                let coding = AcceptedCodings::from_headers(headers).preferred();
                let coded = encode(coding, &body);
                if coded.is_some() {
                    let name = HeaderValue::from_static(coding.name());
                    own.push((header::CONTENT_ENCODING, name));
                }
                let body = coded.unwrap_or(body);
                Reply::Body { status: StatusCode::OK, media_type, body, headers: own }
            }
            Reply::Page { body, etags, headers: own, .. } => {
                let coding = AcceptedCodings::from_headers(headers).preferred();
                match encode(coding, &body) {
                    Some(body) => Reply::Page { body, coding, etags, headers: own },
                    None => Reply::Page { body, coding: Coding::Identity, etags, headers: own },
                }
            }
            Reply::Counted { array, total, links } => {
                Reply::Counted { array: Box::new(array.coded(headers)), total, links }
            }
            other => other,
        }
    }

    /// Whether all replies of this kind share their bytes, so that a reply holds no memory of its own.
    pub fn is_shared(&self) -> bool {
        match self {
            Reply::Static { .. } => true,
            Reply::Closing(reply) => reply.is_shared(),
            _ => false,
        }
    }

    /// Makes the response to a request with this method, with the headers of one snapshot.
    pub fn into_response(
        self,
        method: &Method,
        snapshot: &SnapshotHeaders,
    ) -> http::Response<Bytes> {
        if let Reply::Closing(reply) = self {
            let mut response = reply.into_response(method, snapshot);
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return response;
        }
        let mut headers = common_headers(snapshot);
        let pending = self.pending();
        let (status, body) = self.fill(&mut headers, snapshot);
        if pending.is_some() {
            // Of unknown length.
        } else if matches!(status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT) {
            headers.remove(header::CONTENT_TYPE);
        } else {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let body = if *method == Method::HEAD { Bytes::new() } else { body };
        let mut response = http::Response::new(body);
        *response.status_mut() = status;
        if status.canonical_reason() != Some(reason_phrase(status)) {
            let reason = ReasonPhrase::from_static(reason_phrase(status).as_bytes());
            response.extensions_mut().insert(reason);
        }
        *response.headers_mut() = headers;
        if let Some(pending) = pending.filter(|_| *method != Method::HEAD) {
            response.extensions_mut().insert(pending);
        }
        response
    }

    /// The body in pieces, with its coding chosen; `None` for other bodies.
    fn pending(&self) -> Option<PendingBody> {
        match self {
            Reply::Streamed { body, coding, .. } => {
                let mut source = body.take()?;
                // Starting an encoder in memory does not fail.
                source.begin(*coding).ok()?;
                Some(PendingBody::new(source))
            }
            Reply::Counted { array, .. } => array.pending(),
            _ => None,
        }
    }

    /// Returns status and body, and adds the reply's own headers to the common ones.
    fn fill(self, headers: &mut HeaderMap, snapshot: &SnapshotHeaders) -> (StatusCode, Bytes) {
        let set = |headers: &mut HeaderMap, name, value| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        match self {
            Reply::Json { body, is_cacheable } => {
                if is_cacheable {
                    make_cacheable(headers, snapshot.etag(Coding::Identity).clone());
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
                make_cacheable(headers, snapshot.etag(coding).clone());
                set(headers, header::CONTENT_ENCODING, coding.name());
                (StatusCode::OK, body)
            }
            Reply::Streamed { coding, list, .. } => {
                make_cacheable(headers, snapshot.etag(coding).clone());
                if let Some(ListStream { media_type, file_name, .. }) = list {
                    set(headers, header::CONTENT_TYPE, media_type);
                    // Always valid: an identifier, and the names of a route and of a format.
                    let disposition = format!("attachment; filename=\"{file_name}\"");
                    if let Ok(disposition) = HeaderValue::try_from(disposition) {
                        headers.insert(header::CONTENT_DISPOSITION, disposition);
                    }
                }
                if coding != Coding::Identity {
                    set(headers, header::CONTENT_ENCODING, coding.name());
                }
                (StatusCode::OK, Bytes::new())
            }
            Reply::NotModified(coding) => {
                make_cacheable(headers, snapshot.etag(coding).clone());
                (StatusCode::NOT_MODIFIED, Bytes::new())
            }
            Reply::Static { media_type, body, coding, etag, headers: own } => {
                make_cacheable(headers, etag);
                set(headers, header::CONTENT_TYPE, media_type);
                if coding != Coding::Identity {
                    set(headers, header::CONTENT_ENCODING, coding.name());
                }
                headers.extend(own);
                (StatusCode::OK, body)
            }
            Reply::Page { body, coding, etags, headers: own } => {
                make_cacheable(headers, etags.get(coding).clone());
                set(headers, header::CONTENT_TYPE, HTML);
                if coding != Coding::Identity {
                    set(headers, header::CONTENT_ENCODING, coding.name());
                }
                headers.extend(own);
                (StatusCode::OK, body)
            }
            Reply::NotModifiedStatic { etag } => {
                make_cacheable(headers, etag);
                (StatusCode::NOT_MODIFIED, Bytes::new())
            }
            Reply::Options { allow } => {
                set(headers, header::ALLOW, allow);
                set(headers, header::ACCESS_CONTROL_ALLOW_METHODS, allow);
                set(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, "*");
                set(headers, header::ACCESS_CONTROL_MAX_AGE, "86400");
                (StatusCode::NO_CONTENT, Bytes::new())
            }
            Reply::Redirect { status, location, message, vary } => {
                if let Some(vary) = vary {
                    set(headers, header::VARY, vary);
                }
                // Always valid: a route, an id, and a query from a request line.
                if let Ok(location) = HeaderValue::from_bytes(location.as_bytes()) {
                    headers.insert(header::LOCATION, location);
                }
                (status, ErrorBody::new(status, &message).to_bytes())
            }
            Reply::BadQuery(details) => bad_request(BAD_QUERY_MESSAGE, &details),
            Reply::BadId { message, details } => bad_request(&message, &details),
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
            Reply::Closing(reply) => reply.fill(headers, snapshot),
            Reply::Counted { array, total, links } => {
                headers.insert(TOTAL_COUNT, HeaderValue::from(total));
                // Always valid: a route, and an escaped query from a request line.
                if let (false, Ok(links)) = (links.is_empty(), HeaderValue::from_str(&links)) {
                    headers.insert(header::LINK, links);
                }
                array.fill(headers, snapshot)
            }
        }
    }
}

/// Status and body of a 400 with details.
fn bad_request(message: &str, details: &[Detail]) -> (StatusCode, Bytes) {
    let status = StatusCode::BAD_REQUEST;
    let body = ErrorBody { details: Some(details), ..ErrorBody::new(status, message) };
    (status, body.to_bytes())
}

/// Sets the headers of a cacheable reply. `Vary` applies to uncoded replies too: another request might get
/// the reply coded.
fn make_cacheable(headers: &mut HeaderMap, etag: HeaderValue) {
    headers.insert(header::ETAG, etag);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
}

fn common_headers(snapshot: &SnapshotHeaders) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(20);
    // hyper keeps a date until the clock reaches the next second, which a clock set back takes long to do.
    if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(SystemTime::now())) {
        headers.insert(header::DATE, date);
    }
    for (name, value) in [
        (header::CONTENT_TYPE, "application/json"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(HeaderName::from_static("x-snapshot-id"), snapshot.snapshot_id().clone());
    headers
}

/// The reason phrase of a status: the name of RFC 9110, which renamed 413.
pub fn reason_phrase(status: StatusCode) -> &'static str {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => "Content Too Large",
        other => other.canonical_reason().unwrap_or_default(),
    }
}

impl ErrorBody<'_> {
    fn new(status: StatusCode, message: &str) -> ErrorBody<'_> {
        ErrorBody {
            status_code: status.as_u16(),
            error: reason_phrase(status),
            message,
            reset_in_seconds: None,
            reset_at_utc: None,
            details: None,
        }
    }

    fn to_bytes(&self) -> Bytes {
        // Strings and numbers always serialise.
        Bytes::from(serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Formats seconds since 1970 as `2026-01-31T00:00:00Z`.
fn utc(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|at| chrono::DateTime::from_timestamp(at, 0));
    moment.map_or(String::new(), |at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_json_body_of_the_interface() {
        let reply = Reply::error(StatusCode::NOT_FOUND, "Author with ID HX_A1\" not found");
        let response = reply.into_response(&Method::GET, &SnapshotHeaders::new("0123"));
        assert_eq!(
            response.body(),
            r#"{"statusCode":404,"error":"Not Found","message":"Author with ID HX_A1\" not found"}"#
        );
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
        assert_eq!(response.headers()["x-snapshot-id"], "0123");
    }

    #[test]
    fn a_redirect_keeps_the_query_as_sent() {
        let reply = Reply::Redirect {
            status: StatusCode::MOVED_PERMANENTLY,
            location: "/a/1?\u{e9}=%zz".into(),
            message: "m".into(),
            vary: None,
        };
        let response = reply.closing().into_response(&Method::GET, &SnapshotHeaders::new("0123"));
        assert_eq!(response.headers()[header::LOCATION], "/a/1?\u{e9}=%zz".as_bytes());
        assert_eq!(response.headers()[header::CONNECTION], "close");
        assert_eq!(response.status(), StatusCode::MOVED_PERMANENTLY);
    }

    #[test]
    fn a_head_reply_has_the_length_and_no_body() {
        let reply = Reply::Json { body: Bytes::from_static(b"{}"), is_cacheable: true };
        let response = reply.into_response(&Method::HEAD, &SnapshotHeaders::new("0123"));
        assert_eq!(response.headers()[header::CONTENT_LENGTH], "2");
        assert!(response.body().is_empty());
    }
}
