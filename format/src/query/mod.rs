//! A question to a list: which records, in which order, which page; and its answer from a snapshot.
//!
//! Text becomes a checked [`Query`] once, here; after that nobody looks at it again. REST, GraphQL
//! and the command line build the same `Query`.

mod clause;
mod doc_set;
mod error;
mod execute;
mod filter;
mod grammar;
mod groups;
mod intersection;
mod name_scan;
mod predicate;
mod range;
mod resolve;
mod sorted_page;
#[cfg(test)]
mod tests;
mod union;
mod value;
mod walk;
mod words;

use std::{fmt, num::NonZeroU32, time::Instant};

use crate::entity::Entity;
use crate::record::legacy::LegacyEntity;
use crate::schema::keys::{Key, Keys, keys_of, keys_of_legacy};
use crate::storage::error::ReadError;

pub(crate) use crate::query::doc_set::Set;
pub use crate::query::execute::{Answer, Plan};
pub use crate::query::filter::{EXPRESSIONS_MAX, Expression};
pub use crate::query::groups::{GROUPS_MAX, Group, Grouping, Groups};
pub use crate::query::predicate::{Library, Predicate};
pub(crate) use crate::query::sorted_page::{first_of, rows_with_codes};
pub use crate::query::value::Operand;
pub(crate) use crate::query::value::hx;
pub(crate) use crate::query::words::{is_long, rows_of_words};
pub use error::{Refusal, nearest};

/// The page sizes there are.
pub const PAGE_SIZES: [u32; 4] = [10, 25, 50, 100];
/// The page size where none is asked for.
pub const PAGE_SIZE_DEFAULT: u32 = 25;
/// Keys in one sort at most.
pub const SORT_KEYS_MAX: usize = 3;

/// A checked question to a list.
#[derive(Clone, Debug)]
pub struct Query {
    /// The list.
    pub entity: Entity,
    /// The keys it is filtered and sorted by.
    pub keys: &'static Keys,
    /// What must hold of a record; all of it.
    pub filter: Vec<Expression>,
    /// What orders the records, before their ids; empty is the list's own order.
    pub sort: Vec<SortKey>,
    /// Which page, from 1.
    pub page: NonZeroU32,
    /// How many records a page has.
    pub per_page: u32,
    /// What groups are counted by, where they are asked for rather than records.
    pub grouping: Option<Grouping>,
}

/// A key to sort by.
#[derive(Clone, Copy, Debug)]
pub struct SortKey {
    /// The key.
    pub key: &'static Key,
    /// The number of its order.
    pub order: usize,
    /// Whether the greatest value comes first; none comes last either way.
    pub is_descending: bool,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The snapshot is damaged.
    #[error(transparent)]
    Damaged(#[from] ReadError),
    /// Answering took longer than it may.
    #[error("the question took longer than it may")]
    Deadline,
}

impl Query {
    /// The list as it is, from its first page.
    pub fn new(entity: Entity) -> Query {
        Query {
            entity,
            keys: keys_of(entity),
            filter: Vec::new(),
            sort: Vec::new(),
            page: NonZeroU32::MIN,
            per_page: PAGE_SIZE_DEFAULT,
            grouping: None,
        }
    }

    /// The list of the older variant as it is, from its first page.
    pub fn legacy(older: &LegacyEntity) -> Query {
        Query { keys: keys_of_legacy(older), ..Query::new(older.entity) }
    }

    /// The first row of the page, among all that match.
    pub fn first(&self) -> u64 {
        u64::from(self.page.get() - 1) * u64::from(self.per_page)
    }

    /// Reads a filter and adds its expressions.
    ///
    /// # Errors
    ///
    /// What is wrong with each expression.
    pub fn filter(&mut self, text: &str) -> Result<(), Vec<Refusal>> {
        self.filter.extend(filter::parse(self.keys, text)?);
        self.check_expressions(text)
    }

    /// Demands that the names hold these words, taken as they are: as `name.search` does, whatever
    /// stands in them.
    ///
    /// # Errors
    ///
    /// Where the list takes no filter, or the text holds what no name does.
    pub fn search(&mut self, text: &str) -> Result<(), Vec<Refusal>> {
        self.filter.push(filter::search(self.keys, text)?);
        self.check_expressions(text)
    }

    /// Reads what to sort by.
    ///
    /// # Errors
    ///
    /// What is wrong with each key.
    pub fn sort(&mut self, text: &str) -> Result<(), Vec<Refusal>> {
        self.sort = parse_sort(self.keys, text)?;
        Ok(())
    }

    /// Reads what to group by.
    ///
    /// # Errors
    ///
    /// Where the list has no such groups.
    pub fn group_by(&mut self, text: &str) -> Result<(), Vec<Refusal>> {
        let grouping = Grouping::of(self.keys, text);
        self.grouping = Some(grouping.ok_or_else(|| vec![error::group_key(self.keys, text)])?);
        Ok(())
    }

    fn check_expressions(&self, text: &str) -> Result<(), Vec<Refusal>> {
        if self.filter.len() <= EXPRESSIONS_MAX {
            return Ok(());
        }
        let reason = format!("makes more than {EXPRESSIONS_MAX} expressions, searches among them");
        Err(vec![Refusal::new(text, reason)])
    }

    /// The orders it sorts by, and whether each goes the other way than it is written.
    fn orders(&self) -> Vec<(usize, bool)> {
        let is_reversed =
            |key: &SortKey| self.keys.orders[key.order].is_descending() != key.is_descending;
        self.sort.iter().map(|key| (key.order, is_reversed(key))).collect()
    }
}

/// When an answer is no longer waited for.
#[derive(Clone, Copy)]
pub struct Deadline<'a> {
    moment: Option<Instant>,
    is_over: Option<&'a dyn Fn() -> bool>,
}

impl fmt::Debug for Deadline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("moment", &self.moment).finish_non_exhaustive()
    }
}

impl<'a> Deadline<'a> {
    /// Never.
    pub const NEVER: Deadline<'static> = Deadline { moment: None, is_over: None };

    /// At a moment.
    pub fn at(moment: Instant) -> Deadline<'static> {
        Deadline { moment: Some(moment), is_over: None }
    }

    /// Whenever this says so. It is asked now and then, at most once a row.
    pub fn when(is_over: &'a dyn Fn() -> bool) -> Deadline<'a> {
        Deadline { moment: None, is_over: Some(is_over) }
    }

    pub(crate) fn check(self) -> Result<(), AnswerError> {
        let has_passed = self.moment.is_some_and(|moment| Instant::now() >= moment);
        if has_passed || self.is_over.is_some_and(|is_over| is_over()) {
            return Err(AnswerError::Deadline);
        }
        Ok(())
    }
}

fn parse_sort(keys: &'static Keys, text: &str) -> Result<Vec<SortKey>, Vec<Refusal>> {
    let mut sort: Vec<SortKey> = Vec::new();
    let mut refusals = Vec::new();
    for part in text.split(',').take(SORT_KEYS_MAX + 1) {
        match parse_sort_key(keys, part) {
            Ok(key) if sort.iter().any(|known| known.order == key.order) => {
                refusals.push(Refusal::new(part, "sorts by a key a second time; name it once"));
            }
            Ok(key) => sort.push(key),
            Err(refusal) => refusals.push(refusal),
        }
    }
    if text.split(',').count() > SORT_KEYS_MAX {
        refusals.push(Refusal::new(text, format!("sorts by more than {SORT_KEYS_MAX} keys")));
    }
    if refusals.is_empty() { Ok(sort) } else { Err(refusals) }
}

fn parse_sort_key(keys: &'static Keys, text: &str) -> Result<SortKey, Refusal> {
    let (name, direction) = text.split_once(':').unwrap_or((text, "asc"));
    let is_descending = match direction {
        "asc" => false,
        "desc" => true,
        _ => {
            return Err(Refusal::new(
                text,
                "must end in `:asc` or `:desc`, in lower case, or be the key alone",
            ));
        }
    };
    match keys.sort(name) {
        Some((key, order)) => Ok(SortKey { key, order, is_descending }),
        None => Err(error::sort_key(keys, name)),
    }
}
