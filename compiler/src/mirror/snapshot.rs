//! Fetches a snapshot's files, and copies the chunks that local snapshots share.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use blake3::Hash;
use pinakes_format::entity::Entity;
use pinakes_format::storage::absent::FetchedFile;
use pinakes_format::storage::integrity::Verifier;
use pinakes_format::storage::manifest::{
    FileEntry, HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest,
};
use pinakes_format::storage::mmap::Map;
use pinakes_remote::host::Host;
use pinakes_remote::manifest::snapshot_path;
use pinakes_store::directory::remove_tree;
use pinakes_store::download::{self, DownloadedFile, make_target};
use pinakes_store::files::{check_free_space, make_directory, open_regular, write_atomically};

use crate::error::{Error, Result};
use crate::mirror::levels;
use crate::mirror::transfer::{Transfer, transfer};
use crate::terminal::progress::Progress;

/// Prefix of directories for unfinished downloads. They survive a failed run, so that the next continues.
const FETCHED: &str = ".pull-";

/// A local snapshot that may share chunks with the published one.
struct LocalSnapshot {
    directory: Arc<Path>,
    manifest: Manifest,
    hashes: Arc<Map>,
}

/// Fetches a snapshot into a temporary directory beside the snapshots, and returns that directory.
///
/// # Errors
///
/// The first failure. The chunks verified until then stay for the next run.
pub fn fetch(
    host: &Host,
    manifest: &Manifest,
    snapshots: &Path,
    connections: usize,
    progress: Progress,
) -> Result<(PathBuf, Transfer)> {
    let directory = snapshots.join(download_name(manifest));
    make_download_directory(&directory)?;
    // Files of an earlier attempt stay: their chunks are verified, and fetched only if they differ.
    remove_foreign_files(&directory, manifest);
    for entity in Entity::all() {
        make_directory(&directory.join(entity.facts().plural))?;
    }
    let is_other = |entry: &&FileEntry| entry.path != HASHES;
    let places: Vec<PathBuf> =
        manifest.files.iter().map(|entry| directory.join(&entry.path)).collect();
    let total = manifest.files.iter().map(|entry| entry.size_bytes).fold(0, u64::saturating_add);
    let filled: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    check_free_space(&directory, total, &filled)?;

    let damaged = |reason: &str| Error::Damaged {
        path: host.display(&snapshot_path(&manifest.id, MANIFEST)).into(),
        reason: reason.into(),
    };
    // The hashes verify the chunks of all other files, so they are fetched first.
    let hashes = manifest.files.iter().find(|entry| entry.path == HASHES);
    let hashes = hashes.ok_or_else(|| damaged("lists no file `hashes`"))?;
    let (levels_from, levels_bytes) =
        manifest.levels_from().ok_or_else(|| damaged("the listed sizes are too large"))?;
    if hashes.size_bytes != levels_bytes as u64 {
        return Err(damaged("the size of `hashes` does not match the listed files"));
    }
    // If the manifest lists an invalid hash, nothing is fetched.
    let others = manifest.files.iter().filter(is_other);
    let roots = others.clone().map(|entry| Hash::from_hex(&entry.blake3));
    let roots: Vec<Hash> = roots
        .map(|root| root.map_err(|_| damaged("lists an invalid hash")))
        .collect::<Result<_>>()?;
    let path = snapshot_path(&manifest.id, HASHES);
    let place = directory.join(HASHES);
    let levels = levels::fetch(host, &path, &place, hashes.size_bytes, &hashes.blake3)?;
    let levels = Arc::new(levels);

    // Local snapshots give the chunks that have not changed.
    let locals = local_snapshots(snapshots);
    let target: Arc<Path> = directory.as_path().into();
    let mut files = Vec::new();
    for (entry, root) in others.zip(roots) {
        let from = levels_from.get(entry.path.as_str()).copied().unwrap_or_default();
        let verifier = Verifier::new(entry.path.clone(), entry.size_bytes, root, from);
        files.push(DownloadedFile {
            host_path: snapshot_path(&manifest.id, &entry.path),
            file: make_target(&target, verifier, &levels)?,
            donors: locals.iter().filter_map(|local| local.donor(&entry.path)).collect(),
        });
    }
    let transferred = transfer(host, files, connections, progress)?;
    // The manifest comes last, so a directory with a manifest has all files.
    write_atomically(&directory.join(MANIFEST), &manifest.text())?;
    Ok((directory, transferred))
}

/// Makes a download directory that only its owner may write.
fn make_download_directory(directory: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(directory);
    if metadata.as_ref().is_ok_and(|metadata| !metadata.is_dir()) {
        remove_tree(directory);
    }
    make_directory(directory)?;
    // A run killed while publishing may have left the directory read-only.
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory, mode).map_err(Error::output(directory))
}

/// Removes files of a killed run that do not belong to the snapshot.
fn remove_foreign_files(directory: &Path, manifest: &Manifest) {
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

/// Returns the name of a snapshot's download directory.
fn download_name(manifest: &Manifest) -> String {
    format!("{FETCHED}{}", &manifest.root[..32])
}

/// Removes unfinished downloads, except that of the snapshot `next`.
pub fn remove_downloads(snapshots: &Path, next: Option<&Manifest>) {
    let next = next.map(download_name);
    for entry in fs::read_dir(snapshots).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(FETCHED) && Some(&name) != next.as_ref() {
            remove_tree(&entry.path());
        }
    }
}

/// Opens the local snapshots. Skips unreadable ones.
fn local_snapshots(snapshots: &Path) -> Vec<LocalSnapshot> {
    let entries = fs::read_dir(snapshots).into_iter().flatten().flatten();
    let directories = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    directories.filter_map(|entry| LocalSnapshot::open(entry.path())).collect()
}

impl LocalSnapshot {
    fn open(directory: PathBuf) -> Option<LocalSnapshot> {
        let manifest = open_regular(&directory.join(MANIFEST)).ok()?;
        if manifest.metadata().ok()?.len() > MANIFEST_BYTES_MAX {
            return None;
        }
        let manifest = Manifest::read(&fs::read(directory.join(MANIFEST)).ok()?).ok()?;
        let hashes = Map::open(&open_regular(&directory.join(HASHES)).ok()?).ok()?;
        Some(LocalSnapshot { directory: directory.into(), manifest, hashes: Arc::new(hashes) })
    }

    /// Returns the snapshot's file of a path, as a donor of chunks.
    fn donor(&self, path: &str) -> Option<FetchedFile> {
        let entry = self.manifest.files.iter().find(|entry| entry.path == path)?;
        let (begins, _) = self.manifest.levels_from()?;
        let root = Hash::from_hex(&entry.blake3).ok()?;
        let verifier = Verifier::new(path.to_owned(), entry.size_bytes, root, *begins.get(path)?);
        // A file that was removed or cut meanwhile gives nothing; its chunks are fetched.
        download::open(&self.directory, verifier, &self.hashes).ok()
    }
}
