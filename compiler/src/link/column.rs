//! Columns of fixed-width values, written once to an unnamed scratch file and then memory-mapped.
//!
//! Ascending keys are found through a table of the places where ranges of keys begin. A binary search waits for memory
//! at each of its steps, and takes more steps the more keys there are:
//!
//! ```text
//! keys 3 7 8 | 17 30 | 33     ranges of 16 keys from 3 on begin at 0 3 5, and end at 6
//! find(30): range (30 - 3) / 16 = 1, so between places 3 and 5
//! ```

use std::fs::File;
use std::io;
use std::io::{BufWriter, Write};
use std::ops::{Deref, Range};
use std::path::Path;

use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::unnamed_file;

use crate::external_sort::spill_numbers;

/// Values of one width in a mapped file.
pub(crate) struct Column {
    map: Map,
    width: usize,
    length: usize,
}

impl Column {
    /// Flushes the file and maps it as values of `width` bytes.
    pub(crate) fn map(file: BufWriter<File>, width: usize) -> io::Result<Column> {
        let file = file.into_inner().map_err(|error| error.into_error())?;
        let map = Map::open(&file)?;
        Ok(Column { length: map.len() / width, map, width })
    }

    /// From now on, lets the system read only the pages that are asked for: the values are read in random order.
    pub(crate) fn read_by_page(&self) {
        self.map.read_by_page();
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        let from = index.checked_mul(self.width)?;
        self.map.get(from..from.checked_add(self.width)?)
    }

    /// The values, if they have `W` bytes.
    pub(crate) fn chunks<const W: usize>(&self) -> &[[u8; W]] {
        if W == self.width { self.map.as_chunks().0 } else { &[] }
    }

    /// Reads the first four bytes of a value as a little-endian number.
    pub(crate) fn u32(&self, index: usize) -> Option<u32> {
        self.get(index)?.get(..4)?.try_into().ok().map(u32::from_le_bytes)
    }

    /// Reads the first eight bytes of a value as a little-endian number.
    pub(crate) fn u64(&self, index: usize) -> Option<u64> {
        self.get(index)?.get(..8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// Binary-searches ascending values for the first one that starts with the number `key`.
    pub(crate) fn find(&self, key: u64) -> Option<usize> {
        self.find_in(0..self.len(), key)
    }

    /// Binary-searches a range of the values.
    fn find_in(&self, range: Range<usize>, key: u64) -> Option<usize> {
        let Range { start: mut low, end: mut high } = range;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.u64(middle)? < key { low = middle + 1 } else { high = middle }
        }
        (self.u64(low) == Some(key)).then_some(low)
    }
}

/// An id and its row. Sorts by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IdRow {
    pub id: u64,
    pub row: u32,
}

impl IdRow {
    /// Bytes of a pair on disk.
    pub(crate) const BYTES: usize = 12;

    fn decode(pair: &[u8; IdRow::BYTES]) -> IdRow {
        let [id @ .., a, b, c, d] = *pair;
        IdRow { id: u64::from_le_bytes(id), row: u32::from_le_bytes([a, b, c, d]) }
    }
}

spill_numbers!(IdRow { id: u64, row: u32 });

/// The least average number of values in a range of [`KeyColumn`]. At most twice as many have their range's bounds
/// and the values within in a few lines of the processor's cache.
const RANGE_VALUES: usize = 4;

/// Values that start with ascending keys of eight bytes. A lookup costs the same however many there are, if the keys are
/// spread evenly; else at most log2(values) steps.
pub(crate) struct KeyColumn {
    values: Column,
    first: u64,
    /// A range has 2 to the power of this many keys.
    shift: u32,
    /// The place where each range begins, and the end of the last.
    starts: Column,
}

impl KeyColumn {
    /// Flushes the file and maps it as values of `width` bytes. Reads them once.
    pub(crate) fn map(
        file: BufWriter<File>,
        width: usize,
        scratch: &Path,
    ) -> io::Result<KeyColumn> {
        let values = Column::map(file, width)?;
        let count = values.len();
        let first = values.u64(0).unwrap_or(0);
        let span = count.checked_sub(1).and_then(|last| values.u64(last)).unwrap_or(0) - first;
        let ranges_max = (count / RANGE_VALUES).max(1) as u64;
        let shift = (0..u64::BITS - 1).find(|shift| span >> shift < ranges_max);
        let shift = shift.unwrap_or(u64::BITS - 1);
        let mut starts = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
        let mut begun = 0;
        for at in 0..count {
            let range = (values.u64(at).unwrap_or(first) - first) >> shift;
            while begun <= range {
                write_place(at, &mut starts)?;
                begun += 1;
            }
        }
        write_place(count, &mut starts)?;
        Ok(KeyColumn { values, first, shift, starts: Column::map(starts, size_of::<u32>())? })
    }

    /// The first value with a key.
    pub(crate) fn find(&self, key: u64) -> Option<usize> {
        self.values.find_in(self.range(key)?, key)
    }

    /// The places that may have a key.
    fn range(&self, key: u64) -> Option<Range<usize>> {
        let range = usize::try_from(key.checked_sub(self.first)? >> self.shift).ok()?;
        Some(self.starts.u32(range)? as usize..self.starts.u32(range + 1)? as usize)
    }
}

impl Deref for KeyColumn {
    type Target = Column;

    fn deref(&self) -> &Column {
        &self.values
    }
}

fn write_place(at: usize, starts: &mut impl Write) -> io::Result<()> {
    starts.write_all(&u32::try_from(at).map_err(io::Error::other)?.to_le_bytes())
}

/// Ids that are looked up together.
const LOOKUPS: usize = 32;

/// A map from ids to rows: pairs on disk, ascending by id.
pub(crate) struct IdRows(KeyColumn);

impl IdRows {
    /// Maps a file of [`IdRow`] values, ascending by id.
    pub(crate) fn map(file: BufWriter<File>, scratch: &Path) -> io::Result<IdRows> {
        Ok(IdRows(KeyColumn::map(file, IdRow::BYTES, scratch)?))
    }

    pub(crate) fn row_of(&self, id: u64) -> Option<u32> {
        self.get(self.0.find(id)?).map(|pair| pair.row)
    }

    /// Looks up ids and calls `found` with the mark of each id that has a row. Looks up [`LOOKUPS`] at a time: the
    /// processor waits for the memory of all of them at once.
    pub(crate) fn each_row(&self, ids: &[(u64, u32)], mut found: impl FnMut(u32, u32)) {
        for group in ids.chunks(LOOKUPS) {
            let mut ranges = [const { 0..0 }; LOOKUPS];
            for (range, (id, _)) in ranges.iter_mut().zip(group) {
                *range = self.0.range(*id).unwrap_or_default();
            }
            let firsts = ranges.iter().map(|range| self.0.u64(range.start).unwrap_or(0));
            std::hint::black_box(firsts.fold(0, |sum, first| sum ^ first));
            for (range, (id, mark)) in ranges.into_iter().zip(group) {
                let pair = self.0.find_in(range, *id).and_then(|at| self.get(at));
                if let Some(IdRow { row, .. }) = pair {
                    found(*mark, row);
                }
            }
        }
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.0.find(id).is_some()
    }

    /// Every pair, ascending by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = IdRow> + '_ {
        (0..self.0.len()).filter_map(|index| self.get(index))
    }

    pub(crate) fn get(&self, index: usize) -> Option<IdRow> {
        self.0.get(index)?.try_into().ok().map(IdRow::decode)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::external_sort::Spill;

    #[test]
    fn the_row_of_an_id_is_found_however_the_ids_are_spread() {
        let spread: [fn(u64) -> u64; 4] = [
            |at| at * 3,
            |at| at * at * at,
            |at| 1_000_000 + at / 3 * 3,
            // All ids but one are in the first of the ranges.
            |at| if at == 99 { u64::MAX } else { at },
        ];
        let directory = tempfile::tempdir().unwrap();
        for (id_of, count) in
            spread.into_iter().flat_map(|of| [0, 1, 2, 3, 100].map(|count| (of, count)))
        {
            let mut file = BufWriter::new(tempfile::tempfile().unwrap());
            let pairs: Vec<IdRow> =
                (0..count).map(|row| IdRow { id: id_of(row.into()), row }).collect();
            pairs.iter().for_each(|pair| pair.write(&mut file).unwrap());
            let by_id = IdRows::map(file, directory.path()).unwrap();
            let ids = pairs
                .iter()
                .flat_map(|pair| [pair.id.wrapping_sub(1), pair.id, pair.id.wrapping_add(1)]);
            let ids: Vec<(u64, u32)> = ids.chain([0, u64::MAX, 301]).zip(0..).collect();
            let expected = |id| pairs.iter().find(|pair| pair.id == id).map(|pair| pair.row);
            let mut together = Vec::new();
            by_id.each_row(&ids, |mark, row| together.push((mark, row)));
            for (id, mark) in &ids {
                assert_eq!(by_id.row_of(*id), expected(*id), "{id} of {count}");
                let at = together.iter().find(|found| found.0 == *mark);
                assert_eq!(at.map(|found| found.1), expected(*id), "{id} of {count}, together");
            }
        }
    }
}
