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
    fs::File,
    io::{self, BufWriter, Seek, Write},
    path::Path,
};

use crate::{
    archive::{Archive, ArchiveError},
    blobs::unnamed_file,
    file::{FileWriter, HEADER_BYTES, Header, Written},
    render::RenderError,
};

/// Writes an `ids` or a `redirects` file: one column, then pairs as two columns.
pub struct ColumnsWriter {
    file: FileWriter,
    seconds: BufWriter<File>,
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
        let seconds = BufWriter::with_capacity(1 << 16, unnamed_file(directory)?);
        Ok(ColumnsWriter { file, seconds })
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
        let mut seconds = self.seconds.into_inner().map_err(|error| error.into_error())?;
        seconds.rewind()?;
        io::copy(&mut io::BufReader::with_capacity(1 << 18, seconds), &mut self.file)?;
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
    pub fn id(&self, row: usize) -> Result<u64, RenderError> {
        if row >= self.rows {
            return Err(RenderError::Row { table: "ids", row: row as u64, rows: self.rows as u64 });
        }
        self.archive.u64_at(HEADER_BYTES + row * 8)
    }

    /// The row of the record with this id.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(published) reads.
    pub fn row(&self, id: u64) -> Result<Option<u32>, RenderError> {
        let base = HEADER_BYTES + self.rows * 8;
        let at = self.archive.lower_bound(base, self.published, id)?;
        if at == self.published || self.archive.u64_at(base + at * 8)? != id {
            return Ok(None);
        }
        let row = self.archive.u32_at(base + self.published * 8 + at * 4)?;
        if row as usize >= self.published {
            return Err(RenderError::Row {
                table: "ids",
                row: u64::from(row),
                rows: self.published as u64,
            });
        }
        Ok(Some(row))
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

    /// How many ids were merged into others.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The id that `id` was merged into, at the end of its chain.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(count) reads.
    pub fn target(&self, id: u64) -> Result<Option<u64>, RenderError> {
        let at = self.archive.lower_bound(HEADER_BYTES, self.count, id)?;
        if at == self.count || self.archive.u64_at(HEADER_BYTES + at * 8)? != id {
            return Ok(None);
        }
        self.archive.u64_at(HEADER_BYTES + (self.count + at) * 8).map(Some)
    }
}
