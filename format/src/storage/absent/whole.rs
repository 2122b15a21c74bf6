//! Files that are wanted as a whole: chunks of other files are copied, and what stays absent is listed.

use std::{
    fs::File,
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
};

use crate::storage::absent::cached::{CachedStretch, StretchPlace};
use crate::storage::absent::{ChunkSource, Missing, Part, damaged_values, runs_of};
use crate::storage::archive::{Archive, ArchiveFile};
use crate::storage::error::ReadError;
use crate::storage::integrity::{Verifier, chunk_count, chunk_range};
use crate::storage::loading::LoadMode;
use crate::storage::mmap::Map;

/// Copies those of some chunks that another file has too, at the same place. Where values of the hash tree that tell are
/// not here, `source` sends them. Returns the copied bytes.
fn copy_equal(
    file: &Arc<ArchiveFile>,
    other: &ArchiveFile,
    chunks: Range<usize>,
    source: Option<&dyn ChunkSource>,
) -> Result<u64, ReadError> {
    let all = chunk_count(file.map.len() as u64) as usize;
    let mut copied = 0;
    for chunk in chunks.start..chunks.end.min(all) {
        if file.verifier.is_chunk_verified(chunk) {
            continue;
        }
        let values: Vec<Missing> = damaged_values(file, chunk).collect();
        if let (Some(source), false) = (source, values.is_empty()) {
            if !other.has(chunk) {
                continue;
            }
            source.fetch(values)?;
        }
        // The promised hashes are compared first: the bytes of other chunks are not read. They are verified too, because
        // the other file may be damaged.
        let promised = file.verifier.promised(&*file.hashes, chunk);
        let range = chunk_range(chunk, other.map.len());
        if promised == other.verifier.promised(&*other.hashes, chunk) && !range.is_empty() {
            let part = Missing { file: Arc::clone(file), part: Part::Chunks(chunk..chunk + 1) };
            let bytes = other.map.read(range);
            if part.accept(&bytes).is_ok_and(|sent| sent.written > 0) {
                copied += bytes.len() as u64;
            }
        }
    }
    Ok(copied)
}

/// Copies the chunks of an earlier file that are the same, at the same place. Fetches the values of the hash tree that
/// tell. Returns the copied bytes.
pub(crate) fn take_over(archive: &Archive, earlier: &Archive, source: &dyn ChunkSource) -> u64 {
    let mut place = StretchPlace::default();
    let mut copied = 0;
    while let Some(CachedStretch { stretch, .. }) = CachedStretch::next(earlier, &mut place) {
        match copy_equal(archive.shared(), &stretch.file, stretch.chunks, Some(source)) {
            Ok(bytes) => copied += bytes,
            Err(_) => break,
        }
    }
    copied
}

/// A file for a program that fetches all of it, or that gives chunks to another file. It may be a file of a snapshot or any
/// other with a hash tree.
pub struct FetchedFile(Arc<ArchiveFile>);

impl FetchedFile {
    /// Maps the file of a hash tree in a directory.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn open(
        directory: &Arc<Path>,
        file: File,
        verifier: Verifier,
        hashes: Arc<Map>,
    ) -> io::Result<FetchedFile> {
        let map = Map::load(file, LoadMode::Sparse)?;
        let fetched_to = Some(Arc::clone(directory));
        let removal = RwLock::default();
        Ok(FetchedFile(Arc::new(ArchiveFile { map, hashes, verifier, fetched_to, removal })))
    }

    /// The size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.0.map.len() as u64
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        let directory = self.0.fetched_to.as_deref().unwrap_or(Path::new(""));
        directory.join(self.0.verifier.file())
    }

    /// The number of its chunks.
    pub fn chunks(&self) -> usize {
        chunk_count(self.size_bytes()) as usize
    }

    /// The absent chunks of a range of chunks, as runs of neighbours. Cost: a hash of each chunk that has bytes on the disk
    /// and is not verified yet.
    pub fn absent(&self, chunks: Range<usize>) -> Vec<Range<usize>> {
        let mut data = 0;
        runs_of(chunks, |chunk| {
            if data < chunk {
                data = self.0.next_data(chunk).unwrap_or(usize::MAX);
            }
            // Chunks in a hole are not read.
            data > chunk || !self.0.has(chunk)
        })
    }

    /// Copies those of some chunks that another file has too, at the same place.
    pub fn copy_from(&self, other: &FetchedFile, chunks: Range<usize>) {
        // Without a source, nothing is fetched that could fail.
        let _ = copy_equal(&self.0, &other.0, chunks, None);
    }

    /// Some chunks, to be sent by a host.
    pub fn missing(&self, chunks: Range<usize>) -> Missing {
        Missing { file: Arc::clone(&self.0), part: Part::Chunks(chunks) }
    }
}
