//! A published snapshot: opened, verified as it is touched, and read by row or by id.
//!
//! `open` maps the files and checks the headers; `lock` keeps an open snapshot from removal; `next` reads the link to a scheduled snapshot;
//! `lazy` opens an index at its first use; `fetch` starts the reads of a page; `measure` adds up the bytes of records, and those that files take; `partial` reads a snapshot of which chunks may be absent; `store` gives a record what it refers to; `watch` detects changes to open files; `verify` checks every byte and every rule of the format.
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
mod partial;
mod store;
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
use crate::index::crossings::{CountedOrder, CrossingsFile};
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
use crate::storage::absent::{ChunkSource, Wanted};
use crate::storage::mmap::Map;
use crate::storage::{
    Blobs, HEADER_BYTES, Ids, InArchive, Manifest, Names, ReadError, Reading, Redirects,
};

pub use crate::snapshot::error::{Cause, OpenError};
pub use crate::snapshot::fetch::RenderRow;
pub use crate::snapshot::files::{archive_path, archives, check_file_list};
pub use crate::snapshot::lock::{ExclusiveLock, lock_exclusive};
pub use crate::snapshot::lookup::RecordLookup;
pub(crate) use crate::snapshot::lookup::gather_texts;
pub use crate::snapshot::measure::RecordSizes;
pub use crate::snapshot::open::{open_draft_archive, read_manifest};
pub use crate::snapshot::partial::MayBeAbsent;
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
    crossings: Option<Lazy<CrossingsFile>>,
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
            crossings: twin(&self.crossings, reading),
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

    /// The counts of frequent terms; `None` where the entity has none.
    pub fn crossings(&self, entity: Entity) -> Result<Option<&CrossingsFile>, ReadError> {
        self.files_of(entity).crossings.as_ref().map(Lazy::get).transpose()
    }

    /// The counted order of an entity with a number: its index in the entity's keys.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn counted_order(
        &self,
        entity: Entity,
        number: usize,
    ) -> Result<CountedOrder<'_>, ReadError> {
        let spec = keys_of(entity).counted.get(number);
        let (Some(spec), Some(file)) = (spec, self.crossings(entity)?) else {
            return Err(ReadError::Internal("the entity has no counted order of this number"));
        };
        let first = spec.first.map(|number| self.order(entity, number)).transpose()?;
        file.counted(number, first, self.order(entity, spec.order)?)
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
