//! Side segments: the rows of a side table, their values and their join keys.
//!
//! ```text
//! values | entry: key u64 | row u32 | value_bytes u32 | value_from u64 | vintage i64 | hash, 16 bytes
//! ```
//!
//! Entries ascend by key. A row has one entry for each of its keys, or one with [`NO_KEY`]. Rows are
//! numbered from 0 in their segment.

use std::io::{self, Write};

use crate::object::segment::SEGMENT_BYTES;

const ENTRY_BYTES: usize = 48;
/// The key of a row without join keys.
pub const NO_KEY: u64 = u64::MAX;

/// A key of a row, and the position of the row's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SideEntry {
    /// A join key, or [`NO_KEY`].
    pub key: u64,
    /// The row's number in its segment.
    pub row: u32,
    value_bytes: u32,
    /// The offset of the value in the segment.
    value_from: u64,
    /// The date of the row's facts, as a number that orders by time; `i64::MIN` if unknown.
    pub vintage: i64,
    /// The first 16 bytes of the BLAKE3 hash of the row.
    pub hash: [u8; 16],
}

/// A side segment that takes rows.
pub struct SideBuilder {
    table: String,
    values: Vec<u8>,
    entries: Vec<SideEntry>,
    rows: u32,
}

/// The position and sizes of a written side segment.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SideShape {
    /// The name of the table.
    pub table: String,
    /// The offset of the segment in the object.
    pub from: u64,
    pub rows: u32,
    pub values_bytes: u64,
    pub entries: u64,
}

impl SideBuilder {
    pub fn new(table: &str) -> SideBuilder {
        SideBuilder { table: table.to_owned(), values: Vec::new(), entries: Vec::new(), rows: 0 }
    }

    /// Whether the segment has reached [`SEGMENT_BYTES`].
    pub fn is_full(&self) -> bool {
        self.values.len() + self.entries.len() * size_of::<SideEntry>() >= SEGMENT_BYTES
    }

    /// Appends a row.
    pub fn push(&mut self, keys: &[u64], vintage: Option<i64>, hash: [u8; 16], value: &[u8]) {
        let value_from = self.values.len() as u64;
        let entry = |key| SideEntry {
            key,
            row: self.rows,
            // A value comes from one row, and a row has at most 1 GiB.
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

    /// Writes the segment at offset `from` of its object, and empties the builder.
    pub fn write(&mut self, from: u64, out: &mut impl Write) -> io::Result<SideShape> {
        out.write_all(&self.values)?;
        self.entries.sort_unstable();
        for entry in &self.entries {
            out.write_all(&entry.encode())?;
        }
        let shape = SideShape {
            table: self.table.clone(),
            from,
            rows: self.rows,
            values_bytes: self.values.len() as u64,
            entries: self.entries.len() as u64,
        };
        *self = SideBuilder::new(&self.table);
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

/// A written side segment.
#[derive(Clone, Copy)]
pub struct SideSegment<'a> {
    pub rows: u32,
    values: &'a [u8],
    entries: &'a [u8],
}

impl<'a> SideSegment<'a> {
    /// Reads a segment of an object; `None` if the object is too short.
    pub fn read(object: &'a [u8], shape: &SideShape) -> Option<SideSegment<'a>> {
        let bytes = object.get(usize::try_from(shape.from).ok()?..)?;
        let (values, rest) = bytes.split_at_checked(usize::try_from(shape.values_bytes).ok()?)?;
        let entries_bytes = usize::try_from(shape.entries).ok()?.checked_mul(ENTRY_BYTES)?;
        Some(SideSegment { rows: shape.rows, values, entries: rest.get(..entries_bytes)? })
    }

    /// The number of entries.
    pub fn count(&self) -> usize {
        self.entries.len() / ENTRY_BYTES
    }

    /// The entry at `index`; entries ascend by key.
    pub fn entry(&self, index: usize) -> Option<SideEntry> {
        let from = index.checked_mul(ENTRY_BYTES)?;
        SideEntry::decode(self.entries.get(from..from.checked_add(ENTRY_BYTES)?)?)
    }

    /// The encoded value of an entry's row.
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
    fn a_side_segment_returns_rows_ascending_by_key() {
        let mut builder = SideBuilder::new("jcr");
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
