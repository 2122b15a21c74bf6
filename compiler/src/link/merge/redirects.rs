//! Ids merged into others: chains, cycles, and records that outlived their merge.

use std::{
    collections::BTreeSet,
    io::{BufWriter, Read, Seek, Write},
};

use pinakes_format::entity::Entity;
use pinakes_format::storage::blobs::unnamed_file;

use crate::error::Result;
use crate::link::external_sort::{Sorter, Spill, read_array};
use crate::link::merge::each_winner;
use crate::link::{Column, Linker, Segments};
use crate::object::{Key, Origin};

/// The merges of one entity: from, to and date, ascending by from, the newest of each.
pub(crate) struct Redirects {
    rows: Column,
    /// Ids whose record is newer than their merge, and so stays.
    alive: BTreeSet<u64>,
}

const ROW_BYTES: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MergeRow {
    from: u64,
    micros: i64,
    to: u64,
}

impl Spill for MergeRow {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(&self.from.to_le_bytes())?;
        out.write_all(&self.to.to_le_bytes())?;
        out.write_all(&self.micros.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> std::io::Result<Option<MergeRow>> {
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
    /// Gathers the merges of an entity.
    pub(crate) fn redirects(&self, entity: Entity) -> Result<Redirects> {
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        for object in self.objects {
            let merges = object.merges().iter().filter(|merge| merge.entity == entity as u8);
            for merge in merges.filter(|merge| merge.from != merge.to) {
                let row = MergeRow { from: merge.from, micros: merge.micros, to: merge.to };
                self.spilled(sorter.push(row))?;
            }
        }
        let rows = self.spilled(self.write_redirects(sorter))?;
        Ok(Redirects { rows, alive: BTreeSet::new() })
    }

    fn write_redirects(&self, sorter: Sorter<MergeRow>) -> std::io::Result<Column> {
        let mut file = BufWriter::new(unnamed_file(&self.scratch)?);
        let mut last: Option<MergeRow> = None;
        for row in sorter.finish()? {
            let row = row?;
            // Rows of one id come oldest first, so the last of them stands.
            if let Some(last) = last.filter(|last| last.from != row.from) {
                last.write(&mut file)?;
            }
            last = Some(row);
        }
        if let Some(last) = last {
            last.write(&mut file)?;
        }
        let mut file = file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        Column::new(file, ROW_BYTES)
    }
}

impl Redirects {
    fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// Finds which records of an entity outlive their merge, but for nodes of the taxonomy that nothing
    /// published names.
    pub(crate) fn settle(
        &mut self,
        segments: &Segments<'_>,
        named: Option<&BTreeSet<u64>>,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        each_winner(segments, named, |key| _ = self.takes(key))
    }

    /// Whether a record is gone; one with a line of its own that is newer than its merge is kept. What
    /// only others name is as old as can be, whenever they do.
    pub(crate) fn takes(&mut self, key: &Key) -> bool {
        let Some(at) = self.rows.find(key.id) else { return false };
        let merged = self.rows.get(at).and_then(|row| row.get(16..24)?.try_into().ok());
        let merged_micros = merged.map_or(i64::MAX, i64::from_le_bytes);
        if key.origin == Origin::Own && key.updated_micros > merged_micros {
            self.alive.insert(key.id);
            return false;
        }
        true
    }

    /// Whether a record was merged and did not outlive it.
    pub(crate) fn has_taken(&self, id: u64) -> bool {
        !self.alive.contains(&id) && self.rows.find(id).is_some()
    }

    fn next(&self, id: u64) -> Option<u64> {
        if self.is_empty() || self.alive.contains(&id) {
            return None;
        }
        let row = self.rows.get(self.rows.find(id)?)?;
        row.get(8..16)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// The id at the end of the chain; the id itself where it was not merged or runs in a circle.
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

    /// How many merged ids run in a circle, how many lead to no record, and how many have a record
    /// newer than their merge, which stays.
    pub(crate) fn oddities(&self, is_there: impl Fn(u64) -> bool) -> [u64; 3] {
        let (mut cycles, mut missing) = (0, 0);
        for from in (0..self.rows.len()).filter_map(|at| self.rows.u64(at)) {
            match self.end(from) {
                _ if self.alive.contains(&from) => {}
                end if end == from => cycles += 1,
                end => missing += u64::from(!is_there(end)),
            }
        }
        [cycles, missing, self.alive.len() as u64]
    }

    /// Every merged id and the end of its chain, ascending.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.rows.len())
            .filter_map(|at| self.rows.u64(at))
            .map(|from| (from, self.end(from)))
            .filter(|(from, to)| from != to)
    }
}
