//! Sets of rows: what an index holds of them, their unions and intersections, and the deadline of the work.

pub(super) mod clause;
pub(super) mod deadline;
pub(super) mod doc_set;
pub(super) mod intersection;
pub(super) mod name_scan;
pub(super) mod names;
pub(super) mod range;
pub(super) mod union;
pub(super) mod versions;
pub(super) mod words;

pub use crate::query::rows::deadline::{Deadline, QueryError};
pub(crate) use crate::query::rows::names::{NamesBegun, rows_of_alternatives};
pub(crate) use crate::query::rows::words::{is_long, rows_of_prefixes, rows_of_words};
