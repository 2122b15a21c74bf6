//! Fetches files as a whole: the chunks that are not here, each verified before it is written.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use pinakes_format::storage::absent::FetchedFile;
use pinakes_format::storage::integrity::{CHUNK_BYTES, Verifier};
use pinakes_format::storage::mmap::Map;
use pinakes_remote::host::{Extent, Failure, Host, Reply};
use rayon::prelude::*;

use crate::chunks::accept;
use crate::error::{Result, StoreError};
use crate::files::open_regular;
use crate::partial::make_file;

/// Most chunks in one request (4 MiB).
const SPAN_CHUNKS_MAX: usize = 1_024;
/// Chunks of a file that one thread looks for (128 MiB).
const SEARCHED_CHUNKS: usize = 32 << 10;
/// Chunks that are written together: what arrived before a connection broke stays.
const PIECE_CHUNKS: usize = 32;

/// A file to fetch.
pub struct DownloadedFile {
    /// Path of the file on the host.
    pub host_path: String,
    /// The file here. Right chunks of it are kept.
    pub file: FetchedFile,
    /// Local files that may share chunks with this one.
    pub donors: Vec<FetchedFile>,
}

/// Files of one host that are fetched as a whole.
pub struct Download<'h> {
    host: &'h Host,
    files: Vec<DownloadedFile>,
    /// For each file, whether a host that ignores ranges has sent it. One thread reads it.
    is_sent_whole: Vec<Mutex<bool>>,
    /// Bytes that an earlier run had fetched.
    pub kept_bytes: AtomicU64,
    /// Bytes copied from local files.
    pub copied_bytes: AtomicU64,
}

/// Consecutive absent chunks of one file.
#[derive(Clone, Debug)]
pub struct Span {
    file: usize,
    chunks: Range<usize>,
}

/// Makes the file of a hash tree in a directory, and opens it. Bytes that are there stay.
///
/// # Errors
///
/// The file cannot be made or opened.
pub fn make_target(
    directory: &Arc<Path>,
    verifier: Verifier,
    hashes: &Arc<Map>,
) -> Result<FetchedFile> {
    let path = directory.join(verifier.file());
    make_file(&path, verifier.size_bytes())
        .and_then(|()| open(directory, verifier, hashes))
        .map_err(StoreError::write(path))
}

/// Opens the file of a hash tree in a directory, to give chunks to another file.
///
/// # Errors
///
/// The system refuses, or the file has another size.
pub fn open(
    directory: &Arc<Path>,
    verifier: Verifier,
    hashes: &Arc<Map>,
) -> io::Result<FetchedFile> {
    let file = open_regular(&directory.join(verifier.file()))?;
    FetchedFile::open(directory, file, verifier, Arc::clone(hashes))
}

impl<'h> Download<'h> {
    /// Prepares to fetch files.
    pub fn new(host: &'h Host, files: Vec<DownloadedFile>) -> Download<'h> {
        let is_sent_whole = files.iter().map(|_| Mutex::new(false)).collect();
        let (kept_bytes, copied_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Download { host, files, is_sent_whole, kept_bytes, copied_bytes }
    }

    /// The size of all files.
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(|of| of.file.size_bytes()).sum()
    }

    /// The chunks of a span, and their bytes.
    pub fn size_of(&self, span: &Span) -> (u64, u64) {
        (span.chunks.len() as u64, bytes_of(&self.files[span.file].file, &span.chunks))
    }

    /// Verifies what is here, copies chunks from donors, and returns what is still absent. `on_bytes` gets the bytes that
    /// were looked at.
    pub fn find_absent(&self, on_bytes: impl Fn(u64) + Sync) -> Vec<Span> {
        let runs = self.files.iter().enumerate().flat_map(|(number, of)| {
            let count = of.file.chunks();
            let run = move |from: usize| (number, from..count.min(from + SEARCHED_CHUNKS));
            (0..count).step_by(SEARCHED_CHUNKS).map(run)
        });
        let found: Vec<Vec<Span>> = runs
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(number, run)| {
                on_bytes(bytes_of(&self.files[number].file, &run));
                self.find_absent_in(number, run)
            })
            .collect();
        found.into_iter().flatten().collect()
    }

    /// As [`Download::find_absent`], for some consecutive chunks of one file.
    fn find_absent_in(&self, number: usize, run: Range<usize>) -> Vec<Span> {
        let DownloadedFile { file, donors, .. } = &self.files[number];
        let bytes = |absent: &[Range<usize>]| -> u64 {
            absent.iter().map(|chunks| bytes_of(file, chunks)).sum()
        };
        let before = file.absent(run.clone());
        self.kept_bytes.fetch_add(bytes_of(file, &run) - bytes(&before), Ordering::Relaxed);
        let mut after = before.clone();
        for donor in donors {
            after.iter().for_each(|chunks| file.copy_from(donor, chunks.clone()));
            after = after.into_iter().flat_map(|chunks| file.absent(chunks)).collect();
        }
        self.copied_bytes.fetch_add(bytes(&before) - bytes(&after), Ordering::Relaxed);
        // One request fetches neighbouring chunks.
        let spans = after.into_iter().flat_map(|Range { start, end }| {
            let span = move |from: usize| from..end.min(from + SPAN_CHUNKS_MAX);
            (start..end).step_by(SPAN_CHUNKS_MAX).map(span)
        });
        spans.map(|chunks| Span { file: number, chunks }).collect()
    }

    /// Fetches spans over at most `connections` connections, and syncs the files. `on_bytes` gets the bytes that were
    /// written.
    ///
    /// # Errors
    ///
    /// The first failure. The chunks that were written until then stay for the next run.
    pub fn fetch(
        &self,
        spans: Vec<Span>,
        connections: usize,
        on_bytes: impl Fn(u64) + Sync,
    ) -> Result<()> {
        let workers = connections.min(spans.len());
        let queue = Mutex::new(spans.into_iter());
        let failed = Mutex::new(None);
        let has_failed = AtomicBool::new(false);
        let work = || {
            while !has_failed.load(Ordering::Relaxed) {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(span) = next else { return };
                if let Err(error) = self.fetch_span(span, &on_bytes) {
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
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        self.files.par_iter().try_for_each(|of| {
            let path: PathBuf = of.file.path();
            open_regular(&path).and_then(|file| file.sync_all()).map_err(StoreError::write(path))
        })
    }

    fn fetch_span(&self, span: Span, on_bytes: &impl Fn(u64)) -> Result<()> {
        let Span { file: number, mut chunks } = span;
        let DownloadedFile { host_path, file, .. } = &self.files[number];
        let size_bytes = file.size_bytes();
        let fetched = self.host.retry(|| {
            if chunks.is_empty() {
                return Ok(());
            }
            let is_all = chunks == (0..file.chunks());
            if is_all || self.host.ignores_ranges() {
                return self.fetch_whole(number, on_bytes);
            }
            let range = file.missing(chunks.clone()).range();
            let reply = self.host.request(host_path, &Extent::Range(range, size_bytes))?;
            if reply.is_range {
                self.receive(reply, file, &mut chunks, on_bytes)
            } else {
                // Requests again, with the body timeout of the whole file.
                drop(reply);
                self.fetch_whole(number, on_bytes)
            }
        });
        fetched.map_err(|failure| self.host.error(host_path, failure).into())
    }

    /// Reads a file from its beginning and keeps the absent chunks.
    fn fetch_whole(
        &self,
        number: usize,
        on_bytes: &impl Fn(u64),
    ) -> std::result::Result<(), Failure> {
        let DownloadedFile { host_path, file, .. } = &self.files[number];
        let mut is_sent = self.is_sent_whole[number].lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_sent {
            let reply = self.host.request(host_path, &Extent::Whole(file.size_bytes()))?;
            self.receive(reply, file, &mut (0..file.chunks()), on_bytes)?;
            *is_sent = true;
        }
        Ok(())
    }

    /// Writes the absent ones of the chunks of a reply, and takes from `chunks` those that are here.
    fn receive(
        &self,
        mut reply: Reply,
        file: &FetchedFile,
        chunks: &mut Range<usize>,
        on_bytes: &impl Fn(u64),
    ) -> std::result::Result<(), Failure> {
        let mut buffer = vec![0; PIECE_CHUNKS * CHUNK_BYTES];
        while chunks.start < chunks.end {
            let piece = chunks.start..chunks.end.min(chunks.start + PIECE_CHUNKS);
            let buffer = &mut buffer[..bytes_of(file, &piece) as usize];
            self.host.read(&mut reply, buffer)?;
            for absent in file.absent(piece.clone()) {
                let from = (absent.start - piece.start) * CHUNK_BYTES;
                let bytes = bytes_of(file, &absent);
                let sent = accept(&file.missing(absent), &buffer[from..from + bytes as usize])?;
                if !sent.unproved.is_empty() {
                    let reason = "`hashes` was damaged here since it was fetched; run again";
                    return Err(Failure::Permanent(reason.into()));
                }
                on_bytes(bytes);
            }
            chunks.start = piece.end;
        }
        self.host.expect_end(reply)
    }
}

fn bytes_of(file: &FetchedFile, chunks: &Range<usize>) -> u64 {
    let range = file.missing(chunks.clone()).range();
    range.end - range.start
}
