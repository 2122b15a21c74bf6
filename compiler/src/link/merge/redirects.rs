//! Redirects: ids merged into others, as chains that may form cycles.
//!
//! ```text
//! merges: A1 → A2 (May), A2 → A3 (June)        end(A1) = A3
//! A2 has a line of its own from July:           A2 stays, end(A1) = A2
//! A4 → A5, A5 → A4:                             a cycle, end(A4) = A4
//! ```

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Read, Write},
};

use pinakes_format::entity::Entity;
use pinakes_format::storage::blobs::unnamed_file;

use crate::error::Result;
use crate::link::column::Column;
use crate::link::context::{Linker, Segments};
use crate::link::external_sort::{Sorter, Spill, read_array};
use crate::link::merge::copies::each_winner;
use crate::object::{Key, Origin};

/// The merges of one entity, ascending by the merged id, the newest merge of each id.
pub(crate) struct Redirects {
    merges: Column,
    /// Merged ids that stay, because a line of their own is newer than the merge.
    alive: BTreeSet<u64>,
}

/// Sorts by merged id, then by date.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MergeRow {
    from: u64,
    micros: i64,
    to: u64,
}

impl MergeRow {
    const BYTES: usize = 24;
}

impl Spill for MergeRow {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.from.to_le_bytes())?;
        out.write_all(&self.to.to_le_bytes())?;
        out.write_all(&self.micros.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<MergeRow>> {
        let Some(from) = read_array(input)? else { return Ok(None) };
        let Some(to) = read_array(input)? else { return Ok(None) };
        let Some(micros) = read_array(input)? else { return Ok(None) };
        Ok(Some(MergeRow {
            from: u64::from_le_bytes(from),
            to: u64::from_le_bytes(to),
            micros: i64::from_le_bytes(micros),
        }))
    }
}

impl Linker<'_> {
    /// Collects the merges of an entity from every object.
    pub(crate) fn redirects(&self, entity: Entity) -> Result<Redirects> {
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        for object in self.objects {
            let merges = object.merges().iter().filter(|merge| merge.entity == entity as u8);
            for merge in merges.filter(|merge| merge.from != merge.to) {
                let row = MergeRow { from: merge.from, micros: merge.micros, to: merge.to };
                self.scratch_result(sorter.push(row))?;
            }
        }
        let merges = self.scratch_result(self.write_redirects(sorter))?;
        Ok(Redirects { merges, alive: BTreeSet::new() })
    }

    fn write_redirects(&self, sorter: Sorter<MergeRow>) -> io::Result<Column> {
        let mut file = BufWriter::new(unnamed_file(&self.scratch)?);
        let mut last: Option<MergeRow> = None;
        for row in sorter.finish()? {
            let row = row?;
            // The newest merge of an id comes last.
            if let Some(last) = last.filter(|last| last.from != row.from) {
                last.write(&mut file)?;
            }
            last = Some(row);
        }
        if let Some(last) = last {
            last.write(&mut file)?;
        }
        Column::map(file, MergeRow::BYTES)
    }
}

impl Redirects {
    fn is_empty(&self) -> bool {
        self.merges.len() == 0
    }

    fn get(&self, index: usize) -> Option<MergeRow> {
        MergeRow::read(&mut self.merges.get(index)?).ok()?
    }

    fn find(&self, id: u64) -> Option<MergeRow> {
        self.get(self.merges.find(id)?)
    }

    /// Finds which merged records stay, before their rows are merged. Ignores taxonomy nodes that are
    /// not in `named`, if given.
    pub(crate) fn settle(
        &mut self,
        segments: &Segments<'_>,
        named: Option<&BTreeSet<u64>>,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        each_winner(segments, named, |key| _ = self.removes(key))
    }

    /// Whether a merge removes the record. Only a record with an object of its own ([`Origin::Own`])
    /// that is newer than the merge stays.
    pub(crate) fn removes(&mut self, key: &Key) -> bool {
        let Some(merge) = self.find(key.id) else { return false };
        if key.origin == Origin::Own && key.updated_micros > merge.micros {
            self.alive.insert(key.id);
            return false;
        }
        true
    }

    /// Whether the id was merged and its record removed.
    pub(crate) fn has_removed(&self, id: u64) -> bool {
        !self.alive.contains(&id) && self.merges.find(id).is_some()
    }

    fn next(&self, id: u64) -> Option<u64> {
        if self.is_empty() || self.alive.contains(&id) {
            return None;
        }
        self.find(id).map(|merge| merge.to)
    }

    /// Follows the chain of merges to its last id. Returns the id itself if the id was not merged or
    /// the chain is a cycle.
    pub(crate) fn end(&self, id: u64) -> u64 {
        let mut seen = vec![id];
        let mut at = id;
        while let Some(next) = self.next(at) {
            if seen.contains(&next) {
                return id;
            }
            seen.push(next);
            at = next;
        }
        at
    }

    /// Counts merged ids in a cycle, merged ids whose chain ends without a record, and merged ids
    /// that stay.
    pub(crate) fn count_oddities(&self, has_record: impl Fn(u64) -> bool) -> [u64; 3] {
        let (mut cycles, mut missing) = (0, 0);
        for from in (0..self.merges.len()).filter_map(|at| self.merges.u64(at)) {
            match self.end(from) {
                _ if self.alive.contains(&from) => {}
                end if end == from => cycles += 1,
                end => missing += u64::from(!has_record(end)),
            }
        }
        [cycles, missing, self.alive.len() as u64]
    }

    /// Lists every merged id, ascending, with the end of its chain.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.merges.len())
            .filter_map(|at| self.merges.u64(at))
            .map(|from| (from, self.end(from)))
            .filter(|(from, to)| from != to)
    }
}
