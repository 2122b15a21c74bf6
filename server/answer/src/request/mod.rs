//! The parts of a request: its path, parameters, headers and body, read but not checked.
//!
//! Imports `reply`.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod method;
pub(crate) mod named_snapshot;
pub(crate) mod parameters;
pub(crate) mod path;
