//! Counts the matching records by the values of one key, or of two.
//!
//! ```text
//! filter   year:2020 → rows 0, 2, 5            group_by=type
//! source   row 0: article   row 2: book   row 5: article
//! counts   article 2, book 1                   each record counts once for each of its values
//! page     sorted by count, then by key; only the groups on the page are named
//! ```
//!
//! A [`Source`](source::Source) gives the values of rows as codes, from the index that has them by row or
//! by value. No record is read, except for keys of identifiers, whose index holds hashes.
//!
//! Cost: the values of the matching rows, or of the other rows if these are fewer and the index knows
//! the counts of all rows; then the groups. What would take longer than the caller allows is refused
//! before it is begun.

mod count;
mod estimate;
mod grouping;
mod page;
mod source;

use std::time::Duration;

use crate::entity::Entity;
use crate::query::deadline::{Deadline, QueryError};
use crate::query::groups::page::PageOrder;
use crate::query::parse::Query;
use crate::snapshot::Snapshot;

pub(super) use crate::query::groups::count::{Counted, count_codes};
pub(super) use crate::query::groups::estimate::check;
pub use crate::query::groups::grouping::{GROUP_KEYS_MAX, GROUPS_MAX, Grouping};
pub(super) use crate::query::groups::source::Source;
#[cfg(test)]
pub(super) use crate::query::groups::source::count_common;

/// The groups of a query.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Number of matching records.
    pub count: u64,
    /// Number of groups.
    pub total: u64,
    /// The groups of the page.
    pub page: Vec<Group>,
}

/// The matching records with the same values.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The value of each key.
    pub values: Vec<GroupValue>,
    /// Number of matching records.
    pub count: u64,
}

/// The value of a key that the records of a group share.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupValue {
    /// The records have no value.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A record, or an unresolved reference.
    Record {
        /// Its entity.
        entity: Entity,
        /// Its id.
        id: u64,
        /// Its row, or the first row of unresolved references with the id.
        row: u32,
    },
    /// The number of a code.
    Code(u32),
    /// An identifier in another system.
    Text(String),
}

impl Query {
    /// Counts the groups of all matching records, and finds those of the page. The query's sort has no
    /// effect.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged, if the deadline passes, or, before groups are counted, if this would
    /// take longer than `time`.
    pub fn groups(
        &self,
        grouping: &Grouping,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
        time: Duration,
    ) -> Result<Groups, QueryError> {
        let matches = self.resolve(snapshot, deadline)?;
        let set = self.matching_set(&matches, snapshot, deadline)?.set;
        let set = &set.rows;
        let rows = snapshot.count(self.entity);
        let open = |key: &_| Source::open(key, snapshot, self.entity, deadline);
        let sources: Result<Vec<Source<'_>>, QueryError> =
            grouping.keys.iter().map(|key| open(&key.index)).collect();
        let mut sources = sources?;
        check(&sources, set, rows, time)
            .map_err(|reason| QueryError::refused("group_by", &grouping.text, reason))?;
        let mut counted = match &mut sources[..] {
            [source] => count_codes(source, set, rows, deadline)?.into_groups(),
            [one, other] => count::count_pairs([one, other], set, rows, deadline)?,
            _ => Vec::new(),
        };
        if !grouping.has_null {
            counted.retain(|group| group.codes.iter().all(|code| *code != source::NULL));
        }
        let (from, length) = match grouping.largest {
            Some(largest) => (0, largest),
            None => (self.first_position(), self.per_page as usize),
        };
        let total = counted.len() as u64;
        let order = PageOrder { sources: &sources, sort: &grouping.sort, deadline };
        let page = order.page(counted, from, length)?;
        Ok(Groups { count: set.count(), total, page })
    }
}
