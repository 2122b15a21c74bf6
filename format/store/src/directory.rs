//! Names in the directory of snapshots, and removal of directories.
//!
//! The other modules share these helpers. The helpers take no lock and publish nothing.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use pinakes_format::snapshot::next::CURRENT;
use pinakes_format::storage::manifest::ID_DIGITS;

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
