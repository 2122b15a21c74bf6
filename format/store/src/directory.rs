//! Names in the directory of snapshots, and removal of directories.
//!
//! The other modules share these helpers. The helpers take no lock and publish nothing.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::ErrorKind,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use chrono::Utc;
use pinakes_format::snapshot::next::{CURRENT, NextSnapshot};
use pinakes_format::snapshot::read_manifest;
use pinakes_format::storage::manifest::{HASHES, ID_DIGITS};

use crate::error::{Result, StoreError};

/// Prefix of the names of unfinished files and directories. The next run removes them.
pub const UNFINISHED: &str = ".tmp-";
/// Prefix of a link to a snapshot that has its final name but is not current yet.
pub const JUST_PLACED: &str = ".tmp-placed-";

/// Whether a name has the form of a snapshot id: 16 lower-case hex digits.
pub fn is_id(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == ID_DIGITS && name.bytes().all(is_digit)
}

/// Returns the id that `current` points at; `None` unless it points at a sibling snapshot.
pub fn current(directory: &Path) -> Option<String> {
    linked(directory, CURRENT)
}

/// Returns the id that a link points at; `None` unless it points at a sibling snapshot.
pub fn linked(directory: &Path, link: &str) -> Option<String> {
    let target = fs::read_link(directory.join(link)).ok()?;
    target.to_str().filter(|id| is_id(id)).map(str::to_owned)
}

/// Returns the real path of the snapshot that `path` means: the snapshot in that directory, or the current
/// one of a directory of snapshots. A scheduled snapshot is the current one once its time has come. The
/// snapshot may be damaged.
///
/// # Errors
///
/// The path is neither.
pub fn find_snapshot(path: &Path) -> Result<PathBuf> {
    let place = fs::canonicalize(path).map_err(StoreError::read(path))?;
    if is_snapshot(&place)? {
        return Ok(place);
    }
    let next = NextSnapshot::read_due(path, Utc::now());
    let link = next.map_or_else(|| path.join(CURRENT), |next| next.path);
    if fs::symlink_metadata(&link).is_ok() {
        let place = fs::canonicalize(&link).map_err(StoreError::read(&link))?;
        if is_snapshot(&place)? {
            return Ok(place);
        }
    }
    let reason = "is no snapshot; expected a snapshot, or a directory of snapshots with a link `current`, \
                  as `build --out` and `pull --out` make";
    Err(StoreError::Content { path: path.to_path_buf(), reason: reason.into() })
}

/// Whether a directory is a snapshot, possibly damaged. A file named `manifest.json` alone may be that of a
/// dump.
fn is_snapshot(directory: &Path) -> Result<bool> {
    match fs::symlink_metadata(directory.join(HASHES)) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(read_manifest(directory).is_ok())
        }
        Err(error) => Err(StoreError::read(directory)(error)),
    }
}

/// Returns a temporary path in the directory of snapshots. The next run removes it.
pub fn temporary_path(directory: &Path, what: impl AsRef<OsStr>) -> PathBuf {
    let mut name = OsString::from(UNFINISHED);
    name.push(what);
    name.push(format!("-{}", std::process::id()));
    directory.join(name)
}

/// Removes a directory tree, also if its folders are read-only. Removes a link without following it:
/// a link that a killed run left behind may point at a published snapshot.
pub fn remove_tree(path: &Path) {
    let is_directory = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    if let Some(entries) = is_directory.then(|| fs::read_dir(path).ok()).flatten() {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_tree(&entry.path());
            }
        }
        let _ = fs::remove_dir_all(path);
    } else {
        let _ = fs::remove_file(path);
    }
}
