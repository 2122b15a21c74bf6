//! `net`.

pub(crate) mod accept;
pub(crate) mod client_address;
pub(crate) mod connection;
pub(crate) mod limiter;
pub(crate) mod proxy_protocol;
pub(crate) mod request_target;
pub(crate) mod state;
pub(crate) mod tls;
