//! An archive: a file of a snapshot with a header, whose bytes are verified at their first touch.

use std::{ops::Range, sync::Arc};

use crate::entity::Entity;
use crate::storage::error::{Damage, ReadError};
use crate::storage::header::{FileKind, HEADER_BYTES, Header, HeaderError};
use crate::storage::integrity::{Verifier, chunk_range, chunks_of};
use crate::storage::mmap::Map;
use crate::storage::waiting;

/// A mapped archive with a decoded header.
pub struct Archive {
    map: Map,
    hashes: Arc<Map>,
    verifier: Verifier,
    header: Header,
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
        Ok(Archive { map, hashes, verifier, header })
    }

    /// The decoded header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The size of the file in bytes, header included.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether the file has no bytes; false for every archive, because of its header.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The number of chunks, and the number of verified chunks. Reads one word for each 64 chunks.
    pub fn progress(&self) -> (u64, u64) {
        self.verifier.progress()
    }

    /// The file, by the manifest's path.
    pub fn file(&self) -> &str {
        self.verifier.file()
    }

    /// The map of the file, with bytes that may not be verified.
    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    /// Marks every chunk as not verified.
    pub(crate) fn forget(&self) {
        self.verifier.forget();
    }

    /// Checks the exact size of the file.
    pub(crate) fn expect_length(&self, expected: u64) -> Result<(), ArchiveError> {
        let found = self.map.len() as u64;
        if found == expected { Ok(()) } else { Err(ArchiveError::Length { expected, found }) }
    }

    /// Verifies and returns the bytes of a range.
    ///
    /// # Errors
    ///
    /// [`ReadError::Damage`] where a chunk does not have its hash; [`ReadError::Corrupt`] where the
    /// range lies outside the file; [`ReadError::WouldWait`] on a thread that must not wait.
    #[inline]
    pub fn bytes(&self, from: usize, to: usize) -> Result<&[u8], ReadError> {
        if from > to || to > self.map.len() {
            return Err(ReadError::corrupt(
                self.header.kind.file_name(),
                "a byte range lies outside the file",
            ));
        }
        if waiting::must_not_wait() || !self.verifier.is_verified(from, to) {
            return self.read_or_refuse(from, to);
        }
        Ok(&self.map[from..to])
    }

    /// Reads bytes that may have to be read from disk or verified; the range lies within the file.
    #[cold]
    fn read_or_refuse(&self, from: usize, to: usize) -> Result<&[u8], ReadError> {
        let is_verified = self.verifier.is_verified(from, to);
        if waiting::must_not_wait() && !(is_verified && self.map.is_in_memory(from..to)) {
            return Err(ReadError::WouldWait);
        }
        if !is_verified {
            self.fetch(from, to);
            self.verifier.runs_of(from, to).for_each(|run| self.hashes.fetch(run));
        }
        Ok(self.verifier.check(&self.map, &self.hashes, from, to)?)
    }

    /// Whether every chunk of a range is verified; false of a range that leaves the file.
    pub(crate) fn is_verified(&self, range: Range<usize>) -> bool {
        range.end <= self.map.len() && self.verifier.is_verified(range.start, range.end)
    }

    /// Starts to read a range from disk, as one request: with the whole of its first and last chunk
    /// where these are not verified yet.
    pub(crate) fn fetch(&self, from: usize, to: usize) {
        let to = to.min(self.map.len());
        let chunks = chunks_of(from, to);
        let is_whole = |chunk: &usize| !self.verifier.is_chunk_verified(*chunk);
        let whole = |chunk: usize| chunk_range(chunk, self.map.len());
        // One request: neighbouring chunks are read together.
        let from = chunks.clone().next().filter(is_whole).map_or(from, |chunk| whole(chunk).start);
        let to = chunks.last().filter(is_whole).map_or(to, |chunk| whole(chunk).end);
        self.map.fetch(from..to);
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
                let (expected, found) = (from as u64 + 8, self.map.len() as u64);
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
