//! A published snapshot: opened, checked as it is touched, and read by row or by id.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use blake3::Hash;

use crate::{
    archive::{Archive, ArchiveError},
    blobs::Blobs,
    entity::Entity,
    file::Kind,
    ids::{Ids, Redirects},
    integrity::{Verifier, levels_bytes},
    manifest::{FileEntry, HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest, ManifestError, REPORT},
    map::Map,
    record::{self, ArchivedRecord, Record, value::TABLE_NAMES},
    render::{Page, Render, RenderError, Shape},
};

/// Bytes before the texts of `strings`: where each table begins, and the end.
pub const STRINGS_PREFIX_BYTES: usize = (TABLE_NAMES.len() + 1) * 8;

/// A snapshot, mapped. Opening costs the same at any size: the manifest, and a page or two a file.
pub struct Snapshot {
    path: PathBuf,
    manifest: Manifest,
    stores: Vec<Store>,
    strings: Blobs,
}

/// One entity's archives.
struct Store {
    records: Blobs,
    ids: Ids,
    redirects: Redirects,
    names: Option<Blobs>,
}

/// Why a snapshot was refused.
#[derive(Debug, thiserror::Error)]
#[error("snapshot `{}`: `{file}`: {cause}", path.display())]
pub struct OpenError {
    /// The snapshot.
    pub path: PathBuf,
    /// The file at fault.
    pub file: String,
    /// What is wrong with it.
    pub cause: Cause,
}

/// What is wrong with a file of a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The system refused to read it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is a directory, a pipe, a device.
    #[error("is no regular file; restore the snapshot or rebuild it")]
    NotAFile,
    /// It is larger or smaller than the manifest says.
    #[error(
        "{found} bytes, expected {expected} by the manifest; restore the snapshot or rebuild it"
    )]
    Size {
        /// What the manifest says.
        expected: u64,
        /// What there is.
        found: u64,
    },
    /// Its hash is not the manifest's.
    #[error(
        "hash {found}, expected {expected} by the manifest; restore the snapshot or rebuild it"
    )]
    Hash {
        /// What the manifest says.
        expected: String,
        /// What the bytes have.
        found: String,
    },
    /// The manifest was refused.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The manifest lists other files than a snapshot has.
    #[error("is listed by the manifest where a snapshot has no such file; rebuild the snapshot")]
    Unexpected,
    /// The manifest does not list it.
    #[error("is not listed by the manifest; rebuild the snapshot")]
    Unlisted,
    /// It was refused as an archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Files contradict one another.
    #[error("{found} {what}, expected {expected}; rebuild the snapshot")]
    Contradiction {
        /// What is counted.
        what: &'static str,
        /// What another file says.
        expected: u64,
        /// What this one says.
        found: u64,
    },
    /// A record, an offset or a number in it makes no sense.
    #[error("{0}")]
    Content(#[from] RenderError),
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
        let names = entity.facts().is_referenced.then_some(Kind::Names);
        [Some(Kind::Records), Some(Kind::Ids), Some(Kind::Redirects), names]
            .into_iter()
            .flatten()
            .map(move |kind| (kind, Some(entity)))
    };
    Entity::all().flat_map(of_entity).chain([(Kind::Strings, None)])
}

impl Snapshot {
    /// Opens the snapshot in a directory.
    ///
    /// Checked here: the manifest, that the files are those it lists with the sizes it lists,
    /// every header, the report, and the last level of every hash tree. All else is checked when
    /// first touched.
    ///
    /// # Errors
    ///
    /// Naming the file, what was expected and what was found.
    pub fn open(path: &Path) -> Result<Snapshot, OpenError> {
        Opening::begin(path)?.finish()
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn store(&self, entity: Entity) -> &Store {
        &self.stores[entity as usize]
    }

    /// How many records of an entity there are: its rows from 0.
    pub fn count(&self, entity: Entity) -> u32 {
        // A header's counts are at most u32::MAX.
        self.store(entity).ids.published() as u32
    }

    /// Where an identifier leads.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: log2(records) reads.
    pub fn find(&self, entity: Entity, id: u64) -> Result<Found, RenderError> {
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
    pub fn row_id(&self, entity: Entity, row: u32) -> Result<u64, RenderError> {
        self.store(entity).ids.id(row as usize)
    }

    /// The name of a row, stray or not.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::row_id`].
    pub fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, RenderError> {
        match &self.store(entity).names {
            Some(names) => names.text(row as usize),
            None => Err(RenderError::Record),
        }
    }

    /// The text of a code.
    ///
    /// # Errors
    ///
    /// Where there is no such code, or the bytes are damaged.
    pub fn code(&self, code: u32) -> Result<&str, RenderError> {
        self.strings.text(code as usize * 2)?.ok_or(RenderError::Record)
    }

    /// The name of a code.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::code`].
    pub fn code_name(&self, code: u32) -> Result<Option<&str>, RenderError> {
        self.strings.text(code as usize * 2 + 1)
    }

    /// A record's bytes: its archived form, and the frame of its long texts.
    fn blob(&self, entity: Entity, row: u32) -> Result<(&[u8], &[u8]), RenderError> {
        let blob = self.store(entity).records.get(row as usize)?.ok_or(RenderError::Record)?;
        split_blob(blob).ok_or(RenderError::Record)
    }

    /// The archived record in a row; `None` where the row is a stray's.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged, or are no record.
    pub fn archived<R: Record>(&self, row: u32) -> Result<Option<&R::Archived>, RenderError> {
        if row >= self.count(R::ENTITY) {
            return Ok(None);
        }
        let (archived, _) = self.blob(R::ENTITY, row)?;
        record::access::<R>(archived).map(Some).ok_or(RenderError::Record)
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
    ) -> Result<(), RenderError> {
        let (archived, frame) = self.blob(entity, row)?;
        page.begin_record(frame);
        crate::with_record!(entity, R => {
            record::access::<R>(archived).ok_or(RenderError::Record)?.render(page)
        })
    }

    /// Reads every byte of every file, and every record, against every promise made of them.
    ///
    /// # Errors
    ///
    /// The first promise broken.
    pub fn verify(&self) -> Result<(), OpenError> {
        for entry in &self.manifest.files {
            let refuse = |cause| refuse(&self.path, &entry.path, cause);
            let file = open_regular(&self.path.join(&entry.path)).map_err(refuse)?;
            let found = hash_file(file).map_err(|error| refuse(error.into()))?;
            check_hash(entry, found).map_err(refuse)?;
        }
        for entity in Entity::all() {
            self.verify_entity(entity).map_err(|(kind, cause)| {
                refuse(&self.path, &archive_path(kind, Some(entity)), cause)
            })?;
        }
        Ok(())
    }

    fn verify_entity(&self, entity: Entity) -> Result<(), (Kind, Cause)> {
        let in_ids = |error: RenderError| (Kind::Ids, error.into());
        let in_records = |error: RenderError| (Kind::Records, error.into());
        let mut page = Page::new(self, Shape::Single);
        for row in 0..self.count(entity) {
            let id = self.row_id(entity, row).map_err(in_ids)?;
            if self.find(entity, id).map_err(in_ids)? != Found::Row(row) {
                return Err((Kind::Ids, RenderError::Record.into()));
            }
            page.out.clear();
            self.render(entity, row, &mut page).map_err(in_records)?;
            let (archived, _) = self.blob(entity, row).map_err(in_records)?;
            let own = crate::with_record!(entity, R => {
                record::access::<R>(archived).map(ArchivedRecord::id)
            });
            if own != Some(id) {
                return Err((Kind::Records, RenderError::Record.into()));
            }
        }
        let store = self.store(entity);
        if let Some(names) = &store.names {
            for row in 0..names.count() {
                names.text(row).map_err(|error| (Kind::Names, error.into()))?;
            }
        }
        Ok(())
    }
}

/// A record's blob as its archived form and the frame of its long texts.
///
/// The form's length stands in the first four bytes.
pub fn split_blob(blob: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

fn refuse(path: &Path, file: &str, cause: Cause) -> OpenError {
    OpenError { path: path.to_path_buf(), file: file.to_string(), cause }
}

/// Opens a regular file, following no link and waiting on no pipe.
fn open_regular(path: &Path) -> Result<File, Cause> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Cause::NotAFile) }
}

fn hash_file(file: File) -> io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize())
}

fn check_hash(entry: &FileEntry, found: Hash) -> Result<(), Cause> {
    let found = found.to_hex().to_string();
    if found == entry.blake3 {
        Ok(())
    } else {
        Err(Cause::Hash { expected: entry.blake3.clone(), found })
    }
}

/// A snapshot being opened.
struct Opening<'p> {
    path: &'p Path,
    manifest: Manifest,
    hashes: Arc<Map>,
    /// Where each file's levels begin in the hashes.
    levels_from: BTreeMap<String, usize>,
}

impl<'p> Opening<'p> {
    fn begin(path: &'p Path) -> Result<Opening<'p>, OpenError> {
        let manifest =
            read_manifest(&path.join(MANIFEST)).map_err(|cause| refuse(path, MANIFEST, cause))?;
        check_listing(&manifest).map_err(|(file, cause)| refuse(path, &file, cause))?;
        let mut levels_from = BTreeMap::new();
        let mut from = 0usize;
        for entry in manifest.files.iter().filter(|entry| entry.path != HASHES) {
            levels_from.insert(entry.path.clone(), from);
            // It fits, or the size of the hashes below does not match.
            from = usize::try_from(levels_bytes(entry.size_bytes))
                .ok()
                .and_then(|bytes| from.checked_add(bytes))
                .ok_or_else(|| refuse(path, &entry.path, Cause::Unexpected))?;
        }
        let empty = Opening { path, manifest, hashes: Arc::new(Map::empty()), levels_from };
        let (hashes, entry) = empty.map(HASHES)?;
        if entry.size_bytes != from as u64 {
            let cause = Cause::Size { expected: from as u64, found: entry.size_bytes };
            return Err(refuse(path, HASHES, cause));
        }
        Ok(Opening { hashes: Arc::new(hashes), ..empty })
    }

    /// Maps a file of the size the manifest says.
    fn map(&self, name: &str) -> Result<(Map, &FileEntry), OpenError> {
        let in_file = |cause| refuse(self.path, name, cause);
        let entry = self
            .manifest
            .files
            .iter()
            .find(|entry| entry.path == name)
            .ok_or_else(|| in_file(Cause::Unlisted))?;
        let file = open_regular(&self.path.join(name)).map_err(in_file)?;
        let found = file.metadata().map_err(|error| in_file(error.into()))?.len();
        if found != entry.size_bytes {
            return Err(in_file(Cause::Size { expected: entry.size_bytes, found }));
        }
        let map = Map::open(&file).map_err(|error| in_file(error.into()))?;
        Ok((map, entry))
    }

    fn archive(&self, kind: Kind, entity: Option<Entity>) -> Result<Archive, OpenError> {
        let name = archive_path(kind, entity);
        let (map, entry) = self.map(&name)?;
        let in_file = |cause| refuse(self.path, &name, cause);
        let root = Hash::from_hex(&entry.blake3).map_err(|_| {
            let expected = "64 hex digits".to_string();
            in_file(Cause::Hash { expected, found: entry.blake3.clone() })
        })?;
        let levels_from = self.levels_from.get(&name).copied().unwrap_or_default();
        let verifier = Verifier::new(name.clone(), entry.size_bytes, root, levels_from);
        Archive::open(map, Arc::clone(&self.hashes), verifier, kind, entity)
            .map_err(|error| in_file(error.into()))
    }

    fn finish(self) -> Result<Snapshot, OpenError> {
        let (report, entry) = self.map(REPORT)?;
        check_hash(entry, blake3::hash(&report))
            .map_err(|cause| refuse(self.path, REPORT, cause))?;
        let stores = Entity::all().map(|entity| self.store(entity)).collect::<Result<_, _>>()?;
        let strings = self.archive(Kind::Strings, None)?;
        let codes = strings.header().rows;
        let strings = Blobs::open(strings, codes * 2, STRINGS_PREFIX_BYTES)
            .map_err(|error| refuse(self.path, "strings", error.into()))?;
        Ok(Snapshot { path: self.path.to_path_buf(), manifest: self.manifest, stores, strings })
    }

    fn store(&self, entity: Entity) -> Result<Store, OpenError> {
        let in_file =
            |kind: Kind, cause: Cause| refuse(self.path, &archive_path(kind, Some(entity)), cause);
        let of_archive = |kind: Kind| move |error: ArchiveError| in_file(kind, error.into());
        let counts = self.manifest.counts.get(entity.facts().plural);
        let counts = counts.ok_or_else(|| in_file(Kind::Ids, Cause::Unlisted))?;

        let ids =
            Ids::open(self.archive(Kind::Ids, Some(entity))?).map_err(of_archive(Kind::Ids))?;
        let records = self.archive(Kind::Records, Some(entity))?;
        let records =
            Blobs::open(records, counts.published, 0).map_err(of_archive(Kind::Records))?;
        let redirects = self.archive(Kind::Redirects, Some(entity))?;
        let redirects = Redirects::open(redirects).map_err(of_archive(Kind::Redirects))?;
        let names = if entity.facts().is_referenced {
            let names = self.archive(Kind::Names, Some(entity))?;
            Some(Blobs::open(names, counts.rows, 0).map_err(of_archive(Kind::Names))?)
        } else {
            None
        };

        let agree = |kind, what, expected, found| {
            if expected == found {
                Ok(())
            } else {
                Err(in_file(kind, Cause::Contradiction { what, expected, found }))
            }
        };
        agree(Kind::Ids, "records", counts.published, ids.published() as u64)?;
        agree(Kind::Ids, "rows", counts.rows, ids.rows() as u64)?;
        agree(Kind::Redirects, "redirects", counts.redirects, redirects.count() as u64)?;
        if let Some(names) = &names {
            agree(Kind::Names, "rows", counts.rows, names.archive().header().rows)?;
        }
        agree(Kind::Records, "records", counts.published, records.archive().header().published)?;
        Ok(Store { records, ids, redirects, names })
    }
}

fn read_manifest(path: &Path) -> Result<Manifest, Cause> {
    let file = open_regular(path)?;
    let found = file.metadata()?.len();
    if found > MANIFEST_BYTES_MAX {
        return Err(Cause::Size { expected: MANIFEST_BYTES_MAX, found });
    }
    let mut text = Vec::new();
    file.take(MANIFEST_BYTES_MAX).read_to_end(&mut text)?;
    Ok(Manifest::read(&text)?)
}

/// Demands that the manifest lists exactly the files a snapshot has, ascending.
fn check_listing(manifest: &Manifest) -> Result<(), (String, Cause)> {
    let mut expected: Vec<String> =
        archives().map(|(kind, entity)| archive_path(kind, entity)).collect();
    expected.extend([HASHES.to_string(), REPORT.to_string()]);
    expected.sort();
    let mut listed = manifest.files.iter().map(|entry| &entry.path);
    for path in &expected {
        match listed.next() {
            Some(found) if found == path => {}
            Some(found) if !expected.contains(found) => {
                return Err((found.clone(), Cause::Unexpected));
            }
            _ => return Err((path.clone(), Cause::Unlisted)),
        }
    }
    match listed.next() {
        Some(found) => Err((found.clone(), Cause::Unexpected)),
        None => Ok(()),
    }
}
