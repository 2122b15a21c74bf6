//! Fetches files chunk by chunk: only the missing chunks, each verified before it counts as present.

use std::{
    fs::{self, File},
    io,
    ops::Range,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use pinakes_format::storage::integrity::{CHUNK_BYTES, Verifier, chunk_count};
use pinakes_format::storage::mmap::Map;
use pinakes_remote::host::{Extent, Failure, Host, Reply};
use pinakes_store::files::open_regular;
use rayon::prelude::*;
use rustix::fs::{OFlags, SeekFrom, seek};

use crate::error::{Error, Result};
use crate::terminal::progress::{Bar, Progress};

/// Most chunks in one request (4 MiB).
const SPAN_CHUNKS_MAX: usize = 512;
/// Chunks of a file that one thread looks for (128 MiB).
const SEARCHED_CHUNKS: usize = 16 << 10;

/// A file to fetch.
pub struct TargetFile {
    /// Path of the file on the host.
    pub host_path: String,
    /// Local path. Verified chunks of an existing file are kept.
    pub local_path: PathBuf,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// The hash tree that each chunk must match.
    pub verifier: Verifier,
    /// Local files that may share chunks with this one.
    pub donors: Vec<ChunkDonor>,
}
/// A local file that may share chunks with a target file. Chunks copied from it are verified.
pub struct ChunkDonor {
    /// Path of the file.
    pub path: PathBuf,
    /// The claimed hash tree of the file.
    pub verifier: Verifier,
    /// The levels of that hash tree.
    pub hashes: Arc<Map>,
}

/// Bytes that did not have to be fetched.
#[derive(Default)]
pub struct TransferStats {
    /// Bytes that an earlier run had fetched.
    pub kept_bytes: AtomicU64,
    /// Bytes copied from local snapshots.
    pub copied_bytes: AtomicU64,
}

/// Consecutive missing chunks of one file.
#[derive(Clone, Debug)]
struct Span {
    file: usize,
    chunks: Range<usize>,
}

/// A fetch of several files from one host.
pub struct Fetch<'h> {
    host: &'h Host,
    /// The levels of the hash trees of all files.
    hashes: &'h [u8],
    files: Vec<TargetFile>,
    /// One lock per file: one thread reads a whole file from a host that ignores `Range`.
    whole_file_locks: Vec<Mutex<()>>,
    /// Bytes that did not have to be fetched.
    pub stats: TransferStats,
}

impl<'h> Fetch<'h> {
    /// Prepares to fetch `files`; `hashes` holds the levels of their hash trees.
    pub fn new(host: &'h Host, hashes: &'h [u8], files: Vec<TargetFile>) -> Result<Fetch<'h>> {
        for file in &files {
            open_target(&file.local_path)
                .and_then(|opened| opened.set_len(file.size_bytes))
                .map_err(Error::output(&file.local_path))?;
        }
        let whole_file_locks = files.iter().map(|_| Mutex::new(())).collect();
        Ok(Fetch { host, hashes, files, whole_file_locks, stats: TransferStats::default() })
    }

    /// Fetches the missing chunks over at most `connections` connections, and syncs the files.
    ///
    /// # Errors
    ///
    /// The first failure. The chunks verified until then stay for the next run.
    pub fn run(&self, connections: usize, progress: Progress) -> Result<()> {
        let all_bytes: u64 = self.files.iter().map(|file| file.size_bytes).sum();
        let bar = progress.begin("look", "files", self.files.len() as u64, all_bytes);
        let spans = self.find_missing(&bar)?;
        bar.end();
        let chunks: usize = spans.iter().map(|span| span.chunks.len()).sum();
        let bytes = spans.iter().map(|span| self.bytes_of(span)).sum();
        let bar = progress.begin("fetch", "chunks", chunks as u64, bytes);
        self.fetch_all(spans, connections, &bar)?;
        bar.end();
        self.files.par_iter().try_for_each(|file| {
            open_target(&file.local_path)
                .and_then(|opened| opened.sync_all())
                .map_err(Error::output(&file.local_path))
        })
    }

    fn bytes_of(&self, span: &Span) -> u64 {
        let range = byte_range(&span.chunks, self.files[span.file].size_bytes);
        range.end - range.start
    }

    /// Verifies local chunks, copies chunks from donors, and returns the chunks that are still missing.
    fn find_missing(&self, bar: &Bar) -> Result<Vec<Span>> {
        let runs = self.files.iter().enumerate().flat_map(|(number, file)| {
            let count = chunk_count(file.size_bytes) as usize;
            let run = move |from: usize| from..count.min(from + SEARCHED_CHUNKS);
            (0..count).step_by(SEARCHED_CHUNKS).map(move |from| (number, run(from)))
        });
        let spans: Vec<Vec<Span>> = runs
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(number, run)| {
                let range = byte_range(&run, self.files[number].size_bytes);
                let spans = self.find_missing_in(number, run)?;
                bar.advance(range.end - range.start);
                Ok(spans)
            })
            .collect::<Result<_>>()?;
        Ok(spans.into_iter().flatten().collect())
    }

    /// As [`Fetch::find_missing`], for some consecutive chunks of one file.
    fn find_missing_in(&self, number: usize, run: Range<usize>) -> Result<Vec<Span>> {
        let file = &self.files[number];
        let local = open_target(&file.local_path).map_err(Error::output(&file.local_path))?;
        let donors: Vec<(File, &ChunkDonor)> = file
            .donors
            .iter()
            // A donor that was removed meanwhile gives nothing; its chunks are fetched.
            .filter_map(|donor| Some((open_regular(&donor.path).ok()?, donor)))
            .collect();
        let mut holes = Holes { next_from: 0 };
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut spans: Vec<Span> = Vec::new();
        for chunk in run {
            let range = byte_range(&(chunk..chunk + 1), file.size_bytes);
            let buffer = &mut buffer[..(range.end - range.start) as usize];
            let has = |found: &File, buffer: &mut [u8]| {
                found.read_exact_at(buffer, range.start).is_ok()
                    && file.verifier.check_chunk(self.hashes, chunk, buffer).is_ok()
            };
            // Nobody wrote the holes of the file, so they are neither read nor hashed.
            if holes.has_bytes(&local, &range) && has(&local, buffer) {
                self.stats.kept_bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
                continue;
            }
            let promised = file.verifier.promised(self.hashes, chunk);
            // The promised hashes are compared first: the bytes of other chunks are not read. The bytes are verified
            // too, because a donor may be damaged.
            let is_same =
                |donor: &ChunkDonor| donor.verifier.promised(&*donor.hashes, chunk) == promised;
            let copied = donors.iter().any(|(found, donor)| is_same(donor) && has(found, buffer));
            if copied {
                local.write_all_at(buffer, range.start).map_err(Error::output(&file.local_path))?;
                self.stats.copied_bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
                continue;
            }
            // One request fetches neighbouring chunks.
            match spans.last_mut() {
                Some(Span { chunks, .. })
                    if chunks.end == chunk && chunks.len() < SPAN_CHUNKS_MAX =>
                {
                    chunks.end += 1;
                }
                _ => spans.push(Span { file: number, chunks: chunk..chunk + 1 }),
            }
        }
        Ok(spans)
    }

    fn fetch_all(&self, spans: Vec<Span>, connections: usize, bar: &Bar) -> Result<()> {
        let workers = connections.min(spans.len());
        let queue = Mutex::new(spans.into_iter());
        let failed = Mutex::new(None);
        let has_failed = AtomicBool::new(false);
        let work = || {
            while !has_failed.load(Ordering::Relaxed) {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(span) = next else { return };
                if let Err(error) = self.fetch_span(&span, bar) {
                    has_failed.store(true, Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn fetch_span(&self, span: &Span, bar: &Bar) -> Result<()> {
        let file = &self.files[span.file];
        let local = open_target(&file.local_path).map_err(Error::output(&file.local_path))?;
        let fetched = self.host.retry(|| {
            // Skips chunks that an earlier attempt fetched, or a thread that reads the whole file.
            let mut chunks = span.chunks.clone();
            while !chunks.is_empty() && file.verifier.is_chunk_verified(chunks.start) {
                chunks.start += 1;
            }
            if chunks.is_empty() {
                return Ok(());
            }
            let range = byte_range(&chunks, file.size_bytes);
            let is_all = range == (0..file.size_bytes);
            if is_all || self.host.ignores_ranges() {
                return self.fetch_whole(span.file, &local, bar);
            }
            let reply =
                self.host.request(&file.host_path, &Extent::Range(range, file.size_bytes))?;
            if reply.is_range {
                self.receive(reply, span.file, &local, chunks, bar)
            } else {
                // Requests again, with the body timeout of the whole file.
                drop(reply);
                self.fetch_whole(span.file, &local, bar)
            }
        });
        fetched.map_err(|failure| self.host.error(&file.host_path, failure).into())
    }

    /// Reads a file from its beginning and keeps the missing chunks.
    fn fetch_whole(
        &self,
        number: usize,
        local: &File,
        bar: &Bar,
    ) -> std::result::Result<(), Failure> {
        let file = &self.files[number];
        let _lock = self.whole_file_locks[number].lock().unwrap_or_else(PoisonError::into_inner);
        let count = chunk_count(file.size_bytes) as usize;
        if (0..count).all(|chunk| file.verifier.is_chunk_verified(chunk)) {
            return Ok(());
        }
        let reply = self.host.request(&file.host_path, &Extent::Whole(file.size_bytes))?;
        self.receive(reply, number, local, 0..count, bar)
    }

    /// Writes the chunks of a reply, and verifies each.
    fn receive(
        &self,
        mut reply: Reply,
        number: usize,
        local: &File,
        chunks: Range<usize>,
        bar: &Bar,
    ) -> std::result::Result<(), Failure> {
        let file = &self.files[number];
        let mut buffer = vec![0; CHUNK_BYTES];
        for chunk in chunks {
            let range = byte_range(&(chunk..chunk + 1), file.size_bytes);
            let buffer = &mut buffer[..(range.end - range.start) as usize];
            self.host.read(&mut reply, buffer)?;
            if file.verifier.is_chunk_verified(chunk) {
                continue;
            }
            // Written before the verifier marks the chunk, so that a marked chunk is on disk.
            local.write_all_at(buffer, range.start).map_err(Failure::write(&file.local_path))?;
            if file.verifier.check_chunk(self.hashes, chunk, buffer).is_err() {
                return Err(Failure::Mismatch(format!(
                    "chunk {chunk} (bytes {} to {}) does not have the published hash",
                    range.start, range.end
                )));
            }
            bar.advance(buffer.len() as u64);
        }
        self.host.expect_end(reply)
    }
}

/// Finds the holes of a sparse file, in which nothing was ever written.
struct Holes {
    /// Offset of the first written byte at or after the last checked range.
    next_from: u64,
}

impl Holes {
    /// Whether any byte of a range was written. Successive ranges must ascend.
    fn has_bytes(&mut self, file: &File, range: &Range<u64>) -> bool {
        if self.next_from < range.start {
            self.next_from = match seek(file, SeekFrom::Data(range.start)) {
                Ok(from) => from,
                Err(rustix::io::Errno::NXIO) => u64::MAX,
                // A file system without `SEEK_DATA` reports no holes.
                Err(_) => range.start,
            };
        }
        self.next_from < range.end
    }
}

/// Returns the byte range of some chunks of a file of `size_bytes`.
fn byte_range(chunks: &Range<usize>, size_bytes: u64) -> Range<u64> {
    let at = |chunk: usize| (chunk as u64 * CHUNK_BYTES as u64).min(size_bytes);
    at(chunks.start)..at(chunks.end)
}

/// Opens or creates a target file, without following a link.
fn open_target(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        // The C library takes the flags as an `int`.
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}
