//! A request that the limits let through, as routing and handlers read it.

use http::{HeaderMap, Method, request::Parts};

use crate::admission::gate::Admission;
use crate::http::body;
use crate::http::body::Posted;

/// A request, as far as routing and handlers look at it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path as it was sent.
    pub path: &'a str,
    /// What stands after the `?`, as it was sent.
    pub query: &'a str,
    /// Bytes of the two, with what stands between them.
    pub uri_bytes: usize,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// Who asks, and how it stands.
    pub admission: &'a Admission,
    /// What was posted.
    pub posted: Option<&'a Posted>,
}

impl<'a> Request<'a> {
    /// A request that was let through.
    pub fn new(head: &'a Parts, admission: &'a Admission) -> Request<'a> {
        let uri = &head.uri;
        Request {
            method: &head.method,
            path: uri.path(),
            query: uri.query().unwrap_or_default(),
            uri_bytes: uri.path_and_query().map_or(0, |sent| sent.as_str().len()),
            headers: &head.headers,
            admission,
            posted: body::of(head).map(|posted| &**posted),
        }
    }
}
