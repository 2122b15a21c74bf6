//! How many of the records that match refer to each record of another entity.
//!
//! The matches of a chunk are found once, and what each posting list has in common with them is
//! counted; no record is read. A chunk without matches costs nothing more.

use std::cmp::Reverse;

use crate::entity::{Entity, NO_ID};
use crate::index::bitset::{EMPTY_CHUNK, count_bits, has_bit, intersect};
use crate::index::postings::Postings;
use crate::query::intersection::Chunk;
use crate::query::{AnswerError, Deadline, Query};
use crate::schema::keys::{Index, Keys};
use crate::snapshot::Snapshot;
use crate::storage::error::ReadError;

/// Groups in one answer at most.
pub const GROUPS_MAX: usize = 200;
/// Lists looked at between two looks at the clock.
const LISTS_PER_LOOK: usize = 256;

/// What records are grouped by: the records of an entity they refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// The entity whose records are the groups.
    pub entity: Entity,
    /// The lists by its rows.
    lists: usize,
}

/// The groups that have a record.
#[derive(Clone, Debug)]
pub struct Groups {
    /// How many there are.
    pub total: u64,
    /// The largest, then those with the least id; [`GROUPS_MAX`] at most.
    pub largest: Vec<Group>,
}

/// The records that refer to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The id of the record they refer to.
    pub id: u64,
    /// The row that has its name.
    pub row: u32,
    /// How many they are.
    pub count: u64,
}

impl Grouping {
    /// What a name groups by; `None` where it does not.
    pub(super) fn of(keys: &Keys, name: &str) -> Option<Grouping> {
        match keys.filter(name)? {
            (_, Index::NamesScanned { entity, rows }) => Some(Grouping { entity, lists: rows }),
            _ => None,
        }
    }

    /// The names that group.
    pub(super) fn names(keys: &Keys) -> impl Iterator<Item = &'static str> + Clone {
        keys.filters().filter(|name| Grouping::of(keys, name).is_some())
    }
}

impl Query {
    /// Counts groups in place of answering with records; page and sort have no say in it.
    ///
    /// Records that refer to nothing, or to something without an id, are in no group.
    ///
    /// Cost: each matching row once for each of the lists its chunk has, and never more than the rows
    /// of those lists.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged, or the deadline passes.
    pub fn groups(
        &self,
        grouping: Grouping,
        snapshot: &Snapshot,
        deadline: Deadline,
    ) -> Result<Groups, AnswerError> {
        let filter = self.matches(snapshot, deadline)?;
        let mut counted = self.candidates(grouping, snapshot, deadline)?;
        for chunk in 0..filter.chunks() {
            deadline.check()?;
            let matches = filter.chunk(chunk)?;
            if matches.count() == 0 {
                continue;
            }
            for (at, (group, lists)) in counted.iter_mut().enumerate() {
                if at.is_multiple_of(LISTS_PER_LOOK) {
                    deadline.check()?;
                }
                group.count += u64::from(common(&matches, lists, chunk)?);
            }
        }
        let mut largest: Vec<Group> =
            counted.into_iter().map(|(group, _)| group).filter(|group| group.count > 0).collect();
        largest.sort_unstable_by_key(|group| (Reverse(group.count), group.id));
        let total = largest.len() as u64;
        largest.truncate(GROUPS_MAX);
        Ok(Groups { total, largest })
    }

    /// Every group there may be, with the lists of its rows: one for a record, and one a spelling for
    /// what has none.
    fn candidates<'s>(
        &self,
        grouping: Grouping,
        snapshot: &'s Snapshot,
        deadline: Deadline,
    ) -> Result<Vec<(Group, Vec<Postings<'s>>)>, AnswerError> {
        let file = snapshot.term_lists(self.entity)?;
        let mut groups: Vec<(Group, Vec<Postings<'s>>)> = Vec::new();
        for at in 0..file.terms(grouping.lists)? {
            if at.is_multiple_of(LISTS_PER_LOOK) {
                deadline.check()?;
            }
            let term = file.term_at(grouping.lists, at)?;
            let row = u32::try_from(term)
                .map_err(|_| ReadError::corrupt("term_lists", "a term is not a row"))?;
            let id = snapshot.row_id(grouping.entity, row)?;
            let list = file.postings(grouping.lists, at)?;
            match groups.last_mut() {
                _ if id == NO_ID => {}
                // Spellings of one id stand in rows one after another.
                Some((group, lists)) if group.id == id => lists.push(list),
                _ => groups.push((Group { id, row, count: 0 }, vec![list])),
            }
        }
        Ok(groups)
    }
}

/// How many of a chunk's matches any of these lists holds.
pub(super) fn common(
    matches: &Chunk,
    lists: &[Postings<'_>],
    chunk: u32,
) -> Result<u32, ReadError> {
    let [list] = lists else {
        let mut union = EMPTY_CHUNK;
        for list in lists {
            list.view(chunk)?.add_to(&mut union);
        }
        return Ok(match matches {
            Chunk::Array(lows) => {
                lows.iter().filter(|low| has_bit(&union, u32::from(**low))).count() as u32
            }
            Chunk::Bits(bits) => {
                intersect(&mut union, &**bits);
                count_bits(&union) as u32
            }
        });
    };
    let view = list.view(chunk)?;
    let mut count = 0;
    match matches {
        // The shorter of the two is walked.
        Chunk::Array(lows) if lows.len() <= view.count() as usize => {
            count = lows.iter().filter(|low| view.contains(**low)).count() as u32;
        }
        Chunk::Array(lows) => view.each(|low| {
            count += u32::from(lows.binary_search(&low).is_ok());
            true
        }),
        Chunk::Bits(bits) => view.each(|low| {
            count += u32::from(has_bit(&**bits, u32::from(low)));
            true
        }),
    }
    Ok(count)
}
