//! Evaluates list queries: filter, sort, search, groups and pages over one entity of a snapshot.
//!
//! REST, GraphQL and the compiler's `--where` build the same [`Query`]. The pipeline of types:
//!
//! ```text
//! URL text        "year:>2020,type:a|b"            one string a parameter
//! RawExpression   `year`, `>`, `2020`              parse/grammar.rs: syntax only
//! Expression      a key and its Operands           parse/filter.rs, operand.rs: checked against the key
//! Query           expressions, sort keys, page     parse/query.rs: nothing reads the text after this
//! Leaf            rows as an index holds them      rows/clause.rs: posting list, value range, bitmap, …
//! Intersection    the rows of all clauses          rows/intersection.rs: one chunk of 65,536 rows a step
//! VersionKey      the versions of a work           rows/versions.rs: same title and first author
//! DocSet          the matching rows                rows/doc_set.rs: only if an order needs the whole set
//! Search          a full-text search               search/: from text to rows by relevance
//! Clause          a union of Leafs, or not         page/resolve/: one clause an expression
//! scan            rows whose records are read      page/scan.rs: for filter keys that no index holds
//! ValueSort       rows sorted by their records     page/value_sort.rs: for sort keys that no order holds
//! FirstPage       rows near the beginning          page/first_page.rs: looks rows of an order up in the clauses
//! SetKey          their name among kept sets       page/set_key.rs: the next page makes no set again
//! NamesBegun      names that begin with a text     rows/names.rs: a search of names lists them first, by page/by_name.rs
//! OrderWalk       positions in an order            page/walk.rs, sorted_page.rs: by rank checkpoints
//! RowPage         count, rows of the page, plan    page/execute.rs
//! RowCursor       all rows of the list, in batches page/row_cursor.rs
//! ```
//!
//! A [`Predicate`] evaluates the same filter against one record instead of the indexes. [`Groups`]
//! count the matching rows by the values of a key, and [`Statistics`] sum them up.
//!
//! Each folder imports only those before it: `parse`, `rows`, `search`, `page`, `groups`. No two files import each other,
//! directly or through others.
//!
//! Imports `entity`, `index`, `record`, `schema`, `snapshot`, `storage`, `text`.

mod groups;
mod page;
mod parse;
mod rows;
mod search;
#[cfg(test)]
mod tests;

pub use crate::query::groups::{
    CitationIndex, GROUP_MEASURES, Group, GroupList, GroupNumbers, GroupValue, Groups, INDEXES,
    KeyStatistics, MEASURES, Measure, Measured, Number, OutputStatistics, Statistics,
};
pub use crate::query::page::{Predicate, QueryPlan, RowBatch, RowCursor, RowPage};
pub(crate) use crate::query::page::{first_rows, rows_with_codes};
pub use crate::query::parse::{
    CLAUSES_MAX, EXPRESSIONS_MAX, Expression, GROUP_KEYS_MAX, GROUPS_MAX, Grouping, Operand,
    PAGE_SIZE_DEFAULT, PAGE_SIZES, ParamError, Query, REFERENCES, RELEVANCE, ResultKind,
    SAMPLE_RECORDS_MAX, SEARCH_BYTES_MAX, SORT_KEYS_MAX, STATISTICS_KEYS_MAX, Sample, Search,
    SearchedIdentifier, SortKey, StatisticsKeys, SyntaxError, ValueSort, member_names, nearest,
    parse_select, search_hint, split_filter,
};
pub use crate::query::rows::{Deadline, QueryError};
pub(crate) use crate::query::rows::{
    NamesBegun, is_long, rows_of_alternatives, rows_of_prefixes, rows_of_words,
};
pub use crate::query::search::{
    ALL_RECORDS_MIN, Excerpt, Marker, RELEVANCE_SCORE, RankedRow, RecordTexts, SearchSummary,
    SearchedWords,
};
pub(crate) use crate::query::search::{TrueTerm, TrueTerms};
