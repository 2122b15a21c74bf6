//! HTTP requests, apart from any endpoint: heads, paths, parameters, bodies and clients.
//!
//! Imports `reply`.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod client_address;
pub(crate) mod head;
pub(crate) mod named_snapshot;
pub(crate) mod parameters;
pub(crate) mod path;
