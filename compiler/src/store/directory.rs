//! Names in the directory of snapshots, and removing what lies there.
//!
//! The other files of this folder share these helpers. They know no lock and publish nothing.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use pinakes_format::storage::manifest::ID_DIGITS;

/// The link to the snapshot in use.
pub(crate) const CURRENT: &str = "current";
/// What names of what is not finished begin with; of links to what was just put in its place, too.
pub(crate) const UNFINISHED: &str = ".tmp-";
pub(crate) const JUST_PLACED: &str = ".tmp-placed-";

/// Whether a name is one a snapshot may have.
pub(crate) fn is_id(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.len() == ID_DIGITS && name.bytes().all(is_digit)
}

/// The id that `current` leads to; `None` where it leads nowhere beside itself.
pub(crate) fn current(directory: &Path) -> Option<String> {
    let target = fs::read_link(directory.join(CURRENT)).ok()?;
    target.to_str().filter(|id| is_id(id)).map(str::to_owned)
}

/// A name beside the snapshots that the next run takes for a remain.
pub(crate) fn unfinished(directory: &Path, what: impl AsRef<OsStr>) -> PathBuf {
    let mut name = OsString::from(UNFINISHED);
    name.push(what);
    name.push(format!("-{}", std::process::id()));
    directory.join(name)
}

/// Removes a directory even where its folders are read-only already. Of a link, the link alone: what
/// a run that died left may lead to a published snapshot.
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
