//! The interface between connections and the service that answers their requests.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, request::Parts};

use crate::admission::concurrency::Reservation;
use crate::http::client_address::ClientResolver;

/// A response, and its reservation in the unsent-reply budget.
pub struct ReservedResponse {
    pub response: Response<Bytes>,
    /// Released with the last byte of the body; `None` for a small body.
    pub reservation: Option<Reservation>,
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

    /// Whether the unsent-reply budget is nearly used up, so that slow clients lose their connections early.
    fn is_congested(&self) -> bool;
}
