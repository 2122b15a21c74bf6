//! Fetching a snapshot's files, with what the snapshots here share of them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use blake3::Hash;
use pinakes_format::entity::Entity;
use pinakes_format::snapshot::check_file_list;
use pinakes_format::storage::integrity::Verifier;
use pinakes_format::storage::manifest::{
    FileEntry, HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest,
};
use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::publication::Publication;

use crate::error::{Error, Result};
use crate::mirror::fetch::{Fetch, Gains, Twin, Wanted};
use crate::mirror::host::{Host, Part};
use crate::mirror::{levels, snapshot_path};
use crate::store::directory::remove_tree;
use crate::store::files::{demand_room, make_directory, open_regular, put};
use crate::terminal::escape::shown_text;
use crate::terminal::progress::Progress;

/// What the names of directories begin with in which snapshots are fetched; they outlast the run.
const FETCHED: &str = ".pull-";

/// A snapshot beside those that are fetched.
struct Local {
    directory: PathBuf,
    manifest: Manifest,
    hashes: Arc<Map>,
}

/// Fetches and verifies the manifest of a publication.
///
/// # Errors
///
/// Where it cannot be had, or is not the one that was published.
pub fn fetch_manifest(host: &Host, publication: &Publication, bytes_max: u64) -> Result<Manifest> {
    let published = &publication.snapshot;
    let path = snapshot_path(&published.id, MANIFEST);
    let damaged = |reason: String| Error::Damaged { path: host.shown(&path).into(), reason };
    if published.manifest_bytes > bytes_max {
        return Err(damaged(format!(
            "{} bytes, at most {bytes_max} are taken (`--max-manifest`)",
            published.manifest_bytes
        )));
    }
    let text = host
        .whole(&path, &Part::Whole(published.manifest_bytes))
        .map_err(|fault| host.error(&path, fault))?;
    let manifest =
        Manifest::read(&text).map_err(|error| damaged(shown_text(&error.to_string())))?;
    if manifest.root != published.root {
        let (found, expected) = (&manifest.root, &published.root);
        return Err(damaged(format!("root hash {found}, expected {expected} as it was published")));
    }
    check_file_list(&manifest).map_err(|(file, cause)| {
        let file: String = file.chars().take(64).collect();
        damaged(format!("`{}` {cause}", file.escape_debug()))
    })?;
    if let Some(entry) = manifest.files.iter().find(|entry| entry.size_bytes == 0)
        && entry.path != HASHES
    {
        return Err(damaged(format!("`{}` is empty, which no file of a snapshot is", entry.path)));
    }
    Ok(manifest)
}

/// Fetches what is missing of a snapshot, in a directory of its own under the one of snapshots. What is
/// there is whole afterwards; and what did not have to be fetched.
///
/// # Errors
///
/// Where something cannot be had or kept. What was verified until then stays for the next run.
pub fn fetch(
    host: &Host,
    manifest: &Manifest,
    snapshots: &Path,
    connections: usize,
    progress: Progress,
) -> Result<(PathBuf, Gains)> {
    let directory = snapshots.join(fetched_name(manifest));
    make_place(&directory)?;
    remove_strays(&directory, manifest);
    for entity in Entity::all() {
        make_directory(&directory.join(entity.facts().plural))?;
    }
    let is_other = |entry: &&FileEntry| entry.path != HASHES;
    let places: Vec<PathBuf> =
        manifest.files.iter().map(|entry| directory.join(&entry.path)).collect();
    let total = manifest.files.iter().map(|entry| entry.size_bytes).fold(0, u64::saturating_add);
    let filled: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    demand_room(&directory, total, &filled)?;

    let damaged = |reason: &str| Error::Damaged {
        path: host.shown(&snapshot_path(&manifest.id, MANIFEST)).into(),
        reason: reason.into(),
    };
    let hashes = manifest.files.iter().find(|entry| entry.path == HASHES);
    let hashes = hashes.ok_or_else(|| damaged("lists no hashes"))?;
    let (levels_from, levels_bytes) =
        manifest.levels_from().ok_or_else(|| damaged("lists more bytes than there can be"))?;
    if hashes.size_bytes != levels_bytes as u64 {
        return Err(damaged("lists hashes of another size than its files have"));
    }
    let path = snapshot_path(&manifest.id, HASHES);
    let place = directory.join(HASHES);
    let levels = levels::fetch(host, &path, &place, hashes.size_bytes, &hashes.blake3)?;

    let locals = locals(snapshots);
    let mut files = Vec::new();
    for entry in manifest.files.iter().filter(is_other) {
        let root = Hash::from_hex(&entry.blake3).map_err(|_| damaged("lists what is no hash"))?;
        let from = levels_from.get(entry.path.as_str()).copied().unwrap_or_default();
        files.push(Wanted {
            path: snapshot_path(&manifest.id, &entry.path),
            place: directory.join(&entry.path),
            size_bytes: entry.size_bytes,
            verifier: Verifier::new(entry.path.clone(), entry.size_bytes, root, from),
            twins: locals.iter().filter_map(|local| local.twin(&entry.path)).collect(),
        });
    }
    let fetch = Fetch::begin(host, &levels, files)?;
    fetch.run(connections, progress)?;
    put(&directory.join(MANIFEST), &manifest.text())?;
    Ok((directory, fetch.gains))
}

/// Makes a directory to fetch into, which only its owner may write.
fn make_place(directory: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(directory);
    if metadata.as_ref().is_ok_and(|metadata| !metadata.is_dir()) {
        remove_tree(directory);
    }
    make_directory(directory)?;
    // A run that died while it published may have left it read-only.
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory, mode).map_err(Error::output(directory))
}

/// Removes what a run that died left there beside the snapshot's own files.
fn remove_strays(directory: &Path, manifest: &Manifest) {
    let is_own = |name: &str| {
        name == MANIFEST
            || manifest.files.iter().any(|entry| entry.path == name)
            || Entity::all().any(|entity| entity.facts().plural == name)
    };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_none_or(|name| !is_own(name)) {
            remove_tree(&entry.path());
        }
    }
}

/// The name of the directory in which a snapshot is fetched.
fn fetched_name(manifest: &Manifest) -> String {
    format!("{FETCHED}{}", &manifest.root[..32])
}

/// Removes what was fetched of snapshots that came to nothing, but for the one that is fetched next.
pub fn remove_remains(snapshots: &Path, next: Option<&Manifest>) {
    let next = next.map(fetched_name);
    for entry in fs::read_dir(snapshots).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(FETCHED) && Some(&name) != next.as_ref() {
            remove_tree(&entry.path());
        }
    }
}

/// The snapshots here. One that cannot be read has nothing to give.
fn locals(snapshots: &Path) -> Vec<Local> {
    let entries = fs::read_dir(snapshots).into_iter().flatten().flatten();
    let directories = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    directories.filter_map(|entry| Local::open(entry.path())).collect()
}

impl Local {
    fn open(directory: PathBuf) -> Option<Local> {
        let manifest = open_regular(&directory.join(MANIFEST)).ok()?;
        if manifest.metadata().ok()?.len() > MANIFEST_BYTES_MAX {
            return None;
        }
        let manifest = Manifest::read(&fs::read(directory.join(MANIFEST)).ok()?).ok()?;
        let hashes = Map::open(&open_regular(&directory.join(HASHES)).ok()?).ok()?;
        Some(Local { directory, manifest, hashes: Arc::new(hashes) })
    }

    /// What it has under a path.
    fn twin(&self, path: &str) -> Option<Twin> {
        let entry = self.manifest.files.iter().find(|entry| entry.path == path)?;
        let (begins, _) = self.manifest.levels_from()?;
        let root = Hash::from_hex(&entry.blake3).ok()?;
        let verifier = Verifier::new(path.to_owned(), entry.size_bytes, root, *begins.get(path)?);
        let place = self.directory.join(path);
        Some(Twin { place, verifier, hashes: Arc::clone(&self.hashes) })
    }
}
