//! Evaluates list queries: filter, sort, search, groups and pages over one entity of a snapshot.
//!
//! REST, GraphQL and the compiler's `--where` build the same [`Query`]. The pipeline of types:
//!
//! ```text
//! URL text        "year:>2020,type:a|b"            one string a parameter
//! RawExpression   `year`, `>`, `2020`              grammar.rs: syntax only
//! Expression      a key and its Operands           filter.rs, value.rs: checked against the key
//! Query           expressions, sort keys, page     parse.rs: nothing reads the text after this
//! Clause          a union of Leafs, or not         resolve.rs: one clause an expression
//! Leaf            rows as an index holds them      clause.rs: posting list, value range, bitmap, …
//! Intersection    the rows of all clauses          intersection.rs: one chunk of 65,536 rows a step
//! DocSet          the matching rows                doc_set.rs: only if an order needs the whole set
//! FirstPage       rows near the beginning          first_page.rs: looks rows of an order up in the clauses
//! SetKey          their name among kept sets       set_key.rs: the next page makes no set again
//! OrderWalk       positions in an order            walk.rs, sorted_page.rs: by rank checkpoints
//! RowPage         count, rows of the page, plan    execute.rs
//! Search          a full-text search               search/: from text to rows by relevance
//! RowCursor       all rows of the list, in batches rows.rs, with sample.rs
//! ```
//!
//! A [`Predicate`] evaluates the same filter against one record instead of the indexes. [`Groups`]
//! count the matching rows by the values of a key, and [`Statistics`] sum them up.
//!
//! Imports `entity`, `index`, `record`, `schema`, `snapshot`, `storage`, `text`.

mod clause;
mod dates;
mod deadline;
mod doc_set;
mod error;
mod execute;
mod filter;
mod first_page;
mod grammar;
mod groups;
mod intersection;
mod name_scan;
mod operand;
mod parse;
mod predicate;
mod range;
mod resolve;
mod row_cursor;
mod sample;
mod search;
mod select;
mod set_key;
mod sort;
mod sorted_page;
mod statistics;
#[cfg(test)]
mod tests;
mod union;
mod walk;
mod words;

pub use crate::query::deadline::{Deadline, QueryError};
pub use crate::query::error::{ParamError, nearest};
pub use crate::query::execute::{QueryPlan, RowPage};
pub use crate::query::filter::{EXPRESSIONS_MAX, Expression};
pub use crate::query::grammar::split as split_filter;
pub use crate::query::groups::{
    GROUP_KEYS_MAX, GROUPS_MAX, Group, GroupList, GroupValue, Grouping, Groups,
};
pub use crate::query::operand::Operand;
pub use crate::query::parse::{PAGE_SIZE_DEFAULT, PAGE_SIZES, Query, REFERENCES, ResultKind};
pub use crate::query::predicate::Predicate;
pub use crate::query::row_cursor::{RowBatch, RowCursor};
pub use crate::query::sample::{SAMPLE_RECORDS_MAX, Sample};
pub use crate::query::search::{
    CLAUSES_MAX, Excerpt, Marker, RELEVANCE_SCORE, RankedRow, RecordTexts, SEARCH_BYTES_MAX,
    Search, SearchSummary, SearchedWords, SyntaxError,
};
pub(crate) use crate::query::search::{TrueTerm, TrueTerms};
pub use crate::query::select::{member_names, parse_select};
pub use crate::query::sort::{RELEVANCE, SORT_KEYS_MAX, SortKey};
pub(crate) use crate::query::sorted_page::{first_rows, rows_with_codes};
pub use crate::query::statistics::{
    CitationIndex, GROUP_MEASURES, GroupNumbers, INDEXES, KeyStatistics, MEASURES, Measure,
    Measured, Number, OutputStatistics, STATISTICS_KEYS_MAX, Statistics, StatisticsKeys,
};
pub(crate) use crate::query::words::{is_long, rows_of_words};
