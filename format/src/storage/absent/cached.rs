//! Chunks that a bounded cache holds: a walk over them, and the removal of unused ones.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use crate::storage::absent::{Stretch, runs_of};
use crate::storage::archive::Archive;
use crate::storage::integrity::chunk_count;

/// The chunks that are removed from the disk together: 512 KiB.
pub(super) const REMOVED_CHUNKS: usize = 128;

/// Where a walk over the stretches of a snapshot is.
#[derive(Clone, Copy, Default)]
pub struct StretchPlace {
    pub(crate) archive: usize,
    from: usize,
}

impl StretchPlace {
    /// The place before the next archive.
    pub(crate) fn next_archive(&mut self) {
        *self = StretchPlace { archive: self.archive + 1, from: 0 };
    }
}

/// A stretch of a file that has bytes on the disk. Its unused chunks can be removed from the disk.
pub struct CachedStretch {
    pub(super) stretch: Stretch,
    /// Chunks that no reader had verified since the mark before, as runs of neighbours.
    unused: Vec<Range<usize>>,
}

impl CachedStretch {
    /// The next stretch of an archive with bytes on the disk; `None` behind the last.
    pub(crate) fn next(archive: &Archive, place: &mut StretchPlace) -> Option<CachedStretch> {
        let file = archive.shared();
        let first = file.next_data(place.from)? / REMOVED_CHUNKS * REMOVED_CHUNKS;
        let all = chunk_count(file.map.len() as u64) as usize;
        let chunks = first.max(place.from)..all.min(first + REMOVED_CHUNKS);
        place.from = chunks.end;
        let stretch = Stretch { file: Arc::clone(file), chunks };
        Some(CachedStretch { stretch, unused: Vec::new() })
    }

    /// Marks its chunks as not verified, so that the next reader verifies them again. Chunks that no reader had verified
    /// since the mark before are unused. Returns the bytes that these take on the disk.
    pub fn mark(&mut self) -> u64 {
        let Stretch { file, chunks } = &self.stretch;
        let is_unused = |chunk: usize| {
            !file.verifier.is_chunk_verified(chunk) && file.next_data(chunk) == Some(chunk)
        };
        self.unused = runs_of(chunks.clone(), is_unused);
        file.verifier.forget_chunks(chunks.clone());
        self.unused.iter().map(|chunks| file.bytes_of(chunks).len() as u64).sum()
    }

    /// Removes the unused chunks from the disk, except chunks that a reader has verified since. Nobody may hold references to
    /// the others. Returns the number of removed bytes.
    pub fn remove_unused(&self) -> u64 {
        let file = &self.stretch.file;
        let _alone = file.removal.write().unwrap_or_else(PoisonError::into_inner);
        let is_unused = |chunk| !file.verifier.is_chunk_verified(chunk);
        let mut removed = 0;
        for chunks in self.unused.iter().flat_map(|of| runs_of(of.clone(), is_unused)) {
            let range = file.bytes_of(&chunks);
            let outcome = file
                .place(file.verifier.file())
                .and_then(|path| file.map.remove(&path, range.start as u64..range.end as u64));
            removed += outcome.map_or(0, |()| range.len() as u64);
        }
        removed
    }
}
