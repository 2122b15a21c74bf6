//! Counts the matching rows by the record of another entity that they refer to.
//!
//! The matches of a chunk are computed once. The count of a group grows by the rows that the group's
//! posting list has in common with the matches. No record is read, and chunks without matches are
//! skipped.

use std::cmp::Reverse;

use crate::entity::NO_ID;
use crate::index::bitset::{EMPTY_CHUNK, count_bits, has_bit, intersect};
use crate::index::postings::Postings;
use crate::query::deadline::{Deadline, QueryError};
use crate::query::grouping::Grouping;
use crate::query::intersection::ChunkRows;
use crate::query::parse::Query;
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;

/// The most groups that a reply lists.
pub const GROUPS_MAX: usize = 200;
/// Posting lists read between two checks of the deadline.
const LISTS_PER_CHECK: usize = 256;

/// The groups with at least one matching record.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Number of groups.
    pub total: u64,
    /// The [`GROUPS_MAX`] groups with the most records; ids break ties.
    pub largest: Vec<Group>,
}

/// The matching records that refer to one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The id of the referenced record.
    pub id: u64,
    /// The row of the referenced record, or its first row if only unresolved references have the id.
    pub row: u32,
    /// Number of matching records.
    pub count: u64,
}

impl Query {
    /// Counts the groups of all matching records. Page and sort of the query have no effect.
    ///
    /// Records that refer to nothing, or to something without an id, are in no group.
    ///
    /// Cost: for each chunk and group, the smaller of the matches and the group's rows in the chunk.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged or the deadline passes.
    pub fn groups(
        &self,
        grouping: Grouping,
        snapshot: &Snapshot,
        deadline: Deadline,
    ) -> Result<Groups, QueryError> {
        let matches = self.resolve(snapshot, deadline)?;
        let mut candidates = self.candidate_groups(grouping, snapshot, deadline)?;
        for chunk in 0..matches.chunks() {
            deadline.check()?;
            let matches = matches.chunk(chunk)?;
            if matches.count() == 0 {
                continue;
            }
            for (at, (group, lists)) in candidates.iter_mut().enumerate() {
                if at.is_multiple_of(LISTS_PER_CHECK) {
                    deadline.check()?;
                }
                group.count += u64::from(count_common(&matches, lists, chunk)?);
            }
        }
        let mut largest: Vec<Group> = candidates
            .into_iter()
            .map(|(group, _)| group)
            .filter(|group| group.count > 0)
            .collect();
        largest.sort_unstable_by_key(|group| (Reverse(group.count), group.id));
        let total = largest.len() as u64;
        largest.truncate(GROUPS_MAX);
        Ok(Groups { total, largest })
    }

    /// Lists every possible group with its posting lists: one for a record, and one for each name of
    /// an unresolved id.
    fn candidate_groups<'s>(
        &self,
        grouping: Grouping,
        snapshot: &'s Snapshot,
        deadline: Deadline,
    ) -> Result<Vec<(Group, Vec<Postings<'s>>)>, QueryError> {
        let file = snapshot.term_lists(self.entity)?;
        let mut groups: Vec<(Group, Vec<Postings<'s>>)> = Vec::new();
        for at in 0..file.terms(grouping.lists)? {
            if at.is_multiple_of(LISTS_PER_CHECK) {
                deadline.check()?;
            }
            let term = file.term_at(grouping.lists, at)?;
            let row = u32::try_from(term)
                .map_err(|_| ReadError::corrupt("term_lists", "a term is not a row"))?;
            let id = snapshot.row_id(grouping.entity, row)?;
            let list = file.postings(grouping.lists, at)?;
            match groups.last_mut() {
                _ if id == NO_ID => {}
                // Rows of the same unresolved id are adjacent.
                Some((group, lists)) if group.id == id => lists.push(list),
                _ => groups.push((Group { id, row, count: 0 }, vec![list])),
            }
        }
        Ok(groups)
    }
}

/// Counts the matches of a chunk that at least one of the posting lists holds.
pub(super) fn count_common(
    matches: &ChunkRows,
    lists: &[Postings<'_>],
    chunk: u32,
) -> Result<u32, ReadError> {
    let [list] = lists else {
        let mut union = EMPTY_CHUNK;
        for list in lists {
            list.view(chunk)?.add_to(&mut union);
        }
        return Ok(match matches {
            ChunkRows::Array(lows) => {
                lows.iter().filter(|low| has_bit(&union, u32::from(**low))).count() as u32
            }
            ChunkRows::Bits(bits) => {
                intersect(&mut union, &**bits);
                count_bits(&union) as u32
            }
        });
    };
    let view = list.view(chunk)?;
    let mut count = 0;
    match matches {
        // The loop reads the shorter of both and looks its rows up in the other.
        ChunkRows::Array(lows) if lows.len() <= view.count() as usize => {
            count = lows.iter().filter(|low| view.contains(**low)).count() as u32;
        }
        ChunkRows::Array(lows) => view.each(|low| {
            count += u32::from(lows.binary_search(&low).is_ok());
            true
        }),
        ChunkRows::Bits(bits) => view.each(|low| {
            count += u32::from(has_bit(&**bits, u32::from(low)));
            true
        }),
    }
    Ok(count)
}
