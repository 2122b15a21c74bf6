//! The directory of a mirror that fetches chunks on demand: its lock, a published snapshot of which nothing is here yet,
//! and the link `current`.
//!
//! ```text
//! .lock                    held by this server: no other server, `build` or `pull` writes here
//! current -> 4c…           renamed to another snapshot in one step
//! 4c…/partial              marks a snapshot of which chunks may be absent; removed when all are here
//! 4c…/outputs/records      a hole of the published size, into which chunks are written
//! publications/4c….json    the publication as the host signed it
//! ```

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, Permissions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use chrono::Utc;
use minisign::PublicKey;
use pinakes_format::snapshot::next::CURRENT;
use pinakes_format::snapshot::{HISTORY, PARTIAL, read_manifest};
use pinakes_format::storage::integrity::levels_of;
use pinakes_format::storage::manifest::{
    FileEntry, HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest, REPORT,
};
use pinakes_format::storage::publication::{PUBLICATIONS, Publication, kept_path, read_kept};

use crate::error::RemoteError;
use crate::host::{Extent, Host};
use crate::manifest::{fetch_manifest, snapshot_path};
use crate::trust;

/// The beginning of names that a later run of the compiler removes.
const UNFINISHED: &str = ".tmp-";

/// Why a mirror cannot begin, or cannot follow its hosts.
#[derive(Debug, thiserror::Error)]
pub enum PartialError {
    /// No host sends a publication that is trusted.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// Another process writes to the directory.
    #[error(
        "`{}` is in use: another server with `--from`, or a run of the compiler, writes there; give another directory",
        .0.display()
    )]
    Locked(PathBuf),
    /// The directory cannot be written.
    #[error("cannot write `{}`: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A host sends an older publication than the one that is here.
    #[error("{url} publishes version {found}, and {known} is here; keeping what is here")]
    Older {
        /// The address of the host.
        url: String,
        /// The version that the host publishes.
        found: String,
        /// The version of the snapshot that is here.
        known: String,
    },
}

/// A locked directory of snapshots.
pub struct MirrorDirectory {
    path: PathBuf,
    _lock: File,
}

impl MirrorDirectory {
    /// Makes the directory if it is missing, and locks it.
    ///
    /// # Errors
    ///
    /// Another process holds the lock, or the system refuses.
    pub fn lock(path: &Path) -> Result<MirrorDirectory, PartialError> {
        let refused = |error| PartialError::Directory { path: path.to_owned(), error };
        let locked = MirrorDirectory::try_lock(path).map_err(refused)?;
        locked.ok_or_else(|| PartialError::Locked(path.to_owned()))
    }

    fn try_lock(path: &Path) -> io::Result<Option<MirrorDirectory>> {
        DirBuilder::new().recursive(true).mode(0o755).create(path)?;
        let mut options = File::options();
        let mut lock =
            options.create(true).truncate(false).read(true).write(true).open(path.join(".lock"))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => {}
        }
        let id = format!("{}\n", std::process::id());
        lock.set_len(0)?;
        lock.write_all(id.as_bytes())?;
        Ok(Some(MirrorDirectory { path: path.to_owned(), _lock: lock }))
    }

    /// The directory of a snapshot.
    pub fn place(&self, id: &str) -> PathBuf {
        self.path.join(id)
    }

    /// Makes the files of the snapshot that a host publishes, and returns its id; `None` where the snapshot is current, or
    /// another is until a stated time.
    ///
    /// # Errors
    ///
    /// The publication is not trusted or older than what is here, the host fails, or the system refuses.
    pub fn find_newer(
        &self,
        host: &Host,
        keys: &[PublicKey],
    ) -> Result<Option<String>, PartialError> {
        let refused = |error| PartialError::Directory { path: self.path.clone(), error };
        let fetched = trust::fetch(host, keys)?;
        let publication = &fetched.publication;
        // An expired publication is used; a server says that it is stale.
        trust::check_age(publication, &host.display(""), Utc::now(), true)?;
        if let Some(known) = self.publication()
            && publication.version_at() < known.version_at()
        {
            let (found, known) = (publication.version.clone(), known.version);
            return Err(PartialError::Older { url: host.display(""), found, known });
        }
        // Until its time, the snapshot that is here answers.
        let is_later = publication.activates_at().is_some_and(|at| at > Utc::now());
        if is_later && self.current().is_some() {
            return Ok(None);
        }
        let id = &publication.snapshot.id;
        if !self.place(id).is_dir() {
            let manifest = fetch_manifest(host, publication, MANIFEST_BYTES_MAX, None)?;
            let report = fetch_report(host, &manifest)?;
            self.add(&manifest, &report).map_err(refused)?;
        }
        self.keep_publication(id, &fetched.text).map_err(refused)?;
        Ok((self.current().as_ref() != Some(id)).then(|| id.clone()))
    }

    /// The id of the snapshot of `current`.
    pub fn current(&self) -> Option<String> {
        let target = fs::read_link(self.path.join(CURRENT)).ok()?;
        target.to_str().map(str::to_owned)
    }

    /// The publication of the snapshot of `current`; `None` where it was built here.
    fn publication(&self) -> Option<Publication> {
        read_kept(&self.path, &self.current()?)
    }

    /// Makes the directory of a snapshot of which only the report is here.
    fn add(&self, manifest: &Manifest, report: &[u8]) -> io::Result<()> {
        let fresh = self.path.join(format!("{UNFINISHED}partial"));
        let _ = fs::remove_dir_all(&fresh);
        DirBuilder::new().mode(0o755).create(&fresh)?;
        write_new(&fresh.join(PARTIAL), b"")?;
        for entry in &manifest.files {
            make_file(&fresh, entry)?;
        }
        write_report(&fresh, manifest, report)?;
        write_new(&fresh.join(MANIFEST), &manifest.text())?;
        sync(&fresh)?;
        fs::rename(&fresh, self.place(&manifest.id))?;
        sync(&self.path)
    }

    /// Makes the files of a snapshot anew that are gone or do not have their size, and returns their paths. Chunks of them
    /// are then absent. A manifest or report that is gone or damaged comes from the first host that sends it.
    ///
    /// # Errors
    ///
    /// The system refuses, or no host sends the manifest.
    pub fn mend(&self, id: &str, hosts: &[&Host]) -> Result<Vec<String>, PartialError> {
        let refused = |error| PartialError::Directory { path: self.path.clone(), error };
        let place = self.place(id);
        let here = read_manifest(&place).ok().filter(|manifest| manifest.id == id);
        let is_manifest_here = here.is_some();
        let manifest = match here {
            Some(manifest) => manifest,
            None => {
                let publication = read_kept(&self.path, id)
                    .ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
                let fetched =
                    ask(hosts, |host| fetch_manifest(host, &publication, MANIFEST_BYTES_MAX, None));
                fetched.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))??
            }
        };
        let is_whole = |entry: &&FileEntry| {
            let found = fs::symlink_metadata(place.join(&entry.path));
            found.is_ok_and(|found| found.is_file() && found.len() == entry.size_bytes)
        };
        let broken: Vec<&FileEntry> =
            manifest.files.iter().filter(|entry| !is_whole(entry)).collect();
        let mut mended: Vec<String> = broken.iter().map(|entry| entry.path.clone()).collect();
        let is_report_whole = !mended.iter().any(|path| path == REPORT);
        let report = is_report_whole.then(|| fs::read(place.join(REPORT)).ok()).flatten();
        let report = report.filter(|text| is_report(&manifest, text));
        let is_report_here = report.is_some();
        if is_manifest_here && is_report_here && mended.is_empty() {
            return Ok(mended);
        }
        // Answers do not need the report. Without it, the snapshot stays partial.
        let report = report.or_else(|| ask(hosts, |host| fetch_report(host, &manifest))?.ok());
        let make = || {
            for directory in directories(&place, &manifest) {
                DirBuilder::new().recursive(true).mode(0o755).create(&directory)?;
                fs::set_permissions(&directory, Permissions::from_mode(0o755))?;
            }
            if !self.is_partial(id) {
                write_new(&place.join(PARTIAL), b"")?;
            }
            if !is_manifest_here {
                self.replace(&place.join(MANIFEST), &manifest.text())?;
            }
            broken.iter().try_for_each(|entry| make_file(&place, entry))?;
            if let Some(report) = &report {
                write_report(&place, &manifest, report)?;
            }
            sync(&place)
        };
        make().map_err(refused)?;
        mended.extend((!is_manifest_here).then(|| MANIFEST.to_owned()));
        mended.extend((!is_report_here && report.is_some()).then(|| REPORT.to_owned()));
        mended.sort();
        mended.dedup();
        Ok(mended)
    }

    /// Keeps the publication of a snapshot, for the expiry and the licence, and against a host that goes back.
    fn keep_publication(&self, id: &str, text: &[u8]) -> io::Result<()> {
        let directory = self.path.join(PUBLICATIONS);
        DirBuilder::new().recursive(true).mode(0o755).create(&directory)?;
        self.replace(&kept_path(&self.path, id), text)
    }

    /// Makes a snapshot current.
    ///
    /// # Errors
    ///
    /// The link cannot be replaced.
    pub fn make_current(&self, id: &str) -> Result<(), PartialError> {
        let linked = self.link(id);
        linked.map_err(|error| PartialError::Directory { path: self.path.clone(), error })
    }

    fn link(&self, id: &str) -> io::Result<()> {
        if self.current().as_deref() == Some(id) {
            return Ok(());
        }
        let mut history = String::new();
        let read =
            File::open(self.path.join(HISTORY)).and_then(|mut of| of.read_to_string(&mut history));
        read.or_else(
            |error| if error.kind() == io::ErrorKind::NotFound { Ok(0) } else { Err(error) },
        )?;
        history.push_str(&format!("{id}\n"));
        self.replace(&self.path.join(HISTORY), history.as_bytes())?;
        let fresh = self.path.join(format!("{UNFINISHED}current"));
        let _ = fs::remove_file(&fresh);
        symlink(id, &fresh)?;
        fs::rename(&fresh, self.path.join(CURRENT))?;
        sync(&self.path)
    }

    /// Whether chunks of a snapshot may be absent.
    pub fn is_partial(&self, id: &str) -> bool {
        self.place(id).join(PARTIAL).exists()
    }

    /// Makes a snapshot whose chunks are all here the same as one that was pulled.
    ///
    /// # Errors
    ///
    /// Where the hashes are not those of the manifest, or the system refuses.
    pub fn complete(&self, manifest: &Manifest) -> io::Result<()> {
        let place = self.place(&manifest.id);
        for entry in &manifest.files {
            let path = place.join(&entry.path);
            let file = File::open(&path)?;
            file.sync_all()?;
            // The hashes of other files prove those alone.
            let is_proved = ![HASHES, REPORT].contains(&entry.path.as_str());
            if !is_proved && hash(&file)?.to_hex().as_str() != entry.blake3 {
                let message =
                    format!("`{}` does not have the hash that the manifest promises", entry.path);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            fs::set_permissions(&path, Permissions::from_mode(0o444))?;
        }
        fs::set_permissions(place.join(MANIFEST), Permissions::from_mode(0o444))?;
        fs::remove_file(place.join(PARTIAL))?;
        for directory in directories(&place, manifest) {
            fs::set_permissions(&directory, Permissions::from_mode(0o555))?;
            sync(&directory)?;
        }
        Ok(())
    }

    /// Removes the snapshots of which chunks may be absent, but for these. Returns their ids.
    pub fn remove_partial(&self, kept: &[String]) -> Vec<String> {
        let mut removed = Vec::new();
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            // The link `current` is no directory. Requests that read a removed one keep its files.
            if !kept.contains(&name)
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && entry.path().join(PARTIAL).exists()
                && fs::remove_dir_all(entry.path()).is_ok()
            {
                removed.push(name);
            }
        }
        removed
    }

    fn replace(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        let fresh = self.path.join(format!("{UNFINISHED}written"));
        let _ = fs::remove_file(&fresh);
        write_new(&fresh, text)?;
        fs::rename(&fresh, path)?;
        sync(path.parent().unwrap_or(&self.path))
    }
}

/// The directories of a snapshot's files.
fn directories(place: &Path, manifest: &Manifest) -> BTreeSet<PathBuf> {
    let of_files = manifest
        .files
        .iter()
        .filter_map(|entry| Some(place.join(&entry.path).parent()?.to_owned()));
    of_files.chain([place.to_owned()]).collect()
}

/// Makes a file of the size in the manifest: a hole, but for bytes that are there.
fn make_file(place: &Path, entry: &FileEntry) -> io::Result<()> {
    let path = place.join(&entry.path);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&path)?,
        Ok(found) if found.is_file() => fs::set_permissions(&path, Permissions::from_mode(0o644))?,
        Ok(_) => fs::remove_file(&path)?,
        Err(_) => {}
    }
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    }
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(false).mode(0o644).open(&path)?;
    file.set_len(entry.size_bytes)
}

/// Writes the report and the levels of its hash tree, which are here from the beginning.
fn write_report(place: &Path, manifest: &Manifest, report: &[u8]) -> io::Result<()> {
    let (levels_from, _) = manifest.levels_from().ok_or(io::ErrorKind::InvalidData)?;
    let write = |name: &str, bytes: &[u8], from: usize| {
        let path = place.join(name);
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        let file = File::options().write(true).open(path)?;
        file.write_all_at(bytes, from as u64)?;
        file.sync_all()
    };
    write(REPORT, report, 0)?;
    write(HASHES, &levels_of(report), levels_from.get(REPORT).copied().unwrap_or_default())
}

fn is_report(manifest: &Manifest, text: &[u8]) -> bool {
    let entry = manifest.files.iter().find(|entry| entry.path == REPORT);
    entry.is_some_and(|entry| blake3::hash(text).to_hex().as_str() == entry.blake3)
}

/// Asks hosts until one answers. Fails as the last one does; `None` without hosts.
fn ask<T>(
    hosts: &[&Host],
    of: impl Fn(&Host) -> Result<T, RemoteError>,
) -> Option<Result<T, RemoteError>> {
    let mut outcome = None;
    for host in hosts {
        outcome = Some(of(host));
        if matches!(outcome, Some(Ok(_))) {
            break;
        }
    }
    outcome
}

/// Fetches the report of a snapshot, which is no archive and is here from the beginning.
fn fetch_report(host: &Host, manifest: &Manifest) -> Result<Vec<u8>, RemoteError> {
    let path = snapshot_path(&manifest.id, REPORT);
    let damaged = || {
        let reason = "does not have the hash that the manifest promises".to_owned();
        RemoteError::Damaged { url: host.display(&path), reason }
    };
    let entry = manifest.files.iter().find(|entry| entry.path == REPORT).ok_or_else(damaged)?;
    let extent = Extent::Whole(entry.size_bytes);
    let text = host.read_file(&path, &extent).map_err(|failure| host.error(&path, failure))?;
    if is_report(manifest, &text) { Ok(text) } else { Err(damaged()) }
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o644).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

fn hash(file: &File) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize())
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
