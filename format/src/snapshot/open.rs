//! Opening a snapshot: what is checked before anything is answered from it, and why it is refused.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use blake3::Hash;

use crate::entity::Entity;
use crate::index::dictionary::Dictionary;
use crate::index::orders::OrdersFile;
use crate::index::prefix_stats::PrefixStats;
use crate::index::term_lists::TermListsFile;
use crate::schema::keys::{Terms, keys_of};
use crate::schema::layout::schema_hash;
use crate::snapshot::lock::hold;
use crate::snapshot::{
    Mapped, STRINGS_PREFIX_BYTES, Snapshot, Store, Suppressed, archive_path, archives,
};
use crate::storage::archive::{Archive, ArchiveError};
use crate::storage::blobs::Blobs;
use crate::storage::error::ReadError;
use crate::storage::header::{FORMAT_VERSION, Kind};
use crate::storage::ids::{Ids, Redirects};
use crate::storage::integrity::Verifier;
use crate::storage::manifest::{
    Counts, FileEntry, HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest, ManifestError, REPORT,
    SourceParts,
};
use crate::storage::mmap::{Hold, Map};

/// Why a snapshot was refused.
#[derive(Debug, thiserror::Error)]
#[error("snapshot `{}`: `{file}`: {cause}", path.display())]
pub struct OpenError {
    /// The snapshot.
    pub path: PathBuf,
    /// The file at fault.
    pub file: String,
    /// What is wrong with it.
    #[source]
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
    /// Somebody holds it exclusively.
    #[error("the snapshot is being removed (`build --keep`); open another")]
    Removed,
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
    /// Lists or an order are not what they promise to be.
    #[error("`{of}`: {broken}; rebuild the snapshot")]
    Promise {
        /// Which of those in the file.
        of: String,
        /// What is wrong with it.
        broken: &'static str,
    },
    /// A record, an offset or a number in it makes no sense.
    #[error("{0}")]
    Content(#[from] ReadError),
}

pub(super) fn refuse(path: &Path, file: &str, cause: Cause) -> OpenError {
    OpenError { path: path.to_path_buf(), file: file.to_string(), cause }
}

/// Opens a regular file, following no link and waiting on no pipe.
pub(super) fn open_regular(path: &Path) -> Result<File, Cause> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(Cause::NotAFile) }
}

/// Opens an archive that this process has written, trusted as it is.
///
/// # Errors
///
/// Where it cannot be opened or is another archive.
pub fn draft_archive(path: &Path, kind: Kind, entity: Option<Entity>) -> Result<Archive, Cause> {
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

/// A snapshot being opened.
pub(super) struct Opening<'p> {
    path: &'p Path,
    manifest: Manifest,
    /// Open and held, so that nobody removes the snapshot; `None` of a draft.
    lock: Option<File>,
    hold: Hold,
    hashes: Arc<Map>,
    /// Where each file's levels begin in the hashes.
    levels_from: BTreeMap<String, usize>,
    /// Whether it is still being written, so that there is no manifest to hold it to.
    is_draft: bool,
}

impl<'p> Opening<'p> {
    /// A snapshot that is still being written.
    pub(super) fn draft(path: &'p Path, counts: BTreeMap<String, Counts>) -> Opening<'p> {
        let manifest = Manifest {
            format_version: FORMAT_VERSION,
            id: String::new(),
            root: String::new(),
            source: SourceParts { newest_updated_date: None, parts: Vec::new() },
            selection: None,
            suppressed: BTreeMap::new(),
            counts,
            files: Vec::new(),
        };
        Opening {
            path,
            manifest,
            lock: None,
            hold: Hold::Mapped,
            hashes: Arc::new(Map::empty()),
            levels_from: BTreeMap::new(),
            is_draft: true,
        }
    }

    pub(super) fn begin(path: &'p Path, hold: Hold) -> Result<Opening<'p>, OpenError> {
        let (manifest, lock) =
            read_manifest(&path.join(MANIFEST)).map_err(|cause| refuse(path, MANIFEST, cause))?;
        let lock = Some(lock);
        check_listing(&manifest).map_err(|(file, cause)| refuse(path, &file, cause))?;
        let (levels_from, from) =
            manifest.levels_from().ok_or_else(|| refuse(path, HASHES, Cause::Unexpected))?;
        let levels_from = levels_from.into_iter().map(|(name, at)| (name.to_owned(), at)).collect();
        let hashes = Arc::new(Map::empty());
        let empty = Opening { path, manifest, lock, hold, hashes, levels_from, is_draft: false };
        let (hashes, entry) = empty.map(HASHES)?;
        if entry.size_bytes != from as u64 {
            let cause = Cause::Size { expected: from as u64, found: entry.size_bytes };
            return Err(refuse(path, HASHES, cause));
        }
        Ok(Opening { hashes: Arc::new(hashes), ..empty })
    }

    /// Has a file of the size the manifest says.
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
        let map = Map::hold(&file, self.hold).map_err(|error| in_file(error.into()))?;
        Ok((map, entry))
    }

    fn archive(&self, kind: Kind, entity: Option<Entity>) -> Result<Archive, OpenError> {
        let name = archive_path(kind, entity);
        if self.is_draft {
            return self.draft_archive(&name, kind, entity);
        }
        let (map, entry) = self.map(&name)?;
        let in_file = |cause| refuse(self.path, &name, cause);
        let root = Hash::from_hex(&entry.blake3).map_err(|_| {
            let expected = "64 hex digits".to_string();
            in_file(Cause::Hash { expected, found: entry.blake3.clone() })
        })?;
        let levels_from = self.levels_from.get(&name).copied().unwrap_or_default();
        let verifier = Verifier::new(name.clone(), entry.size_bytes, root, levels_from);
        Archive::open(map, Arc::clone(&self.hashes), verifier, kind, entity, schema_hash())
            .map_err(|error| in_file(error.into()))
    }

    fn draft_archive(
        &self,
        name: &str,
        kind: Kind,
        entity: Option<Entity>,
    ) -> Result<Archive, OpenError> {
        let open = || draft_archive(&self.path.join(name), kind, entity);
        open().map_err(|cause| refuse(self.path, name, cause))
    }

    pub(super) fn finish(self) -> Result<Snapshot, OpenError> {
        if !self.is_draft {
            let (report, entry) = self.map(REPORT)?;
            check_hash(entry, blake3::hash(&report))
                .map_err(|cause| refuse(self.path, REPORT, cause))?;
        }
        let stores = Entity::all().map(|entity| self.store(entity)).collect::<Result<_, _>>()?;
        let strings = self.archive(Kind::Strings, None)?;
        let codes = strings.header().rows;
        let strings = Blobs::open(strings, codes * 2, STRINGS_PREFIX_BYTES)
            .map_err(|error| refuse(self.path, "strings", error.into()))?;
        let path = self.path.to_path_buf();
        let Opening { manifest, lock, hashes, .. } = self;
        let mapped = Mapped { path, manifest, _lock: lock, stores, strings, hashes };
        Snapshot { mapped: Arc::new(mapped), suppressed: Suppressed::default() }.unfaulted()
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

        let keys = keys_of(entity);
        let has_index = !self.is_draft;
        let lists = if has_index && !keys.lists.is_empty() {
            let archive = self.archive(Kind::Lists, Some(entity))?;
            let terms: Vec<Terms> = keys.lists.iter().map(|lists| lists.terms).collect();
            Some(TermListsFile::open(archive, &terms).map_err(of_archive(Kind::Lists))?)
        } else {
            None
        };
        let orders = if has_index && !keys.orders.is_empty() {
            let archive = self.archive(Kind::Orders, Some(entity))?;
            let orders = OrdersFile::open(archive, &keys.orders, ids.published());
            Some(orders.map_err(of_archive(Kind::Orders))?)
        } else {
            None
        };

        let dictionary = |kind, is_there: bool| {
            let open =
                || Dictionary::open(self.archive(kind, Some(entity))?).map_err(of_archive(kind));
            (has_index && is_there).then(open).transpose()
        };
        let words = dictionary(Kind::Words, keys.has_names())?;
        let alternatives = dictionary(Kind::Alternatives, keys.has_alternatives())?;
        let prefixes = if has_index && keys.has_names() {
            let archive = self.archive(Kind::Prefixes, Some(entity))?;
            Some(PrefixStats::open(archive).map_err(of_archive(Kind::Prefixes))?)
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
        if let Some(lists) = &lists {
            let found = lists.archive().header();
            agree(Kind::Lists, "lists", keys.lists.len() as u64, found.published)?;
            agree(Kind::Lists, "lists", keys.lists.len() as u64, found.rows)?;
        }
        if let Some(orders) = &orders {
            let found = orders.archive().header();
            agree(Kind::Orders, "records", counts.published, found.published)?;
            agree(Kind::Orders, "rows", counts.published, found.rows)?;
        }
        let of_names = [
            (Kind::Words, words.as_ref().map(Dictionary::archive)),
            (Kind::Alternatives, alternatives.as_ref().map(Dictionary::archive)),
            (Kind::Prefixes, prefixes.as_ref().map(PrefixStats::archive)),
        ];
        for (kind, archive) in of_names {
            let Some(found) = archive.map(Archive::header) else { continue };
            agree(kind, "records", counts.published, found.published)?;
            agree(kind, "rows", counts.published, found.rows)?;
        }
        Ok(Store { records, ids, redirects, names, lists, orders, words, alternatives, prefixes })
    }
}

/// Reads a manifest, once its snapshot is held.
fn read_manifest(path: &Path) -> Result<(Manifest, File), Cause> {
    let mut file = open_regular(path)?;
    hold(&file)?;
    let found = file.metadata()?.len();
    if found > MANIFEST_BYTES_MAX {
        return Err(Cause::Size { expected: MANIFEST_BYTES_MAX, found });
    }
    let mut text = Vec::new();
    file.by_ref().take(MANIFEST_BYTES_MAX).read_to_end(&mut text)?;
    Ok((Manifest::read(&text)?, file))
}

/// The manifest of a snapshot of which the rest may be damaged.
///
/// # Errors
///
/// Where that is no manifest whose text has its root hash.
pub fn manifest_of(path: &Path) -> Result<Manifest, OpenError> {
    let read = read_manifest(&path.join(MANIFEST));
    read.map(|(manifest, _)| manifest).map_err(|cause| refuse(path, MANIFEST, cause))
}

/// Demands that the manifest lists exactly the files a snapshot has, ascending.
///
/// # Errors
///
/// The first file that is listed and should not be, or the other way round.
pub fn check_listing(manifest: &Manifest) -> Result<(), (String, Cause)> {
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
