//! Fetching files chunk by chunk: only the chunks that are not here, each verified before it is kept.

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

use pinakes_format::storage::integrity::{CHUNK_BYTES, RUN_VALUES, Verifier, chunk_count};
use pinakes_format::storage::mmap::Map;
use rayon::prelude::*;
use rustix::fs::{OFlags, SeekFrom, seek};

use crate::error::{Error, Result};
use crate::mirror::host::{Answer, Fault, Host, Part};
use crate::store::files::open_regular;
use crate::terminal::progress::{Bar, Progress};

/// Chunks that one request asks for at most: 4 MiB.
const SPAN_CHUNKS_MAX: usize = 64;

/// A file to be had.
pub struct Wanted {
    /// Its path on the host.
    pub path: String,
    /// Where it is put, as far as it is verified; what is there already is verified first.
    pub place: PathBuf,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What its chunks are held against.
    pub verifier: Verifier,
    /// Files here that may have chunks of it.
    pub twins: Vec<Twin>,
}

/// A file of another snapshot that may share chunks with one that is wanted. It is not trusted: what is
/// taken from it is verified.
pub struct Twin {
    /// Where it is.
    pub place: PathBuf,
    /// What its chunks are said to be.
    pub verifier: Verifier,
    /// The levels that say so.
    pub hashes: Arc<Map>,
}

/// What a run of chunks took.
#[derive(Default)]
pub struct Gains {
    /// Bytes that an earlier run had fetched.
    pub kept_bytes: AtomicU64,
    /// Bytes that were copied from snapshots here.
    pub copied_bytes: AtomicU64,
}

/// Chunks of a file that are missing.
#[derive(Clone, Debug)]
struct Span {
    file: usize,
    chunks: Range<usize>,
}

/// Files being fetched from one host.
pub struct Fetch<'h> {
    host: &'h Host,
    /// The levels of all of them.
    hashes: &'h [u8],
    files: Vec<Wanted>,
    /// Held by whoever reads a file whole, where the host sends no parts.
    whole: Vec<Mutex<()>>,
    /// What did not have to be fetched.
    pub gains: Gains,
}

impl<'h> Fetch<'h> {
    /// Begins to fetch files whose levels are in `hashes`.
    ///
    /// # Errors
    ///
    /// Where one cannot be made in its place.
    pub fn begin(host: &'h Host, hashes: &'h [u8], files: Vec<Wanted>) -> Result<Fetch<'h>> {
        for file in &files {
            open_place(&file.place)
                .and_then(|opened| opened.set_len(file.size_bytes))
                .map_err(Error::output(&file.place))?;
        }
        let whole = files.iter().map(|_| Mutex::new(())).collect();
        Ok(Fetch { host, hashes, files, whole, gains: Gains::default() })
    }

    /// Fetches what is missing, over so many connections, and makes all durable.
    ///
    /// # Errors
    ///
    /// The first thing that could not be had; what was verified until then stays for the next run.
    pub fn run(&self, connections: usize, progress: Progress) -> Result<()> {
        let all_bytes: u64 = self.files.iter().map(|file| file.size_bytes).sum();
        let look = progress.begin("look", "files", self.files.len() as u64, all_bytes);
        let spans = self.missing(&look)?;
        look.end();
        let chunks: usize = spans.iter().map(|span| span.chunks.len()).sum();
        let bytes = spans.iter().map(|span| self.bytes_of(span)).sum();
        let bar = progress.begin("fetch", "chunks", chunks as u64, bytes);
        self.fetch_all(spans, connections, &bar)?;
        bar.end();
        self.files.par_iter().try_for_each(|file| {
            open_place(&file.place)
                .and_then(|opened| opened.sync_all())
                .map_err(Error::output(&file.place))
        })
    }

    fn bytes_of(&self, span: &Span) -> u64 {
        let range = byte_range(&span.chunks, self.files[span.file].size_bytes);
        range.end - range.start
    }

    /// Verifies what is here, takes what twins have, and finds what is left.
    fn missing(&self, look: &Bar) -> Result<Vec<Span>> {
        let runs = self.files.iter().enumerate().flat_map(|(number, file)| {
            let count = chunk_count(file.size_bytes) as usize;
            let run = move |from: usize| from..count.min(from + RUN_VALUES);
            (0..count).step_by(RUN_VALUES).map(move |from| (number, run(from)))
        });
        let spans: Vec<Vec<Span>> = runs
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(number, run)| {
                let range = byte_range(&run, self.files[number].size_bytes);
                let spans = self.missing_of(number, run)?;
                look.advance(range.end - range.start);
                Ok(spans)
            })
            .collect::<Result<_>>()?;
        Ok(spans.into_iter().flatten().collect())
    }

    /// The same, of a run of a file's chunks.
    fn missing_of(&self, number: usize, run: Range<usize>) -> Result<Vec<Span>> {
        let file = &self.files[number];
        let here = open_place(&file.place).map_err(Error::output(&file.place))?;
        let twins: Vec<(File, &Twin)> = file
            .twins
            .iter()
            .filter_map(|twin| Some((open_regular(&twin.place).ok()?, twin)))
            .collect();
        let mut holes = Holes { next_from: 0 };
        let mut room = vec![0; CHUNK_BYTES];
        let mut spans: Vec<Span> = Vec::new();
        for chunk in run {
            let range = byte_range(&(chunk..chunk + 1), file.size_bytes);
            let room = &mut room[..(range.end - range.start) as usize];
            let has = |found: &File, room: &mut [u8]| {
                found.read_exact_at(room, range.start).is_ok()
                    && file.verifier.check_chunk(self.hashes, chunk, room).is_ok()
            };
            if holes.has_bytes(&here, &range) && has(&here, room) {
                self.gains.kept_bytes.fetch_add(room.len() as u64, Ordering::Relaxed);
                continue;
            }
            let promised = file.verifier.promised(self.hashes, chunk);
            let is_same = |twin: &Twin| twin.verifier.promised(&twin.hashes, chunk) == promised;
            let copied = twins.iter().any(|(found, twin)| is_same(twin) && has(found, room));
            if copied {
                here.write_all_at(room, range.start).map_err(Error::output(&file.place))?;
                self.gains.copied_bytes.fetch_add(room.len() as u64, Ordering::Relaxed);
                continue;
            }
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
        let left = Mutex::new(spans.into_iter());
        let failed = Mutex::new(None);
        let has_failed = AtomicBool::new(false);
        let work = || {
            while !has_failed.load(Ordering::Relaxed) {
                let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
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
        let here = open_place(&file.place).map_err(Error::output(&file.place))?;
        let fetched = self.host.patiently(|| {
            // What an earlier try brought, or somebody who read the file whole, is here.
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
                return self.fetch_whole(span.file, &here, bar);
            }
            let answer = self.host.ask(&file.path, &Part::Range(range, file.size_bytes))?;
            if answer.is_part {
                self.take(answer, span.file, &here, chunks, bar)
            } else {
                // Asked for again, with the time that the whole of it may take.
                drop(answer);
                self.fetch_whole(span.file, &here, bar)
            }
        });
        fetched.map_err(|fault| self.host.error(&file.path, fault))
    }

    /// Reads a file from its beginning, and keeps the chunks that are missing.
    fn fetch_whole(&self, number: usize, here: &File, bar: &Bar) -> std::result::Result<(), Fault> {
        let file = &self.files[number];
        let _alone = self.whole[number].lock().unwrap_or_else(PoisonError::into_inner);
        let count = chunk_count(file.size_bytes) as usize;
        if (0..count).all(|chunk| file.verifier.is_chunk_verified(chunk)) {
            return Ok(());
        }
        let answer = self.host.ask(&file.path, &Part::Whole(file.size_bytes))?;
        self.take(answer, number, here, 0..count, bar)
    }

    /// Takes chunks as a reply brings them, each after it is verified.
    fn take(
        &self,
        mut answer: Answer,
        number: usize,
        here: &File,
        chunks: Range<usize>,
        bar: &Bar,
    ) -> std::result::Result<(), Fault> {
        let file = &self.files[number];
        let mut room = vec![0; CHUNK_BYTES];
        for chunk in chunks {
            let range = byte_range(&(chunk..chunk + 1), file.size_bytes);
            let room = &mut room[..(range.end - range.start) as usize];
            self.host.read(&mut answer, room)?;
            if file.verifier.is_chunk_verified(chunk) {
                continue;
            }
            // Kept before it is noted as verified: a chunk that is noted is here.
            here.write_all_at(room, range.start)
                .map_err(|error| Fault::Kept(Error::output(&file.place)(error)))?;
            if file.verifier.check_chunk(self.hashes, chunk, room).is_err() {
                return Err(Fault::Wrong(format!(
                    "chunk {chunk} (bytes {} to {}) does not have the hash that was published",
                    range.start, range.end
                )));
            }
            bar.advance(room.len() as u64);
        }
        self.host.end(answer)
    }
}

/// Where a file has holes, in which nothing was ever written.
struct Holes {
    /// The first byte that is in none, of those after the last that was asked for.
    next_from: u64,
}

impl Holes {
    /// Whether any byte of a range was written, asked in ascending order.
    fn has_bytes(&mut self, file: &File, range: &Range<u64>) -> bool {
        if self.next_from < range.start {
            self.next_from = match seek(file, SeekFrom::Data(range.start)) {
                Ok(from) => from,
                Err(rustix::io::Errno::NXIO) => u64::MAX,
                // A file system that cannot tell has none.
                Err(_) => range.start,
            };
        }
        self.next_from < range.end
    }
}

/// The bytes of chunks of a file of so many bytes.
fn byte_range(chunks: &Range<usize>, size_bytes: u64) -> Range<u64> {
    let at = |chunk: usize| (chunk as u64 * CHUNK_BYTES as u64).min(size_bytes);
    at(chunks.start)..at(chunks.end)
}

/// Opens the place of a file that is fetched, which is made if it is not there; never what a link leads
/// to.
fn open_place(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        // The bits of flags are an int of the system's, whatever type they are kept in.
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("is no regular file")) }
}
