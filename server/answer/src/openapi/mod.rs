//! The parts of the OpenAPI 3.1 document, generated from the declarations that the server runs on.
//!
//! - [`schemas`] describes records; its source is the declarations of `pinakes_format::record`.
//! - [`patterns`] are those of list parameters; their source is the filter and sort keys.
//! - [`operation`] is a GET operation with its HEAD twin, and its parameters, [`responses`] the shared responses and headers.
//! - [`document`] is the document for which endpoints describe their paths, with examples from the served snapshot.
//!
//! Each endpoint describes itself; the table of endpoints
//! is the list of paths.
//!
//! Imports `reply`.

pub(crate) mod document;
pub(crate) mod operation;
pub(crate) mod patterns;
pub(crate) mod responses;
pub(crate) mod schemas;
