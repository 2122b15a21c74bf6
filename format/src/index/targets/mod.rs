//! Record → the rows of another entity that the record refers to, for each path that groups by these rows.
//!
//! ```text
//! header | blocks of each path, then their offsets… | directory: three numbers for each path
//! block:     for each of 64 records, the number of its rows: LEB128 | the rows: width bytes each
//! offsets:   where each block begins, from the first block on
//! directory: where the offsets begin | the width of a row, 1 to 4 | the number of rows in all blocks
//! ```
//!
//! The posting lists of the same path answer which records refer to a row; these lists answer which rows
//! a record refers to, so that the groups of few records are counted without a look at all terms. Rows
//! without an id are left out, and of the rows that share an id the first stands for all:
//!
//! ```text
//! authors     row 0: A1    row 1: A5, "J. Swift"    row 2: A5, "Jonathan Swift"    row 3: no id
//! output 0 refers to 0, 2, 3      targets [0, 1]
//! ```
//!
//! Cost of 64 records: two reads.

mod verify;
mod write;

use crate::index::bitset::CHUNK_ROWS;
use crate::storage::{Archive, ArchiveError, HEADER_BYTES, InArchive, ReadError, leb128};

pub use crate::index::targets::write::TargetsWriter;

/// Records in a block: the bits of a word of a bitmap.
pub const BLOCK_RECORDS: usize = 64;
/// Blocks of a chunk of records.
pub(crate) const CHUNK_BLOCKS: u32 = (CHUNK_ROWS / BLOCK_RECORDS) as u32;
/// Numbers of each path in the directory.
const DIRECTORY_FIELDS: usize = 3;

/// The bytes that hold every row below `rows`.
pub(crate) fn row_width(rows: u32) -> usize {
    (1..4).find(|width| u64::from(rows) <= 1 << (8 * width)).unwrap_or(4)
}

/// Position of the blocks of one path.
#[derive(Clone, Copy)]
struct PathLayout {
    from: usize,
    /// The end of the blocks; their offsets follow.
    to: usize,
    width: usize,
    rows: u64,
}

/// A mapped `targets` file. Methods take the number of a path, as `schema::keys` counts them.
#[derive(Clone)]
pub struct TargetsFile {
    archive: Archive,
    records: usize,
    layouts: Vec<PathLayout>,
}

/// The records of one block, and their rows.
pub(crate) struct TargetBlock<'s> {
    lengths: Lengths<'s>,
    rows: &'s [u8],
    width: usize,
}

/// The number of rows of each record of a block.
enum Lengths<'s> {
    /// Numbers below 128, which take a byte each.
    Bytes(&'s [u8]),
    Numbers(Vec<u32>),
}

fn corrupt(detail: &'static str) -> ReadError {
    ReadError::corrupt("targets", detail)
}

impl InArchive for TargetsFile {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl TargetsFile {
    /// Opens a file that must hold this number of paths.
    ///
    /// # Errors
    ///
    /// Fails if the directory is damaged or describes other paths.
    pub fn open(archive: Archive, paths: usize) -> Result<TargetsFile, ArchiveError> {
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let directory_bytes = paths * DIRECTORY_FIELDS * 8;
        let directory = archive.len().checked_sub(directory_bytes);
        let directory = directory.filter(|from| *from >= HEADER_BYTES);
        let directory = directory.ok_or_else(|| refused(HEADER_BYTES + directory_bytes))?;
        // A header states at most u32::MAX records.
        let records = archive.header().published as usize;
        let offsets_bytes = records.div_ceil(BLOCK_RECORDS) * 8;
        let (mut layouts, mut from) = (Vec::with_capacity(paths), HEADER_BYTES);
        for path in 0..paths {
            let field =
                |at: usize| archive.number_at(directory + (path * DIRECTORY_FIELDS + at) * 8);
            let layout =
                PathLayout { from, to: field(0)?, width: field(1)?, rows: field(2)? as u64 };
            let end = layout.to.checked_add(offsets_bytes);
            let end = end.filter(|end| from <= layout.to && *end <= directory);
            if !(1..=4).contains(&layout.width) || end.is_none() {
                return Err(refused(end.unwrap_or(usize::MAX)));
            }
            from = layout.to + offsets_bytes;
            layouts.push(layout);
        }
        if from != directory {
            return Err(refused(from + directory_bytes));
        }
        Ok(TargetsFile { archive, records, layouts })
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    fn layout(&self, path: usize) -> Result<PathLayout, ReadError> {
        self.layouts
            .get(path)
            .copied()
            .ok_or_else(|| corrupt("the file has no path of this number"))
    }

    /// The number of rows of all records.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such path.
    pub fn rows(&self, path: usize) -> Result<u64, ReadError> {
        Ok(self.layout(path)?.rows)
    }

    /// The size of a path, in bytes.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such path.
    pub fn bytes(&self, path: usize) -> Result<u64, ReadError> {
        let layout = self.layout(path)?;
        Ok((layout.to - layout.from + self.records.div_ceil(BLOCK_RECORDS) * 8) as u64)
    }

    /// Calls `visit` with the rows of each record, record by record, until `visit` returns false.
    pub fn each_record(
        &self,
        path: usize,
        mut visit: impl FnMut(&[u32]) -> bool,
    ) -> Result<(), ReadError> {
        let mut rows = Vec::new();
        for block in 0..self.records.div_ceil(BLOCK_RECORDS) {
            let records = (self.records - block * BLOCK_RECORDS).min(BLOCK_RECORDS) as u32;
            // A file has fewer blocks than u32 has numbers: each is of 64 records.
            let found = self.block(path, block as u32)?;
            let (mut at, mut wants_more) = (0, true);
            let mut visit_until = |record: u32, rows: &mut Vec<u32>| {
                while at < record && wants_more {
                    wants_more = visit(rows);
                    rows.clear();
                    at += 1;
                }
                wants_more
            };
            found.each(u64::MAX, |record, row| {
                visit_until(record, &mut rows);
                rows.extend(row);
            });
            if !visit_until(records, &mut rows) {
                break;
            }
        }
        Ok(())
    }

    /// Reads a block. Cost: two reads, and the lengths of 64 records.
    ///
    /// # Errors
    ///
    /// Fails if there is no such block, or the bytes are damaged.
    pub(crate) fn block(&self, path: usize, block: u32) -> Result<TargetBlock<'_>, ReadError> {
        let layout = self.layout(path)?;
        let block = block as usize;
        let records = self.records.saturating_sub(block * BLOCK_RECORDS).min(BLOCK_RECORDS);
        if records == 0 {
            return Err(corrupt("the file has no block of this number"));
        }
        let all_bytes = (layout.to - layout.from) as u64;
        // The offsets follow the rows of the path, and the last block ends with the rows.
        let offset = |at: usize| match at < self.records.div_ceil(BLOCK_RECORDS) {
            true => self.archive.u64_at(layout.to + at * 8),
            false => Ok(all_bytes),
        };
        let (from, to) = (offset(block)?, offset(block + 1)?);
        if from > to || to > all_bytes {
            return Err(corrupt("a block lies outside its path"));
        }
        let bytes = self.archive.bytes(layout.from + from as usize, layout.from + to as usize)?;
        // Nearly all records have fewer than 128 rows, so their lengths are a byte each and are read in place.
        let (lengths, rows) = match bytes.split_at_checked(records) {
            Some((lengths, rows)) if lengths.iter().all(|length| *length < 0x80) => {
                (Lengths::Bytes(lengths), rows)
            }
            _ => long_lengths(bytes, records)?,
        };
        let all: u64 = match &lengths {
            Lengths::Bytes(lengths) => lengths.iter().map(|length| u64::from(*length)).sum(),
            Lengths::Numbers(lengths) => lengths.iter().map(|length| u64::from(*length)).sum(),
        };
        if rows.len() as u64 != all * layout.width as u64 {
            return Err(corrupt("a block does not have the length of its rows"));
        }
        Ok(TargetBlock { lengths, rows, width: layout.width })
    }
}

/// Reads lengths of which some take several bytes, and returns the bytes after them.
fn long_lengths(mut bytes: &[u8], records: usize) -> Result<(Lengths<'_>, &[u8]), ReadError> {
    let mut lengths = Vec::with_capacity(records);
    for _ in 0..records {
        let length = leb128::take(&mut bytes).and_then(|length| u32::try_from(length).ok());
        lengths.push(length.ok_or_else(|| corrupt("the lengths of a block are cut"))?);
    }
    Ok((Lengths::Numbers(lengths), bytes))
}

impl TargetBlock<'_> {
    /// Calls `visit` with each record whose bit is set, by its place, and each of its rows; with `None`
    /// if it has no rows.
    #[inline]
    pub fn each(&self, records: u64, visit: impl FnMut(u32, Option<u32>)) {
        match &self.lengths {
            Lengths::Bytes(lengths) => {
                self.each_of(lengths.iter().map(|length| u32::from(*length)), records, visit);
            }
            Lengths::Numbers(lengths) => self.each_of(lengths.iter().copied(), records, visit),
        }
    }

    #[inline]
    fn each_of(
        &self,
        lengths: impl Iterator<Item = u32>,
        records: u64,
        visit: impl FnMut(u32, Option<u32>),
    ) {
        match self.width {
            1 => self.each_of_width::<1>(lengths, records, visit),
            2 => self.each_of_width::<2>(lengths, records, visit),
            3 => self.each_of_width::<3>(lengths, records, visit),
            _ => self.each_of_width::<4>(lengths, records, visit),
        }
    }

    #[inline]
    fn each_of_width<const W: usize>(
        &self,
        lengths: impl Iterator<Item = u32>,
        records: u64,
        mut visit: impl FnMut(u32, Option<u32>),
    ) {
        let mut rows = self.rows.as_chunks::<W>().0;
        for (record, length) in (0..).zip(lengths) {
            // `block` checked that the block has as many rows as the lengths say.
            let Some((of_record, others)) = rows.split_at_checked(length as usize) else { return };
            rows = others;
            if records >> record & 1 == 0 {
                continue;
            }
            if of_record.is_empty() {
                visit(record, None);
            }
            for row in of_record {
                let mut bytes = [0; 4];
                bytes[..W].copy_from_slice(row);
                visit(record, Some(u32::from_le_bytes(bytes)));
            }
        }
    }
}
