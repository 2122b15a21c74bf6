//! A tree of static files: snapshots put into it, and what it publishes exchanged.

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
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::mirror::publish::Publish;
use crate::mirror::signature::sign;
use crate::mirror::{SIGNATURE, SNAPSHOTS};
use crate::store::files::{make_directory, open_regular, put, sync_directory};
use crate::store::lock::OutputLock;
use crate::store::publish::is_whole;
use crate::terminal::escape::shown;
use crate::terminal::progress::Progress;

/// A tree that a snapshot is put into.
pub struct Tree<'a> {
    /// What is asked for.
    pub asked: &'a Publish,
    /// The tree, held against other runs.
    pub lock: &'a OutputLock,
    /// The snapshot's.
    pub manifest: &'a Manifest,
}

impl Tree<'_> {
    fn at(&self, path: &str) -> PathBuf {
        self.asked.to.join(path)
    }

    fn say(&self, what: &str, of: &str) {
        if self.asked.progress != Progress::Quiet {
            eprintln!("{what:>10} {of}");
        }
    }

    /// Says so where mirrors must be told to take something that large.
    pub fn warn_large(&self, what: &str, bytes: u64) {
        if bytes > self.asked.manifest_bytes_max {
            eprintln!(
                "warning: {what} has {bytes} bytes: who pulls it must say `--max-manifest {bytes}`"
            );
        }
    }

    /// Puts the snapshot's files into the tree, each verified as it is put there.
    ///
    /// # Errors
    ///
    /// Where a file is not what the manifest lists, or cannot be put there.
    pub fn put_snapshot(&self, source: &Path) -> Result<()> {
        let place = self.at(&format!("{SNAPSHOTS}/{}", self.manifest.id));
        let is_there = fs::symlink_metadata(&place).is_ok();
        if is_there && is_whole(&place, self.manifest, |_| ()) {
            return Ok(());
        }
        let fresh = self.lock.scratch().join("tree");
        make_directory(&fresh)?;
        let files = &self.manifest.files;
        for directory in files.iter().filter_map(|entry| entry.path.split_once('/')) {
            make_directory(&fresh.join(directory.0))?;
        }
        let bytes: u64 = files.iter().map(|entry| entry.size_bytes).sum();
        let bar = self.asked.progress.begin("verify", "files", files.len() as u64, bytes);
        files.par_iter().try_for_each(|entry| {
            let from = source.join(&entry.path);
            let file = open_regular(&from).map_err(Error::input(&from))?;
            let found = hash_of(&file).map_err(Error::input(&from))?;
            if found != entry.blake3 {
                return Err(Error::Refused(format!(
                    "`{}` has hash {found}, expected {} by the manifest; rebuild the snapshot",
                    shown(&from),
                    entry.blake3
                )));
            }
            take(file, &fresh.join(&entry.path), &found)?;
            bar.advance(entry.size_bytes);
            Ok(())
        })?;
        bar.end();
        put(&fresh.join(MANIFEST), &self.manifest.text())?;
        for directory in files.iter().filter_map(|entry| entry.path.split_once('/')) {
            let directory = fresh.join(directory.0);
            sync_directory(&directory).map_err(Error::output(&directory))?;
        }
        if is_there {
            // It goes with the run; whom it failed asks again.
            let damaged = self.lock.scratch().join("damaged");
            fs::rename(&place, damaged).map_err(Error::output(&place))?;
            self.say("mended", &format!("snapshot {}", self.manifest.id));
        }
        let placed = fs::rename(&fresh, &place).and_then(|()| sync_directory(&self.at(SNAPSHOTS)));
        placed.map_err(Error::output(&place))
    }

    /// Exchanges what the tree publishes. Between the two renames a reader may find a text and the other's
    /// signature, which it refuses and asks again.
    ///
    /// # Errors
    ///
    /// Where it cannot be signed or written.
    pub fn exchange(&self, publication: &Publication, key: Option<&SecretKey>) -> Result<()> {
        let text = publication.text();
        let Publication { version, snapshot, .. } = publication;
        let comment = format!("pinakes publication\tversion:{version}\tsnapshot:{}", snapshot.id);
        let signature = key.map(|key| sign(key, &text, &comment)).transpose()?;
        self.warn_older(publication);
        put(&self.at(&format!("{PUBLICATIONS}/{}.json", snapshot.id)), &text)?;
        put(&self.at(PUBLICATION), &text)?;
        let place = self.at(SIGNATURE);
        match signature {
            Some(signature) => {
                put(&place, &signature)?;
                self.say("signed", SIGNATURE);
            }
            None => {
                // Another's would only be refused.
                let _ = fs::remove_file(&place);
                self.say("unsigned", "sign it by `--key`, or `minisign -Sm publication.json`");
            }
        }
        Ok(())
    }

    /// Says so where mirrors will take this for a rollback.
    fn warn_older(&self, publication: &Publication) {
        let before = fs::read(self.at(PUBLICATION)).ok();
        let before = before.and_then(|text| Publication::read(&text).ok());
        let age = |of: &Publication| (of.version_at(), of.created_at());
        if let Some(before) = before.filter(|before| age(before) > age(publication)) {
            eprintln!(
                "warning: version {} created {} is older than version {} created {}, which was published \
                 before; mirrors refuse it without `--allow-rollback`",
                publication.version, publication.created, before.version, before.created
            );
        }
    }
}

fn hash_of(file: &File) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Puts a file that was read and hashed at another place too: the same file under another name where the
/// file system can, since published files never change; else a copy, hashed again as it is made.
fn take(file: File, to: &Path, blake3: &str) -> Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    // By what is open, not by the name it had: that may be another file's by now.
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
            let reason = "it changed while it was copied; run again when it is still".into();
            return Err(Error::Damaged { path: to.to_owned(), reason });
        }
        fs::rename(&fresh, to).map_err(Error::output(to))
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    outcome
}

/// Whether a file is one that is never written again, and may be read by a host.
fn is_read_only(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o777 == 0o444)
}
