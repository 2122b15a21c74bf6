//! A published snapshot: opened, checked as it is touched, and read by row or by id.

mod lock;
mod open;
mod suppressed;
pub mod suppression_list;
mod verify;
mod watch;

use std::{
    collections::BTreeMap,
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use crate::entity::Entity;
use crate::index::dictionary::Dictionary;
use crate::index::orders::{Order, OrdersFile};
use crate::index::prefix_stats::PrefixStats;
use crate::index::term_lists::TermListsFile;
use crate::json::render::{Page, RecordBytes, RecordStore, Render};
use crate::record;
use crate::record::gather::{Gather, Gathered, PathTree, find_path};
use crate::record::value::TABLE_NAMES;
use crate::record::{Record, schema_of};
use crate::schema::keys::{Values, keys_of};
use crate::storage::blobs::Blobs;
use crate::storage::error::ReadError;
use crate::storage::header::Kind;
use crate::storage::ids::{Ids, Redirects};
use crate::storage::manifest::{Counts, Manifest};
use crate::storage::mmap::{Hold, Map};

pub use crate::snapshot::lock::{Seized, seize};
use crate::snapshot::open::Opening;
pub use crate::snapshot::open::{Cause, OpenError, check_listing, draft_archive, manifest_of};
pub use crate::snapshot::suppressed::Suppressed;

/// Bytes before the texts of `strings`: where each table begins, and the end.
pub const STRINGS_PREFIX_BYTES: usize = (TABLE_NAMES.len() + 1) * 8;

/// Beside snapshots: the ids of those that became the current one, a line each, the oldest first.
pub const HISTORY: &str = ".history";

/// A snapshot, mapped, but for the records of it that are withheld. Opening costs the same at any size:
/// the manifest, and a page or two a file.
pub struct Snapshot {
    mapped: Arc<Mapped>,
    suppressed: Suppressed,
}

/// What a snapshot consists of.
struct Mapped {
    path: PathBuf,
    manifest: Manifest,
    /// Its manifest, so that nobody removes it; `None` of a draft.
    _lock: Option<File>,
    stores: Vec<Store>,
    strings: Blobs,
    /// What all is held against.
    hashes: Arc<Map>,
}

/// One entity's archives.
struct Store {
    records: Blobs,
    ids: Ids,
    redirects: Redirects,
    names: Option<Blobs>,
    lists: Option<TermListsFile>,
    orders: Option<OrdersFile>,
    words: Option<Dictionary>,
    alternatives: Option<Dictionary>,
    prefixes: Option<PrefixStats>,
}

/// Where an identifier leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// To the record in this row.
    Row(u32),
    /// To the record it was merged into.
    Merged(u64),
    /// Nowhere.
    Absent,
}

/// The path of an archive within a snapshot.
pub fn archive_path(kind: Kind, entity: Option<Entity>) -> String {
    match entity {
        Some(entity) => format!("{}/{}", entity.facts().plural, kind.file_name()),
        None => kind.file_name().to_string(),
    }
}

/// Every archive a snapshot has, and no other file but the report and the hashes.
pub fn archives() -> impl Iterator<Item = (Kind, Option<Entity>)> {
    let of_entity = |entity: Entity| {
        let keys = keys_of(entity);
        let names = entity.facts().is_referenced.then_some(Kind::Names);
        let lists = (!keys.lists.is_empty()).then_some(Kind::Lists);
        let orders = (!keys.orders.is_empty()).then_some(Kind::Orders);
        let words = keys.has_names().then_some(Kind::Words);
        let alternatives = keys.has_alternatives().then_some(Kind::Alternatives);
        let prefixes = keys.has_names().then_some(Kind::Prefixes);
        [Kind::Records, Kind::Ids, Kind::Redirects]
            .into_iter()
            .chain([names, lists, orders, words, alternatives, prefixes].into_iter().flatten())
            .map(move |kind| (kind, Some(entity)))
    };
    Entity::all().flat_map(of_entity).chain([(Kind::Strings, None)])
}

impl Snapshot {
    /// Opens the snapshot in a directory.
    ///
    /// Checked here: the manifest, that the files are those it lists with the sizes it lists,
    /// every header, the report, and the last level of every hash tree. All else is checked when
    /// first touched. As long as it is open nobody can [`seize`] it.
    ///
    /// # Errors
    ///
    /// Naming the file, what was expected and what was found.
    pub fn open(path: &Path) -> Result<Snapshot, OpenError> {
        Snapshot::open_held(path, Hold::Mapped)
    }

    /// The same, with its files mapped or copied into memory. To copy costs time and memory of the
    /// snapshot's size.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::open`].
    pub fn open_held(path: &Path, hold: Hold) -> Result<Snapshot, OpenError> {
        Opening::begin(path, hold)?.finish()
    }

    /// Opens the archives of a snapshot that this process is writing: records, ids and names, and
    /// nothing else. They are trusted as they are, and questions to lists have no answer yet.
    ///
    /// # Errors
    ///
    /// Naming the file that could not be opened.
    pub fn open_draft(
        path: &Path,
        counts: BTreeMap<String, Counts>,
    ) -> Result<Snapshot, OpenError> {
        Opening::draft(path, counts).finish()
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.mapped.path
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.mapped.manifest
    }

    fn store(&self, entity: Entity) -> &Store {
        &self.mapped.stores[entity as usize]
    }

    /// How many records of an entity the files hold: its rows from 0, those withheld among them.
    pub fn count(&self, entity: Entity) -> u32 {
        // A header's counts are at most u32::MAX.
        self.store(entity).ids.published() as u32
    }

    /// Where an identifier leads; to a record that is withheld, none does.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(records) reads.
    pub fn find(&self, entity: Entity, id: u64) -> Result<Found, ReadError> {
        Ok(match self.held(entity, id)? {
            Found::Row(row) if self.suppressed.has(entity, row) => Found::Absent,
            found => found,
        })
    }

    /// Where an identifier leads in the files, to a record withheld or not.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::find`].
    pub(crate) fn held(&self, entity: Entity, id: u64) -> Result<Found, ReadError> {
        let store = self.store(entity);
        if let Some(row) = store.ids.row(id)? {
            return Ok(Found::Row(row));
        }
        Ok(store.redirects.target(id)?.map_or(Found::Absent, Found::Merged))
    }

    /// The id of a row, stray or not; [`NO_ID`](crate::entity::NO_ID) where it has none.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or the bytes are damaged.
    pub fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        self.store(entity).ids.id(row as usize)
    }

    /// The name of a row, stray or not; what is withheld has none.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::row_id`].
    pub fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        if self.suppressed.has(entity, row) {
            return Ok(None);
        }
        match &self.store(entity).names {
            Some(names) => names.text(row as usize),
            None => Err(ReadError::Internal("the entity has no names file")),
        }
    }

    /// The name of the record in a row, wherever it is kept; also of one that is withheld, for whoever
    /// looks for a place in the order of names.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::row_id`].
    pub fn name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        static NAMES: LazyLock<Vec<PathTree>> = LazyLock::new(|| {
            let tree_of = |entity| {
                let mut tree = PathTree::default();
                find_path(&schema_of(entity), "name").inspect(|found| tree.add(&found.path, 0));
                tree
            };
            Entity::all().map(tree_of).collect()
        });
        if let Some(names) = &self.store(entity).names {
            return names.text(row as usize);
        }
        let mut name = None;
        crate::entity::with_record!(entity, R => {
            let (archived, _) = self.blob(entity, row)?;
            let record = record::access::<R>(archived).ok_or(ReadError::corrupt("records", "an archived record does not validate"))?;
            record.gather(&NAMES[entity as usize], &mut |_, value| {
                if let Gathered::Text(text) = value {
                    name = Some(text);
                }
            });
        });
        Ok(name)
    }

    /// The posting lists of an entity.
    ///
    /// # Errors
    ///
    /// Where it has none.
    pub fn lists(&self, entity: Entity) -> Result<&TermListsFile, ReadError> {
        self.store(entity).lists.as_ref().ok_or(ReadError::Internal("the entity has no term lists"))
    }

    /// The words of an entity's names.
    ///
    /// # Errors
    ///
    /// Where its names are not searched.
    pub fn words(&self, entity: Entity) -> Result<&Dictionary, ReadError> {
        self.store(entity)
            .words
            .as_ref()
            .ok_or(ReadError::Internal("the entity has no word dictionary"))
    }

    /// The alternative names of an entity's records, folded; `None` where it has none.
    pub fn alternatives(&self, entity: Entity) -> Option<&Dictionary> {
        self.store(entity).alternatives.as_ref()
    }

    /// What is known of the beginnings of many words of an entity's names.
    ///
    /// # Errors
    ///
    /// Where its names are not searched.
    pub fn prefixes(&self, entity: Entity) -> Result<&PrefixStats, ReadError> {
        self.store(entity)
            .prefixes
            .as_ref()
            .ok_or(ReadError::Internal("the entity has no prefix statistics"))
    }

    /// The orders of an entity.
    ///
    /// # Errors
    ///
    /// Where it has none.
    pub fn orders(&self, entity: Entity) -> Result<&OrdersFile, ReadError> {
        self.store(entity).orders.as_ref().ok_or(ReadError::Internal("the entity has no orders"))
    }

    /// An order of an entity, by its number among its keys'.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn order(&self, entity: Entity, number: usize) -> Result<Order<'_>, ReadError> {
        let spec = keys_of(entity)
            .orders
            .get(number)
            .ok_or(ReadError::Internal("the entity has no order of this number"))?;
        self.orders(entity)?.order(number, spec, &self.store(entity).ids)
    }

    /// The order of an entity by its ids.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn id_order(&self, entity: Entity) -> Result<Order<'_>, ReadError> {
        let orders = &keys_of(entity).orders;
        let number = orders.iter().position(|order| order.values == Values::Ids);
        self.order(entity, number.ok_or(ReadError::Internal("the entity has no order by id"))?)
    }

    /// The order of an entity by the values at a path.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn order_by(&self, entity: Entity, path: &str) -> Result<Order<'_>, ReadError> {
        self.order(
            entity,
            keys_of(entity)
                .order(path)
                .ok_or(ReadError::Internal("the entity has no order by this path"))?,
        )
    }

    /// The map between ids and rows of an entity.
    pub fn ids(&self, entity: Entity) -> &Ids {
        &self.store(entity).ids
    }

    /// The ids of an entity that were merged into others.
    pub fn redirects(&self, entity: Entity) -> &Redirects {
        &self.store(entity).redirects
    }

    /// How many codes there are, of all tables.
    pub fn codes(&self) -> u32 {
        (self.mapped.strings.count() / 2) as u32
    }

    /// The rows of the strays with an id, one a spelling of the name.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged.
    pub fn strays(&self, entity: Entity, id: u64) -> Result<Range<u32>, ReadError> {
        self.store(entity).ids.strays(id)
    }

    /// How many rows an entity has, strays included.
    pub fn rows(&self, entity: Entity) -> u32 {
        self.store(entity).ids.rows() as u32
    }

    /// The text of a code.
    ///
    /// # Errors
    ///
    /// Where there is no such code, or the bytes are damaged.
    pub fn code(&self, code: u32) -> Result<&str, ReadError> {
        self.mapped
            .strings
            .text(code as usize * 2)?
            .ok_or(ReadError::corrupt("strings", "the code has no text"))
    }

    /// The name of a code.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::code`].
    pub fn code_name(&self, code: u32) -> Result<Option<&str>, ReadError> {
        self.mapped.strings.text(code as usize * 2 + 1)
    }

    /// A record's bytes: its archived form, and the frame of its long texts.
    pub(crate) fn blob(&self, entity: Entity, row: u32) -> Result<(&[u8], &[u8]), ReadError> {
        let blob = self
            .store(entity)
            .records
            .get(row as usize)?
            .ok_or(ReadError::corrupt("records", "the row has no record"))?;
        split_blob(blob).ok_or(ReadError::corrupt("records", "a record's length exceeds its bytes"))
    }

    /// Bytes of the record in a row.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or the bytes are damaged.
    pub fn record_bytes(&self, entity: Entity, row: u32) -> Result<usize, ReadError> {
        let blob = self.store(entity).records.get(row as usize)?;
        Ok(blob.map_or(0, <[u8]>::len))
    }

    /// The archived record in a row; `None` where the row is a stray's, or withheld.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged, or are no record.
    pub fn archived<R: Record>(&self, row: u32) -> Result<Option<&R::Archived>, ReadError> {
        if !self.has_record(R::ENTITY, row) {
            return Ok(None);
        }
        let (archived, _) = self.blob(R::ENTITY, row)?;
        record::access::<R>(archived)
            .map(Some)
            .ok_or(ReadError::corrupt("records", "an archived record does not validate"))
    }

    /// Renders the record in a row to the end of a page.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::archived`]; the page then holds a torn text.
    pub fn render<'s>(
        &'s self,
        entity: Entity,
        row: u32,
        page: &mut Page<'s>,
    ) -> Result<(), ReadError> {
        let (archived, frame) = self.blob(entity, row)?;
        page.begin_record(frame);
        crate::entity::with_record!(entity, R => {
            record::access::<R>(archived).ok_or(ReadError::corrupt("records", "an archived record does not validate"))?.render(page)
        })
    }

    /// Renders the record in a row in its legacy form to the end of a page.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::archived`], and where the entity has no legacy form.
    pub fn render_legacy<'s>(
        &'s self,
        entity: Entity,
        row: u32,
        page: &mut Page<'s>,
    ) -> Result<(), ReadError> {
        if !self.has_record(entity, row) {
            return Err(ReadError::corrupt("records", "the row has no record"));
        }
        record::legacy::render(entity, self.blob(entity, row)?.0, page)
    }
}

impl RecordStore for Snapshot {
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        Snapshot::row_id(self, entity, row)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        Snapshot::row_name(self, entity, row)
    }

    fn code(&self, code: u32) -> Result<&str, ReadError> {
        Snapshot::code(self, code)
    }

    fn code_name(&self, code: u32) -> Result<Option<&str>, ReadError> {
        Snapshot::code_name(self, code)
    }

    fn has_record(&self, entity: Entity, row: u32) -> bool {
        row < self.count(entity) && !self.suppressed.has(entity, row)
    }

    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        let (archived, long_texts) = self.blob(entity, row)?;
        Ok(RecordBytes { archived, long_texts })
    }
}

/// A record's blob as its archived form and the frame of its long texts.
///
/// The form's length stands in the first four bytes.
pub fn split_blob(blob: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}
