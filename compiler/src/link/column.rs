//! Columns of fixed-width values, written once to an unnamed scratch file and then memory-mapped.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
};

use pinakes_format::storage::mmap::Map;

use crate::link::external_sort::{Spill, read_array};

/// Values of one width in a mapped file.
pub(crate) struct Column {
    map: Map,
    width: usize,
}

impl Column {
    /// Flushes the file and maps it as values of `width` bytes.
    pub(crate) fn map(file: BufWriter<File>, width: usize) -> io::Result<Column> {
        let file = file.into_inner().map_err(|error| error.into_error())?;
        Ok(Column { map: Map::open(&file)?, width })
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len() / self.width
    }

    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        let from = index.checked_mul(self.width)?;
        self.map.get(from..from.checked_add(self.width)?)
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

    /// The index of the first pair at or after `from` whose id is at least `id`. Costs log2 of the
    /// distance reads, so ascending ids cost little each.
    pub(crate) fn seek(&self, from: usize, id: u64) -> usize {
        let is_before = |index: usize| self.0.u64(index).is_some_and(|other| other < id);
        let (mut low, mut step) = (from, 1);
        while is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step - 1).min(self.0.len()).max(low);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Looks ids up that ascend.
    pub(crate) fn cursor(&self) -> IdCursor<'_> {
        IdCursor { by_id: self, at: 0, last: 0 }
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.0.find(id).is_some()
    }

    /// Every pair, ascending by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = IdRow> + '_ {
        (0..self.0.len()).filter_map(|index| self.get(index))
    }

    pub(crate) fn get(&self, index: usize) -> Option<IdRow> {
        let (id, row) = self.0.get(index)?.split_first_chunk()?;
        let row = u32::from_le_bytes(row.try_into().ok()?);
        Some(IdRow { id: u64::from_le_bytes(*id), row })
    }
}

/// Looks up the rows of ids. Ascending ids cost log2 of their distance each, and read neighbouring pairs.
pub(crate) struct IdCursor<'a> {
    by_id: &'a IdRows,
    /// The index of the last id, or of the first pair after the id.
    at: usize,
    last: u64,
}

impl IdCursor<'_> {
    /// The row of an id. An id below the last one starts the search again.
    pub(crate) fn row_of(&mut self, id: u64) -> Option<u32> {
        let from = if id < self.last { 0 } else { self.at };
        self.at = self.by_id.seek(from, id);
        self.last = id;
        self.by_id.get(self.at).filter(|found| found.id == id).map(|found| found.row)
    }
}
