//! A published tree: `publish` adds a snapshot and its objects, replaces the publication, and prunes.

pub(crate) mod objects;
pub(crate) mod retention;

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
};

use minisign::SecretKey;
use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use pinakes_format::storage::publication::{PUBLICATION, PUBLICATIONS, Publication};
use pinakes_remote::manifest::SNAPSHOTS;
use pinakes_remote::signature::SIGNATURE;
use pinakes_remote::trust::kept_signature;
use pinakes_store::files::{make_directory, open_regular, sync_directory, write_atomically};
use pinakes_store::lock::LockedDirectory;
use pinakes_store::publish::is_intact;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::mirror::options::PublishOptions;
use crate::mirror::signature::sign;
use crate::terminal::escape::escape_path;
use crate::terminal::progress::Progress;

/// A locked tree that a snapshot is added to.
pub struct Tree<'a> {
    /// The options of `publish`.
    pub options: &'a PublishOptions,
    /// The lock on the tree.
    pub lock: &'a LockedDirectory,
    /// Manifest of the snapshot.
    pub manifest: &'a Manifest,
}

impl Tree<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.options.to.join(path)
    }

    fn print_progress(&self, what: &str, of: &str) {
        if self.options.progress != Progress::Quiet {
            eprintln!("{what:>10} {of}");
        }
    }

    /// Warns about a file that mirrors accept only with `--max-manifest`.
    pub fn warn_if_large(&self, what: &str, bytes: u64) {
        if bytes > self.options.manifest_bytes_max {
            eprintln!(
                "warning: {what} has {bytes} bytes: mirrors must pull with `--max-manifest {bytes}`"
            );
        }
    }

    /// Adds the snapshot's files to the tree and verifies each.
    pub fn add_snapshot(&self, source: &Path) -> Result<()> {
        let place = self.path(&format!("{SNAPSHOTS}/{}", self.manifest.id));
        let is_there = fs::symlink_metadata(&place).is_ok();
        if is_there && is_intact(&place, self.manifest, |_| ()) {
            return Ok(());
        }
        let fresh = self.lock.scratch().join("tree");
        make_directory(&fresh)?;
        let files = &self.manifest.files;
        for directory in files.iter().filter_map(|entry| entry.path.split_once('/')) {
            make_directory(&fresh.join(directory.0))?;
        }
        let bytes: u64 = files.iter().map(|entry| entry.size_bytes).sum();
        let bar = self.options.progress.begin("verify", "files", files.len() as u64, bytes);
        files.par_iter().try_for_each(|entry| {
            let from = source.join(&entry.path);
            let file = open_regular(&from).map_err(Error::input(&from))?;
            let found = hash_of(&file).map_err(Error::input(&from))?;
            if found != entry.blake3 {
                return Err(Error::Refused(format!(
                    "`{}` has hash {found}, the manifest lists {}; rebuild the snapshot",
                    escape_path(&from),
                    entry.blake3
                )));
            }
            link_or_copy(file, &fresh.join(&entry.path), &found)?;
            bar.advance(entry.size_bytes);
            Ok(())
        })?;
        bar.end();
        write_atomically(&fresh.join(MANIFEST), &self.manifest.text())?;
        for directory in files.iter().filter_map(|entry| entry.path.split_once('/')) {
            let directory = fresh.join(directory.0);
            sync_directory(&directory).map_err(Error::output(&directory))?;
        }
        if is_there {
            // Dropping the lock removes it. A mirror that read it sees wrong hashes and tries again.
            let damaged = self.lock.scratch().join("damaged");
            fs::rename(&place, damaged).map_err(Error::output(&place))?;
            self.print_progress("replaced", &format!("damaged snapshot {}", self.manifest.id));
        }
        let placed =
            fs::rename(&fresh, &place).and_then(|()| sync_directory(&self.path(SNAPSHOTS)));
        placed.map_err(Error::output(&place))
    }

    /// Replaces the publication and its signature. Between the two renames a reader may find the new text with the old
    /// signature; the new one is then in `publications/`.
    pub fn replace_publication(
        &self,
        publication: &Publication,
        key: Option<&SecretKey>,
    ) -> Result<()> {
        let text = publication.text();
        let Publication { version, snapshot, .. } = publication;
        let comment = format!("pinakes publication\tversion:{version}\tsnapshot:{}", snapshot.id);
        let signature = key.map(|key| sign(key, &text, &comment)).transpose()?;
        self.warn_if_older(publication);
        let kept = self.path(&kept_signature(&snapshot.id));
        match &signature {
            Some(signature) => write_atomically(&kept, signature)?,
            None => _ = fs::remove_file(kept),
        }
        write_atomically(&self.path(&format!("{PUBLICATIONS}/{}.json", snapshot.id)), &text)?;
        write_atomically(&self.path(PUBLICATION), &text)?;
        let place = self.path(SIGNATURE);
        match signature {
            Some(signature) => {
                write_atomically(&place, &signature)?;
                self.print_progress("signed", SIGNATURE);
            }
            None => {
                // The signature of the previous publication does not match.
                let _ = fs::remove_file(&place);
                self.print_progress(
                    "unsigned",
                    "sign with `--key`, or `minisign -Sm publication.json`",
                );
            }
        }
        Ok(())
    }

    /// Warns if the publication is older than the previous one: mirrors refuse a rollback.
    fn warn_if_older(&self, publication: &Publication) {
        let before = fs::read(self.path(PUBLICATION)).ok();
        let before = before.and_then(|text| Publication::read(&text).ok());
        let is_newer = |before: &Publication| before.version_at() > publication.version_at();
        if let Some(before) = before.filter(is_newer) {
            eprintln!(
                "warning: version {} is older than version {}, which was published before; mirrors refuse it \
                 without `--allow-rollback`; check this machine's clock",
                publication.version, before.version
            );
        }
    }
}

fn hash_of(file: &File) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Adds a hashed file to the tree. Makes a hard link if the file is read-only and the file system allows
/// it; otherwise makes a copy and hashes the copy.
fn link_or_copy(file: File, to: &Path, blake3: &str) -> Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    // Links the open file: its name may belong to another file by now.
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    if is_read_only(&file) && linkat(CWD, &opened, CWD, to, AtFlags::SYMLINK_FOLLOW).is_ok() {
        return Ok(());
    }
    let mut name = to.as_os_str().to_owned();
    name.push(".tmp");
    let fresh = PathBuf::from(name);
    let copy = || -> io::Result<blake3::Hash> {
        let _ = fs::remove_file(&fresh);
        let mut from = file;
        from.rewind()?;
        let mut copied = File::create_new(&fresh)?;
        let mut hasher = blake3::Hasher::new();
        let mut room = vec![0; 1 << 20];
        loop {
            let count = from.read(&mut room)?;
            if count == 0 {
                break;
            }
            copied.write_all(&room[..count])?;
            hasher.update(&room[..count]);
        }
        copied.set_permissions(fs::Permissions::from_mode(0o444))?;
        copied.sync_all()?;
        Ok(hasher.finalize())
    };
    let outcome = copy().map_err(Error::output(to)).and_then(|found| {
        if found.to_hex().as_str() != blake3 {
            let reason = "it changed during the copy; run again when nothing writes it".into();
            return Err(Error::Damaged { path: to.to_owned(), reason });
        }
        fs::rename(&fresh, to).map_err(Error::output(to))
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    outcome
}

/// Whether a file is read-only and readable by everybody.
fn is_read_only(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o777 == 0o444)
}
