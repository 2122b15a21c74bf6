//! Row → id and id → row of one entity, and where merged ids went.
//!
//! ```text
//! ids:        header | id of each row: rows × u64 | ids ascending: published × u64 | their rows: published × u32
//! redirects:  header | merged ids ascending: rows × u64 | the ids they live in: rows × u64
//! ```
//!
//! Rows from `published` on are strays: spellings of records that are referred to and missing,
//! ascending by (id, name). A stray without an id has [`NO_ID`](crate::entity::NO_ID).

use std::{
    io::{self, Write},
    path::Path,
};

use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::blobs::Spool;
use crate::storage::error::ReadError;
use crate::storage::file_writer::{FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};

/// Writes an `ids` or a `redirects` file: one column, then pairs as two columns.
pub struct ColumnsWriter {
    file: FileWriter,
    seconds: Spool,
}

impl ColumnsWriter {
    /// Creates `path` with its header.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path, header: Header) -> io::Result<ColumnsWriter> {
        let mut file = FileWriter::create(path)?;
        file.write_all(&header.encode())?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Ok(ColumnsWriter { file, seconds: Spool::new(directory) })
    }

    /// Appends to the first column.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn push(&mut self, value: u64) -> io::Result<()> {
        self.file.write_all(&value.to_le_bytes())
    }

    /// Appends a pair to the two columns after it.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn push_pair(&mut self, first: u64, second: &[u8]) -> io::Result<()> {
        self.file.write_all(&first.to_le_bytes())?;
        self.seconds.write_all(second)
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self) -> io::Result<Written> {
        self.seconds.move_to(&mut self.file)?;
        self.file.finish()
    }
}

/// A mapped `ids` file.
pub struct Ids {
    archive: Archive,
    published: usize,
    rows: usize,
}

impl Ids {
    /// # Errors
    ///
    /// Where the file is not as long as its counts call for.
    pub fn open(archive: Archive) -> Result<Ids, ArchiveError> {
        let Header { published, rows, .. } = archive.header();
        archive.expect_length(HEADER_BYTES as u64 + rows * 8 + published * 12)?;
        // Both fit: their columns are mapped.
        Ok(Ids { archive, published: published as usize, rows: rows as usize })
    }

    /// The archive beneath.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Rows with a record.
    pub fn published(&self) -> usize {
        self.published
    }

    /// All rows, strays included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The id of a row.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or its bytes are damaged.
    #[inline]
    pub fn id(&self, row: usize) -> Result<u64, ReadError> {
        if row >= self.rows {
            return Err(ReadError::Row { table: "ids", row: row as u64, rows: self.rows as u64 });
        }
        self.archive.u64_at(HEADER_BYTES + row * 8)
    }

    /// The row of the record at a place among the published ids, ascending.
    ///
    /// # Errors
    ///
    /// Where there is no such place or row, or the bytes are damaged.
    #[inline]
    pub fn row_at(&self, rank: usize) -> Result<u32, ReadError> {
        if rank >= self.published {
            return Err(self.beyond(rank as u64));
        }
        let from = HEADER_BYTES + self.rows * 8 + self.published * 8 + rank * 4;
        let row = self.archive.u32_at(from)?;
        if (row as usize) < self.published { Ok(row) } else { Err(self.beyond(u64::from(row))) }
    }

    /// The rows at places among the published ids, ascending, as `u32` each.
    ///
    /// # Errors
    ///
    /// Where there are no such places, or the bytes are damaged.
    pub fn rows_at(&self, ranks: std::ops::Range<usize>) -> Result<&[u8], ReadError> {
        if ranks.end > self.published || ranks.start > ranks.end {
            return Err(self.beyond(ranks.end as u64));
        }
        let base = HEADER_BYTES + self.rows * 8 + self.published * 8;
        self.archive.bytes(base + ranks.start * 4, base + ranks.end * 4)
    }

    fn beyond(&self, row: u64) -> ReadError {
        ReadError::Row { table: "ids", row, rows: self.published as u64 }
    }

    /// The rows of the strays with this id, one a spelling of its name.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(strays) reads.
    pub fn unresolved_rows(&self, id: u64) -> Result<std::ops::Range<u32>, ReadError> {
        let base = HEADER_BYTES + self.published * 8;
        let count = self.rows - self.published;
        let bound = |id| self.archive.lower_bound(base, count, id);
        let place = |at: usize| (self.published + at) as u32;
        Ok(place(bound(id)?)..place(bound(id.saturating_add(1))?))
    }

    /// The row of the record with this id.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(published) reads.
    pub fn row(&self, id: u64) -> Result<Option<u32>, ReadError> {
        let base = HEADER_BYTES + self.rows * 8;
        let at = self.archive.lower_bound(base, self.published, id)?;
        if at == self.published || self.archive.u64_at(base + at * 8)? != id {
            return Ok(None);
        }
        self.row_at(at).map(Some)
    }
}

/// A mapped `redirects` file.
pub struct Redirects {
    archive: Archive,
    count: usize,
}

impl Redirects {
    /// # Errors
    ///
    /// Where the file is not as long as its count calls for.
    pub fn open(archive: Archive) -> Result<Redirects, ArchiveError> {
        let count = archive.header().rows;
        archive.expect_length(HEADER_BYTES as u64 + count * 16)?;
        // It fits: its columns are mapped.
        Ok(Redirects { archive, count: count as usize })
    }

    /// The archive beneath.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// How many ids were merged into others.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The merged id at a place, ascending, and the id it lives in.
    ///
    /// # Errors
    ///
    /// Where there is no such place, or the bytes are damaged.
    pub fn pair(&self, at: usize) -> Result<(u64, u64), ReadError> {
        if at >= self.count {
            let (row, rows) = (at as u64, self.count as u64);
            return Err(ReadError::Row { table: "redirects", row, rows });
        }
        let from = self.archive.u64_at(HEADER_BYTES + at * 8)?;
        Ok((from, self.archive.u64_at(HEADER_BYTES + (self.count + at) * 8)?))
    }

    /// The id that `id` was merged into, at the end of its chain.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(count) reads.
    pub fn target(&self, id: u64) -> Result<Option<u64>, ReadError> {
        let at = self.archive.lower_bound(HEADER_BYTES, self.count, id)?;
        if at == self.count || self.archive.u64_at(HEADER_BYTES + at * 8)? != id {
            return Ok(None);
        }
        self.archive.u64_at(HEADER_BYTES + (self.count + at) * 8).map(Some)
    }
}
