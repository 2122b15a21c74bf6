//! The hash tree over every file of a snapshot: bytes are verified before they are trusted.
//!
//! A file's root is its plain BLAKE3 hash, which `b3sum` prints. BLAKE3 is itself a tree, so the
//! chaining values of aligned subtrees prove any part of a file against the root. A snapshot stores
//! these values in levels, in the file `hashes`:
//!
//! ```text
//! level 0   one value for each chunk of 4 KiB
//! level 1   one value for each run of 32 values below: 128 KiB of the file
//! level 2   one value for each run of 32 values below: 4 MiB of the file
//! …         until a level has at most 32 values
//! root      in the manifest
//! ```
//!
//! Opening a file checks the last level against the root. The first touch of a chunk checks the
//! chunk, and the values above it that are not verified yet.

use std::borrow::Cow;
use std::cell::Cell;
use std::io;
use std::io::{Read, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use blake3::{Hash, Hasher};

use crate::storage::error::Damage;
use crate::storage::mmap::Map;

/// The name of the file that holds the levels above the chunks of every other file.
pub const HASHES: &str = "hashes";

/// The size of a chunk, the unit of verification.
///
/// A first touch reads a chunk from disk and hashes it. A larger chunk makes every first touch
/// dearer; a smaller one makes the hashes larger, here 1/128 of the snapshot.
pub const CHUNK_BYTES: usize = 4 << 10;

/// The number of values in a run. One value of the next level covers a run. A run is 1 KiB, so the first touch of a
/// chunk reads one page of the hashes for each level. With larger runs, a mirror fetches more bytes of hashes than of
/// what they cover; with smaller ones there are more levels.
pub const RUN_VALUES: usize = 32;

/// The size of a chaining value.
pub const VALUE_BYTES: usize = 32;

thread_local! {
    /// The time of first touches; `None` until the thread asks for it. A compiler never does: its threads then do not read their
    /// clocks twice for each chunk.
    static SPENT: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// The processor time of this thread since it started; zero where the system does not tell.
#[cfg(not(target_family = "wasm"))]
pub fn thread_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let spent = clock_gettime(ClockId::ThreadCPUTime);
    // Processor time is never negative.
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec.unsigned_abs() as u32)
}

/// The processor time of this thread since it started; zero where the system does not tell.
#[cfg(target_family = "wasm")]
pub fn thread_time() -> Duration {
    Duration::ZERO
}

/// The part of [`thread_time`] that first touches of chunks took: reading and verifying them.
///
/// A work limit for a request can leave this time out, because a chunk is verified once for all
/// requests, by the first that touches it. Counts from the first call of this thread on.
pub fn thread_time_verifying() -> Duration {
    let spent = SPENT.get().unwrap_or_default();
    SPENT.set(Some(spent));
    spent
}

/// The processor time of this thread for requests: [`thread_time`] without [`thread_time_verifying`].
pub fn thread_time_working() -> Duration {
    thread_time().saturating_sub(thread_time_verifying())
}

/// A file before it is verified.
pub trait Unverified {
    /// The bytes of a range that lies within the file.
    fn read(&self, range: Range<usize>) -> Cow<'_, [u8]>;
    /// The size of the file.
    fn size(&self) -> usize;
}

impl Unverified for [u8] {
    fn read(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self[range])
    }

    fn size(&self) -> usize {
        self.len()
    }
}

impl Unverified for Map {
    fn read(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        Map::read(self, range)
    }

    fn size(&self) -> usize {
        self.len()
    }
}

/// The number of chunks of a file.
pub fn chunk_count(size_bytes: u64) -> u64 {
    size_bytes.div_ceil(CHUNK_BYTES as u64)
}

/// The chunks of a range; none of an empty range.
pub(crate) fn chunks_of(from: usize, to: usize) -> Range<usize> {
    if from < to { from / CHUNK_BYTES..(to - 1) / CHUNK_BYTES + 1 } else { 0..0 }
}

/// The bytes of a chunk of a file.
pub(crate) fn chunk_range(chunk: usize, size_bytes: usize) -> Range<usize> {
    let from = chunk * CHUNK_BYTES;
    from..size_bytes.min(from + CHUNK_BYTES)
}

/// The number of values in each level of a file, level 0 first. A file of one chunk has no level.
pub fn level_lengths(size_bytes: u64) -> Vec<u64> {
    let mut lengths = Vec::new();
    let mut length = chunk_count(size_bytes);
    if length <= 1 {
        return lengths;
    }
    lengths.push(length);
    while length > RUN_VALUES as u64 {
        length = length.div_ceil(RUN_VALUES as u64);
        lengths.push(length);
    }
    lengths
}

/// The size of all levels of a file.
pub fn levels_bytes(size_bytes: u64) -> u64 {
    level_lengths(size_bytes).iter().sum::<u64>() * VALUE_BYTES as u64
}

/// The chaining value of a chunk. A chunk that is the whole file has none: its hash is the root.
pub fn chunk_value(index: u64, bytes: &[u8]) -> ChainingValue {
    Hasher::new().set_input_offset(index * CHUNK_BYTES as u64).update(bytes).finalize_non_root()
}

/// The value above a run of values. The value above a run of one is the same value.
pub fn run_value(values: &[ChainingValue]) -> ChainingValue {
    match values {
        [value] => *value,
        _ => {
            let (left, right) = values.split_at(left_length(values.len()));
            merge_subtrees_non_root(&run_value(left), &run_value(right), Mode::Hash)
        }
    }
}

/// The root above at least two values.
pub fn root(values: &[ChainingValue]) -> Hash {
    let (left, right) = values.split_at(left_length(values.len()));
    merge_subtrees_root(&run_value(left), &run_value(right), Mode::Hash)
}

/// The size of BLAKE3's left subtree: the largest power of two below `length`.
fn left_length(length: usize) -> usize {
    length.next_power_of_two() / 2
}

/// Computes the levels of a file, chunk by chunk.
#[derive(Default)]
pub struct TreeWriter {
    /// The level-0 values of the current run.
    run: Vec<ChainingValue>,
    /// Level 1, complete: 256 MiB for a file of 1 TiB.
    runs: Vec<ChainingValue>,
    chunks: u64,
}

impl TreeWriter {
    /// Adds the next chunk and returns its level-0 value. Only the last chunk may be short.
    pub fn chunk(&mut self, bytes: &[u8]) -> ChainingValue {
        let value = chunk_value(self.chunks, bytes);
        self.push(value);
        value
    }

    /// Adds the level-0 value of the next chunk.
    pub fn push(&mut self, value: ChainingValue) {
        self.chunks += 1;
        if self.run.len() == RUN_VALUES {
            self.close_run();
        }
        self.run.push(value);
    }

    /// The number of chunks so far.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    fn close_run(&mut self) {
        self.runs.push(run_value(&self.run));
        self.run.clear();
    }

    /// Returns the root and the levels above 0, in order. `last` is the last chunk again: its hash is
    /// the root of a file of one chunk.
    pub fn finish(mut self, last: &[u8]) -> (Hash, Vec<Vec<ChainingValue>>) {
        if self.chunks <= 1 {
            return (blake3::hash(last), Vec::new());
        }
        if self.runs.is_empty() {
            return (root(&self.run), Vec::new());
        }
        self.close_run();
        let mut above = vec![self.runs];
        while let Some(top) = above.last().filter(|top| top.len() > RUN_VALUES) {
            let next = top.chunks(RUN_VALUES).map(run_value).collect();
            above.push(next);
        }
        let top = above.last().map(Vec::as_slice).unwrap_or_default();
        (root(top), above)
    }
}

/// The levels of a file in memory, as `hashes` stores them.
pub fn levels_of(bytes: &[u8]) -> Vec<u8> {
    let mut levels = Vec::new();
    let read = read_levels(bytes, &mut levels);
    read.expect("reads and writes in memory do not fail");
    levels
}

/// Reads a file to its end; returns its root and size. Appends its levels to `levels`, as `hashes`
/// stores them.
///
/// # Errors
///
/// Where the file cannot be read, or the levels cannot be written.
pub fn read_levels(mut from: impl Read, mut levels: impl Write) -> io::Result<(Hash, u64)> {
    let mut writer = TreeWriter::default();
    let (mut chunk, mut next) = (Vec::new(), Vec::new());
    let mut read = |chunk: &mut Vec<u8>| {
        chunk.clear();
        from.by_ref().take(CHUNK_BYTES as u64).read_to_end(chunk)
    };
    let mut size_bytes = read(&mut chunk)? as u64;
    loop {
        let more = read(&mut next)? as u64;
        // The chunk of a file of one chunk has no value: its hash is the root.
        if more > 0 || size_bytes > CHUNK_BYTES as u64 {
            levels.write_all(&writer.chunk(&chunk))?;
        }
        if more == 0 {
            break;
        }
        size_bytes += more;
        std::mem::swap(&mut chunk, &mut next);
    }
    let (root, above) = writer.finish(&chunk);
    for value in above.into_iter().flatten() {
        levels.write_all(&value)?;
    }
    Ok((root, size_bytes))
}

/// A run of values of one level: at most [`RUN_VALUES`], covered by one value of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The level, 0 for the values of chunks.
    pub level: usize,
    /// The run's number within the level.
    pub number: usize,
}

/// Verifies the chunks of one file, each once. Keeps one bit for each chunk and each run of values.
///
/// [`Verifier::forget`] clears the bits after a change of the file.
pub struct Verifier {
    file: String,
    size_bytes: u64,
    root: Hash,
    /// For each level, the offset of its first value in the hashes and the number of its values.
    levels: Vec<(usize, u64)>,
    /// `verified[0]` has a bit for each chunk. `verified[n + 1]` has a bit for each run of level n;
    /// the last has one bit, for the run that the root covers.
    verified: Vec<Box<[AtomicU64]>>,
}

impl Verifier {
    /// A verifier for a file of the manifest. `levels_from` is the offset of its levels in the hashes.
    pub fn new(file: String, size_bytes: u64, root: Hash, levels_from: usize) -> Verifier {
        let mut from = levels_from;
        let mut levels = Vec::new();
        for length in level_lengths(size_bytes) {
            levels.push((from, length));
            // A level is shorter than its file, which fits the address space.
            from += length as usize * VALUE_BYTES;
        }
        let bits = |length: u64| (0..length.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let verified = levels.iter().map(|(_, length)| bits(*length)).chain([bits(1)]).collect();
        Verifier { file, size_bytes, root, levels, verified }
    }

    /// A verifier that accepts every byte, for a file that this process wrote.
    pub fn trusting(file: String, size_bytes: u64) -> Verifier {
        let words = chunk_count(size_bytes).max(1).div_ceil(64);
        let verified = vec![(0..words).map(|_| AtomicU64::new(u64::MAX)).collect()];
        Verifier { file, size_bytes, root: Hash::from_bytes([0; 32]), levels: Vec::new(), verified }
    }

    /// Verifies the chunks of a range, which must lie within the file.
    ///
    /// Cost: one bit test for each chunk; one read and one hash for each chunk not yet verified.
    ///
    /// # Errors
    ///
    /// Where a chunk, or a value above it, does not have its hash.
    #[inline]
    pub fn check(
        &self,
        file: &(impl Unverified + ?Sized),
        hashes: &(impl Unverified + ?Sized),
        from: usize,
        to: usize,
    ) -> Result<(), Damage> {
        for chunk in chunks_of(from, to) {
            if !self.is_marked(0, chunk) {
                self.verify(file, hashes, chunk)?;
            }
        }
        Ok(())
    }

    /// Whether every chunk of a range is verified.
    #[inline]
    pub fn is_verified(&self, from: usize, to: usize) -> bool {
        let first = from / CHUNK_BYTES;
        // Most ranges lie in one chunk.
        if from < to && (to - 1) / CHUNK_BYTES == first {
            return self.is_marked(0, first);
        }
        chunks_of(from, to).all(|chunk| self.is_marked(0, chunk))
    }

    /// Whether bytes are those of a chunk. Does not count the chunk as verified.
    pub fn holds(
        &self,
        hashes: &(impl Unverified + ?Sized),
        chunk: usize,
        bytes: &[u8],
    ) -> Result<bool, Damage> {
        if self.levels.is_empty() {
            return Ok(blake3::hash(bytes) == self.root);
        }
        self.verify_value(hashes, 0, chunk)?;
        Ok(self.value(hashes, 0, chunk) == Some(chunk_value(chunk as u64, bytes)))
    }

    /// The runs of values above a chunk that cannot be verified, the top one first. Without the value above it, no run can be
    /// verified that was not before.
    pub fn damaged_runs(&self, hashes: &(impl Unverified + ?Sized), chunk: usize) -> Vec<Run> {
        let mut damaged = Vec::new();
        for level in (0..self.levels.len()).rev() {
            let index = chunk / RUN_VALUES.pow(level as u32);
            let run = Run { level, number: index / RUN_VALUES };
            let is_verified = self.is_marked(level + 1, run.number)
                || (damaged.is_empty() && self.verify_value(hashes, level, index).is_ok());
            if !is_verified {
                damaged.push(run);
            }
        }
        damaged
    }

    /// The bytes of a run in the hashes.
    pub fn run_range(&self, run: Run) -> Range<usize> {
        let (from, length) = self.levels[run.level];
        let values = run.number * RUN_VALUES..(length as usize).min((run.number + 1) * RUN_VALUES);
        from + values.start * VALUE_BYTES..from + values.end * VALUE_BYTES
    }

    /// Whether bytes are those of a run of values, by the value above it in the hashes.
    pub fn holds_run(
        &self,
        hashes: &(impl Unverified + ?Sized),
        run: Run,
        bytes: &[u8],
    ) -> Result<bool, Damage> {
        let (values, rest) = bytes.as_chunks::<VALUE_BYTES>();
        let is_whole = rest.is_empty() && bytes.len() == self.run_range(run).len();
        if run.level + 1 == self.levels.len() {
            return Ok(is_whole && values.len() > 1 && root(values) == self.root);
        }
        self.verify_value(hashes, run.level + 1, run.number)?;
        let expected = self.value(hashes, run.level + 1, run.number);
        Ok(is_whole && expected == Some(run_value(values)))
    }

    /// Marks the values above a chunk as not verified, from a level on.
    pub fn forget_values(&self, level: usize, index: usize) {
        let mut index = index / RUN_VALUES;
        for marks in &self.verified[level + 1..] {
            marks[index / 64].fetch_and(!(1 << (index % 64)), Ordering::AcqRel);
            index /= RUN_VALUES;
        }
    }

    /// Where in the hashes the values of a range's chunks are, run by run, without verified runs.
    pub fn runs_of(&self, from: usize, to: usize) -> impl Iterator<Item = Range<usize>> {
        let chunks = chunks_of(from, to);
        let runs = chunks.start / RUN_VALUES..chunks.end.div_ceil(RUN_VALUES);
        self.levels.first().into_iter().flat_map(move |(values_from, length)| {
            let length = *length as usize;
            runs.clone().filter(|run| !self.is_marked(1, *run)).map(move |run| {
                let values = run * RUN_VALUES..length.min((run + 1) * RUN_VALUES);
                values_from + values.start * VALUE_BYTES..values_from + values.end * VALUE_BYTES
            })
        })
    }

    /// The file, by the manifest's path.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The number of chunks, and the number of verified chunks. Reads one word for each 64 chunks.
    pub fn progress(&self) -> (u64, u64) {
        let words = self.verified[0].iter();
        let verified: u64 =
            words.map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum();
        let chunks = chunk_count(self.size_bytes);
        (chunks, verified.min(chunks))
    }

    /// Marks every chunk and every value as not verified.
    pub fn forget(&self) {
        for word in self.verified.iter().flat_map(|level| level.iter()) {
            word.store(0, Ordering::Release);
        }
    }

    /// Marks some chunks as not verified.
    pub fn forget_chunks(&self, chunks: Range<usize>) {
        for chunk in chunks {
            self.verified[0][chunk / 64].fetch_and(!(1 << (chunk % 64)), Ordering::AcqRel);
        }
    }

    #[inline]
    fn is_marked(&self, level: usize, index: usize) -> bool {
        let word = self.verified[level][index / 64].load(Ordering::Acquire);
        word & (1 << (index % 64)) != 0
    }

    fn mark(&self, level: usize, index: usize) {
        self.verified[level][index / 64].fetch_or(1 << (index % 64), Ordering::Release);
    }

    #[cold]
    fn verify(
        &self,
        file: &(impl Unverified + ?Sized),
        hashes: &(impl Unverified + ?Sized),
        chunk: usize,
    ) -> Result<(), Damage> {
        let begun = SPENT.get().map(|spent| (spent, thread_time()));
        let bytes = file.read(chunk_range(chunk, file.size()));
        let verified = self.check_chunk(hashes, chunk, &bytes);
        if let Some((spent, begun)) = begun {
            SPENT.set(Some(spent + thread_time().saturating_sub(begun)));
        }
        verified
    }

    /// Verifies one chunk from its bytes, wherever they are in memory.
    ///
    /// Cost: a hash of the chunk, and of each run above it that is not verified yet.
    ///
    /// # Errors
    ///
    /// Where the chunk, or a value above it, does not have its hash.
    pub fn check_chunk(
        &self,
        hashes: &(impl Unverified + ?Sized),
        chunk: usize,
        bytes: &[u8],
    ) -> Result<(), Damage> {
        if !self.holds(hashes, chunk, bytes)? {
            return Err(self.damage(chunk as u64));
        }
        self.mark(0, chunk);
        Ok(())
    }

    /// Whether a chunk is verified.
    pub fn is_chunk_verified(&self, chunk: usize) -> bool {
        self.is_marked(0, chunk)
    }

    /// The expected value of a chunk, not verified itself; the root for a file of one chunk. `None`
    /// beyond the file's end.
    pub fn promised(
        &self,
        hashes: &(impl Unverified + ?Sized),
        chunk: usize,
    ) -> Option<ChainingValue> {
        match self.levels.first() {
            Some((_, length)) if chunk as u64 >= *length => None,
            Some(_) => self.value(hashes, 0, chunk),
            None => (chunk == 0).then(|| *self.root.as_bytes()),
        }
    }

    /// Verifies the run of a value against the value above it, and so on up to the root.
    fn verify_value(
        &self,
        hashes: &(impl Unverified + ?Sized),
        level: usize,
        index: usize,
    ) -> Result<(), Damage> {
        let run = index / RUN_VALUES;
        let is_top = level + 1 == self.levels.len();
        // One bit covers all values of a run. The top level is one run, covered by the root.
        if self.is_marked(level + 1, run) {
            return Ok(());
        }
        if !is_top {
            self.verify_value(hashes, level + 1, run)?;
        }
        let range = self.run_range(Run { level, number: run });
        let holds = range.end <= hashes.size() && {
            let bytes = hashes.read(range.clone());
            let (values, _) = bytes.as_chunks::<VALUE_BYTES>();
            match is_top {
                true => values.len() > 1 && root(values) == self.root,
                false => self.value(hashes, level + 1, run) == Some(run_value(values)),
            }
        };
        if !holds {
            // The values in `hashes` are damaged, not the chunk.
            let (from, to) = (range.start as u64, range.end as u64);
            let file = HASHES.to_owned();
            return Err(Damage { file, chunk: from / CHUNK_BYTES as u64, from, to });
        }
        self.mark(level + 1, run);
        Ok(())
    }

    /// Verifies the last level against the root.
    pub fn verify_top(&self, hashes: &(impl Unverified + ?Sized)) -> Result<(), Damage> {
        match self.levels.len() {
            0 => Ok(()),
            levels => self.verify_value(hashes, levels - 1, 0),
        }
    }

    fn value(
        &self,
        hashes: &(impl Unverified + ?Sized),
        level: usize,
        index: usize,
    ) -> Option<ChainingValue> {
        let from = self.levels[level].0 + index * VALUE_BYTES;
        let is_there = from + VALUE_BYTES <= hashes.size();
        is_there.then(|| hashes.read(from..from + VALUE_BYTES).as_ref().try_into().ok())?
    }

    fn damage(&self, chunk: u64) -> Damage {
        let from = chunk * CHUNK_BYTES as u64;
        let to = self.size_bytes.min(from + CHUNK_BYTES as u64);
        Damage { file: self.file.clone(), chunk, from, to }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
