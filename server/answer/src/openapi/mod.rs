//! The parts of the OpenAPI 3.1 document, generated from the declarations that the server runs on.
//!
//! - [`schemas`] describes records; its source is the declarations of `pinakes_format::record`.
//! - [`parameters`] and [`patterns`] describe list parameters; their source is the filter and sort keys.
//! - [`operation`] is a GET operation with its HEAD twin, [`responses`] the shared responses and headers.
//! - [`document`] is the document that endpoints add their paths to.
//!
//! Examples come from the served snapshot ([`samples`]). Each endpoint describes itself; the table of endpoints
//! is the list of paths.
//!
//! Imports `reply`.

pub(crate) mod document;
pub(crate) mod operation;
pub(crate) mod parameters;
pub(crate) mod patterns;
pub(crate) mod responses;
pub(crate) mod samples;
pub(crate) mod schemas;
