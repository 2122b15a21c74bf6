//! Finds snapshots, and locks the output directory.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use chrono::Utc;
use pinakes_format::snapshot::next::{CURRENT, NextSnapshot};
use pinakes_format::snapshot::read_manifest;
use pinakes_format::storage::manifest::HASHES;
use pinakes_store::lock::LockedDirectory;

use crate::error::{Error, Result};
use crate::terminal::escape::escape_path;

/// Returns the real path of the snapshot that `path` means: the snapshot in that directory, or the current
/// one of a directory of snapshots. A scheduled snapshot is the current one once its time has come. The
/// snapshot may be damaged.
///
/// # Errors
///
/// The path is neither.
pub(crate) fn find_snapshot(path: &Path) -> Result<PathBuf> {
    let place = fs::canonicalize(path).map_err(Error::input(path))?;
    if is_snapshot(&place)? {
        return Ok(place);
    }
    let next = NextSnapshot::read_due(path, Utc::now());
    let link = next.map_or_else(|| path.join(CURRENT), |next| next.path);
    if fs::symlink_metadata(&link).is_ok() {
        let place = fs::canonicalize(&link).map_err(Error::input(&link))?;
        if is_snapshot(&place)? {
            return Ok(place);
        }
    }
    let reason = "is no snapshot; expected a snapshot, or a directory of snapshots with a link `current`, \
                  as `build --out` and `pull --out` make";
    Err(Error::Input { path: path.to_path_buf(), reason: reason.into() })
}

/// Whether a directory is a snapshot, possibly damaged. A file named `manifest.json` alone may be that of a
/// dump.
fn is_snapshot(directory: &Path) -> Result<bool> {
    match fs::symlink_metadata(directory.join(HASHES)) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(read_manifest(directory).is_ok())
        }
        Err(error) => Err(Error::input(directory)(error)),
    }
}

/// Refuses an output directory whose name means standard output or another device.
pub(crate) fn refuse_standard_output(out: &Path) -> Result<()> {
    // A regular file behind these names is where the shell sends the output.
    let is_stream = ["-", "/dev/stdout", "/dev/stderr"].map(Path::new).contains(&out)
        || out.starts_with("/dev/fd");
    let is_device = || fs::metadata(out).is_ok_and(|found| !found.is_dir() && !found.is_file());
    if !is_stream && !is_device() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the output `{}` is no directory; the output is several files, so give a directory for them",
        escape_path(out)
    )))
}

/// Locks the output directory, as [`LockedDirectory::lock`] does. Refuses names that mean no directory.
pub fn lock_output(directory: &Path) -> Result<LockedDirectory> {
    refuse_standard_output(directory)?;
    Ok(LockedDirectory::lock(directory)?)
}
