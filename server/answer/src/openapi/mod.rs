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

pub(crate) use crate::openapi::document::{Document, Sample};
pub(crate) use crate::openapi::operation::{
    AUTOCOMPLETE_TAG, GRAPHQL_TAG, INTERFACE_VERSION, LEGACY_TAG, LIST_STATUSES, MCP_TAG,
    Operation, RECONCILE_TAG, RECORD_STATUSES, SERVICE_TAG, json_content, named_content, page,
    page_meta, path_parameter, query_parameter, required, text_content,
};
pub(crate) use crate::openapi::responses::{CACHE_HEADERS, headers};
pub(crate) use crate::openapi::schemas::{
    Schemas, add_optional, count, described, legacy_id, object, object_of, or_null, own_id,
    reference_file, schema_at, schema_name, text,
};
