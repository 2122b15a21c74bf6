//! `/autocomplete`: [`query`] parses a request, and [`candidates`] answers it.
//!
//! Imports `define`, `openapi`, `referring`, `reply`, `request`.

pub(crate) mod candidates;
pub(crate) mod query;
