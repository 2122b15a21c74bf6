//! From the text of parameters to a checked [`Query`]. Reads no snapshot.

pub(super) mod dates;
pub(super) mod error;
pub(super) mod filter;
pub(super) mod grammar;
pub(super) mod grouping;
mod hint;
mod identifier;
pub(super) mod operand;
pub(super) mod query;
pub(super) mod sample;
pub(super) mod search;
pub(super) mod select;
pub(super) mod sort;
pub(super) mod statistics_keys;

pub use crate::query::parse::error::{ParamError, nearest};
pub use crate::query::parse::filter::{EXPRESSIONS_MAX, Expression};
pub use crate::query::parse::grammar::split as split_filter;
pub use crate::query::parse::grouping::{GROUP_KEYS_MAX, GROUPS_MAX, Grouping};
pub use crate::query::parse::hint::search_hint;
pub use crate::query::parse::identifier::SearchedIdentifier;
pub use crate::query::parse::operand::Operand;
pub use crate::query::parse::query::{
    PAGE_SIZE_DEFAULT, PAGE_SIZES, Query, REFERENCES, ResultKind,
};
pub use crate::query::parse::sample::{SAMPLE_RECORDS_MAX, Sample};
pub use crate::query::parse::search::{CLAUSES_MAX, SEARCH_BYTES_MAX, Search, SyntaxError};
pub use crate::query::parse::select::{member_names, parse_select};
pub use crate::query::parse::sort::{RELEVANCE, SORT_KEYS_MAX, SortKey, ValueSort};
pub use crate::query::parse::statistics_keys::{STATISTICS_KEYS_MAX, StatisticsKeys};
