//! Connections: TLS, the PROXY protocol, timeouts and connection limits.
//!
//! [`connection::Connections`] hands each request to a [`handler::Handler`], so that the folder knows no
//! route.
//!
//! Imports `admission`, `event_counts`, `http`.

pub(crate) mod connection;
pub(crate) mod frame_meter;
pub(crate) mod handler;
pub(crate) mod limiter;
pub(crate) mod proxy_protocol;
pub(crate) mod reply_body;
pub(crate) mod request_target;
pub(crate) mod state;
pub(crate) mod tls;
pub(crate) mod write_through;
