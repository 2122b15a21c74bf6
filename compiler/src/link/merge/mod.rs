//! Choosing one copy of each record, and giving the chosen their rows.

pub(crate) mod orphans;
pub(crate) mod redirects;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    io::{self, BufWriter, Read, Seek, Write},
};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::storage::blobs::unnamed_file;

use crate::error::{Error, Result};
use crate::link::external_sort::{Sorter, Spill, read_array};
use crate::link::merge::redirects::Redirects;
use crate::link::{Column, IdRow, Linker, Segments, Tally, broken};
use crate::object::file::Segment;
use crate::object::key::{count_of, rank_of};
use crate::object::{Key, Origin};
use crate::read::lenient::COUNT_MAX;

/// The rows of one entity.
pub(crate) struct Rows {
    /// For each row, the segment its record is in and the index of its key there.
    pub order: Column,
    /// Every id and its row, ascending.
    pub by_id: Column,
    /// The ids merged into others.
    pub redirects: Redirects,
    /// The accounting so far.
    pub tally: Tally,
}

impl Rows {
    /// The segment, by its number and itself, and the key of the record in a row.
    pub(crate) fn place<'s, 'o>(
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
}

impl Rows {
    /// Merges that lead nowhere, or that a newer record has outlived, by code.
    pub(crate) fn redirect_warnings(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let [cycles, missing, alive] = self.redirects.oddities(|id| self.by_id.find(id).is_some());
        let counts = [
            ("merge_cycle", cycles),
            ("merge_target_missing", missing),
            ("merged_but_newer", alive),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0)
    }
}

/// Outputs and citations, summed by the id of a topic or of a node above one.
pub(crate) type Sums = BTreeMap<u64, (u64, u64)>;

/// The sum of two pairs of counts, neither of which grows past what a count may be.
pub(crate) fn add_up(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    let add = |one: u64, other: u64| one.saturating_add(other).min(COUNT_MAX);
    (add(one.0, other.0), add(one.1, other.1))
}

/// Sums passed on from each id to another, where there is one.
pub(crate) fn passed_on(sums: &Sums, to: impl Fn(u64) -> Option<u64>) -> Sums {
    let mut passed = Sums::new();
    for (id, own) in sums {
        if let Some(to) = to(*id) {
            let sum = passed.entry(to).or_default();
            *sum = add_up(*sum, *own);
        }
    }
    passed
}

/// What a chosen record is sorted by, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Chosen {
    rank: u64,
    id: u64,
    segment: u32,
    key: u32,
}

impl Spill for Chosen {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.rank.to_le_bytes())?;
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.segment.to_le_bytes())?;
        out.write_all(&self.key.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Chosen>> {
        let Some(rank) = read_array(input)? else { return Ok(None) };
        let Some(id) = read_array(input)? else { return Ok(None) };
        let Some(segment) = read_array(input)? else { return Ok(None) };
        let Some(key) = read_array(input)? else { return Ok(None) };
        Ok(Some(Chosen {
            rank: u64::from_le_bytes(rank),
            id: u64::from_le_bytes(id),
            segment: u32::from_le_bytes(segment),
            key: u32::from_le_bytes(key),
        }))
    }
}

/// One copy of a record, as the merge sees it.
#[derive(Clone, Copy)]
struct Copy {
    key: Key,
    segment: u32,
    index: u32,
}

impl<'o> Linker<'o> {
    /// Merges the keys of an entity, but for those that `redirects` takes. `sums` gives counts to
    /// records that have none of their own; `mentioned` are the nodes that published records name, where
    /// that has to be known; `chosen` sees each record that would be kept, and says whether it is or is
    /// set aside.
    pub(crate) fn merge(
        &self,
        entity: Entity,
        segments: &Segments<'o>,
        mut redirects: Redirects,
        sums: &Sums,
        mentioned: Option<&BTreeSet<u64>>,
        mut chosen: impl FnMut(&Key, usize) -> Result<bool>,
    ) -> Result<Rows> {
        let mut tally = Tally::default();
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        let mut copies = Vec::new();
        let mut heap = Heap::new(segments)?;
        while heap.take_copies(segments, &mut copies)? {
            let winner = tally_copies(&copies, &mut tally);
            if !is_named(&winner.key, mentioned) {
                continue;
            }
            if redirects.takes(&winner.key) {
                if winner.key.origin.is_read() {
                    tally.merged += 1;
                }
                continue;
            }
            if !chosen(&winner.key, winner.segment as usize)? {
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
            let chosen = Chosen { rank, id: winner.key.id, segment, key: index };
            self.spilled(sorter.push(chosen))?;
        }
        let (order, by_id) = self.spilled(self.assign_rows(sorter))?;
        if order.len() >= u32::MAX as usize {
            return Err(Error::Internal(format!("more than 2^32 {entity}")));
        }
        Ok(Rows { order, by_id, redirects, tally })
    }

    fn assign_rows(&self, sorter: Sorter<Chosen>) -> io::Result<(Column, Column)> {
        let mut order = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        let mut ids = Sorter::new(&self.scratch, self.sorter_bytes());
        for (row, chosen) in sorter.finish()?.enumerate() {
            let chosen = chosen?;
            order.write_all(&chosen.segment.to_le_bytes())?;
            order.write_all(&chosen.key.to_le_bytes())?;
            let row = u32::try_from(row).map_err(io::Error::other)?;
            ids.push(IdRow { id: chosen.id, row })?;
        }
        let mut by_id = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        for pair in ids.finish()? {
            pair?.write(&mut by_id)?;
        }
        let column = |file: BufWriter<std::fs::File>, width| {
            let mut file = file.into_inner().map_err(|error| error.into_error())?;
            file.rewind()?;
            Column::new(file, width)
        };
        Ok((column(order, 8)?, column(by_id, 12)?))
    }

    /// Sums of outputs and citations by the outputs' primary topic.
    pub(crate) fn add_to_sums(sums: &mut Sums, key: &Key) {
        if key.group != NO_ID {
            let sum = sums.entry(key.group).or_default();
            let citations = count_of(key.rank).unwrap_or(0);
            *sum = add_up(*sum, (1, citations));
        }
    }
}

/// Whether a node of the taxonomy that outputs alone may name is named by one of those published.
fn is_named(key: &Key, mentioned: Option<&BTreeSet<u64>>) -> bool {
    key.origin != Origin::Mentioned || mentioned.is_none_or(|ids| ids.contains(&key.id))
}

/// Shows `visit` the copy of each record that stands, but for nodes that nothing published names.
pub(crate) fn each_winner(
    segments: &Segments<'_>,
    mentioned: Option<&BTreeSet<u64>>,
    mut visit: impl FnMut(&Key),
) -> Result<()> {
    let mut copies = Vec::new();
    let mut heap = Heap::new(segments)?;
    while heap.take_copies(segments, &mut copies)? {
        let winner = tally_copies(&copies, &mut Tally::default());
        if is_named(&winner.key, mentioned) {
            visit(&winner.key);
        }
    }
    Ok(())
}

/// Whether any record would stand on nothing but being named in an output's topics.
pub(crate) fn has_mentioned_alone(segments: &Segments<'_>) -> Result<bool> {
    let mut copies = Vec::new();
    let mut heap = Heap::new(segments)?;
    while heap.take_copies(segments, &mut copies)? {
        if copies.iter().all(|copy| copy.key.origin == Origin::Mentioned) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Every id of an entity, ascending.
pub(crate) fn ids(segments: &Segments<'_>) -> Result<Vec<u64>> {
    let (mut ids, mut copies) = (Vec::new(), Vec::new());
    let mut heap = Heap::new(segments)?;
    while heap.take_copies(segments, &mut copies)? {
        ids.extend(copies.first().map(|copy| copy.key.id));
    }
    Ok(ids)
}

/// The next key of each segment, least id first.
struct Heap(BinaryHeap<Reverse<(u64, u32, u32)>>);

impl Heap {
    fn new(segments: &Segments<'_>) -> Result<Heap> {
        let mut heap = BinaryHeap::with_capacity(segments.len());
        for (segment, keys) in segments.iter().enumerate() {
            if keys.count() > 0 {
                let key = keys.key(0).ok_or_else(broken)?;
                heap.push(Reverse((key.id, segment as u32, 0)));
            }
        }
        Ok(Heap(heap))
    }

    /// Takes every copy of the least id there is; false at the end.
    fn take_copies(&mut self, segments: &Segments<'_>, copies: &mut Vec<Copy>) -> Result<bool> {
        copies.clear();
        let Some(Reverse((id, ..))) = self.0.peek().copied() else { return Ok(false) };
        while let Some(mut top) = self.0.peek_mut().filter(|top| top.0.0 == id) {
            let Reverse((_, segment, index)) = *top;
            let keys = &segments[segment as usize];
            let key = keys.key(index as usize).ok_or_else(broken)?;
            copies.push(Copy { key, segment, index });
            if index as usize + 1 < keys.count() {
                let next = keys.key(index as usize + 1).ok_or_else(broken)?;
                *top = Reverse((next.id, segment, index + 1));
            } else {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        Ok(true)
    }
}

/// The copy that stands; the others are counted.
fn tally_copies(copies: &[Copy], tally: &mut Tally) -> Copy {
    let mut winner = copies[0];
    for copy in &copies[1..] {
        if copy.key.claim() > winner.key.claim() {
            winner = *copy;
        }
    }
    if copies.len() == 1 {
        return winner;
    }
    let is_winner = |copy: &Copy| (copy.segment, copy.index) == (winner.segment, winner.index);
    let mut lines = vec![winner.key.line_hash];
    for copy in copies.iter().filter(|copy| copy.key.origin.is_read() && !is_winner(copy)) {
        if lines.contains(&copy.key.line_hash) {
            tally.duplicates += 1;
            continue;
        }
        lines.push(copy.key.line_hash);
        tally.superseded += 1;
        let same_source = copy.key.origin == winner.key.origin;
        if same_source && copy.key.updated_micros == winner.key.updated_micros {
            tally.conflicts += 1;
        }
    }
    winner
}
