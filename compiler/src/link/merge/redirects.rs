//! Redirects: ids merged into others, as chains that may form cycles.
//!
//! ```text
//! merges: A1 → A2 (May), A2 → A3 (June)        end(A1) = A3
//! A2 has a line of its own from July:           A2 stays, end(A1) = A2
//! A4 → A5, A5 → A4:                             a cycle, end(A4) = A4
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::storage::unnamed_file;

use crate::error::Result;
use crate::external_sort::{Sorter, Spill, read_array};
use crate::link::atomic_bitset::AtomicBitset;
use crate::link::column::{Column, KeyColumn};
use crate::link::context::{Linker, Segments};
use crate::link::merge::copies::each_winner;
use crate::object::{ListedId, Merge, Origin, RecordKey};

/// The merges of one entity, ascending by the merged id, the newest merge of each id.
pub(crate) struct Merges {
    rows: KeyColumn,
    /// Which merged ids stay, because a line of their own is newer than the merge.
    alive: AtomicBitset,
}

/// The merges of one entity, each with the end of its chain.
pub(crate) struct Redirects {
    merges: Merges,
    /// In the order of the merges: the id at the end of the chain. The merged id itself where it
    /// stays, or where its chain is or leads into a cycle.
    ends: Column,
}

impl Spill for Merge {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        ListedId::write(self, out)
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Merge>> {
        let bytes = read_array::<{ Merge::BYTES }>(input)?;
        Ok(bytes.and_then(|bytes| ListedId::read(&bytes)))
    }
}

impl Linker<'_> {
    /// Collects the merges of an entity from every object.
    pub(crate) fn merges(&self, entity: Entity) -> Result<Merges> {
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        for object in self.objects {
            let merges = object.merges_of(entity).flatten();
            for merge in merges.filter(|merge| merge.from != merge.to) {
                self.scratch_result(sorter.push(merge))?;
            }
        }
        let rows = self.scratch_result(self.write_merges(sorter))?;
        let alive = AtomicBitset::new(rows.len());
        Ok(Merges { rows, alive })
    }

    /// Finds the ends of all chains, once it is known which merged records stay.
    pub(crate) fn redirects(&self, merges: Merges) -> Result<Redirects> {
        let ends = unnamed_file(&self.scratch).and_then(|file| merges.write_ends(file));
        let ends = self.scratch_result(ends)?;
        Ok(Redirects { merges, ends })
    }

    fn write_merges(&self, sorter: Sorter<Merge>) -> io::Result<KeyColumn> {
        let mut file = BufWriter::new(unnamed_file(&self.scratch)?);
        let mut last: Option<Merge> = None;
        for row in sorter.finish()? {
            let row = row?;
            // The newest merge of an id comes last.
            if let Some(last) = last.filter(|last| last.from != row.from) {
                ListedId::write(&last, &mut file)?;
            }
            last = Some(row);
        }
        if let Some(last) = last {
            ListedId::write(&last, &mut file)?;
        }
        KeyColumn::map(file, Merge::BYTES, &self.scratch)
    }
}

impl Merges {
    fn get(&self, index: usize) -> Option<Merge> {
        ListedId::read(self.rows.get(index)?)
    }

    /// Finds which merged records stay, before their rows are merged. Ignores taxonomy nodes that are
    /// not in `named`, if given.
    pub(crate) fn settle(
        &self,
        segments: &Segments<'_>,
        named: Option<&BTreeSet<u64>>,
    ) -> Result<()> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        each_winner(segments, named, |key| _ = self.removes(key))
    }

    /// Whether a merge removes the record. Only a record with an object of its own ([`Origin::Own`])
    /// that is newer than the merge stays.
    pub(crate) fn removes(&self, key: &RecordKey) -> bool {
        let Some(index) = self.rows.find(key.id) else { return false };
        let Some(merge) = self.get(index) else { return false };
        if key.origin == Origin::Own && key.updated_micros > merge.micros {
            self.alive.insert(index);
            return false;
        }
        true
    }

    /// Writes the end of every chain. Looks each merge up at most three times, however long the chains
    /// are: once for chains of one merge, and twice more to follow a longer chain and to set its ends.
    fn write_ends(&self, file: File) -> io::Result<Column> {
        let rows = || (0..self.rows.len()).filter_map(|index| Some((index, self.get(index)?)));
        let mut file = BufWriter::new(file);
        for (index, row) in rows() {
            let end = match self.after(row) {
                _ if self.alive.contains(index) => row.from,
                Some(_) => NO_ID,
                None => row.to,
            };
            file.write_all(&end.to_le_bytes())?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let ends = Ends(&file);
        let mut written = BufReader::new(&file);
        for (index, row) in rows() {
            let end = read_array(&mut written)?.map(u64::from_le_bytes);
            // An earlier row of the same chain may have set the end after the buffer was filled.
            if end == Some(NO_ID) && ends.get(index)? == NO_ID {
                let end = self.follow(row, &ends)?;
                self.set_ends(index, end, &ends)?;
            }
        }
        Column::map(BufWriter::new(file), Ends::BYTES)
    }

    /// The next merge of a row's chain, and its index.
    fn after(&self, row: Merge) -> Option<(usize, Merge)> {
        let index = self.rows.find(row.to).filter(|index| !self.alive.contains(*index))?;
        Some((index, self.get(index)?))
    }

    /// Follows a chain to its end, or to a merge whose end is known. `None` for a cycle, which Brent's
    /// algorithm finds: the walk meets a row that it passed at some power of two.
    fn follow(&self, row: Merge, ends: &Ends<'_>) -> io::Result<Option<u64>> {
        let (mut at, mut passed) = (row, row.from);
        let (mut steps, mut power) = (0u64, 1);
        while let Some((index, next)) = self.after(at) {
            match ends.get(index)? {
                NO_ID if next.from == passed => return Ok(None),
                NO_ID => {}
                end => return Ok((end != next.from).then_some(end)),
            }
            steps += 1;
            if steps == power {
                (passed, steps, power) = (next.from, 0, power * 2);
            }
            at = next;
        }
        Ok(Some(at.to))
    }

    /// Sets the end of every row of a chain that has none, from the row at `start` on.
    fn set_ends(&self, start: usize, end: Option<u64>, ends: &Ends<'_>) -> io::Result<()> {
        let mut at = self.get(start).map(|row| (start, row));
        while let Some((index, row)) = at
            && ends.get(index)? == NO_ID
        {
            ends.set(index, end.unwrap_or(row.from))?;
            at = self.after(row);
        }
        Ok(())
    }
}

/// The ends of chains while they are found: a file of ids, [`NO_ID`] where the end is unknown.
struct Ends<'f>(&'f File);

impl Ends<'_> {
    const BYTES: usize = 8;

    fn get(&self, index: usize) -> io::Result<u64> {
        let mut bytes = [0; Ends::BYTES];
        self.0.read_exact_at(&mut bytes, (index * Ends::BYTES) as u64)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn set(&self, index: usize, end: u64) -> io::Result<()> {
        self.0.write_all_at(&end.to_le_bytes(), (index * Ends::BYTES) as u64)
    }
}

impl Redirects {
    /// The merges again, when more records may prove newer than their merge.
    pub(crate) fn into_merges(self) -> Merges {
        self.merges
    }

    /// Whether the id was merged and its record removed.
    pub(crate) fn has_removed(&self, id: u64) -> bool {
        self.merges.rows.find(id).is_some_and(|index| !self.merges.alive.contains(index))
    }

    /// The last id of the chain of merges. Returns the id itself if the id was not merged or the
    /// chain is a cycle.
    pub(crate) fn end(&self, id: u64) -> u64 {
        let index = self.merges.rows.find(id);
        index.and_then(|index| self.ends.u64(index)).unwrap_or(id)
    }

    /// Counts merged ids in a cycle, merged ids whose chain ends without a record, and merged ids
    /// that stay.
    pub(crate) fn count_oddities(&self, has_record: impl Fn(u64) -> bool) -> [u64; 3] {
        let alive = &self.merges.alive;
        let (mut cycles, mut missing) = (0, 0);
        let pairs = self.pairs().enumerate().filter(|(index, _)| !alive.contains(*index));
        for (_, (from, end)) in pairs {
            match end == from {
                true => cycles += 1,
                false => missing += u64::from(!has_record(end)),
            }
        }
        [cycles, missing, alive.count()]
    }

    /// Lists every merged id, ascending, with the end of its chain.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.pairs().filter(|(from, end)| from != end)
    }

    fn pairs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.ends.len())
            .filter_map(|index| Some((self.merges.rows.u64(index)?, self.ends.u64(index)?)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn redirects(pairs: impl IntoIterator<Item = (u64, u64)>, alive: &[u64]) -> Redirects {
        let directory = tempfile::tempdir().unwrap();
        let file = || unnamed_file(directory.path()).unwrap();
        let mut rows = BufWriter::new(file());
        for (from, to) in pairs {
            ListedId::write(&Merge { from, micros: 0, to }, &mut rows).unwrap();
        }
        let rows = KeyColumn::map(rows, Merge::BYTES, directory.path()).unwrap();
        let staying = AtomicBitset::new(rows.len());
        alive.iter().for_each(|id| _ = staying.insert(rows.find(*id).unwrap()));
        let merges = Merges { rows, alive: staying };
        let ends = merges.write_ends(file()).unwrap();
        Redirects { merges, ends }
    }

    #[test]
    fn a_chain_ends_at_the_first_id_that_is_not_merged_or_stays() {
        let merged = redirects([(1, 2), (2, 3), (3, 9), (4, 2), (7, 8)], &[]);
        assert_eq!([1, 2, 3, 4, 7, 8, 9, 5].map(|id| merged.end(id)), [9, 9, 9, 9, 8, 8, 9, 5]);
        let merged = redirects([(1, 2), (2, 3), (3, 9)], &[3]);
        assert_eq!([1, 2, 3].map(|id| merged.end(id)), [3, 3, 3]);
    }

    #[test]
    fn what_is_in_a_cycle_or_leads_into_one_ends_at_itself() {
        let merged = redirects([(1, 2), (2, 3), (3, 4), (4, 2), (5, 1), (6, 7)], &[]);
        assert_eq!([1, 2, 3, 4, 5, 6].map(|id| merged.end(id)), [1, 2, 3, 4, 5, 7]);
        assert_eq!(merged.count_oddities(|_| true), [5, 0, 0]);
        assert_eq!(merged.all().collect::<Vec<_>>(), [(6, 7)]);
    }

    /// Looking every chain up from its start would take 5 billion steps for each of these.
    #[test]
    fn a_chain_of_100_000_merges_is_followed_once() {
        const LENGTH: u64 = 100_000;
        let up = redirects((1..=LENGTH).map(|id| (id, id + 1)), &[]);
        assert!((1..=LENGTH).all(|id| up.end(id) == LENGTH + 1));
        let down = redirects((1..=LENGTH).map(|id| (id, id - 1)), &[]);
        assert!((1..=LENGTH).all(|id| down.end(id) == 0));
        let cycle = redirects((1..=LENGTH).map(|id| (id, id % LENGTH + 1)), &[]);
        assert!((1..=LENGTH).all(|id| cycle.end(id) == id));
    }
}
