//! The same records and lists, asked for and shown as other interfaces have them.
//!
//! Imports `clock`, `complete`, `define`, `list`, `openapi`, `pages`, `record`, `reply`, `request`.

pub(crate) mod graphql;
pub(crate) mod legacy;
pub(crate) mod mcp;
pub(crate) mod openalex;
