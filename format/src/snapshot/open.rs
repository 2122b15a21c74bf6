//! Opens a snapshot: checks the manifest, maps every file and checks every header.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path, sync::Arc};

use blake3::Hash;

use crate::entity::Entity;
use crate::index::citations::CitationsFile;
use crate::index::crossings::CrossingsFile;
use crate::index::dictionary::Dictionary;
use crate::index::full_text::FullText;
use crate::index::orders::OrdersFile;
use crate::index::prefix_stats::PrefixStats;
use crate::index::targets::TargetsFile;
use crate::index::term_lists::TermListsFile;
use crate::schema::{Terms, keys_of, schema_digits, schema_hash};
use crate::snapshot::error::{Cause, OpenError};
use crate::snapshot::files::{
    archive_path, check_file_list, has_archive, is_optional, load, open_regular,
};
use crate::snapshot::lazy::Lazy;
use crate::snapshot::lock::lock_shared;
use crate::snapshot::{
    EntityFiles, Mapped, Opened, PARTIAL, Reads, STRINGS_PREFIX_BYTES, Snapshot, Suppressed,
};
use crate::storage::absent::ChunkSource;
use crate::storage::header::HeaderError;
use crate::storage::manifest::{HASHES, MANIFEST_BYTES_MAX, REPORT, SourceParts};
use crate::storage::mmap::Map;
use crate::storage::{
    Archive, ArchiveError, Blobs, Counts, FORMAT_VERSION, FileEntry, FileKind, Header, Ids,
    LoadMode, MANIFEST, Manifest, Names, Redirects, Verifier,
};

impl Snapshot {
    /// Opens the snapshot in a directory, for a reader of most of it.
    ///
    /// Checks the manifest, the list and sizes of files, every header, the report, and the last
    /// level of every hash tree. Everything else is verified at its first touch, so opening costs
    /// the same at any size: the manifest, and a page or two of each file. While the snapshot is
    /// open, [`lock_exclusive`](crate::snapshot::lock_exclusive) fails.
    ///
    /// # Errors
    ///
    /// Names the file, what was expected and what was found.
    pub fn open(path: &Path) -> Result<Snapshot, OpenError> {
        Snapshot::open_with_mode(path, LoadMode::Scanned)
    }

    /// Opens the snapshot in a directory, with its files mapped or copied into memory. A copy takes
    /// time and memory in proportion to the snapshot's size.
    pub fn open_with_mode(path: &Path, mode: LoadMode) -> Result<Snapshot, OpenError> {
        Opening::new(path, mode, None)?.finish()
    }

    /// Opens a snapshot of which chunks may be absent or damaged, and can be fetched: [`Snapshot::collecting`] notes them.
    ///
    /// Checks the manifest, and the list and sizes of files. Reads nothing else: everything is verified at its first
    /// touch.
    ///
    /// # Errors
    ///
    /// Names the file, what was expected and what was found.
    pub fn open_fetched(path: &Path, source: Arc<dyn ChunkSource>) -> Result<Snapshot, OpenError> {
        Opening::new(path, LoadMode::Sparse, Some(source))?.finish_fetched()
    }

    /// Opens a snapshot whose chunks a host gives, by its manifest: [`Snapshot::collecting`] notes them.
    #[cfg(target_family = "wasm")]
    pub fn open_given(
        manifest: Manifest,
        source: Arc<dyn ChunkSource>,
    ) -> Result<Snapshot, OpenError> {
        let path = Path::new("");
        Opening::of_manifest(path, manifest, None, LoadMode::Sparse, Some(source))?.finish_fetched()
    }

    /// Opens the records, ids and names of a snapshot that this process is writing. A draft has no
    /// index, and its bytes stay unverified.
    ///
    /// # Errors
    ///
    /// Names the file that could not be opened.
    pub fn open_draft(
        path: &Path,
        counts: BTreeMap<String, Counts>,
    ) -> Result<Snapshot, OpenError> {
        Opening::new_draft(path, counts).finish()
    }
}

/// Opens an archive that this process wrote, without verification of its bytes.
///
/// # Errors
///
/// Where the file cannot be opened, or is another archive.
pub fn open_draft_archive(
    path: &Path,
    kind: FileKind,
    entity: Option<Entity>,
) -> Result<Archive, Cause> {
    let map = Map::open(&open_regular(path)?)?;
    let verifier = Verifier::trusting(path.display().to_string(), map.len() as u64);
    Ok(Archive::open(map, Arc::new(Map::empty()), verifier, kind, entity, schema_hash())?)
}

pub(super) fn check_hash(entry: &FileEntry, found: Hash) -> Result<(), Cause> {
    let found = found.to_hex().to_string();
    if found == entry.blake3 {
        Ok(())
    } else {
        Err(Cause::Hash { expected: entry.blake3.clone(), found })
    }
}

/// A snapshot of which the manifest is read, and not every file is mapped yet.
struct Opening<'p> {
    path: &'p Path,
    manifest: Manifest,
    /// The manifest under a shared lock; `None` of a draft.
    lock: Option<File>,
    mode: LoadMode,
    hashes: Arc<Map>,
    /// Per file, the offset of its levels in the hashes.
    levels_from: BTreeMap<String, usize>,
    /// Whether the snapshot is still being written. A draft has no manifest on disk and no index.
    is_draft: bool,
    /// Where absent chunks come from; `None` of a snapshot that must be whole.
    source: Option<Arc<dyn ChunkSource>>,
}

impl<'p> Opening<'p> {
    fn new_draft(path: &'p Path, counts: BTreeMap<String, Counts>) -> Opening<'p> {
        let manifest = Manifest {
            format_version: FORMAT_VERSION,
            id: String::new(),
            root: String::new(),
            schema: schema_digits(),
            source: SourceParts { newest_updated_date: None, parts: Vec::new() },
            selection: None,
            suppressed: BTreeMap::new(),
            suppression: None,
            counts,
            files: Vec::new(),
        };
        Opening {
            path,
            manifest,
            lock: None,
            mode: LoadMode::Scanned,
            hashes: Arc::new(Map::empty()),
            levels_from: BTreeMap::new(),
            is_draft: true,
            source: None,
        }
    }

    fn new(
        path: &'p Path,
        mode: LoadMode,
        source: Option<Arc<dyn ChunkSource>>,
    ) -> Result<Opening<'p>, OpenError> {
        if source.is_none() && path.join(PARTIAL).exists() {
            return Err(OpenError::new(path, PARTIAL, Cause::Partial));
        }
        let (manifest, lock) = read_locked_manifest(path)?;
        Opening::of_manifest(path, manifest, Some(lock), mode, source)
    }

    fn of_manifest(
        path: &'p Path,
        manifest: Manifest,
        lock: Option<File>,
        mode: LoadMode,
        source: Option<Arc<dyn ChunkSource>>,
    ) -> Result<Opening<'p>, OpenError> {
        check_file_list(&manifest).map_err(|(file, cause)| OpenError::new(path, &file, cause))?;
        let (levels_from, from) = manifest
            .levels_from()
            .ok_or_else(|| OpenError::new(path, HASHES, Cause::Unexpected))?;
        let levels_from = levels_from.into_iter().map(|(name, at)| (name.to_owned(), at)).collect();
        let hashes = Arc::new(Map::empty());
        let empty =
            Opening { path, manifest, lock, mode, hashes, levels_from, is_draft: false, source };
        let (hashes, entry) = empty.map(HASHES)?;
        if entry.size_bytes != from as u64 {
            let cause = Cause::Size { expected: from as u64, found: entry.size_bytes };
            return Err(OpenError::new(path, HASHES, cause));
        }
        Ok(Opening { hashes: Arc::new(hashes), ..empty })
    }

    /// Maps a file that has the size in the manifest.
    fn map(&self, name: &str) -> Result<(Map, &FileEntry), OpenError> {
        let in_file = |cause| OpenError::new(self.path, name, cause);
        let entry = self
            .manifest
            .files
            .iter()
            .find(|entry| entry.path == name)
            .ok_or_else(|| in_file(Cause::Unlisted))?;
        let map = load(&self.path.join(name), entry.size_bytes, self.mode).map_err(in_file)?;
        Ok((map, entry))
    }

    fn archive(&self, kind: FileKind, entity: Option<Entity>) -> Result<Archive, OpenError> {
        let name = archive_path(kind, entity);
        let in_file = |cause| OpenError::new(self.path, &name, cause);
        // A draft has no manifest yet.
        if self.is_draft {
            return open_draft_archive(&self.path.join(&name), kind, entity).map_err(in_file);
        }
        let (map, entry) = self.map(&name)?;
        let root = Hash::from_hex(&entry.blake3).map_err(|_| {
            let expected = "64 hex digits".to_string();
            in_file(Cause::Hash { expected, found: entry.blake3.clone() })
        })?;
        let levels_from = self.levels_from.get(&name).copied().unwrap_or_default();
        let verifier = Verifier::new(name.clone(), entry.size_bytes, root, levels_from);
        let (published, rows) =
            entry.published.zip(entry.rows).ok_or_else(|| in_file(Cause::Uncounted))?;
        let hashes = Arc::clone(&self.hashes);
        // The header may be absent; the manifest, which was verified, has the same fields.
        if self.source.is_some() {
            let header = Header { kind, entity, published, rows, schema_hash: schema_hash() };
            return Ok(Archive::open_fetched(map, hashes, verifier, header, self.path));
        }
        let archive = Archive::open(map, hashes, verifier, kind, entity, schema_hash())
            .map_err(|error| in_file(error.into()))?;
        // Readers take the counts from the header and from the manifest, so these must agree.
        let header = archive.header();
        let counts = [("records", published, header.published), ("rows", rows, header.rows)];
        counts.into_iter().try_for_each(|(what, expected, found)| {
            let error = Cause::Contradiction { what, expected, found };
            if expected == found { Ok(()) } else { Err(in_file(error)) }
        })?;
        Ok(archive)
    }

    /// Opens a snapshot whose chunks are fetched. Its headers are not read, so the manifest tells the schema.
    fn finish_fetched(self) -> Result<Snapshot, OpenError> {
        let schema = &self.manifest.schema;
        if *schema != schema_digits() {
            let found = u64::from_str_radix(schema, 16).unwrap_or_default();
            let error = HeaderError::Schema { expected: schema_hash(), found };
            return Err(OpenError::new(self.path, MANIFEST, ArchiveError::from(error)));
        }
        self.finish()
    }

    fn finish(self) -> Result<Snapshot, OpenError> {
        if !self.is_draft && self.source.is_none() {
            let (report, entry) = self.map(REPORT)?;
            check_hash(entry, blake3::hash(report.bytes(0..report.len())))
                .map_err(|cause| OpenError::new(self.path, REPORT, cause))?;
        }
        let entities =
            Entity::all().map(|entity| self.entity_files(entity)).collect::<Result<_, _>>()?;
        let strings = self.archive(FileKind::Strings, None)?;
        let codes = strings.header().rows;
        let strings = Blobs::open(strings, codes * 2, STRINGS_PREFIX_BYTES)
            .map_err(|error| OpenError::new(self.path, "strings", error))?;
        let path = self.path.to_path_buf();
        let Opening { manifest, lock, hashes, source, .. } = self;
        let opened = Arc::new(Opened { path, manifest, _lock: lock, hashes, source });
        let mapped = Arc::new(Mapped { opened, entities, strings });
        let (suppressed, kept) = (Suppressed::default(), Arc::default());
        let snapshot = Snapshot { mapped, suppressed, kept, reads: Reads::OneByOne, wanted: None };
        snapshot.check_readable()?;
        Ok(snapshot)
    }

    /// Opens the archives of an entity: one line for each file.
    fn entity_files(&self, entity: Entity) -> Result<EntityFiles, OpenError> {
        let counts = self.manifest.counts.get(entity.facts().plural).ok_or_else(|| {
            let name = archive_path(FileKind::Ids, Some(entity));
            OpenError::new(self.path, &name, Cause::Unlisted)
        })?;
        let keys = keys_of(entity);
        let terms: Vec<Terms> = keys.lists.iter().map(|lists| lists.terms).collect();
        let files = EntityOpening { opening: self, entity, counts };
        let records = counts.published as usize;
        Ok(EntityFiles {
            ids: files.open(FileKind::Ids, Ids::open)?,
            records: files
                .open(FileKind::Records, |file| Blobs::open(file, counts.published, 0))?,
            redirects: files.open(FileKind::Redirects, Redirects::open)?,
            names: files.find(FileKind::Names, Names::open)?,
            term_lists: files
                .index(FileKind::TermLists, move |file| TermListsFile::open(file, &terms))?,
            orders: files.index(FileKind::Orders, move |file| {
                OrdersFile::open(file, &keys.orders, records)
            })?,
            words: files.index(FileKind::Words, Dictionary::open)?,
            alternatives: files.index(FileKind::Alternatives, Dictionary::open)?,
            prefix_stats: files.index(FileKind::PrefixStats, PrefixStats::open)?,
            citations: files.index(FileKind::Citations, CitationsFile::open)?,
            targets: files
                .index(FileKind::Targets, |file| TargetsFile::open(file, keys.targets.len()))?,
            full_text: files.index(FileKind::FullText, FullText::open)?,
            crossings: files.index(FileKind::Crossings, move |file| {
                CrossingsFile::open(file, &keys.counted, records)
            })?,
        })
    }
}

/// Opens the archives of one entity.
struct EntityOpening<'o, 'p> {
    opening: &'o Opening<'p>,
    entity: Entity,
    counts: &'o Counts,
}

impl EntityOpening<'_, '_> {
    /// Opens an archive that every entity has.
    fn open<T>(
        &self,
        kind: FileKind,
        open: impl FnOnce(Archive) -> Result<T, ArchiveError>,
    ) -> Result<T, OpenError> {
        let archive = self.opening.archive(kind, Some(self.entity))?;
        let header = archive.header();
        open(archive)
            .map_err(Cause::from)
            .and_then(|opened| self.check_counts(&header).map(|()| opened))
            .map_err(|cause| {
                OpenError::new(self.opening.path, &archive_path(kind, Some(self.entity)), cause)
            })
    }

    /// Opens an archive where the entity has it. A draft has no other index than the citations yet.
    fn find<T>(
        &self,
        kind: FileKind,
        open: impl FnOnce(Archive) -> Result<T, ArchiveError>,
    ) -> Result<Option<T>, OpenError> {
        let is_early = matches!(kind, FileKind::Names | FileKind::Citations);
        let is_there = is_early || !self.opening.is_draft;
        let is_there = is_there && has_archive(kind, self.entity) && self.is_listed(kind);
        is_there.then(|| self.open(kind, open)).transpose()
    }

    /// Finds an index where the entity has it, and opens the index unless its chunks are fetched.
    fn index<T>(
        &self,
        kind: FileKind,
        open: impl Fn(Archive) -> Result<T, ArchiveError> + Send + Sync + 'static,
    ) -> Result<Option<Lazy<T>>, OpenError> {
        let is_fetched = self.opening.source.is_some();
        self.find(kind, |archive| {
            let index = Lazy::new(archive, Arc::new(open));
            if !is_fetched {
                index.open()?;
            }
            Ok(index)
        })
    }

    /// Whether the snapshot has an archive that a snapshot may lack.
    fn is_listed(&self, kind: FileKind) -> bool {
        let path = archive_path(kind, Some(self.entity));
        let mut files = self.opening.manifest.files.iter();
        !is_optional(kind) || files.any(|entry| entry.path == path)
    }

    /// Checks a header's counts against those of the manifest.
    fn check_counts(&self, header: &Header) -> Result<(), Cause> {
        let Counts { published, rows, redirects } = *self.counts;
        let lists = keys_of(self.entity).lists.len() as u64;
        let (expected_published, expected_rows) = match header.kind {
            FileKind::Ids | FileKind::Citations => {
                (Some(("records", published)), Some(("rows", rows)))
            }
            FileKind::Records => (Some(("records", published)), None),
            FileKind::Redirects => (None, Some(("redirects", redirects))),
            FileKind::Names => (None, Some(("rows", rows))),
            FileKind::TermLists => (Some(("lists", lists)), Some(("lists", lists))),
            FileKind::Orders
            | FileKind::Words
            | FileKind::Alternatives
            | FileKind::PrefixStats
            | FileKind::Targets
            | FileKind::FullText
            | FileKind::Crossings => (Some(("records", published)), Some(("rows", published))),
            FileKind::Strings => (None, None),
        };
        let checks = [(expected_published, header.published), (expected_rows, header.rows)];
        for (expected, found) in checks {
            let Some((what, expected)) = expected else { continue };
            if expected != found {
                return Err(Cause::Contradiction { what, expected, found });
            }
        }
        Ok(())
    }
}

/// Locks a snapshot for reading, then reads its manifest.
fn read_locked_manifest(path: &Path) -> Result<(Manifest, File), OpenError> {
    let read = || -> Result<(Manifest, File), Cause> {
        let mut file = open_regular(&path.join(MANIFEST))?;
        lock_shared(&file)?;
        let found = file.metadata()?.len();
        if found > MANIFEST_BYTES_MAX {
            return Err(Cause::Size { expected: MANIFEST_BYTES_MAX, found });
        }
        let mut text = Vec::new();
        file.by_ref().take(MANIFEST_BYTES_MAX).read_to_end(&mut text)?;
        Ok((Manifest::read(&text)?, file))
    };
    read().map_err(|cause| OpenError::new(path, MANIFEST, cause))
}

/// Reads the manifest of a snapshot whose other files may be damaged.
///
/// # Errors
///
/// Where the text is no manifest, or does not have its root hash.
pub fn read_manifest(path: &Path) -> Result<Manifest, OpenError> {
    read_locked_manifest(path).map(|(manifest, _)| manifest)
}
