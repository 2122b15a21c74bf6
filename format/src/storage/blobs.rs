//! A table of byte strings in row order: records, names and codes.
//!
//! ```text
//! header | prefix | blob 0 | blob 1 | … | offsets: count + 1 × u64
//! ```
//!
//! Offsets count from the start of the file. The top bit of a blob's offset marks the blob as null.

use std::fs::File;
use std::io;
use std::io::{BufWriter, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use blake3::hazmat::ChainingValue;
use tempfile::{SpooledTempFile, spooled_tempfile_in};

use crate::storage::archive::{Archive, ArchiveError, InArchive};
use crate::storage::error::ReadError;
use crate::storage::file_writer::{Chunks, FileWriter, Written};
use crate::storage::header::{HEADER_BYTES, Header};
use crate::storage::mmap::Map;

const NULL: u64 = 1 << 63;
/// The size of a spool's memory, and of its write buffer.
const SPOOLED_BYTES: usize = 1 << 16;

/// Writes a table of blobs. Keeps the offsets in a [`Spool`] until the last blob is written.
pub struct BlobsWriter {
    file: FileWriter,
    offsets: Spool,
}

impl BlobsWriter {
    /// Creates a file that starts with a header and a prefix of fixed size.
    pub fn create(path: &Path, header: Header, prefix: &[u8]) -> io::Result<BlobsWriter> {
        let (mut file, directory) = FileWriter::create_archive(path, header)?;
        file.write_all(prefix)?;
        Ok(BlobsWriter { file, offsets: Spool::new(directory) })
    }

    /// Appends a blob.
    pub fn push(&mut self, blob: Option<&[u8]>) -> io::Result<()> {
        let mark = if blob.is_none() { NULL } else { 0 };
        let offset = self.file.position_bytes() | mark;
        self.offsets.write_all(&offset.to_le_bytes())?;
        self.file.write_all(blob.unwrap_or_default())
    }

    /// Appends the adjacent blobs in `bytes`, given their lengths. `hash` is that of [`FileWriter::write_hashed`].
    pub fn push_all(
        &mut self,
        bytes: &[u8],
        lengths: &[u32],
        hash: impl FnOnce(Vec<Chunks<'_>>) -> Vec<Vec<ChainingValue>>,
    ) -> io::Result<()> {
        let mut offset = self.file.position_bytes();
        for length in lengths {
            self.offsets.write_all(&offset.to_le_bytes())?;
            offset += u64::from(*length);
        }
        self.file.write_hashed(bytes, hash)
    }

    /// Appends the offsets and finishes the file.
    pub fn finish(mut self) -> io::Result<Written> {
        self.offsets.write_all(&self.file.position_bytes().to_le_bytes())?;
        self.offsets.move_to(&mut self.file)?;
        self.file.finish()
    }
}

/// Bytes of a later section of a file, kept aside while the earlier sections are written.
///
/// Keeps up to 64 KiB in memory and more in an unnamed file. Most spools stay small, and creating
/// many short-lived files is slow on common file systems.
pub struct Spool {
    directory: PathBuf,
    file: BufWriter<SpooledTempFile>,
    position: usize,
}

/// The bytes of a spool, positioned at their start.
pub type Spooled = SpooledTempFile;

impl Spool {
    /// An empty spool, with its unnamed file in `directory`.
    pub fn new(directory: &Path) -> Spool {
        Spool { directory: directory.to_path_buf(), file: fresh(directory), position: 0 }
    }

    /// The number of bytes in the spool, which is the offset of the next byte.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Moves all bytes to the end of `out`; the spool is empty afterwards.
    pub fn move_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.position = 0;
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        io::copy(&mut io::BufReader::with_capacity(1 << 18, &mut *file), out)?;
        file.set_len(0)?;
        file.rewind()
    }

    /// Returns all bytes; the spool is empty afterwards.
    pub fn take(&mut self) -> io::Result<Spooled> {
        self.position = 0;
        let file = std::mem::replace(&mut self.file, fresh(&self.directory));
        let mut file = file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        Ok(file)
    }

    /// Returns all bytes as a map; the spool is empty afterwards.
    pub fn take_map(&mut self) -> io::Result<Map> {
        Map::open(&self.take()?.into_file()?)
    }
}

fn fresh(directory: &Path) -> BufWriter<SpooledTempFile> {
    BufWriter::with_capacity(SPOOLED_BYTES, spooled_tempfile_in(SPOOLED_BYTES, directory))
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.position += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Creates an unnamed file in `directory`. The system removes the file with its last handle.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    tempfile::tempfile_in(directory)
}

/// A mapped table of blobs.
#[derive(Clone)]
pub struct Blobs {
    archive: Archive,
    count: usize,
    first: u64,
    offsets_from: usize,
}

impl InArchive for Blobs {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl Blobs {
    /// Opens a table of `count` blobs after a prefix.
    ///
    /// # Errors
    ///
    /// Where the file is too short for the offsets.
    pub fn open(archive: Archive, count: u64, prefix_bytes: usize) -> Result<Blobs, ArchiveError> {
        let first = (HEADER_BYTES + prefix_bytes) as u64;
        let length = archive.len() as u64;
        let offsets_bytes = count.saturating_add(1).saturating_mul(8);
        let expected = first.saturating_add(offsets_bytes);
        if length < expected {
            return Err(ArchiveError::Length { expected, found: length });
        }
        // Both casts fit: the numbers are at most the length of a mapped file.
        let offsets_from = (length - offsets_bytes) as usize;
        Ok(Blobs { archive, count: count as usize, first, offsets_from })
    }

    /// The archive with the table.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    fn file_name(&self) -> &'static str {
        self.archive.header().kind.file_name()
    }

    /// The number of blobs, null blobs included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The blob at an index; `None` where the blob is null.
    ///
    /// # Errors
    ///
    /// Where the index is too large, or the bytes or offsets are damaged.
    #[inline]
    pub fn get(&self, index: usize) -> Result<Option<&[u8]>, ReadError> {
        let Some(range) = self.range(index)? else { return Ok(None) };
        self.archive.bytes(range.start, range.end).map(Some)
    }

    /// The size of the blob at an index, 0 where the blob is null. Does not read the blob.
    pub fn size_bytes(&self, index: usize) -> Result<usize, ReadError> {
        Ok(self.range(index)?.map_or(0, |range| range.len()))
    }

    /// Whether the blob at an index and its offsets are verified, and so were read from disk once.
    pub(crate) fn is_verified(&self, index: usize) -> Result<bool, ReadError> {
        if !self.archive.is_verified(self.offsets_at(index)) {
            return Ok(false);
        }
        Ok(self.range(index)?.is_none_or(|range| self.archive.is_verified(range)))
    }

    /// Starts to read the offsets of the blob at an index from disk.
    pub(crate) fn fetch_offsets(&self, index: usize) {
        let Range { start, end } = self.offsets_at(index);
        self.archive.fetch(start, end);
    }

    /// Starts to read the blob at an index from disk; returns its size.
    pub(crate) fn fetch(&self, index: usize) -> Result<usize, ReadError> {
        let Some(range) = self.range(index)? else { return Ok(0) };
        self.archive.fetch(range.start, range.end);
        Ok(range.len())
    }

    /// Where the two offsets of a blob are; possibly beyond the end of the file.
    fn offsets_at(&self, index: usize) -> Range<usize> {
        let from = self.offsets_from.saturating_add(index.saturating_mul(8));
        from..from.saturating_add(16)
    }

    #[inline]
    fn range(&self, index: usize) -> Result<Option<Range<usize>>, ReadError> {
        if index >= self.count {
            return Err(ReadError::Row {
                table: self.file_name(),
                row: index as u64,
                rows: self.count as u64,
            });
        }
        let at = self.offsets_from + index * 8;
        let number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let [from, to] = self.archive.bytes(at, at + 16)?.as_chunks().0 else {
            return Err(ReadError::Internal("two offsets have another size"));
        };
        let (from, to) = (number(from), number(to) & !NULL);
        if from & NULL != 0 {
            return Ok(None);
        }
        if from < self.first || from > to || to > self.offsets_from as u64 {
            return Err(ReadError::corrupt(self.file_name(), "an offset lies outside the table"));
        }
        Ok(Some(from as usize..to as usize))
    }

    /// The blob at an index as a text.
    ///
    /// # Errors
    ///
    /// As [`Blobs::get`], and where the blob is not UTF-8.
    #[inline]
    pub fn text(&self, index: usize) -> Result<Option<&str>, ReadError> {
        let blob = self.get(index)?;
        blob.map(|bytes| {
            std::str::from_utf8(bytes)
                .map_err(|_| ReadError::corrupt(self.file_name(), "a text is not UTF-8"))
        })
        .transpose()
    }
}
