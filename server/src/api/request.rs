//! A request that the limits admitted, as routing and handlers read it.

use http::{HeaderMap, Method, request::Parts};

use crate::admission::gate::Admission;
use crate::http::body;
use crate::http::body::RequestBody;
use crate::http::named_snapshot::NamedSnapshot;

/// The parts of a request that routing and handlers read.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub method: &'a Method,
    /// The path of the route as sent: not decoded, not normalized.
    pub path: &'a str,
    /// The path as sent, with the snapshot that it names.
    pub sent_path: &'a str,
    /// The text after the `?` as sent; empty without a `?`.
    pub query: &'a str,
    /// Bytes of path and query, including the `?`.
    pub uri_bytes: usize,
    pub headers: &'a HeaderMap,
    /// The client's address and its use of the limits.
    pub admission: &'a Admission,
    /// The body; `None` for routes that take no body.
    pub posted: Option<&'a RequestBody>,
}

impl<'a> Request<'a> {
    /// Borrows the parts of a head.
    pub fn new(head: &'a Parts, admission: &'a Admission) -> Request<'a> {
        let uri = &head.uri;
        let (_, path) = NamedSnapshot::split(uri.path());
        Request {
            method: &head.method,
            path,
            sent_path: uri.path(),
            query: uri.query().unwrap_or_default(),
            uri_bytes: uri.path_and_query().map_or(0, |sent| sent.as_str().len()),
            headers: &head.headers,
            admission,
            posted: body::from_head(head).map(|posted| &**posted),
        }
    }
}
