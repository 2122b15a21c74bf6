//! Handles of a snapshot of which chunks may be absent: what they note, where the chunks come from, and which chunks are here.
//!
//! ```text
//! attempt 1   reads, notes what is absent   its answer is thrown away
//!             the noted chunks are fetched together
//! attempt 2   reads them, notes more, or answers
//! ```

use std::ops::Range;
use std::sync::Arc;

use crate::entity::Entity;
use crate::snapshot::lazy::Lazy;
use crate::snapshot::{Reads, Snapshot};
use crate::storage::absent::{
    CachedStretch, ChunkSource, FetchedStretches, Missing, StretchPlace, Wanted, take_over,
};
use crate::storage::integrity::chunk_count;
use crate::storage::{Archive, CHUNK_BYTES, ReadError, Reading};

/// Bytes at the end of an index that hold its directory, or the last layer of fences.
const END_BYTES: usize = 2 << 10;

impl Snapshot {
    /// A handle of the same snapshot that notes the chunks that it reads, or will read, and that are not on this disk.
    #[must_use]
    pub fn collecting(&self, wanted: &Arc<Wanted>) -> Snapshot {
        let mapped = Arc::new(self.mapped.reading(&Reading::Collects(Arc::clone(wanted))));
        // Most replies end with texts of codes. The file is small, and needs no round of its own.
        let strings = self.mapped.strings.archive();
        wanted.note_chunks(strings, 0..strings.len().div_ceil(CHUNK_BYTES));
        let wanted = Some(Arc::clone(wanted));
        let kept = Arc::new(self.kept.found_only());
        Snapshot { mapped, kept, reads: Reads::Collecting, wanted, ..self.clone() }
    }

    /// A handle of another snapshot that reads as this one does, and notes chunks where this one notes them.
    #[must_use]
    pub fn beside(&self, other: &Snapshot) -> Snapshot {
        match &self.wanted {
            Some(wanted) => other.collecting(wanted),
            None => other.reading(self.reads),
        }
    }

    /// A handle of the same snapshot whose reads wait until chunks are sent that are not on this disk; the handle itself
    /// of a snapshot that must be whole.
    #[must_use]
    pub fn waiting(&self) -> Snapshot {
        let Some(source) = &self.mapped.opened.source else { return self.clone() };
        let reading = Reading::Fetches(Arc::default(), Arc::clone(source));
        let mapped = Arc::new(self.mapped.reading(&reading));
        Snapshot { mapped, reads: Reads::Together, ..self.clone() }
    }

    /// The next stretch that has bytes on the disk; `None` behind the last.
    pub fn next_stretch(&self, place: &mut StretchPlace) -> Option<CachedStretch> {
        for archive in self.archives().skip(place.archive) {
            if let Some(stretch) = CachedStretch::next(archive, place) {
                return Some(stretch);
            }
            place.next_archive();
        }
        None
    }

    /// Copies the chunks of an earlier snapshot that are the same, at the same place of the same file. Returns the copied
    /// bytes.
    pub fn take_over(&self, earlier: &Snapshot, source: &dyn ChunkSource) -> u64 {
        let of_one = |archive: &Archive| {
            let other = earlier.archives().find(|other| other.file() == archive.file());
            other.map_or(0, |other| take_over(archive, other, source))
        };
        self.archives().map(of_one).sum()
    }

    /// The number of chunks of each archive.
    pub fn chunk_counts(&self) -> Vec<usize> {
        self.archives().map(|archive| chunk_count(archive.len() as u64) as usize).collect()
    }

    /// The missing bytes of some chunks of an archive, by its number in [`Snapshot::chunk_counts`]. Cost: a hash of each
    /// chunk that is not verified yet.
    pub fn missing_in(&self, archive: usize, chunks: Range<usize>) -> Vec<Missing> {
        let wanted = Wanted::default();
        self.archives().skip(archive).take(1).for_each(|of| wanted.note_chunks(of, chunks.clone()));
        wanted.take(&mut FetchedStretches::default())
    }

    /// The missing ends of the indexes of outputs, with which most requests begin: the directories of lists, orders, texts,
    /// citations and crossings, and the last layer of fences.
    pub fn missing_ends(&self) -> Vec<Missing> {
        let (files, wanted) = (self.files_of(Entity::Output), Wanted::default());
        let indexes = [
            files.term_lists.as_ref().map(Lazy::archive),
            files.orders.as_ref().map(Lazy::archive),
            files.full_text.as_ref().map(Lazy::archive),
            files.citations.as_ref().map(Lazy::archive),
            files.crossings.as_ref().map(Lazy::archive),
            Some(files.ids.archive()),
        ];
        for archive in indexes.into_iter().flatten() {
            let from = archive.len().saturating_sub(END_BYTES) / CHUNK_BYTES;
            wanted.note_chunks(archive, from..archive.len().div_ceil(CHUNK_BYTES));
        }
        wanted.take(&mut FetchedStretches::default())
    }

    /// The result of a read. A handle that collects has noted absent bytes, and answers nothing in their place: so one
    /// attempt notes all that a page of records refers to, and its answer is thrown away.
    ///
    /// Work that reads one thing after another, none of which decides what is read next, passes each read through here.
    ///
    /// # Errors
    ///
    /// As the read; absent bytes are no error of a handle that collects.
    pub fn or_noted<T: Default, E: MayBeAbsent>(&self, read: Result<T, E>) -> Result<T, E> {
        match read {
            Err(error) if error.is_absent() && self.is_collecting() => Ok(T::default()),
            read => read,
        }
    }

    /// Notes the record in a row, if it is not on this disk and this handle notes that.
    pub fn note_record(&self, entity: Entity, row: u32) {
        if self.is_collecting() {
            let records = &self.files_of(entity).records;
            records.fetch_offsets(row as usize);
            // Without its offsets, the record is noted by the next attempt.
            let _ = records.fetch(row as usize);
        }
    }

    /// Whether this handle has noted that something is not on this disk. The answer of the attempt is then thrown away.
    pub fn is_lacking(&self) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| !wanted.is_empty())
    }

    /// Whether this handle notes what is not on this disk.
    pub(crate) fn is_collecting(&self) -> bool {
        self.reads == Reads::Collecting
    }

    /// Whether chunks that are absent or damaged can be fetched.
    pub fn is_fetched(&self) -> bool {
        self.mapped.opened.source.is_some()
    }
}

/// An error that may stand for bytes that are not on this disk.
pub trait MayBeAbsent {
    /// Whether the bytes are not on this disk.
    fn is_absent(&self) -> bool;
}

impl MayBeAbsent for ReadError {
    fn is_absent(&self) -> bool {
        matches!(self, ReadError::Absent { .. })
    }
}
