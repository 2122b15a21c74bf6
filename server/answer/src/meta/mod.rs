//! The service itself: its health, limits, document and documentation.
//!
//! Imports `define`, `openapi`, `pages`, `reply`.

pub(crate) mod docs;
pub(crate) mod openapi;
pub(crate) mod service;
