//! An archive: a file of a snapshot with a header, whose bytes are verified at their first touch.
//!
//! A thread that serves many clients must not wait for one client's read from disk. The thread reads through a
//! twin of the archive ([`InArchive::memory_only`]). The twin shares the mapped file, and a read of bytes that are
//! not in memory fails with [`ReadError::WouldWait`].

use std::{ops::Range, sync::Arc};

use crate::entity::Entity;
use crate::storage::error::{Damage, ReadError};
use crate::storage::header::{FileKind, HEADER_BYTES, Header, HeaderError};
use crate::storage::integrity::{Verifier, chunk_range, chunks_of};
use crate::storage::mmap::Map;

/// A handle of a mapped archive with a decoded header.
#[derive(Clone)]
pub struct Archive {
    file: Arc<ArchiveFile>,
    header: Header,
    /// Whether a read of bytes that are not in memory fails.
    is_memory_only: bool,
}

/// A mapped file, shared by the handles of its archive.
struct ArchiveFile {
    map: Map,
    hashes: Arc<Map>,
    verifier: Verifier,
}

/// A structure that is read through one archive.
pub(crate) trait InArchive: Clone {
    /// The structure's handle of its archive.
    fn archive_mut(&mut self) -> &mut Archive;

    /// A twin of the structure whose reads fail where they would wait for the disk.
    fn memory_only(&self) -> Self {
        let mut twin = self.clone();
        twin.archive_mut().is_memory_only = true;
        twin
    }
}

/// Why an archive could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The chunk with the header is damaged.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The header belongs to another archive, format or program.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The file is shorter or longer than its header requires.
    #[error("{found} bytes, expected {expected} by its header; rebuild the snapshot")]
    Length {
        /// The size by the header's counts, in bytes.
        expected: u64,
        /// The size of the file, in bytes.
        found: u64,
    },
}

impl Archive {
    /// Opens an archive: verifies and decodes its header.
    ///
    /// # Errors
    ///
    /// Where the header is damaged, or is not that of `kind`, `entity` and `schema_hash`.
    pub fn open(
        map: Map,
        hashes: Arc<Map>,
        verifier: Verifier,
        kind: FileKind,
        entity: Option<Entity>,
        schema_hash: u64,
    ) -> Result<Archive, ArchiveError> {
        verifier.verify_top(&hashes)?;
        let head = verifier.check(&map, &hashes, 0, map.len().min(HEADER_BYTES))?;
        let header = Header::decode(head, kind, entity, schema_hash)?;
        let file = Arc::new(ArchiveFile { map, hashes, verifier });
        Ok(Archive { file, header, is_memory_only: false })
    }

    /// The decoded header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The size of the file in bytes, header included.
    pub fn len(&self) -> usize {
        self.file.map.len()
    }

    /// Whether the file has no bytes; false for every archive, because of its header.
    pub fn is_empty(&self) -> bool {
        self.file.map.is_empty()
    }

    /// The number of chunks, and the number of verified chunks. Reads one word for each 64 chunks.
    pub fn progress(&self) -> (u64, u64) {
        self.file.verifier.progress()
    }

    /// The file, by the manifest's path.
    pub fn file(&self) -> &str {
        self.file.verifier.file()
    }

    /// The map of the file, with bytes that may not be verified.
    pub(crate) fn map(&self) -> &Map {
        &self.file.map
    }

    /// Marks every chunk as not verified.
    pub(crate) fn forget(&self) {
        self.file.verifier.forget();
    }

    /// Checks the exact size of the file.
    pub(crate) fn expect_length(&self, expected: u64) -> Result<(), ArchiveError> {
        let found = self.len() as u64;
        if found == expected { Ok(()) } else { Err(ArchiveError::Length { expected, found }) }
    }

    /// Verifies and returns the bytes of a range.
    ///
    /// # Errors
    ///
    /// [`ReadError::Damage`] where a chunk does not have its hash; [`ReadError::Corrupt`] where the
    /// range lies outside the file; [`ReadError::WouldWait`] where a twin for reads from memory would wait for the
    /// disk.
    #[inline]
    pub fn bytes(&self, from: usize, to: usize) -> Result<&[u8], ReadError> {
        let file = &*self.file;
        if from > to || to > file.map.len() {
            return Err(ReadError::corrupt(
                self.header.kind.file_name(),
                "a byte range lies outside the file",
            ));
        }
        if self.is_memory_only || !file.verifier.is_verified(from, to) {
            return self.read_or_refuse(from, to);
        }
        Ok(&file.map[from..to])
    }

    /// Reads bytes that may have to be read from disk or verified; the range lies within the file.
    #[cold]
    fn read_or_refuse(&self, from: usize, to: usize) -> Result<&[u8], ReadError> {
        let ArchiveFile { map, hashes, verifier } = &*self.file;
        let is_verified = verifier.is_verified(from, to);
        if self.is_memory_only && !(is_verified && map.is_in_memory(from..to)) {
            return Err(ReadError::WouldWait);
        }
        if !is_verified {
            self.fetch(from, to);
            verifier.runs_of(from, to).for_each(|run| hashes.fetch(run));
        }
        Ok(verifier.check(map, hashes, from, to)?)
    }

    /// Whether every chunk of a range is verified; false of a range that leaves the file.
    pub(crate) fn is_verified(&self, range: Range<usize>) -> bool {
        range.end <= self.len() && self.file.verifier.is_verified(range.start, range.end)
    }

    /// Starts to read a range from disk, as one request: with the whole of its first and last chunk
    /// where these are not verified yet.
    pub(crate) fn fetch(&self, from: usize, to: usize) {
        let ArchiveFile { map, verifier, .. } = &*self.file;
        let to = to.min(map.len());
        let chunks = chunks_of(from, to);
        let is_whole = |chunk: &usize| !verifier.is_chunk_verified(*chunk);
        let whole = |chunk: usize| chunk_range(chunk, map.len());
        // One request: neighbouring chunks are read together.
        let from = chunks.clone().next().filter(is_whole).map_or(from, |chunk| whole(chunk).start);
        let to = chunks.last().filter(is_whole).map_or(to, |chunk| whole(chunk).end);
        map.fetch(from..to);
    }

    /// The little-endian `u64` at an offset.
    ///
    /// # Errors
    ///
    /// As [`Archive::bytes`].
    #[inline]
    pub fn u64_at(&self, from: usize) -> Result<u64, ReadError> {
        let bytes = self.bytes(from, from.saturating_add(8))?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| {
            ReadError::corrupt(self.header.kind.file_name(), "a number is cut short")
        })?))
    }

    /// The little-endian `u32` at an offset.
    ///
    /// # Errors
    ///
    /// As [`Archive::bytes`].
    #[inline]
    pub fn u32_at(&self, from: usize) -> Result<u32, ReadError> {
        let bytes = self.bytes(from, from.saturating_add(4))?;
        Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| {
            ReadError::corrupt(self.header.kind.file_name(), "a number is cut short")
        })?))
    }

    /// Reads the directory, `N` numbers at the end of the file; returns its offset and the numbers.
    pub(crate) fn directory<const N: usize>(&self) -> Result<(usize, [usize; N]), ArchiveError> {
        let from = self.len().checked_sub(N * 8).filter(|from| *from >= HEADER_BYTES);
        let from = from.ok_or(ArchiveError::Length {
            expected: (HEADER_BYTES + N * 8) as u64,
            found: self.len() as u64,
        })?;
        let mut numbers = [0; N];
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = self.number_at(from + at * 8)?;
        }
        Ok((from, numbers))
    }

    /// Reads a number of the directory, an offset or a count.
    pub(crate) fn number_at(&self, from: usize) -> Result<usize, ArchiveError> {
        match self.u64_at(from) {
            // An offset that does not fit lies beyond the file, and later checks refuse it.
            Ok(number) => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
            Err(ReadError::Damage(damage)) => Err(damage.into()),
            Err(_) => {
                let (expected, found) = (from as u64 + 8, self.len() as u64);
                Err(ArchiveError::Length { expected, found })
            }
        }
    }

    /// Binary-searches `count` ascending `u64` from the offset `base`; returns the index of the first
    /// that is not below `key`.
    ///
    /// # Errors
    ///
    /// As [`Archive::bytes`]. Cost: log2(count) reads.
    pub(crate) fn lower_bound(
        &self,
        base: usize,
        count: usize,
        key: u64,
    ) -> Result<usize, ReadError> {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.u64_at(base + middle * 8)? < key { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }
}

/// Reads a little-endian number of at most eight bytes.
#[inline]
pub(crate) fn little_endian(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}
