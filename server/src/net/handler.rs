//! The interface between connections and the service that answers their requests.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, request::Parts};

use crate::admission::concurrency::Share;
use crate::http::client_address::Clients;

/// A response, and its reservation in the unsent-reply budget.
pub struct Answer {
    /// The response.
    pub response: Response<Bytes>,
    /// Freed with the last byte of the body; `None` for a small body.
    pub share: Option<Share>,
}

/// Answers the requests of all connections.
pub trait Handler: Send + Sync + 'static {
    /// Which peers are trusted proxies or exempt from limits.
    fn clients(&self) -> &Clients;

    /// Whether the handler reads the body of a request with this head.
    fn takes_body(&self, head: &Parts) -> bool;

    /// Answers one request.
    fn answer(self: Arc<Self>, head: Arc<Parts>) -> impl Future<Output = Answer> + Send;

    /// The 503 for a request that cannot be read for want of room; the connection ends after it.
    fn overloaded(&self) -> Response<Bytes>;

    /// Whether the unsent-reply budget is so full that slow clients are disconnected early.
    fn is_pressed(&self) -> bool;
}
