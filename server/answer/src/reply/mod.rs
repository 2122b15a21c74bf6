//! Replies: status, headers and body of everything that the server sends.
//!
//! - [`detail`] is an error in one parameter.
//! - [`etag`] has the tags of bodies, [`coding`] the content codings, [`pieces`] bodies that are made in pieces.
//! - [`static_body`] and [`static_page`] are bodies that the binary holds.
//!
//! An endpoint makes a [`Reply`]. The server then changes its links ([`crate::request::named_snapshot`]), codes its
//! body ([`Reply::coded`]), and turns it into a response ([`Reply::into_response`]).
//!
//! Imports `clock`.

pub(crate) mod coding;
pub(crate) mod detail;
pub(crate) mod etag;
pub(crate) mod pieces;
pub(crate) mod static_body;
pub(crate) mod static_page;

pub(crate) use crate::reply::detail::{DETAILS_MAX, Detail, truncate};
pub(crate) use crate::reply::etag::Etags;

use std::{sync::LazyLock, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Serialize;

use crate::reply::coding::encode::encode;
use crate::reply::coding::{AcceptedCodings, Coding};
use crate::reply::etag::SnapshotHeaders;
use crate::reply::pieces::{CodedPieces, ListStream, PieceSource};

/// Media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";
/// Media type of records, lists and errors.
pub const JSON: &str = "application/json";
/// `Retry-After` of a 503.
const RETRY_SECONDS: &str = "30";
/// The message of every 400 with details.
pub const BAD_QUERY_MESSAGE: &str = "Bad Request - Invalid query parameters";

/// The message for an autocomplete request without a text.
pub const QUERY_REQUIRED: &str = "Query parameter 'query' is required";
/// The message for an identifier without its prefix.
pub const PREFIX_REQUIRED: &str = "Only HX_ prefixed IDs are allowed";

/// Rate-limit headers of replies.
pub const LIMIT_HEADERS: [&str; 5] = [
    "X-RateLimit-IP-Limit",
    "X-RateLimit-IP-Remaining",
    "X-RateLimit-IP-Reset-Seconds",
    "X-RateLimit-Daily-Limit",
    "X-RateLimit-Daily-Remaining",
];
/// Headers that scripts of other origins may read.
static EXPOSED: LazyLock<HeaderValue> = LazyLock::new(|| {
    let others = "ETag, Link, Retry-After, X-Total-Count, X-Snapshot-Id, X-Request-Id";
    let names = format!("{others}, {}", LIMIT_HEADERS.join(", "));
    HeaderValue::try_from(names).expect("header names are a valid value")
});
/// Header with the number of items on all pages of a bare array.
const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");

/// A reply, before its headers are complete.
#[derive(Debug)]
pub struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Body,
    /// Headers that add to the common ones, or replace them.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) caching: Caching,
    coding: ChosenCoding,
    /// Whether another `Accept` might get another reply.
    varies_by_accept: bool,
    /// Whether the connection closes after the reply.
    closes: bool,
}

/// The body of a reply.
#[derive(Debug)]
pub enum Body {
    None,
    Text {
        media_type: &'static str,
        bytes: Bytes,
    },
    /// The JSON of an error, or of a redirect.
    Message(Message),
    /// A body of unknown length.
    Pieces {
        /// `None` once it is taken.
        source: Option<Box<dyn PieceSource>>,
        /// The list, if the body is a stream of a whole list, not a page in JSON.
        list: Option<ListStream>,
    },
}

/// The members of an error's JSON besides the status.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub text: String,
    /// Errors in parameters.
    pub details: Option<Vec<Detail>>,
    /// When a limit ends. Boxed, because few replies have it.
    pub reset: Option<Box<Reset>>,
}

/// The end of a limit that refuses a request.
#[derive(Clone, Copy, Debug)]
pub struct Reset {
    /// Seconds from now.
    pub seconds: u64,
    /// Seconds since 1970.
    pub at: u64,
    /// The requests that a client has in a minute, if it used them up.
    pub minute_limit: Option<u32>,
}

/// Whether clients and caches may keep a reply.
#[derive(Clone, Debug)]
pub enum Caching {
    /// `no-store`.
    Never,
    /// While the snapshot is served: the snapshot alone determines the reply.
    BySnapshot,
    /// Under tags of its own. Boxed, because every reply would be as large as four tags.
    ByTags(Box<Etags>),
}

/// The content coding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChosenCoding {
    /// The body is sent as it is.
    Never,
    /// [`Reply::coded`] chooses.
    Open,
    /// [`Reply::coded`] chose.
    In(Coding),
    /// The binary holds the body in this coding.
    Given(Coding),
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
    fn new(status: StatusCode, body: Body) -> Reply {
        Reply {
            status,
            body,
            headers: Vec::new(),
            caching: Caching::Never,
            coding: ChosenCoding::Never,
            varies_by_accept: false,
            closes: false,
        }
    }

    /// Makes a 200 with JSON that the snapshot alone determines.
    pub fn json(bytes: impl Into<Bytes>) -> Reply {
        let body = Body::Text { media_type: JSON, bytes: bytes.into() };
        let reply = Reply::new(StatusCode::OK, body);
        Reply { caching: Caching::BySnapshot, coding: ChosenCoding::Open, ..reply }
    }

    /// The reply to a request that caches do not know, such as a POST.
    pub fn uncached(self) -> Reply {
        Reply { caching: Caching::Never, ..self }
    }

    /// Makes a 200 with short JSON that changes while the snapshot is served.
    pub fn momentary_json(bytes: impl Into<Bytes>) -> Reply {
        Reply::new(StatusCode::OK, Body::Text { media_type: JSON, bytes: bytes.into() })
    }

    /// Makes a reply with a text that clients do not keep. A text with status 200 is coded.
    pub fn text(status: StatusCode, media_type: &'static str, bytes: Bytes) -> Reply {
        let reply = Reply::new(status, Body::Text { media_type, bytes });
        match status {
            StatusCode::OK => Reply { coding: ChosenCoding::Open, ..reply },
            _ => reply,
        }
    }

    /// Makes a 200 with a text that has tags of its own.
    pub fn tagged(media_type: &'static str, bytes: impl Into<Bytes>, etags: Etags) -> Reply {
        let reply = Reply::text(StatusCode::OK, media_type, bytes.into());
        Reply { caching: Caching::ByTags(Box::new(etags)), ..reply }
    }

    /// Makes a 200 with a body that the binary holds in this coding.
    pub fn fixed(media_type: &'static str, bytes: Bytes, etags: &Etags, coding: Coding) -> Reply {
        let reply = Reply::new(StatusCode::OK, Body::Text { media_type, bytes });
        let caching = Caching::ByTags(Box::new(etags.clone()));
        Reply { caching, coding: ChosenCoding::Given(coding), ..reply }
    }

    /// Makes a 200 with a body in pieces: a page in JSON, or a stream of a whole `list`.
    pub fn in_pieces(source: Box<dyn PieceSource>, list: Option<ListStream>) -> Reply {
        let reply = Reply::new(StatusCode::OK, Body::Pieces { source: Some(source), list });
        Reply { caching: Caching::BySnapshot, coding: ChosenCoding::Open, ..reply }
    }

    /// Makes a 304: the client has the current body in this coding.
    pub fn not_modified(coding: Coding) -> Reply {
        let reply = Reply::new(StatusCode::NOT_MODIFIED, Body::None);
        Reply { caching: Caching::BySnapshot, coding: ChosenCoding::In(coding), ..reply }
    }

    /// Makes a 304: the client has the body with one of these tags.
    pub fn not_modified_tagged(etags: &Etags, coding: Coding) -> Reply {
        let caching = Caching::ByTags(Box::new(etags.clone()));
        Reply { caching, ..Reply::not_modified(coding) }
    }

    /// Makes the 204 to `OPTIONS` that names the methods of a path.
    pub fn options(allow: &'static str) -> Reply {
        let headers = [
            (header::ALLOW, allow),
            (header::ACCESS_CONTROL_ALLOW_METHODS, allow),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "*"),
            (header::ACCESS_CONTROL_MAX_AGE, "86400"),
        ];
        headers.into_iter().fold(Reply::new(StatusCode::NO_CONTENT, Body::None), Reply::with)
    }

    /// Makes a 301 or 303 to a path and query.
    pub fn redirect(status: StatusCode, location: &str, message: String) -> Reply {
        let mut reply = Reply::error(status, message);
        // Always valid: a route, an id, and a query from a request line.
        if let Ok(location) = HeaderValue::from_bytes(location.as_bytes()) {
            reply.headers.push((header::LOCATION, location));
        }
        reply
    }

    /// Makes an error reply with a message.
    pub fn error(status: StatusCode, text: impl Into<String>) -> Reply {
        Reply::new(status, Body::Message(Message { text: text.into(), ..Message::default() }))
    }

    /// Makes a 400 with details about parameters.
    pub fn bad_query(details: Vec<Detail>) -> Reply {
        Reply::bad_request(BAD_QUERY_MESSAGE, details)
    }

    /// Makes a 400 with a message and details.
    pub fn bad_request(message: &str, details: Vec<Detail>) -> Reply {
        let message =
            Message { text: message.to_owned(), details: Some(details), ..Message::default() };
        Reply::new(StatusCode::BAD_REQUEST, Body::Message(message))
    }

    /// Adds details to a reply with a message; no details change nothing.
    pub fn with_details(mut self, details: Vec<Detail>) -> Reply {
        if let Body::Message(message) = &mut self.body
            && !details.is_empty()
        {
            message.details = Some(details);
        }
        self
    }

    /// Makes a 405 that names the allowed methods.
    pub fn method_not_allowed(allow: &'static str) -> Reply {
        Reply::error(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
            .with((header::ALLOW, allow))
    }

    /// Makes a 429. `reset_at` is the moment when the client may ask again, in seconds since 1970; `minute_limit` the
    /// requests of a minute that is used up.
    pub fn too_many(
        text: String,
        retry_seconds: u64,
        reset_at: u64,
        minute_limit: Option<u32>,
    ) -> Reply {
        let reset = Reset { seconds: retry_seconds, at: reset_at, minute_limit };
        let message = Message { text, details: None, reset: Some(Box::new(reset)) };
        let mut reply = Reply::new(StatusCode::TOO_MANY_REQUESTS, Body::Message(message));
        reply.headers.push((header::RETRY_AFTER, HeaderValue::from(retry_seconds)));
        reply
    }

    /// Makes a 503.
    pub fn unavailable() -> Reply {
        Reply::error(StatusCode::SERVICE_UNAVAILABLE, "Service temporarily unavailable")
            .with((header::RETRY_AFTER, RETRY_SECONDS))
    }

    /// Makes a 503 of something that may pass in some time.
    pub fn unavailable_for(pause: Duration) -> Reply {
        let mut reply =
            Reply::error(StatusCode::SERVICE_UNAVAILABLE, "Service temporarily unavailable");
        let seconds = pause.as_secs() + 1;
        reply.headers.push((header::RETRY_AFTER, seconds.into()));
        reply
    }

    /// Makes a 500 without details, which are in the log.
    pub fn internal() -> Reply {
        Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
    }

    /// Adds a header.
    pub fn with(mut self, (name, value): (HeaderName, &'static str)) -> Reply {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Adds headers.
    pub fn with_headers(mut self, headers: Vec<(HeaderName, HeaderValue)>) -> Reply {
        self.headers.extend(headers);
        self
    }

    /// Adds the total of a bare array, and the `Link` header to its other pages, which may be empty.
    pub fn counting(mut self, total: u64, links: &str) -> Reply {
        self.headers.push((TOTAL_COUNT, HeaderValue::from(total)));
        // Always valid: a route, and an escaped query from a request line.
        if let (false, Ok(links)) = (links.is_empty(), HeaderValue::from_str(links)) {
            self.headers.push((header::LINK, links));
        }
        self
    }

    /// Tells caches that `Accept` chose the reply.
    pub fn varying_by_accept(self) -> Reply {
        Reply { varies_by_accept: true, ..self }
    }

    /// Closes the connection after this reply.
    pub fn closing(self) -> Reply {
        Reply { closes: true, ..self }
    }

    /// The facts of a stream of a whole list; `None` for other replies.
    pub fn stream(&self) -> Option<&ListStream> {
        match &self.body {
            Body::Pieces { list, .. } => list.as_ref(),
            _ => None,
        }
    }

    /// Whether the body is part of the binary: a reply of it allocates nothing.
    pub fn is_shared(&self) -> bool {
        matches!(self.coding, ChosenCoding::Given(_))
    }

    /// Codes the body in the coding that the request prefers, unless the body would not shrink.
    ///
    /// Cost: about as long as rendering.
    pub fn coded(mut self, headers: &HeaderMap) -> Reply {
        if self.coding != ChosenCoding::Open {
            return self;
        }
        let coding = AcceptedCodings::from_headers(headers).preferred();
        self.coding = ChosenCoding::In(coding);
        if let Body::Text { bytes, .. } = &mut self.body {
            match encode(coding, bytes) {
                Some(coded) => *bytes = coded,
                None => self.coding = ChosenCoding::In(Coding::Identity),
            }
        }
        self
    }

    /// Whether the body is made in pieces.
    pub fn has_pieces(&self) -> bool {
        matches!(self.body, Body::Pieces { source: Some(_), .. })
    }

    /// Takes the body out of a reply in pieces, and chooses its coding; `None` for other replies.
    pub fn take_pieces(&mut self) -> Option<CodedPieces> {
        // Starting an encoder in memory does not fail.
        CodedPieces::new(self.take_source()?, self.coding.chosen()).ok()
    }

    /// Takes the text out of a reply in pieces; `None` for other replies.
    pub fn take_source(&mut self) -> Option<Box<dyn PieceSource>> {
        match &mut self.body {
            Body::Pieces { source, .. } => source.take(),
            _ => None,
        }
    }

    /// Makes the response to a request with this method, with the headers of one snapshot. A body in pieces is
    /// sent apart from the response, after [`Reply::take_pieces`].
    pub fn into_response(
        self,
        method: &Method,
        snapshot: &SnapshotHeaders,
    ) -> http::Response<Bytes> {
        let mut headers = common_headers(snapshot);
        self.make_cacheable(&mut headers, snapshot);
        let coding = self.coding.chosen();
        if coding != Coding::Identity && self.status == StatusCode::OK {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        let body = match self.body {
            Body::None => None,
            Body::Text { media_type, bytes } => {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
                Some(bytes)
            }
            Body::Message(message) => Some(message.to_json(self.status)),
            Body::Pieces { list, .. } => {
                list.into_iter().for_each(|list| list.write_headers(&mut headers));
                None
            }
        };
        headers.extend(self.headers);
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        match &body {
            Some(body) => _ = headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len())),
            // A body in pieces has a type, and no length.
            None if self.status == StatusCode::OK => {}
            None => _ = headers.remove(header::CONTENT_TYPE),
        }
        let body = body.filter(|_| *method != Method::HEAD).unwrap_or_default();
        let mut response = http::Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = headers;
        response
    }

    /// Sets the headers of a reply that clients may keep, and `Vary` of every body whose coding the request
    /// chose: another request might get the reply in another coding.
    fn make_cacheable(&self, headers: &mut HeaderMap, snapshot: &SnapshotHeaders) {
        let coding = self.coding.chosen();
        let etag = match &self.caching {
            Caching::Never => None,
            Caching::BySnapshot => Some(snapshot.etag(coding)),
            Caching::ByTags(etags) => Some(etags.get(coding)),
        };
        if etag.is_some() || matches!(self.coding, ChosenCoding::In(_)) {
            let vary = match self.varies_by_accept {
                true => "Accept-Encoding, Accept",
                false => "Accept-Encoding",
            };
            headers.insert(header::VARY, HeaderValue::from_static(vary));
        }
        if let Some(etag) = etag {
            headers.insert(header::ETAG, etag.clone());
            let kept = HeaderValue::from_static("public, no-cache");
            headers.insert(header::CACHE_CONTROL, kept);
        }
    }
}

impl ChosenCoding {
    fn chosen(self) -> Coding {
        match self {
            ChosenCoding::In(coding) | ChosenCoding::Given(coding) => coding,
            ChosenCoding::Never | ChosenCoding::Open => Coding::Identity,
        }
    }
}

fn common_headers(snapshot: &SnapshotHeaders) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(20);
    for (name, value) in [
        (header::CONTENT_TYPE, JSON),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
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

impl Message {
    /// The text, and each detail in a line of its own.
    pub fn in_lines(&self) -> String {
        let mut lines = self.text.clone();
        for detail in self.details.iter().flatten() {
            lines.push_str(&format!("\n- {}", detail.parameter));
            if !detail.value.is_empty() {
                lines.push_str(&format!(" `{}`", detail.value));
            }
            lines.push_str(&format!(" {}", detail.reason));
        }
        lines
    }

    fn to_json(&self, status: StatusCode) -> Bytes {
        let body = ErrorBody {
            status_code: status.as_u16(),
            error: reason_phrase(status),
            message: &self.text,
            reset_in_seconds: self.reset.as_ref().map(|reset| reset.seconds),
            reset_at_utc: self.reset.as_ref().map(|reset| utc(reset.at)),
            details: self.details.as_deref(),
        };
        // Strings and numbers always serialise.
        Bytes::from(serde_json::to_vec(&body).unwrap_or_default())
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
        let status = StatusCode::MOVED_PERMANENTLY;
        let reply = Reply::redirect(status, "/a/1?\u{e9}=%zz", "m".into());
        let response = reply.closing().into_response(&Method::GET, &SnapshotHeaders::new("0123"));
        assert_eq!(response.headers()[header::LOCATION], "/a/1?\u{e9}=%zz".as_bytes());
        assert_eq!(response.headers()[header::CONNECTION], "close");
        assert_eq!(response.status(), StatusCode::MOVED_PERMANENTLY);
    }

    #[test]
    fn a_head_reply_has_the_length_and_no_body() {
        let reply = Reply::json(Bytes::from_static(b"{}"));
        let response = reply.into_response(&Method::HEAD, &SnapshotHeaders::new("0123"));
        assert_eq!(response.headers()[header::CONTENT_LENGTH], "2");
        assert!(response.body().is_empty());
    }
}
