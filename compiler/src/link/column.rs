//! Columns of fixed-width values, written once to an unnamed scratch file and then memory-mapped.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
};

use pinakes_format::storage::mmap::Map;

use crate::external_sort::{Spill, read_array};

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
        let (mut low, mut high) = (0, self.len());
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

impl Spill for IdRow {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.row.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<IdRow>> {
        let Some(id) = read_array(input)? else { return Ok(None) };
        let Some(row) = read_array(input)? else { return Ok(None) };
        Ok(Some(IdRow { id: u64::from_le_bytes(id), row: u32::from_le_bytes(row) }))
    }
}

/// A map from ids to rows: pairs on disk, ascending by id.
pub(crate) struct IdRows(Column);

impl IdRows {
    /// Maps a file of [`IdRow`] values, ascending by id.
    pub(crate) fn map(file: BufWriter<File>) -> io::Result<IdRows> {
        Ok(IdRows(Column::map(file, IdRow::BYTES)?))
    }

    /// The row of an id. Costs log2(ids) reads.
    pub(crate) fn row_of(&self, id: u64) -> Option<u32> {
        self.get(self.0.find(id)?).map(|pair| pair.row)
    }

    /// Looks ids up that ascend.
    pub(crate) fn cursor(&self) -> IdCursor<'_> {
        IdCursor { pairs: self.0.map.as_chunks().0, at: 0, last: 0 }
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

/// Looks up the rows of ids. Ascending ids cost log2 of their distance each, and read neighbouring pairs.
pub(crate) struct IdCursor<'a> {
    pairs: &'a [[u8; IdRow::BYTES]],
    /// The index of the last id, or of the first pair after the id.
    at: usize,
    last: u64,
}

impl IdCursor<'_> {
    /// The row of an id. An id below the last one starts the search again.
    pub(crate) fn row_of(&mut self, id: u64) -> Option<u32> {
        if id < self.last {
            self.at = 0;
        }
        self.last = id;
        // The pairs from `at` to before `end` may have the id: `end` doubles its distance until it is beyond.
        let rest = &self.pairs[self.at..];
        let mut end = 1;
        while end < rest.len() && IdRow::decode(&rest[end - 1]).id < id {
            end *= 2;
        }
        let from = end / 2;
        let within = &rest[from..end.min(rest.len())];
        self.at += from + within.partition_point(|pair| IdRow::decode(pair).id < id);
        let found = self.pairs.get(self.at).map(IdRow::decode)?;
        (found.id == id).then_some(found.row)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_finds_the_rows_of_ids_in_any_order() {
        for count in [0, 1, 2, 3, 100] {
            let mut file = BufWriter::new(tempfile::tempfile().unwrap());
            (0..count)
                .for_each(|row| IdRow { id: u64::from(row) * 3, row }.write(&mut file).unwrap());
            let by_id = IdRows::map(file).unwrap();
            let expected = |id: u64| {
                (id < u64::from(count) * 3 && id.is_multiple_of(3)).then_some(id as u32 / 3)
            };
            for step in [1, 2, 7, 290] {
                let mut cursor = by_id.cursor();
                for id in (0..310).step_by(step).chain([u64::MAX, 9, 3, 297]) {
                    assert_eq!(cursor.row_of(id), expected(id), "{id} of {count}");
                    assert_eq!(cursor.row_of(id), expected(id), "{id} of {count} again");
                }
            }
        }
    }
}
