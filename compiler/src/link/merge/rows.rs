//! Rows of one entity: the picked records in their list order.

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Read, Write},
};

use pinakes_format::entity::Entity;
use pinakes_format::storage::blobs::unnamed_file;

use crate::error::{Error, Result};
use crate::external_sort::{Sorter, Spill, read_array};
use crate::link::column::{Column, IdRow, IdRows};
use crate::link::context::{Linker, Segments};
use crate::link::merge::copies::{Copy, CopyGroups, is_named, tally_copies};
use crate::link::merge::deletions::{DeletionCounts, Deletions};
use crate::link::merge::redirects::{Merges, Redirects};
use crate::link::merge::sums::Sums;
use crate::link::tally::Tally;
use crate::object::key::rank_of;
use crate::object::segment::Segment;
use crate::object::{Key, Origin};

/// The rows of one entity.
pub(crate) struct Rows {
    /// For each row, the number of its record's segment and the index of its key there.
    pub order: Column,
    pub by_id: IdRows,
    /// For each record, ascending by id, the hash of what the record says. `None` for a subset.
    pub contents: Option<Column>,
    /// The ids merged into others.
    pub redirects: Redirects,
    pub deletions: DeletionCounts,
    /// The accounting so far.
    pub tally: Tally,
}

impl Rows {
    /// Bytes of a row in `order`.
    pub(crate) const ORDER_BYTES: usize = 8;
    /// Bytes of a hash in `contents`.
    pub(crate) const CONTENT_BYTES: usize = 16;

    /// Finds a row's record: the number of its segment, the segment and the key.
    pub(crate) fn locate<'s, 'o>(
        &self,
        row: usize,
        segments: &'s Segments<'o>,
    ) -> Option<(usize, &'s Segment<'o>, Key)> {
        let (segment, key) = self.order.get(row)?.split_first_chunk::<4>()?;
        let segment_at = u32::from_le_bytes(*segment) as usize;
        let segment = segments.get(segment_at)?;
        let key = segment.key(u32::from_le_bytes(key.try_into().ok()?) as usize)?;
        Some((segment_at, segment, key))
    }

    /// Counts merges that form a cycle, merges without a target, and records newer than their merge or
    /// deletion, by warning code.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let [cycles, missing, alive] = self.redirects.count_oddities(|id| self.by_id.has(id));
        let counts = [
            ("merge_cycle", cycles),
            ("merge_target_missing", missing),
            ("merged_but_newer", alive),
            ("deleted_but_newer", self.deletions.newer),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0)
    }
}

/// A picked record: its sort key and the position of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Picked {
    rank: u64,
    id: u64,
    segment: u32,
    key: u32,
}

impl Spill for Picked {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.rank.to_le_bytes())?;
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.segment.to_le_bytes())?;
        out.write_all(&self.key.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Picked>> {
        let Some(rank) = read_array(input)? else { return Ok(None) };
        let Some(id) = read_array(input)? else { return Ok(None) };
        let Some(segment) = read_array(input)? else { return Ok(None) };
        let Some(key) = read_array(input)? else { return Ok(None) };
        Ok(Some(Picked {
            rank: u64::from_le_bytes(rank),
            id: u64::from_le_bytes(id),
            segment: u32::from_le_bytes(segment),
            key: u32::from_le_bytes(key),
        }))
    }
}

impl<'o> Linker<'o> {
    /// Merges the keys of an entity into rows.
    ///
    /// - `merges` drops records that were merged into others; deleted records are dropped too.
    /// - `sums` ranks records that have no counts of their own.
    /// - `named`, if given, lists the taxonomy nodes that published records name.
    /// - `admit` sees every record that would be published; false quarantines the record.
    pub(crate) fn merge(
        &self,
        entity: Entity,
        segments: &Segments<'o>,
        mut merges: Merges,
        sums: &Sums,
        named: Option<&BTreeSet<u64>>,
        mut admit: impl FnMut(&Key, usize) -> Result<bool>,
    ) -> Result<Rows> {
        let mut tally = Tally::default();
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        let mut copies = Vec::new();
        let mut groups = CopyGroups::new(segments)?;
        let mut deletions = Deletions::new(self, entity);
        let contents = self.scratch_result(unnamed_file(&self.scratch))?;
        let mut contents = BufWriter::with_capacity(1 << 18, contents);
        while groups.next_group(segments, &mut copies)? {
            let winner = tally_copies(&copies, &mut tally);
            if !is_named(&winner.key, named) {
                continue;
            }
            if merges.removes(&winner.key) {
                if winner.key.origin.is_read() {
                    tally.merged += 1;
                }
                continue;
            }
            if deletions.removes(&winner.key) {
                tally.deleted += u64::from(winner.key.origin.is_read());
                continue;
            }
            if !admit(&winner.key, winner.segment as usize)? {
                tally.quarantined += u64::from(winner.key.origin.is_read());
                continue;
            }
            match winner.key.origin.is_read() {
                true => tally.published_from_input += 1,
                false => tally.derived += 1,
            }
            let mut rank = winner.key.rank;
            if winner.key.origin != Origin::Own {
                rank = rank_of(Some(sums.get(&winner.key.id).map_or(0, |(outputs, _)| *outputs)));
            }
            if entity.facts().is_generated {
                rank = 0;
            }
            let Copy { segment, index, .. } = winner;
            let picked = Picked { rank, id: winner.key.id, segment, key: index };
            self.scratch_result(sorter.push(picked))?;
            let content = winner.key.content_hash.to_le_bytes();
            self.scratch_result(contents.write_all(&content))?;
        }
        let contents = self.scratch_result(Column::map(contents, Rows::CONTENT_BYTES))?;
        let (order, by_id) = self.scratch_result(self.assign_rows(sorter))?;
        if order.len() >= u32::MAX as usize {
            return Err(Error::Internal(format!("more than 2^32 {entity}")));
        }
        let redirects = self.redirects(merges)?;
        let deletions = deletions.counts();
        Ok(Rows { order, by_id, contents: Some(contents), redirects, deletions, tally })
    }

    fn assign_rows(&self, sorter: Sorter<Picked>) -> io::Result<(Column, IdRows)> {
        let mut order = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        let mut ids = Sorter::new(&self.scratch, self.sorter_bytes());
        for (row, picked) in sorter.finish()?.enumerate() {
            let picked = picked?;
            order.write_all(&picked.segment.to_le_bytes())?;
            order.write_all(&picked.key.to_le_bytes())?;
            let row = u32::try_from(row).map_err(io::Error::other)?;
            ids.push(IdRow { id: picked.id, row })?;
        }
        let by_id = IdRows::map(ids.write_sorted()?)?;
        Ok((Column::map(order, Rows::ORDER_BYTES)?, by_id))
    }
}
