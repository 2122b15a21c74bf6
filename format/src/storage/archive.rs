//! One mapped archive of a snapshot: its header, and its bytes, checked as they are touched.

use std::sync::Arc;

use crate::entity::Entity;
use crate::storage::error::{Damage, ReadError};
use crate::storage::header::{FileKind, HEADER_BYTES, Header, HeaderError};
use crate::storage::integrity::Verifier;
use crate::storage::mmap::Map;

/// A mapped archive.
pub struct Archive {
    map: Map,
    hashes: Arc<Map>,
    verifier: Verifier,
    header: Header,
}

/// Why an archive could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Its header's chunk is damaged.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// Its header is not what it must be.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// It is shorter or longer than its header says.
    #[error("{found} bytes, expected {expected} by its header; rebuild the snapshot")]
    Length {
        /// What the header's counts call for.
        expected: u64,
        /// What there is.
        found: u64,
    },
}

impl Archive {
    /// Checks the header of a mapped archive.
    ///
    /// # Errors
    ///
    /// Where it is damaged or not the header of `kind` and `entity`.
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

    /// The header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Bytes of the file.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether it holds no byte; no archive does.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// How many chunks it has, and how many of them are verified. Cost: a look at each 64 of them.
    pub fn progress(&self) -> (u64, u64) {
        self.verifier.progress()
    }

    /// Its file, as the manifest names it.
    pub fn file(&self) -> &str {
        self.verifier.file()
    }

    /// Its bytes, whether they are checked or not.
    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    /// Has every chunk verified again when it is next touched.
    pub(crate) fn forget(&self) {
        self.verifier.forget();
    }

    /// Demands that the archive is exactly as long as its counts call for.
    pub(crate) fn expect_length(&self, expected: u64) -> Result<(), ArchiveError> {
        let found = self.map.len() as u64;
        if found == expected { Ok(()) } else { Err(ArchiveError::Length { expected, found }) }
    }

    /// Checked bytes.
    ///
    /// # Errors
    ///
    /// [`ReadError::Damage`] where they do not have their hash, [`ReadError::Corrupt`] where
    /// the range is none of this file.
    #[inline]
    pub fn bytes(&self, from: usize, to: usize) -> Result<&[u8], ReadError> {
        if from > to || to > self.map.len() {
            return Err(ReadError::corrupt(
                self.header.kind.file_name(),
                "a byte range lies outside the file",
            ));
        }
        Ok(self.verifier.check(&self.map, &self.hashes, from, to)?)
    }

    /// The number at a byte offset.
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

    /// The number at a byte offset.
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

    /// The numbers that end the file, places and counts, and where they begin.
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

    /// A number of a directory that is a place or a count, so that it fits the address space.
    pub(crate) fn number_at(&self, from: usize) -> Result<usize, ArchiveError> {
        match self.u64_at(from) {
            // Beyond the file, as no place in it is.
            Ok(number) => Ok(usize::try_from(number).unwrap_or(usize::MAX)),
            Err(ReadError::Damage(damage)) => Err(damage.into()),
            Err(_) => {
                let (expected, found) = (from as u64 + 8, self.map.len() as u64);
                Err(ArchiveError::Length { expected, found })
            }
        }
    }

    /// The first of `count` ascending `u64` from byte `base` that is not below `key`.
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
