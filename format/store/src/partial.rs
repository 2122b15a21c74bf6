//! A snapshot whose chunks are fetched on demand: a published snapshot of which nothing is here yet.
//!
//! ```text
//! current -> 4c…           renamed to another snapshot in one step
//! 4c…/partial              marks a snapshot of which chunks may be absent; removed when all are here
//! 4c…/outputs/records      a hole of the published size, into which chunks are written
//! publications/4c….json    the publication as the host signed it
//! ```

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use chrono::Utc;
use minisign::PublicKey;
use pinakes_format::snapshot::next::CURRENT;
use pinakes_format::snapshot::{PARTIAL, read_manifest};
use pinakes_format::storage::integrity::levels_of;
use pinakes_format::storage::manifest::{
    FileEntry, HASHES, MANIFEST, MANIFEST_BYTES_MAX, Manifest, REPORT,
};
use pinakes_format::storage::publication::{PUBLICATION, read_kept};
use pinakes_remote::error::RemoteError;
use pinakes_remote::host::{Extent, Host};
use pinakes_remote::manifest::{fetch_manifest, snapshot_path};
use pinakes_remote::trust;
use rustix::fs::OFlags;

use crate::directory::{current, remove_tree};
use crate::error::{Result, StoreError};
use crate::files::{hash_of, sync_directory};
use crate::lock::LockedDirectory;
use crate::publications;
use crate::publish::{make_read_only, switch_link};
use crate::rolled_back::{BlockedSnapshot, find_blocked};

/// The locked directory of a mirror that fetches chunks on demand.
pub struct MirrorDirectory {
    lock: LockedDirectory,
}

/// The publication of a host, compared with the current snapshot.
pub enum Found {
    /// The current snapshot, or one whose time has not come.
    Nothing,
    /// A snapshot that is not current, by its id. Its files are made.
    Newer(String),
    /// A snapshot that was rolled back from.
    Blocked(BlockedSnapshot),
}

impl MirrorDirectory {
    /// Makes the directory if it is missing, and locks it.
    ///
    /// # Errors
    ///
    /// As [`LockedDirectory::lock`].
    pub fn lock(path: &Path) -> Result<MirrorDirectory> {
        Ok(MirrorDirectory { lock: LockedDirectory::lock(path)? })
    }

    fn path(&self) -> &Path {
        self.lock.directory()
    }

    /// The directory of a snapshot.
    pub fn place(&self, id: &str) -> PathBuf {
        self.path().join(id)
    }

    /// Looks at the publication of a host, and makes the files of its snapshot.
    ///
    /// # Errors
    ///
    /// The publication is not trusted or older than one that was accepted, the host fails, or the system refuses.
    pub fn find_newer(&self, host: &Host, keys: &[PublicKey]) -> Result<Found> {
        let fetched = trust::fetch(host, keys)?;
        let publication = &fetched.publication;
        // An expired publication is used; a server says that it is stale.
        trust::check_age(publication, &host.display(PUBLICATION), Utc::now(), true)?;
        let here = self.current();
        // Of several hosts without keys, one may have fallen behind the others.
        let known = here.as_ref().and_then(|id| read_kept(self.path(), id));
        publications::accept(self.path(), host, &fetched, known.as_ref(), false)?;
        let id = &publication.snapshot.id;
        if let Some(blocked) = find_blocked(self.path(), id)? {
            return Ok(Found::Blocked(blocked));
        }
        // Until its time, the snapshot that is here answers.
        if here.is_some() && publication.activates_at().is_some_and(|at| at > Utc::now()) {
            return Ok(Found::Nothing);
        }
        if !self.place(id).is_dir() {
            let manifest = fetch_manifest(host, publication, MANIFEST_BYTES_MAX, None)?;
            let report = fetch_report(host, &manifest)?;
            self.add(&manifest, &report).map_err(StoreError::write(self.place(id)))?;
        }
        publications::keep(self.path(), &fetched)?;
        Ok(if here.as_ref() == Some(id) { Found::Nothing } else { Found::Newer(id.clone()) })
    }

    /// The id of the snapshot of `current`.
    pub fn current(&self) -> Option<String> {
        current(self.path())
    }

    /// Makes the directory of a snapshot of which only the report is here.
    fn add(&self, manifest: &Manifest, report: &[u8]) -> io::Result<()> {
        let fresh = self.lock.scratch().join(&manifest.id);
        remove_tree(&fresh);
        DirBuilder::new().mode(0o755).create(&fresh)?;
        write_new(&fresh.join(PARTIAL), b"")?;
        for entry in &manifest.files {
            make_file(&fresh.join(&entry.path), entry.size_bytes)?;
        }
        write_report(&fresh, manifest, report)?;
        write_new(&fresh.join(MANIFEST), &manifest.text())?;
        sync_directory(&fresh)?;
        fs::rename(&fresh, self.place(&manifest.id))?;
        sync_directory(self.path())
    }

    /// Makes the files of a snapshot anew that are gone or do not have their size, and returns their paths. Chunks of them
    /// are then absent. A manifest or report that is gone or damaged comes from the first host that sends it.
    ///
    /// # Errors
    ///
    /// The system refuses, or no host sends the manifest.
    pub fn mend(&self, id: &str, hosts: &[&Host]) -> Result<Vec<String>> {
        let place = self.place(id);
        let refused = StoreError::write(&place);
        let here = read_manifest(&place).ok().filter(|manifest| manifest.id == id);
        let is_manifest_here = here.is_some();
        let manifest = match here {
            Some(manifest) => manifest,
            None => {
                let gone =
                    || StoreError::read(place.join(MANIFEST))(io::ErrorKind::NotFound.into());
                let publication = read_kept(self.path(), id).ok_or_else(gone)?;
                let fetched =
                    ask(hosts, |host| fetch_manifest(host, &publication, MANIFEST_BYTES_MAX, None));
                fetched.ok_or_else(gone)??
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
        let fresh = self.lock.scratch().join(MANIFEST);
        let make = || {
            for directory in directories(&place, &manifest) {
                DirBuilder::new().recursive(true).mode(0o755).create(&directory)?;
                fs::set_permissions(&directory, Permissions::from_mode(0o755))?;
            }
            if !self.is_partial(id) {
                write_new(&place.join(PARTIAL), b"")?;
            }
            if !is_manifest_here {
                let _ = fs::remove_file(&fresh);
                write_new(&fresh, &manifest.text())?;
                fs::rename(&fresh, place.join(MANIFEST))?;
            }
            broken.iter().try_for_each(|of| make_file(&place.join(&of.path), of.size_bytes))?;
            if let Some(report) = &report {
                write_report(&place, &manifest, report)?;
            }
            sync_directory(&place)
        };
        make().map_err(refused)?;
        mended.extend((!is_manifest_here).then(|| MANIFEST.to_owned()));
        mended.extend((!is_report_here && report.is_some()).then(|| REPORT.to_owned()));
        mended.sort();
        mended.dedup();
        Ok(mended)
    }

    /// Makes a snapshot current.
    ///
    /// # Errors
    ///
    /// The link cannot be replaced.
    pub fn make_current(&self, id: &str) -> Result<()> {
        switch_link(self.path(), id, CURRENT).map(drop)
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
            let file = File::open(place.join(&entry.path))?;
            file.sync_all()?;
            // The hashes of other files prove those alone.
            let is_proved = ![HASHES, REPORT].contains(&entry.path.as_str());
            if !is_proved && hash_of(&file)? != entry.blake3 {
                let message =
                    format!("`{}` does not have the hash that the manifest promises", entry.path);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        fs::remove_file(place.join(PARTIAL))?;
        make_read_only(&place)
    }

    /// Removes the snapshots of which chunks may be absent, but for these. Returns their ids.
    pub fn remove_partial(&self, kept: &[String]) -> Vec<String> {
        let mut removed = Vec::new();
        for entry in fs::read_dir(self.path()).into_iter().flatten().flatten() {
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
}

/// The directories of a snapshot's files.
fn directories(place: &Path, manifest: &Manifest) -> BTreeSet<PathBuf> {
    let of_files = manifest
        .files
        .iter()
        .filter_map(|entry| Some(place.join(&entry.path).parent()?.to_owned()));
    of_files.chain([place.to_owned()]).collect()
}

/// Makes a file of a size, and its directory: a hole, but for bytes that are there.
pub(crate) fn make_file(path: &Path, size_bytes: u64) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path)?,
        Ok(found) if found.is_file() => fs::set_permissions(path, Permissions::from_mode(0o644))?,
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(false).mode(0o644);
    // Not through a link that came meanwhile. The C library takes the flags as an `int`.
    let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
    file.set_len(size_bytes)
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
    of: impl Fn(&Host) -> std::result::Result<T, RemoteError>,
) -> Option<std::result::Result<T, RemoteError>> {
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
fn fetch_report(host: &Host, manifest: &Manifest) -> std::result::Result<Vec<u8>, RemoteError> {
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
