//! The rows of one side table by join key, and which rows belong to a published record.

use crate::error::Result;
use crate::external_sort::{Sorter, Spill, spill_numbers};
use crate::link::atomic_bitset::AtomicBitset;
use crate::link::column::Column;
use crate::link::context::{Linker, inconsistent_object};
use crate::object::side::{NO_KEY, SideSegment};

/// A key of a row, and the position of its entry. Sorts by key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeyPosition {
    key: u64,
    segment: u32,
    entry: u32,
}

impl KeyPosition {
    const BYTES: usize = 16;
}

spill_numbers!(KeyPosition { key: u64, segment: u32, entry: u32 });

/// The rows of one side table, by join key.
pub(crate) struct SideRows<'o> {
    pub segments: Vec<SideSegment<'o>>,
    /// Positions, ascending by key.
    positions: Column,
    /// For each segment, the number of its first row among the rows of all segments.
    first_rows: Vec<usize>,
    /// One bit for each row: whether a record has joined the row.
    joined: AtomicBitset,
}

impl<'o> SideRows<'o> {
    pub fn count(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.rows)).sum()
    }

    pub fn joined_count(&self) -> u64 {
        self.joined.count()
    }

    fn position(&self, index: usize) -> Option<KeyPosition> {
        KeyPosition::read(&mut self.positions.get(index)?).ok()?
    }

    /// Joins the rows that have one of `keys` and returns the distinct encoded values of the newest
    /// rows.
    ///
    /// All joined rows count as joined. Values come with the greatest row hash first, so that the
    /// result is the same for any order of the inputs.
    pub fn join(&self, keys: &[u64]) -> Result<Vec<&'o [u8]>> {
        let mut found = Vec::new();
        for key in keys.iter().filter(|key| **key != NO_KEY) {
            let Some(from) = self.positions.find(*key) else { continue };
            for index in from..self.positions.len() {
                let position = self.position(index).ok_or_else(inconsistent_object)?;
                if position.key != *key {
                    break;
                }
                let segment = self.segments.get(position.segment as usize);
                let segment = segment.ok_or_else(inconsistent_object)?;
                let entry = segment.entry(position.entry as usize);
                let entry = entry.ok_or_else(inconsistent_object)?;
                let row = self.first_rows[position.segment as usize] + entry.row as usize;
                self.joined.insert(row);
                let value = segment.value(&entry).ok_or_else(inconsistent_object)?;
                found.push((entry.vintage, entry.hash, value));
            }
        }
        let newest = found.iter().map(|(vintage, ..)| *vintage).max();
        found.retain(|(vintage, ..)| Some(*vintage) == newest);
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        Ok(found.into_iter().map(|(.., value)| value).collect())
    }
}

impl<'o> Linker<'o> {
    /// Sorts the keys of a table's rows.
    pub(crate) fn side_rows(&self, segments: Vec<SideSegment<'o>>) -> Result<SideRows<'o>> {
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        let mut first_rows = Vec::new();
        let mut count = 0;
        for (number, segment) in (0u32..).zip(&segments) {
            first_rows.push(count);
            count += segment.rows as usize;
            for at in 0..segment.count() {
                let key = segment.entry(at).ok_or_else(inconsistent_object)?.key;
                let entry = u32::try_from(at).map_err(|_| inconsistent_object())?;
                let position = KeyPosition { key, segment: number, entry };
                self.scratch_result(sorter.push(position))?;
            }
        }
        let positions = sorter.write_sorted();
        let positions = positions.and_then(|file| Column::map(file, KeyPosition::BYTES));
        let positions = self.scratch_result(positions)?;
        let joined = AtomicBitset::new(count);
        Ok(SideRows { segments, positions, first_rows, joined })
    }
}
