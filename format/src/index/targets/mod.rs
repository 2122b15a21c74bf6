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
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::error::ReadError;
use crate::storage::header::HEADER_BYTES;
use crate::storage::leb128;

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
pub struct TargetsFile {
    archive: Archive,
    records: usize,
    layouts: Vec<PathLayout>,
}

/// The records of one block, and their rows.
pub(crate) struct TargetBlock<'s> {
    /// The number of rows before each record, and of all.
    ends: [u32; BLOCK_RECORDS + 1],
    rows: &'s [u8],
    width: usize,
}

fn corrupt(detail: &'static str) -> ReadError {
    ReadError::corrupt("targets", detail)
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
        let offset = |at: usize| match at < self.records.div_ceil(BLOCK_RECORDS) {
            true => self.archive.u64_at(layout.to + at * 8),
            false => Ok(all_bytes),
        };
        let (from, to) = (offset(block)?, offset(block + 1)?);
        if from > to || to > all_bytes {
            return Err(corrupt("a block lies outside its path"));
        }
        let bytes = self.archive.bytes(layout.from + from as usize, layout.from + to as usize)?;
        let mut ends = [0; BLOCK_RECORDS + 1];
        let rows = match bytes.split_at_checked(records) {
            Some((lengths, rows)) if lengths.iter().all(|length| *length < 0x80) => {
                let mut end = 0;
                for (slot, length) in ends[1..].iter_mut().zip(lengths) {
                    end += u32::from(*length);
                    *slot = end;
                }
                rows
            }
            _ => long_lengths(bytes, &mut ends[..=records])?,
        };
        let all = ends[records];
        ends[records..].fill(all);
        if rows.len() != all as usize * layout.width {
            return Err(corrupt("a block does not have the length of its rows"));
        }
        Ok(TargetBlock { ends, rows, width: layout.width })
    }
}

/// Reads lengths of which some take several bytes; returns the bytes after them.
fn long_lengths<'b>(mut bytes: &'b [u8], ends: &mut [u32]) -> Result<&'b [u8], ReadError> {
    let mut end = 0u32;
    for slot in &mut ends[1..] {
        let length = leb128::take(&mut bytes).and_then(|length| u32::try_from(length).ok());
        end = length
            .and_then(|length| end.checked_add(length))
            .ok_or_else(|| corrupt("the lengths of a block are cut"))?;
        *slot = end;
    }
    Ok(bytes)
}

impl TargetBlock<'_> {
    /// The number of rows of a record, by its place in the block.
    pub fn count(&self, record: u32) -> u32 {
        let at = record as usize;
        self.ends[at + 1] - self.ends[at]
    }

    /// The records without rows, as bits; also those that do not exist.
    pub fn without_rows(&self) -> u64 {
        let ends = self.ends.windows(2).enumerate();
        ends.fold(0, |bits, (at, ends)| bits | u64::from(ends[0] == ends[1]) << at)
    }

    /// Calls `visit` with each row of the records whose bits are set, and with the record's place.
    #[inline]
    pub fn each(&self, records: u64, visit: impl FnMut(u32, u32)) {
        match self.width {
            1 => self.each_of_width::<1>(records, visit),
            2 => self.each_of_width::<2>(records, visit),
            3 => self.each_of_width::<3>(records, visit),
            _ => self.each_of_width::<4>(records, visit),
        }
    }

    #[inline]
    fn each_of_width<const W: usize>(&self, mut records: u64, mut visit: impl FnMut(u32, u32)) {
        let rows = self.rows.as_chunks::<W>().0;
        while records != 0 {
            let record = records.trailing_zeros();
            records &= records - 1;
            let (from, to) = (self.ends[record as usize], self.ends[record as usize + 1]);
            for row in &rows[from as usize..to as usize] {
                let mut bytes = [0; 4];
                bytes[..W].copy_from_slice(row);
                visit(record, u32::from_le_bytes(bytes));
            }
        }
    }
}
