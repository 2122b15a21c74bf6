//! A published snapshot: opened, verified as it is touched, and read by row or by id.
//!
//! `open` maps the files and checks the headers; `lock` keeps an open snapshot from removal; `next` reads the link to a scheduled snapshot;
//! `lazy` opens an index at its first use; `fetch` starts the reads of a page; `measure` adds up the bytes of records, and those that files take; `watch` detects changes to open files; `verify` checks every byte and every rule of the format.
//! `suppression_list` reads the ids of a takedown list, `suppressed` resolves them to rows, and `suppressed_words` collects
//! the words of their texts.
//!
//! Imports `entity`, `index`, `json`, `record`, `schema`, `storage`, `text`.

mod error;
mod fetch;
mod files;
mod lazy;
mod lock;
mod lookup;
mod measure;
pub mod next;
mod open;
mod suppressed;
mod suppressed_words;
pub mod suppression_list;
mod verify;
#[cfg(not(target_family = "wasm"))]
mod verify_since;
mod watch;

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use crate::entity::{Entity, NO_ID, with_record};
use crate::index::citations::CitationsFile;
use crate::index::dictionary::Dictionary;
use crate::index::full_text::FullText;
use crate::index::kept_sets::{KeptSets, SnapshotSets};
use crate::index::orders::{Order, OrdersFile};
use crate::index::prefix_stats::PrefixStats;
use crate::index::targets::TargetsFile;
use crate::index::term_lists::TermListsFile;
use crate::json::record_reader::RecordReader;
use crate::json::render::{CurrentRecord, JsonWriter, RecordBytes, RecordStore, Render};
use crate::record;
use crate::record::gather::find_path;
use crate::record::{
    Column, Gather, Gathered, PathTree, TABLE_FIRST, TABLE_NAMES, fill, schema_of,
};
use crate::schema::{Values, keys_of};
use crate::snapshot::lazy::Lazy;
use crate::storage::absent::{
    CachedStretch, ChunkSource, FetchedStretches, Missing, StretchPlace, Wanted, take_over,
};
use crate::storage::integrity::chunk_count;
use crate::storage::mmap::Map;
use crate::storage::{
    Archive, Blobs, CHUNK_BYTES, HEADER_BYTES, Ids, InArchive, Manifest, Names, ReadError, Reading,
    Redirects,
};

pub use crate::snapshot::error::{Cause, OpenError};
pub use crate::snapshot::fetch::RenderRow;
pub use crate::snapshot::files::{archive_path, archives, check_file_list};
pub use crate::snapshot::lock::{ExclusiveLock, lock_exclusive};
pub use crate::snapshot::lookup::RecordLookup;
pub(crate) use crate::snapshot::lookup::gather_texts;
pub use crate::snapshot::measure::RecordSizes;
pub use crate::snapshot::open::{open_draft_archive, read_manifest};
pub(crate) use crate::snapshot::suppressed::PrefixSummaries;
pub use crate::snapshot::suppressed::Suppressed;
pub(crate) use crate::snapshot::suppressed_words::{SuppressedWords, language_of};
#[cfg(not(target_family = "wasm"))]
pub use crate::snapshot::verify_since::VerifiedChunks;

/// Bytes before the texts of `strings`: the first code of each table, and the number of codes.
pub const STRINGS_PREFIX_BYTES: usize = (TABLE_NAMES.len() + 1) * 8;

/// The file beside snapshots that lists the ids of every snapshot that became current: one a line,
/// the oldest first.
pub const HISTORY: &str = ".history";

/// The file in the directory of a snapshot of which chunks may be absent.
pub const PARTIAL: &str = "partial";

/// Bytes at the end of an index that hold its directory, or the last layer of fences.
const END_BYTES: usize = 2 << 10;

/// The directory, in a directory of snapshots, with the suppression list of each snapshot built with one.
/// Snapshots do not contain the lists, since mirrors publish snapshots.
pub const SUPPRESSION_LISTS: &str = ".suppressed";

/// A handle of an open snapshot, without the records that are suppressed.
#[derive(Clone)]
pub struct Snapshot {
    mapped: Arc<Mapped>,
    suppressed: Suppressed,
    kept: Arc<SnapshotSets>,
    reads: Reads,
    /// Where a handle that reads [`Reads::Collecting`] notes chunks.
    wanted: Option<Arc<Wanted>>,
}

/// How a handle reads bytes that may have to come from the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Each read waits by itself: for an idle disk, where asking for each page whether the page is in memory costs more
    /// than the rare wait.
    OneByOne,
    /// The reads of a page of records start together, before the first of them waits: for a busy disk.
    Together,
    /// A read that would wait fails with [`ReadError::WouldWait`]: for threads that serve many clients.
    MemoryOnly,
    /// As together; the chunks that are not on this disk are noted, and the answer is thrown away if there are any.
    Collecting,
}

/// The open files of a snapshot, shared by every suppression of it.
struct Mapped {
    opened: Arc<Opened>,
    entities: Vec<EntityFiles>,
    strings: Blobs,
}

/// The parts of a snapshot that its handles share.
struct Opened {
    path: PathBuf,
    manifest: Manifest,
    /// The manifest under a shared lock; `None` of a draft.
    _lock: Option<File>,
    /// The levels above the chunks of every file.
    hashes: Arc<Map>,
    /// Where chunks come from that are absent or damaged; `None` of a snapshot that must be whole.
    source: Option<Arc<dyn ChunkSource>>,
}

/// The archives of one entity; `None` where the entity has no such archive.
#[derive(Clone)]
struct EntityFiles {
    records: Blobs,
    ids: Ids,
    redirects: Redirects,
    names: Option<Names>,
    term_lists: Option<Lazy<TermListsFile>>,
    orders: Option<Lazy<OrdersFile>>,
    words: Option<Lazy<Dictionary>>,
    alternatives: Option<Lazy<Dictionary>>,
    prefix_stats: Option<Lazy<PrefixStats>>,
    citations: Option<Lazy<CitationsFile>>,
    targets: Option<Lazy<TargetsFile>>,
    full_text: Option<Lazy<FullText>>,
}

impl Mapped {
    /// Twins of all archives that read in another way.
    fn reading(&self, reading: &Reading) -> Mapped {
        let Mapped { opened, entities, strings } = self;
        let entities = entities.iter().map(|files| files.reading(reading)).collect();
        Mapped { opened: Arc::clone(opened), entities, strings: strings.reading(reading) }
    }
}

impl EntityFiles {
    /// Twins of the archives that read in another way.
    fn reading(&self, reading: &Reading) -> EntityFiles {
        fn twin<T: InArchive>(file: &Option<T>, reading: &Reading) -> Option<T> {
            file.as_ref().map(|file| file.reading(reading))
        }
        EntityFiles {
            records: self.records.reading(reading),
            ids: self.ids.reading(reading),
            redirects: self.redirects.reading(reading),
            names: twin(&self.names, reading),
            term_lists: twin(&self.term_lists, reading),
            orders: twin(&self.orders, reading),
            words: twin(&self.words, reading),
            alternatives: twin(&self.alternatives, reading),
            prefix_stats: twin(&self.prefix_stats, reading),
            citations: twin(&self.citations, reading),
            targets: twin(&self.targets, reading),
            full_text: twin(&self.full_text, reading),
        }
    }
}

/// The result of looking an id up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// The record is in this row.
    Row(u32),
    /// The record was merged into the record with this id.
    Merged(u64),
    /// No record has the id.
    Absent,
}

impl Snapshot {
    /// The snapshot's directory.
    pub fn path(&self) -> &Path {
        &self.mapped.opened.path
    }

    /// The snapshot's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.mapped.opened.manifest
    }

    /// Keeps sets of rows of its queries for later queries, in memory that snapshots share.
    #[must_use]
    pub fn keeping(self, sets: &Arc<KeptSets>) -> Snapshot {
        Snapshot { kept: Arc::new(SnapshotSets::new(sets)), ..self }
    }

    /// A handle of the same snapshot that reads in another way.
    #[must_use]
    pub fn reading(&self, reads: Reads) -> Snapshot {
        let mapped = match (reads, self.reads) {
            (Reads::MemoryOnly, Reads::OneByOne | Reads::Together) => {
                Arc::new(self.mapped.reading(&Reading::MemoryOnly))
            }
            _ => Arc::clone(&self.mapped),
        };
        Snapshot { mapped, reads, ..self.clone() }
    }

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

    /// The missing ends of the indexes of outputs, with which most requests begin: the directories of lists, orders, texts and
    /// citations, and the last layer of fences.
    pub fn missing_ends(&self) -> Vec<Missing> {
        let (files, wanted) = (self.files_of(Entity::Output), Wanted::default());
        let indexes = [
            files.term_lists.as_ref().map(Lazy::archive),
            files.orders.as_ref().map(Lazy::archive),
            files.full_text.as_ref().map(Lazy::archive),
            files.citations.as_ref().map(Lazy::archive),
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

    pub(crate) fn kept(&self) -> &SnapshotSets {
        &self.kept
    }

    fn files_of(&self, entity: Entity) -> &EntityFiles {
        &self.mapped.entities[entity as usize]
    }

    /// The number of records of an entity, suppressed records included. The records are in the rows
    /// from 0 on.
    pub fn count(&self, entity: Entity) -> u32 {
        // A header's counts are at most u32::MAX.
        self.files_of(entity).ids.published() as u32
    }

    /// The number of rows of an entity: its records, then its unresolved references.
    pub fn rows(&self, entity: Entity) -> u32 {
        self.files_of(entity).ids.rows() as u32
    }

    /// Looks up an id. The id of a suppressed record is [`LookupResult::Absent`].
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(records) reads.
    pub fn find(&self, entity: Entity, id: u64) -> Result<LookupResult, ReadError> {
        Ok(match self.find_unfiltered(entity, id)? {
            LookupResult::Row(row) if self.suppressed.has(entity, row) => LookupResult::Absent,
            found => found,
        })
    }

    /// Whether a row has a record that is not suppressed. Reads nothing.
    pub fn has_visible_row(&self, entity: Entity, row: u32) -> bool {
        row < self.count(entity) && !self.suppressed.has(entity, row)
    }

    /// Follows an id to the end of its chain of merges. Returns the last id, and the row of its record, if there is one.
    pub fn find_merged(&self, entity: Entity, id: u64) -> Result<(u64, Option<u32>), ReadError> {
        let (id, found) = match self.find(entity, id)? {
            LookupResult::Merged(into) => (into, self.find(entity, into)?),
            found => (id, found),
        };
        Ok((id, if let LookupResult::Row(row) = found { Some(row) } else { None }))
    }

    /// Looks up an id, suppressed records included.
    pub(crate) fn find_unfiltered(
        &self,
        entity: Entity,
        id: u64,
    ) -> Result<LookupResult, ReadError> {
        let files = self.files_of(entity);
        if let Some(row) = files.ids.row(id)? {
            return Ok(LookupResult::Row(row));
        }
        Ok(files.redirects.target(id)?.map_or(LookupResult::Absent, LookupResult::Merged))
    }

    /// The rows of an id that was not merged: the row of its record, or the rows of its unresolved
    /// references.
    pub(crate) fn rows_with(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError> {
        match self.find_unfiltered(entity, id)? {
            LookupResult::Row(row) => Ok(row..row + 1),
            LookupResult::Merged(_) | LookupResult::Absent => self.unresolved_rows(entity, id),
        }
    }

    /// The rows of the unresolved references with an id: one for each spelling of the name.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(unresolved references) reads.
    pub fn unresolved_rows(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError> {
        self.files_of(entity).ids.unresolved_rows(id)
    }

    /// The id of a row; [`NO_ID`](crate::entity::NO_ID) where the row has none.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or the bytes are damaged.
    pub fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        self.files_of(entity).ids.id(row as usize)
    }

    /// The name of a row, of an entity that others refer to; `None` where the row is suppressed or
    /// has no name.
    pub fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        if self.suppressed.has(entity, row) {
            return Ok(None);
        }
        match &self.files_of(entity).names {
            Some(names) => names.text(row as usize),
            None => Err(ReadError::Internal("the entity has no names file")),
        }
    }

    /// The name of the id of a row: as [`Snapshot::row_name`], and of an unresolved id with several
    /// spellings the first name.
    pub fn name_of_id(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        if row < self.count(entity) {
            return self.row_name(entity, row);
        }
        let mut spellings = self.unresolved_rows(entity, self.row_id(entity, row)?)?;
        spellings.find_map(|row| self.row_name(entity, row).transpose()).transpose()
    }

    /// The name of the record in a row, of any entity. Includes suppressed records: a binary search
    /// of the order by name compares with them.
    pub fn name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        static NAMES: LazyLock<Vec<PathTree>> = LazyLock::new(|| {
            let tree_of = |entity| {
                let mut tree = PathTree::default();
                find_path(&schema_of(entity), "name").inspect(|found| tree.add(&found.path, 0));
                tree
            };
            Entity::all().map(tree_of).collect()
        });
        if let Some(names) = &self.files_of(entity).names {
            return names.text(row as usize);
        }
        let mut name = None;
        with_record!(entity, R => {
            let mut from = RecordReader::new(self.stored(entity, row)?.packed)?;
            R::gather(&mut from, &NAMES[entity as usize], &mut |_, value| {
                if let Gathered::Text(text) = value {
                    name = Some(text);
                }
            })?;
        });
        Ok(name)
    }

    /// The term lists of an entity.
    ///
    /// # Errors
    ///
    /// Where the entity has none.
    pub fn term_lists(&self, entity: Entity) -> Result<&TermListsFile, ReadError> {
        let lists = self.files_of(entity).term_lists.as_ref();
        lists.ok_or(ReadError::Internal("the entity has no term lists"))?.get()
    }

    /// The dictionary of the words in an entity's names.
    ///
    /// # Errors
    ///
    /// Where the entity's names are not searched.
    pub fn words(&self, entity: Entity) -> Result<&Dictionary, ReadError> {
        let words = self.files_of(entity).words.as_ref();
        words.ok_or(ReadError::Internal("the entity has no word dictionary"))?.get()
    }

    /// The dictionary of an entity's folded alternative names; `None` where the entity has none.
    pub fn alternatives(&self, entity: Entity) -> Result<Option<&Dictionary>, ReadError> {
        self.files_of(entity).alternatives.as_ref().map(Lazy::get).transpose()
    }

    /// The prefix statistics of the words in an entity's names.
    ///
    /// # Errors
    ///
    /// Where the entity's names are not searched.
    pub fn prefix_stats(&self, entity: Entity) -> Result<&PrefixStats, ReadError> {
        let prefixes = self.files_of(entity).prefix_stats.as_ref();
        prefixes.ok_or(ReadError::Internal("the entity has no prefix statistics"))?.get()
    }

    /// The citation graph of an entity.
    ///
    /// # Errors
    ///
    /// Where the entity has none.
    pub fn citations(&self, entity: Entity) -> Result<&CitationsFile, ReadError> {
        let citations = self.files_of(entity).citations.as_ref();
        citations.ok_or(ReadError::Internal("the entity has no citation graph"))?.get()
    }

    /// The rows that an entity's records refer to.
    ///
    /// # Errors
    ///
    /// Where the entity has no such lists.
    pub fn targets(&self, entity: Entity) -> Result<&TargetsFile, ReadError> {
        let targets = self.files_of(entity).targets.as_ref();
        targets.ok_or(ReadError::Internal("the entity has no lists of target rows"))?.get()
    }

    /// The full-text index of an entity; `None` where the entity has no full-text search, or the snapshot was built
    /// without.
    pub fn full_text(&self, entity: Entity) -> Result<Option<&FullText>, ReadError> {
        self.files_of(entity).full_text.as_ref().map(Lazy::get).transpose()
    }

    /// The row that stands for all rows with the id of a row; `None` for a row without an id.
    ///
    /// # Errors
    ///
    /// Where the row does not exist.
    pub fn first_row_of_id(&self, entity: Entity, row: u32) -> Result<Option<u32>, ReadError> {
        if row < self.count(entity) {
            return Ok(Some(row));
        }
        match self.row_id(entity, row)? {
            NO_ID => Ok(None),
            _ => self.files_of(entity).ids.first_unresolved_row(row).map(Some),
        }
    }

    /// The orders of an entity.
    ///
    /// # Errors
    ///
    /// Where the entity has none.
    pub fn orders(&self, entity: Entity) -> Result<&OrdersFile, ReadError> {
        let orders = self.files_of(entity).orders.as_ref();
        orders.ok_or(ReadError::Internal("the entity has no orders"))?.get()
    }

    /// The order of an entity with a number: its index in the entity's keys.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn order(&self, entity: Entity, number: usize) -> Result<Order<'_>, ReadError> {
        let spec = keys_of(entity).orders.get(number);
        let spec = spec.ok_or(ReadError::Internal("the entity has no order of this number"))?;
        self.orders(entity)?.order(number, spec, &self.files_of(entity).ids)
    }

    /// The order of an entity by id.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn id_order(&self, entity: Entity) -> Result<Order<'_>, ReadError> {
        let orders = &keys_of(entity).orders;
        let number = orders.iter().position(|order| order.values == Values::Ids);
        self.order(entity, number.ok_or(ReadError::Internal("the entity has no order by id"))?)
    }

    /// The order of an entity by the values at a member path.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn order_by(&self, entity: Entity, path: &str) -> Result<Order<'_>, ReadError> {
        let number = keys_of(entity).order(path);
        self.order(
            entity,
            number.ok_or(ReadError::Internal("the entity has no order by this path"))?,
        )
    }

    /// The map between ids and rows of an entity.
    pub fn ids(&self, entity: Entity) -> &Ids {
        &self.files_of(entity).ids
    }

    /// The merged ids of an entity.
    pub fn redirects(&self, entity: Entity) -> &Redirects {
        &self.files_of(entity).redirects
    }

    /// The number of codes in all tables.
    pub fn codes(&self) -> u32 {
        (self.mapped.strings.count() / 2) as u32
    }

    /// The codes of a table, by the number of the table.
    ///
    /// # Errors
    ///
    /// Where there is no such table.
    pub fn codes_of(&self, table: u8) -> Result<Range<u32>, ReadError> {
        let missing = ReadError::corrupt("strings", "a table does not exist");
        let Some(at) = table.checked_sub(TABLE_FIRST).map(usize::from) else { return Err(missing) };
        if at >= TABLE_NAMES.len() {
            return Err(missing);
        }
        let first = |at: usize| self.mapped.strings.archive().u64_at(HEADER_BYTES + at * 8);
        let (from, to) = (first(at)?, first(at + 1)?);
        // Codes have numbers below 2^32.
        Ok(from as u32..to as u32)
    }

    /// The text of a code.
    ///
    /// # Errors
    ///
    /// Where there is no such code, or the bytes are damaged.
    pub fn code(&self, code: u32) -> Result<&str, ReadError> {
        let text = self.mapped.strings.text(code as usize * 2)?;
        text.ok_or(ReadError::corrupt("strings", "a code has no text"))
    }

    /// The name of a code.
    pub fn code_name(&self, code: u32) -> Result<Option<&str>, ReadError> {
        self.mapped.strings.text(code as usize * 2 + 1)
    }

    /// The packed record in a row, and the frame of its long texts.
    ///
    /// # Errors
    ///
    /// Where there is no such record, or the bytes are damaged.
    pub fn stored(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        let blob = self.files_of(entity).records.get(row as usize)?;
        record::access(blob.ok_or(ReadError::corrupt("records", "a row has no record"))?)
    }

    /// The size of the record in a row, in bytes. Does not read the record.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or its offsets are damaged.
    pub fn record_bytes(&self, entity: Entity, row: u32) -> Result<usize, ReadError> {
        self.files_of(entity).records.size_bytes(row as usize)
    }

    /// A reader of the record in a row; `None` where the row is suppressed, or is an unresolved
    /// reference.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged, or are no record.
    pub fn reader(&self, entity: Entity, row: u32) -> Result<Option<RecordReader<'_>>, ReadError> {
        if row >= self.count(entity) || self.suppressed.has(entity, row) {
            return Ok(None);
        }
        RecordReader::new(self.stored(entity, row)?.packed).map(Some)
    }

    /// Appends the JSON of the record in a row to a page.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::reader`]; the page then holds an incomplete text.
    pub fn render<'s>(
        &'s self,
        entity: Entity,
        row: u32,
        writer: &mut JsonWriter<'s>,
    ) -> Result<(), ReadError> {
        let record = RecordStore::record(self, entity, row)?;
        writer.swap_record(CurrentRecord::new(record));
        with_record!(entity, R => {
            R::render(&mut RecordReader::new(record.packed)?, writer)
        })
    }

    /// Puts the record in a row into a column; see [`record::columns`]. The page gives names and texts,
    /// and stays empty.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::reader`]; the column then has an incomplete record.
    pub fn fill<'s>(
        &'s self,
        entity: Entity,
        row: u32,
        column: &mut impl Column,
        writer: &mut JsonWriter<'s>,
    ) -> Result<(), ReadError> {
        let record = RecordStore::record(self, entity, row)?;
        writer.swap_record(CurrentRecord::new(record));
        let from = &mut RecordReader::new(record.packed)?;
        with_record!(entity, R => fill::<R, _>(from, column, writer))
    }

    /// Appends the legacy JSON of the record in a row to a page.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::render`], and where the entity has no legacy form or the row is suppressed.
    pub fn render_legacy<'s>(
        &'s self,
        entity: Entity,
        row: u32,
        writer: &mut JsonWriter<'s>,
    ) -> Result<(), ReadError> {
        if !self.has_record(entity, row) {
            return Err(ReadError::corrupt("records", "a row has no record"));
        }
        record::legacy::render(entity, self.stored(entity, row)?.packed, writer)
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

impl RecordStore for Snapshot {
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        self.or_noted(Snapshot::row_id(self, entity, row))
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        self.or_noted(Snapshot::row_name(self, entity, row))
    }

    fn reference(&self, entity: Entity, row: u32) -> Result<(u64, Option<&[u8]>), ReadError> {
        match &self.files_of(entity).names {
            Some(names) => {
                let (id, name) = self.or_noted(names.get(row as usize))?;
                Ok((id, name.filter(|_| !self.suppressed.has(entity, row))))
            }
            None => Err(ReadError::Internal("the entity has no names file")),
        }
    }

    fn code(&self, code: u32) -> Result<&[u8], ReadError> {
        let text = self.mapped.strings.get(code as usize * 2);
        let missing = ReadError::corrupt("strings", "a code has no text");
        self.or_noted(text.and_then(|text| text.ok_or(missing)))
    }

    fn code_name(&self, code: u32) -> Result<Option<&[u8]>, ReadError> {
        self.or_noted(self.mapped.strings.get(code as usize * 2 + 1))
    }

    fn has_record(&self, entity: Entity, row: u32) -> bool {
        // A handle that collects goes on without the record, and notes what else is absent.
        let is_absent = || {
            self.is_collecting()
                && matches!(self.stored(entity, row), Err(ReadError::Absent { .. }))
        };
        self.has_visible_row(entity, row) && !is_absent()
    }

    fn is_placeholder(&self, entity: Entity, row: u32) -> Result<bool, ReadError> {
        if self.has_visible_row(entity, row) || !self.has_suppressed() {
            return Ok(false);
        }
        let has_name = match &self.files_of(entity).names {
            Some(_) => RecordStore::row_name(self, entity, row)?.is_some(),
            None => false,
        };
        Ok(!has_name && RecordStore::row_id(self, entity, row)? != NO_ID)
    }

    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        self.stored(entity, row)
    }
}
