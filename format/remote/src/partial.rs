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
    fs::{self, DirBuilder, File, Permissions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use chrono::Utc;
use minisign::PublicKey;
use pinakes_format::snapshot::next::CURRENT;
use pinakes_format::snapshot::{HISTORY, PARTIAL};
use pinakes_format::storage::integrity::levels_of;
use pinakes_format::storage::manifest::{HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest, REPORT};
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
        if !self.has(id) {
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

    /// Whether a snapshot is here, as a whole or in part.
    fn has(&self, id: &str) -> bool {
        self.place(id).join(MANIFEST).is_file()
    }

    /// Makes the directory of a snapshot of which only the report is here.
    fn add(&self, manifest: &Manifest, report: &[u8]) -> io::Result<()> {
        let fresh = self.path.join(format!("{UNFINISHED}partial"));
        let _ = fs::remove_dir_all(&fresh);
        DirBuilder::new().mode(0o755).create(&fresh)?;
        write_new(&fresh.join(PARTIAL), b"")?;
        for entry in &manifest.files {
            let path = fresh.join(&entry.path);
            if let Some(directory) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
            }
            File::options()
                .write(true)
                .create_new(true)
                .mode(0o644)
                .open(&path)?
                .set_len(entry.size_bytes)?;
        }
        let (levels_from, _) = manifest.levels_from().ok_or(io::ErrorKind::InvalidData)?;
        let write = |name: &str, bytes: &[u8], from: usize| {
            let file = File::options().write(true).open(fresh.join(name))?;
            file.write_all_at(bytes, from as u64)?;
            file.sync_all()
        };
        write(REPORT, report, 0)?;
        write(HASHES, &levels_of(report), levels_from.get(REPORT).copied().unwrap_or_default())?;
        write_new(&fresh.join(MANIFEST), &manifest.text())?;
        sync(&fresh)?;
        fs::rename(&fresh, self.place(&manifest.id))?;
        sync(&self.path)
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
        let mut directories = vec![place.clone()];
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
            directories.extend(path.parent().map(Path::to_owned));
        }
        fs::set_permissions(place.join(MANIFEST), Permissions::from_mode(0o444))?;
        fs::remove_file(place.join(PARTIAL))?;
        directories.sort();
        directories.dedup();
        for directory in &directories {
            fs::set_permissions(directory, Permissions::from_mode(0o555))?;
            sync(directory)?;
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
    let is_its = blake3::hash(&text).to_hex().as_str() == entry.blake3;
    if is_its { Ok(text) } else { Err(damaged()) }
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
