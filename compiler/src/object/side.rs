//! The rows of a side table in an object: what each gives, and the keys it is joined by, sorted.
//!
//! ```text
//! values | entry: key u64 | row u32 | value_bytes u32 | value_from u64 | vintage i64 | hash, 16 bytes
//! ```
//!
//! A row has an entry for each of its keys, and one with [`NO_KEY`] where it has none. Rows are
//! numbered from 0 within their segment.

use std::io::{self, Write};

use crate::object::segment::SEGMENT_BYTES;
use crate::object::side_table::SideTable;

/// Bytes of an entry.
const ENTRY_BYTES: usize = 48;
/// Stands where a row has nothing to be joined by.
pub const NO_KEY: u64 = u64::MAX;

/// A key of a row, and where the row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SideEntry {
    /// What the row is joined by, or [`NO_KEY`].
    pub key: u64,
    /// The row's number in its segment.
    pub row: u32,
    /// Bytes of what it gives.
    value_bytes: u32,
    /// Where that begins in the segment.
    value_from: u64,
    /// When it was true; `i64::MIN` where it does not say.
    pub vintage: i64,
    /// The first 16 bytes of the BLAKE3 hash of the row.
    pub hash: [u8; 16],
}

/// Rows being gathered.
pub struct SideBuilder {
    table: SideTable,
    values: Vec<u8>,
    entries: Vec<SideEntry>,
    rows: u32,
}

/// What a written segment of rows consists of.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SideShape {
    /// The discriminant of its table.
    pub table: u8,
    /// Where it begins in the object.
    pub from: u64,
    /// Rows.
    pub rows: u32,
    /// Bytes of their values.
    pub values_bytes: u64,
    /// Entries.
    pub entries: u64,
}

impl SideBuilder {
    /// An empty segment.
    pub fn new(table: SideTable) -> SideBuilder {
        SideBuilder { table, values: Vec::new(), entries: Vec::new(), rows: 0 }
    }

    /// Whether it is time to write it.
    pub fn is_full(&self) -> bool {
        self.values.len() + self.entries.len() * size_of::<SideEntry>() >= SEGMENT_BYTES
    }

    /// Takes a row: its keys, when it was true, its hash, and what it gives.
    pub fn push(&mut self, keys: &[u64], vintage: Option<i64>, hash: [u8; 16], value: &[u8]) {
        let value_from = self.values.len() as u64;
        let entry = |key| SideEntry {
            key,
            row: self.rows,
            // A value is made of a row, and a row is limited by the longest line.
            value_bytes: value.len() as u32,
            value_from,
            vintage: vintage.unwrap_or(i64::MIN),
            hash,
        };
        match keys {
            [] => self.entries.push(entry(NO_KEY)),
            keys => self.entries.extend(keys.iter().copied().map(entry)),
        }
        self.values.extend_from_slice(value);
        self.rows += 1;
    }

    /// Writes the segment at position `from` of its object, and empties it.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn write(&mut self, from: u64, out: &mut impl Write) -> io::Result<SideShape> {
        out.write_all(&self.values)?;
        self.entries.sort_unstable();
        for entry in &self.entries {
            out.write_all(&entry.encode())?;
        }
        let shape = SideShape {
            table: self.table as u8,
            from,
            rows: self.rows,
            values_bytes: self.values.len() as u64,
            entries: self.entries.len() as u64,
        };
        *self = SideBuilder::new(self.table);
        Ok(shape)
    }
}

impl SideEntry {
    fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let mut at = 0;
        for field in [
            &self.key.to_le_bytes()[..],
            &self.row.to_le_bytes(),
            &self.value_bytes.to_le_bytes(),
            &self.value_from.to_le_bytes(),
            &self.vintage.to_le_bytes(),
            &self.hash,
        ] {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<SideEntry> {
        let (key, rest) = bytes.split_first_chunk()?;
        let (row, rest) = rest.split_first_chunk()?;
        let (value_bytes, rest) = rest.split_first_chunk()?;
        let (value_from, rest) = rest.split_first_chunk()?;
        let (vintage, rest) = rest.split_first_chunk()?;
        Some(SideEntry {
            key: u64::from_le_bytes(*key),
            row: u32::from_le_bytes(*row),
            value_bytes: u32::from_le_bytes(*value_bytes),
            value_from: u64::from_le_bytes(*value_from),
            vintage: i64::from_le_bytes(*vintage),
            hash: rest.try_into().ok()?,
        })
    }
}

/// A written segment of rows.
#[derive(Clone, Copy)]
pub struct SideSegment<'a> {
    /// Rows.
    pub rows: u32,
    values: &'a [u8],
    entries: &'a [u8],
}

impl<'a> SideSegment<'a> {
    /// Reads the segment of a given shape; `None` where the bytes are too few.
    pub fn read(object: &'a [u8], shape: &SideShape) -> Option<SideSegment<'a>> {
        SideTable::from_index(shape.table)?;
        let bytes = object.get(usize::try_from(shape.from).ok()?..)?;
        let (values, rest) = bytes.split_at_checked(usize::try_from(shape.values_bytes).ok()?)?;
        let entries_bytes = usize::try_from(shape.entries).ok()?.checked_mul(ENTRY_BYTES)?;
        Some(SideSegment { rows: shape.rows, values, entries: rest.get(..entries_bytes)? })
    }

    /// How many entries it has.
    pub fn count(&self) -> usize {
        self.entries.len() / ENTRY_BYTES
    }

    /// The entry at `index`, ascending by key.
    pub fn entry(&self, index: usize) -> Option<SideEntry> {
        let from = index.checked_mul(ENTRY_BYTES)?;
        SideEntry::decode(self.entries.get(from..from.checked_add(ENTRY_BYTES)?)?)
    }

    /// What the row of an entry gives.
    pub fn value(&self, entry: &SideEntry) -> Option<&'a [u8]> {
        let from = usize::try_from(entry.value_from).ok()?;
        self.values.get(from..from.checked_add(entry.value_bytes as usize)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_by_their_keys() {
        let mut builder = SideBuilder::new(SideTable::Jcr);
        builder.push(&[9, 3], Some(2), [1; 16], b"first");
        builder.push(&[], None, [2; 16], b"");
        builder.push(&[3], Some(1), [3; 16], b"third");
        let mut object = vec![0; 7];
        let shape = builder.write(7, &mut object).unwrap();
        let segment = SideSegment::read(&object, &shape).unwrap();
        let read: Vec<(u64, u32, i64, &[u8])> = (0..segment.count())
            .filter_map(|at| segment.entry(at))
            .map(|entry| (entry.key, entry.row, entry.vintage, segment.value(&entry).unwrap()))
            .collect();
        let expected: [(u64, u32, i64, &[u8]); 4] = [
            (3, 0, 2, b"first"),
            (3, 2, 1, b"third"),
            (9, 0, 2, b"first"),
            (NO_KEY, 1, i64::MIN, b""),
        ];
        assert_eq!(read, expected);
        assert_eq!((segment.rows, segment.entry(4)), (3, None));
        object.pop();
        assert!(SideSegment::read(&object, &shape).is_none());
    }
}
