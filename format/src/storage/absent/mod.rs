//! Chunks that are not on this disk, or are damaged there, and that a mirror's host can send.
//!
//! ```text
//! read                 a twin of the snapshot collects the chunks that it needs, and those it will need  Wanted
//! missing              chunks side by side, and the values of the hash tree above them                   Missing
//! sent by a host       each range in one request                                                         bytes
//! accepted             verified, and written to the file; the next read verifies them once more          Missing::accept
//! still missing        chunks whose bytes are wrong, one by one, and what nothing here proves             Sent
//! ```
//!
//! Nothing marks a chunk as present: it is present where it has its hash. A file begins as one hole, and a chunk that a
//! crash tore is absent.
//!
//! - `cached` removes chunks from a bounded cache.
//! - `whole` is for programs that fetch all of a file.
//!
//! Only this module writes to the files of an open snapshot. It writes to chunks that are not verified, to which no
//! reader holds a reference, and it removes chunks of a cache that nobody uses.

mod cached;
mod whole;

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

pub use cached::{CachedStretch, StretchPlace};
pub use whole::FetchedFile;
pub(crate) use whole::take_over;

use crate::storage::archive::{Archive, ArchiveFile};
use crate::storage::error::ReadError;
use crate::storage::integrity::{CHUNK_BYTES, HASHES, RUN_VALUES, Run, chunk_count, chunk_range};

/// Chunks that are here between two absent ones, and are fetched with them: one request costs more.
const GAP_CHUNKS_MAX: usize = 1;
/// A round that needs no more chunks than this fetches whole blocks: over a distance, a block takes as long as a chunk, and
/// neighbours are asked for too.
const SMALL_ROUND_CHUNKS: usize = 1;
/// The chunks of a block.
const BLOCK_CHUNKS: usize = 3;
/// Runs of values that are here or are not needed, between two that are fetched: 2 KiB. One request costs more.
const GAP_RUNS_MAX: usize = 2;
/// The most chunks of one request.
const REQUEST_CHUNKS_MAX: usize = 256;
/// Stretches that one attempt notes, before the first that it cannot do without ends it.
const NOTED_MAX: usize = 512;
/// A file of at most this many chunks is fetched as a whole.
const SMALL_FILE_CHUNKS: usize = 8;

/// The chunks that the readers of one request need and the disk lacks.
#[derive(Default)]
pub struct Wanted {
    /// By the address of the file, and the first and last chunk.
    stretches: Mutex<BTreeMap<(usize, usize, usize), Stretch>>,
    /// Whether a read failed. A chunk may go between the note and the read.
    has_failed: AtomicBool,
}

/// The ends of the stretches that one reader has fetched, with their lengths.
#[derive(Default)]
pub struct FetchedStretches(BTreeMap<(usize, usize), usize>);

impl FetchedStretches {
    /// The end of the stretch to fetch for `chunks`.
    fn extend(&mut self, file: &Arc<ArchiveFile>, chunks: &Range<usize>) -> usize {
        let address = Arc::as_ptr(file).addr();
        let before = self.0.remove(&(address, chunks.start)).unwrap_or(0);
        let length = chunks.len().max((before * 2).min(REQUEST_CHUNKS_MAX));
        let end = chunks.start + length;
        self.0.insert((address, end), length);
        end
    }
}

/// Where chunks come from that are not on this disk, for threads that may wait.
pub trait ChunkSource: Send + Sync {
    /// Fetches, verifies and writes what is missing.
    ///
    /// # Errors
    ///
    /// [`ReadError::Absent`] where no host sends it in time.
    fn fetch(&self, missing: Vec<Missing>) -> Result<(), ReadError>;
}

/// Chunks of one file, side by side.
#[derive(Clone)]
struct Stretch {
    file: Arc<ArchiveFile>,
    chunks: Range<usize>,
}

impl Wanted {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(usize, usize, usize), Stretch>> {
        self.stretches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes those of some chunks that are not here. Cost: a bit test of each, and a hash of each that is not verified.
    pub(super) fn note(&self, file: &Arc<ArchiveFile>, chunks: Range<usize>) {
        if file.fetched_to.is_none() {
            return;
        }
        let absent = |chunk: &usize| !file.has(*chunk);
        let Some(first) = chunks.clone().find(absent) else { return };
        let all = chunk_count(file.map.len() as u64) as usize;
        let chunks = match all {
            ..=SMALL_FILE_CHUNKS => 0..all,
            _ => first..chunks.rev().find(absent).unwrap_or(first) + 1,
        };
        let place = (Arc::as_ptr(file).addr(), chunks.start, chunks.end);
        self.lock().entry(place).or_insert_with(|| Stretch { file: Arc::clone(file), chunks });
    }

    /// Notes those of some chunks of an archive that are not here.
    pub(crate) fn note_chunks(&self, archive: &Archive, chunks: Range<usize>) {
        self.note(archive.shared(), chunks);
    }

    /// Whether an attempt has noted enough for one round.
    pub(super) fn is_full(&self) -> bool {
        self.lock().len() >= NOTED_MAX
    }

    /// Notes that a read failed.
    pub(super) fn note_failure(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Whether nothing was missing.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty() && !self.has_failed.load(Ordering::Relaxed)
    }

    /// Takes what is missing: chunks, and the values above them. Each of it is one request.
    ///
    /// A stretch that goes on where one of `before` ended is fetched twice as far as that: the reader reads on, through
    /// something of which it does not know the length.
    pub fn take(&self, before: &mut FetchedStretches) -> Vec<Missing> {
        let stretches = std::mem::take(&mut *self.lock());
        let address = |file: &Arc<ArchiveFile>| Arc::as_ptr(file).addr();
        let is_small =
            stretches.values().map(|of| of.chunks.len()).sum::<usize>() <= SMALL_ROUND_CHUNKS;
        let mut missing: Vec<Missing> = Vec::new();
        let mut runs = BTreeMap::new();
        // The file of the stretch before, and the end of its chunks: stretches overlap where one was extended.
        let mut done = (0, 0);
        for Stretch { file, mut chunks } in stretches.into_values() {
            let all = chunk_count(file.map.len() as u64) as usize;
            if is_small {
                chunks.start = chunks.start / BLOCK_CHUNKS * BLOCK_CHUNKS;
                chunks.end = chunks.end.next_multiple_of(BLOCK_CHUNKS);
            }
            chunks.end = all.min(before.extend(&file, &chunks));
            let known = address(&file);
            if done.0 == known {
                chunks.start = chunks.start.max(done.1);
            }
            done = (known, chunks.end.max(chunks.start));
            for chunk in chunks {
                if file.has(chunk) {
                    continue;
                }
                for run in file.verifier.damaged_runs(&*file.hashes, chunk) {
                    runs.insert((address(&file), run.level, run.number), Arc::clone(&file));
                }
                let last = missing.iter_mut().rev().find_map(|of| match &mut of.part {
                    Part::Chunks(chunks) if Arc::ptr_eq(&of.file, &file) => Some(chunks),
                    _ => None,
                });
                match last {
                    Some(chunks)
                        if chunk <= chunks.end + GAP_CHUNKS_MAX
                            && chunk - chunks.start < REQUEST_CHUNKS_MAX =>
                    {
                        chunks.end = chunk + 1;
                    }
                    _ => missing.push(Missing {
                        file: Arc::clone(&file),
                        part: Part::Chunks(chunk..chunk + 1),
                    }),
                }
            }
        }
        let mut last: Option<Missing> = None;
        for ((_, level, number), file) in runs {
            match &mut last {
                Some(Missing { file: before, part: Part::Values(of, numbers) })
                    if Arc::ptr_eq(before, &file)
                        && *of == level
                        && number <= numbers.end + GAP_RUNS_MAX =>
                {
                    numbers.end = number + 1;
                }
                _ => {
                    let part = Part::Values(level, number..number + 1);
                    missing.extend(last.replace(Missing { file, part }));
                }
            }
        }
        missing.extend(last);
        // Values are written from the root down, and before the chunks below them.
        missing.sort_by_key(|of| match &of.part {
            Part::Values(level, numbers) => (0, usize::MAX - level, numbers.start),
            Part::Chunks(chunks) => (1, chunks.start, 0),
        });
        missing
    }
}

/// Bytes of one file of a snapshot that a host must send: pieces side by side, each with a hash of its own.
#[derive(Clone)]
pub struct Missing {
    file: Arc<ArchiveFile>,
    part: Part,
}

/// The outcome of a host's bytes: pieces that were written, and pieces that are missing still.
#[derive(Default)]
pub struct Sent {
    /// The number of pieces that were written.
    pub written: usize,
    /// The pieces whose bytes are not those that the manifest promises.
    pub wrong: Vec<Missing>,
    /// The pieces that nothing here proves, because values above them are missing or damaged here; and these values.
    pub unproved: Vec<Missing>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// Runs of values, side by side in a level.
    Values(usize, Range<usize>),
    Chunks(Range<usize>),
}

/// Fetched bytes could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{file}`: {error}; free space, or give the server the right to write there")]
pub struct WriteRefused {
    /// The file, by the manifest's path.
    pub file: String,
    /// The system's error.
    pub error: io::Error,
}

impl Missing {
    /// Whether the bytes are values of the hash tree.
    pub fn is_values(&self) -> bool {
        matches!(self.part, Part::Values(..))
    }

    /// The file, by the manifest's path.
    pub fn path(&self) -> &str {
        match self.part {
            Part::Values(..) => HASHES,
            Part::Chunks(_) => self.file.verifier.file(),
        }
    }

    /// The directory of the snapshot whose file it is.
    pub fn snapshot(&self) -> &Path {
        self.file.fetched_to.as_deref().unwrap_or(Path::new(""))
    }

    /// The bytes of that file.
    pub fn range(&self) -> Range<u64> {
        let range = match &self.part {
            Part::Values(level, numbers) => {
                let range = |number| self.file.verifier.run_range(Run { level: *level, number });
                range(numbers.start).start..range(numbers.end - 1).end
            }
            Part::Chunks(chunks) => self.file.bytes_of(chunks),
        };
        range.start as u64..range.end as u64
    }

    /// The size of that file.
    pub fn file_bytes(&self) -> u64 {
        match self.part {
            Part::Values(..) => self.file.hashes.len() as u64,
            Part::Chunks(_) => self.file.map.len() as u64,
        }
    }

    /// The pieces one by one.
    fn pieces(&self) -> Vec<Missing> {
        let piece = |part| Missing { file: Arc::clone(&self.file), part };
        match &self.part {
            Part::Values(level, runs) => {
                runs.clone().map(|run| piece(Part::Values(*level, run..run + 1))).collect()
            }
            Part::Chunks(chunks) => {
                chunks.clone().map(|chunk| piece(Part::Chunks(chunk..chunk + 1))).collect()
            }
        }
    }

    /// The pieces of it that lie in a range of the file.
    pub fn within(&self, range: Range<u64>) -> Option<Missing> {
        let is_inside = |piece: &Missing| {
            let of = piece.range();
            range.start <= of.start && of.end <= range.end
        };
        let mut inside = self.pieces().into_iter().filter(is_inside);
        let mut whole = inside.next()?;
        if let Some(last) = inside.next_back() {
            match (&mut whole.part, last.part) {
                (Part::Values(_, whole), Part::Values(_, last))
                | (Part::Chunks(whole), Part::Chunks(last)) => whole.end = last.end,
                (Part::Values(..), Part::Chunks(_)) | (Part::Chunks(_), Part::Values(..)) => {}
            }
        }
        Some(whole)
    }

    /// Whether it is one piece.
    pub fn is_single(&self) -> bool {
        match &self.part {
            Part::Values(_, of) | Part::Chunks(of) => of.len() == 1,
        }
    }

    /// Parts of it without the pieces that are set apart, and each of these alone.
    pub fn set_apart(self, is_apart: impl Fn(&Missing) -> bool) -> Vec<Missing> {
        let pieces = self.pieces();
        let apart: Vec<bool> = pieces.iter().map(is_apart).collect();
        if !apart.contains(&true) {
            return vec![self];
        }
        let mut parts: Vec<Missing> = Vec::new();
        let mut is_closed = true;
        for (piece, is_apart) in pieces.into_iter().zip(apart) {
            match (parts.last_mut(), &piece.part) {
                (
                    Some(Missing { part: Part::Values(_, last) | Part::Chunks(last), .. }),
                    Part::Values(_, of) | Part::Chunks(of),
                ) if !is_closed && !is_apart => last.end = of.end,
                _ => parts.push(piece),
            }
            is_closed = is_apart;
        }
        parts
    }

    /// Writes the pieces that have the promised bytes to the file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn accept(&self, bytes: &[u8]) -> Result<Sent, WriteRefused> {
        let mut sent = Sent::default();
        let from = self.range().start;
        // The bytes of right pieces side by side.
        let mut right: Vec<Range<u64>> = Vec::new();
        for piece in self.pieces() {
            let range = piece.range();
            let holds = bytes
                .get((range.start - from) as usize..(range.end - from) as usize)
                .map_or(Ok(false), |bytes| piece.holds(bytes));
            match holds {
                Ok(true) => {
                    sent.written += 1;
                    match right.last_mut().filter(|last| last.end == range.start) {
                        Some(last) => last.end = range.end,
                        None => right.push(range),
                    }
                }
                Ok(false) => sent.wrong.push(piece),
                Err(values) => {
                    sent.unproved.extend(values);
                    sent.unproved.push(piece);
                }
            }
        }
        for range in right {
            self.write(
                &bytes[(range.start - from) as usize..(range.end - from) as usize],
                range.start,
            )
            .map_err(|error| WriteRefused { file: self.path().to_owned(), error })?;
        }
        Ok(sent)
    }

    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let map = if self.is_values() { &*self.file.hashes } else { &self.file.map };
        map.write(&self.file.place(self.path())?, bytes, at)
    }

    /// Whether bytes are those of this piece. Returns the values above the piece that are damaged here: they may be damaged
    /// since they were verified, so they are verified once more before the bytes count as wrong.
    fn holds(&self, bytes: &[u8]) -> Result<bool, Vec<Missing>> {
        let ArchiveFile { verifier, hashes, .. } = &*self.file;
        let holds = || match &self.part {
            Part::Values(level, runs) => {
                verifier.holds_run(&**hashes, Run { level: *level, number: runs.start }, bytes)
            }
            // Of a verified chunk, to which a reader may hold references, the bytes are the same.
            Part::Chunks(chunks) => verifier.holds(&**hashes, chunks.start, bytes),
        };
        if let Ok(true) = holds() {
            return Ok(true);
        }
        // The place of the value above.
        let (level, index) = match &self.part {
            Part::Values(level, runs) => (level + 1, runs.start),
            Part::Chunks(chunks) => (0, chunks.start),
        };
        verifier.forget_values(level, index);
        holds().map_err(|_| {
            let chunk = index * RUN_VALUES.pow(level as u32);
            damaged_values(&self.file, chunk).filter(|of| of.level() >= level).collect()
        })
    }

    /// The level of values, 0 of chunks.
    fn level(&self) -> usize {
        if let Part::Values(level, _) = self.part { level } else { 0 }
    }
}

/// The values above a chunk that are missing or damaged, the top ones first.
fn damaged_values(file: &Arc<ArchiveFile>, chunk: usize) -> impl Iterator<Item = Missing> {
    let runs = file.verifier.damaged_runs(&*file.hashes, chunk).into_iter();
    let part = |Run { level, number }| Part::Values(level, number..number + 1);
    runs.map(move |run| Missing { file: Arc::clone(file), part: part(run) })
}

impl ArchiveFile {
    /// Whether a chunk is here. Cost: one bit test; a hash of a chunk that is not verified yet.
    fn has(&self, chunk: usize) -> bool {
        let ArchiveFile { map, hashes, verifier, .. } = self;
        let _kept = self.keep();
        verifier.is_chunk_verified(chunk)
            || verifier.check(map, &**hashes, chunk * CHUNK_BYTES, chunk * CHUNK_BYTES + 1).is_ok()
    }

    /// The path of a file of the snapshot.
    fn place(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.fetched_to.as_ref().ok_or(io::ErrorKind::Unsupported)?.join(name))
    }

    /// The first chunk from one on that has bytes on the disk; `None` behind the last.
    fn next_data(&self, chunk: usize) -> Option<usize> {
        let data = self.map.next_data((chunk * CHUNK_BYTES) as u64)?;
        Some(data as usize / CHUNK_BYTES)
    }

    fn bytes_of(&self, chunks: &Range<usize>) -> Range<usize> {
        chunk_range(chunks.start, self.map.len()).start
            ..self.map.len().min(chunks.end * CHUNK_BYTES)
    }
}

/// The chunks of a range for which a test holds, as runs of neighbours.
fn runs_of(chunks: Range<usize>, mut is_in: impl FnMut(usize) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for chunk in chunks.filter(|chunk| is_in(*chunk)) {
        match runs.last_mut().filter(|last| last.end == chunk) {
            Some(last) => last.end += 1,
            None => runs.push(chunk..chunk + 1),
        }
    }
    runs
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
