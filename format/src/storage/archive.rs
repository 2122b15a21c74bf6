//! An archive: a file of a snapshot with a header, whose bytes are verified at their first touch.
//!
//! A thread that serves many clients must not wait for one client's read from disk. The thread reads through a
//! twin of the archive ([`Reading::MemoryOnly`]). The twin shares the mapped file, and a read of bytes that are
//! not in memory fails with [`ReadError::WouldWait`].
//!
//! A file of a mirror may lack chunks, which the mirror's host sends ([`absent`](crate::storage::absent)). A read of
//! them fails with [`ReadError::Absent`], and a twin that collects ([`Reading::Collects`]) notes them, together with
//! those that are only asked for in advance.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::entity::Entity;
use crate::storage::absent::{ChunkSource, FetchedStretches, Wanted};
use crate::storage::error::ReadError;
use crate::storage::header::{FileKind, HEADER_BYTES, Header, HeaderError};
use crate::storage::integrity::{Verifier, chunk_range, chunks_of};
use crate::storage::mmap::Map;

/// Times that a read fetches its chunks: a small cache may remove one before it is read.
const FETCHES_MAX: usize = 4;
/// A binary search of at most this many bytes is fetched as a whole, of more by the ends of parts.
pub(crate) const SHORT_SEARCH_BYTES: usize = 96 << 10;
/// The parts of a longer search.
const SEARCHED_PARTS: usize = 16;

/// A handle of a mapped archive with a decoded header.
#[derive(Clone)]
pub struct Archive {
    file: Arc<ArchiveFile>,
    header: Header,
    reading: Reading,
}

/// A mapped file, shared by the handles of its archive.
pub(super) struct ArchiveFile {
    pub map: Map,
    pub hashes: Arc<Map>,
    pub verifier: Verifier,
    /// The snapshot's directory, if chunks that are absent or damaged can be fetched and written there.
    pub fetched_to: Option<Arc<Path>>,
    /// Shared while chunks are verified, and exclusive while they are removed.
    pub removal: RwLock<()>,
}

impl ArchiveFile {
    /// Keeps chunks from being removed while they are verified.
    pub fn keep(&self) -> RwLockReadGuard<'_, ()> {
        self.removal.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reads of handles that wait until chunks are sent.
#[derive(Default)]
pub(crate) struct WaitingReads {
    wanted: Wanted,
    fetched: Mutex<FetchedStretches>,
}

/// How a handle reads bytes that are not in memory.
#[derive(Clone)]
pub(crate) enum Reading {
    /// Waits for the disk.
    Waits,
    /// Fails.
    MemoryOnly,
    /// Waits for the disk, and notes chunks that are not there.
    Collects(Arc<Wanted>),
    /// Waits for the disk, and for the host that sends chunks that are not there.
    Fetches(Arc<WaitingReads>, Arc<dyn ChunkSource>),
}

/// A structure that is read through one archive.
pub(crate) trait InArchive: Clone {
    /// The structure's handle of its archive.
    fn archive_mut(&mut self) -> &mut Archive;

    /// A twin of the structure that reads in another way.
    fn reading(&self, reading: &Reading) -> Self {
        let mut twin = self.clone();
        twin.archive_mut().reading_by(reading);
        twin
    }
}

/// Why an archive could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The header, or what describes the contents, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
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
        verifier.verify_top(&*hashes).map_err(ReadError::from)?;
        let head = 0..map.len().min(HEADER_BYTES);
        verifier.check(&map, &*hashes, head.start, head.end).map_err(ReadError::from)?;
        let header = Header::decode(map.bytes(head), kind, entity, schema_hash)?;
        let file = Arc::new(ArchiveFile {
            map,
            hashes,
            verifier,
            fetched_to: None,
            removal: RwLock::default(),
        });
        Ok(Archive { file, header, reading: Reading::Waits })
    }

    /// An archive whose chunks are fetched into the snapshot's directory where they are absent or damaged. Reads
    /// nothing: the manifest states the header.
    pub(crate) fn open_fetched(
        map: Map,
        hashes: Arc<Map>,
        verifier: Verifier,
        header: Header,
        directory: &Path,
    ) -> Archive {
        let fetched_to = Some(directory.into());
        let removal = RwLock::default();
        let file = Arc::new(ArchiveFile { map, hashes, verifier, fetched_to, removal });
        Archive { file, header, reading: Reading::Waits }
    }

    /// Whether chunks that are not here are noted.
    pub(crate) fn is_collecting(&self) -> bool {
        matches!(self.reading, Reading::Collects(_) | Reading::Fetches(..))
    }

    /// Whether reads that fail note the chunks that they lack, so that one attempt may try several.
    pub(crate) fn notes_failures(&self) -> bool {
        matches!(self.reading, Reading::Collects(_))
    }

    /// The result of a read, or `other` in place of absent bytes, so that one attempt notes more of them. The answer of the
    /// attempt is thrown away.
    pub(crate) fn read_or<T>(&self, read: Result<T, ReadError>, other: T) -> Result<T, ReadError> {
        match (read, &self.reading) {
            (Err(ReadError::Absent { .. }), Reading::Collects(wanted)) if !wanted.is_full() => {
                Ok(other)
            }
            (read, _) => read,
        }
    }

    /// Reads in another way from now on.
    pub(crate) fn reading_by(&mut self, reading: &Reading) {
        self.reading = reading.clone();
    }

    /// The chunks of the file.
    pub(super) fn shared(&self) -> &Arc<ArchiveFile> {
        &self.file
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
        if matches!(self.reading, Reading::MemoryOnly) || !file.verifier.is_verified(from, to) {
            return self.read_or_refuse(from, to);
        }
        Ok(file.map.bytes(from..to))
    }

    /// Reads bytes that may have to be read from disk or verified; the range lies within the file.
    #[cold]
    fn read_or_refuse(&self, from: usize, to: usize) -> Result<&[u8], ReadError> {
        let ArchiveFile { map, hashes, verifier, fetched_to, .. } = &*self.file;
        let is_verified = verifier.is_verified(from, to);
        let is_memory_only = matches!(self.reading, Reading::MemoryOnly);
        if is_memory_only && !(is_verified && map.is_in_memory(from..to)) {
            return Err(ReadError::WouldWait);
        }
        if !is_verified {
            self.fetch(from, to);
            verifier.runs_of(from, to).for_each(|run| hashes.fetch(run));
        }
        let check = || {
            let _kept = self.file.keep();
            verifier.check(map, &**hashes, from, to)
        };
        let checked = check();
        if fetched_to.is_none() || checked.is_ok() {
            return Ok(checked.map(|()| map.bytes(from..to))?);
        }
        if let Reading::Fetches(reads, source) = &self.reading {
            for _ in 0..FETCHES_MAX {
                let missing = {
                    let mut fetched = reads.fetched.lock().unwrap_or_else(PoisonError::into_inner);
                    reads.wanted.take(&mut fetched)
                };
                // The hosts may lack a chunk that is fetched in advance, and send what this read needs.
                let fetched = source.fetch(missing);
                if check().is_ok() {
                    return Ok(map.bytes(from..to));
                }
                fetched?;
                reads.wanted.note(&self.file, chunks_of(from, to));
            }
        }
        if let Reading::Collects(wanted) = &self.reading {
            wanted.note_failure();
        }
        Err(ReadError::Absent { file: self.file().to_owned() })
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
        match &self.reading {
            Reading::Collects(wanted) => wanted.note(&self.file, chunks.clone()),
            Reading::Fetches(reads, _) => reads.wanted.note(&self.file, chunks.clone()),
            Reading::Waits | Reading::MemoryOnly => {}
        }
        let is_whole = |chunk: &usize| !verifier.is_chunk_verified(*chunk);
        let whole = |chunk: usize| chunk_range(chunk, map.len());
        // One request: neighbouring chunks are read together.
        let from = chunks.clone().next().filter(is_whole).map_or(from, |chunk| whole(chunk).start);
        let to = chunks.last().filter(is_whole).map_or(to, |chunk| whole(chunk).end);
        map.fetch(from..to);
    }

    /// The little-endian `u64` at an offset.
    #[inline]
    pub fn u64_at(&self, from: usize) -> Result<u64, ReadError> {
        let bytes = self.bytes(from, from.saturating_add(8))?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| {
            ReadError::corrupt(self.header.kind.file_name(), "a number is cut short")
        })?))
    }

    /// The little-endian `u32` at an offset.
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
            Err(ReadError::Corrupt { .. }) => {
                let (expected, found) = (from as u64 + 8, self.len() as u64);
                Err(ArchiveError::Length { expected, found })
            }
            Err(error) => Err(error.into()),
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
        let at = |index: usize| base + index * 8..base + index * 8 + 8;
        self.partition_point(count, at, |index| Ok(self.u64_at(base + index * 8)? < key))
    }

    /// Binary-searches `count` entries, the first of which are below something; returns the number of those. `at` is
    /// where the bytes of an entry are.
    ///
    /// # Errors
    ///
    /// As [`Archive::bytes`]. Cost: log2(count) reads; where chunks are fetched, some steps at once.
    pub(crate) fn partition_point(
        &self,
        count: usize,
        at: impl Fn(usize) -> Range<usize>,
        is_below: impl Fn(usize) -> Result<bool, ReadError>,
    ) -> Result<usize, ReadError> {
        binary_search(0..count, is_below, |left| {
            if self.is_collecting() {
                self.fetch_steps(left, &at);
            }
        })
    }

    /// Asks for the entries that the next steps of a binary search may read: all of a short range, and of a longer one
    /// the ends of equal parts.
    #[cold]
    fn fetch_steps(&self, range: Range<usize>, at: &impl Fn(usize) -> Range<usize>) {
        let (first, last) = (at(range.start), at(range.end - 1));
        if last.end.saturating_sub(first.start) <= SHORT_SEARCH_BYTES {
            return self.fetch(first.start, last.end);
        }
        for part in 1..SEARCHED_PARTS {
            let entry = at(range.start + range.len() / SEARCHED_PARTS * part);
            self.fetch(entry.start, entry.end);
        }
    }
}

/// The depth to which a binary search is tried after a failed step: 15 steps.
const TRIED_DEPTH: u32 = 4;

/// Binary-searches a range whose steps read several places, each found by the one before. Returns the end of the first
/// part, where `is_below` holds. If `tries_more`, a failed step is followed by all steps that may come after it, so that
/// their absent chunks are noted together.
pub(crate) fn search_steps(
    range: Range<u32>,
    tries_more: bool,
    is_below: impl Fn(u32) -> Result<bool, ReadError>,
) -> Result<u32, ReadError> {
    let step = |at: usize| is_below(at as u32);
    let found = binary_search(range.start as usize..range.end as usize, step, |left| {
        if tries_more {
            try_steps(left, TRIED_DEPTH, &step);
        }
    });
    found.map(|at| at as u32)
}

/// Binary-searches a range for the end of its first part, where `is_below` holds. A step that fails ends the search,
/// after `failed` was called with the range left to search.
fn binary_search(
    range: Range<usize>,
    is_below: impl Fn(usize) -> Result<bool, ReadError>,
    failed: impl FnOnce(Range<usize>),
) -> Result<usize, ReadError> {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        match is_below(middle) {
            Ok(true) => low = middle + 1,
            Ok(false) => high = middle,
            Err(error) => {
                failed(low..high);
                return Err(error);
            }
        }
    }
    Ok(low)
}

#[cold]
fn try_steps(
    range: Range<usize>,
    depth: u32,
    is_below: &impl Fn(usize) -> Result<bool, ReadError>,
) {
    if range.is_empty() || depth == 0 {
        return;
    }
    let middle = range.start + (range.end - range.start) / 2;
    // A failed read notes its chunk.
    let _ = is_below(middle);
    try_steps(range.start..middle, depth - 1, is_below);
    try_steps(middle + 1..range.end, depth - 1, is_below);
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
