//! From a checked query to the rows of a page, or of the whole list. A [`Predicate`] evaluates the filter on one record.

pub(super) mod by_name;
mod counted_page;
pub(super) mod execute;
pub(super) mod first_page;
pub(super) mod predicate;
pub(super) mod resolve;
pub(super) mod row_cursor;
pub(super) mod scan;
pub(super) mod set_key;
pub(super) mod sorted_page;
pub(super) mod value_sort;
pub(super) mod walk;

pub use crate::query::page::execute::{QueryPlan, RowPage};
pub use crate::query::page::predicate::Predicate;
pub use crate::query::page::row_cursor::{RowBatch, RowCursor};
pub(crate) use crate::query::page::sorted_page::{first_rows, rows_with_codes};
