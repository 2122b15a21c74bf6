//! The interface between connections and the service that answers their requests.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, request::Parts};

use crate::admission::reply_memory::Reservation;
use crate::http::client_address::ClientResolver;
use crate::net::reply_body::Pieces;

/// A response, and its reservation in the memory for replies.
pub struct ReservedResponse {
    pub response: Response<Bytes>,
    /// Released with the last byte of the body; `None` for a small body.
    pub reservation: Option<Reservation>,
    /// The body, if it is made in pieces; the body of the response is empty then.
    pub pieces: Option<Pieces>,
    /// Whether the request renews the standing of its connection: it counted towards a limit.
    pub renews: bool,
}

impl ReservedResponse {
    /// A response that needs no reservation.
    pub fn unreserved(response: Response<Bytes>) -> ReservedResponse {
        ReservedResponse { response, reservation: None, pieces: None, renews: false }
    }
}

/// Answers the requests of all connections.
pub trait Handler: Send + Sync + 'static {
    /// Tells trusted proxies and exempt clients from others.
    fn clients(&self) -> &ClientResolver;

    /// Whether the handler reads the body of a request with this head.
    fn takes_body(&self, head: &Parts) -> bool;

    /// Answers one request.
    fn answer(self: Arc<Self>, head: Arc<Parts>) -> impl Future<Output = ReservedResponse> + Send;

    /// The 503 reply to a client whose long head exceeds the limiter of long heads.
    fn overloaded(&self) -> Response<Bytes>;
}
