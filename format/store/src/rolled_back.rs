//! The snapshots that were rolled back from. No run makes one current again until `rollback --to` does.
//!
//! The file `.rolled-back` beside the snapshots holds one id a line. It is separate from `.history`,
//! because the history cannot distinguish a rollback from an interrupted publish. An entry outlasts its
//! snapshot, since a mirror would otherwise fetch the snapshot again.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use pinakes_remote::escape::escape_path;

use crate::directory::{current, is_id, temporary_path};
use crate::error::{Result, StoreError};
use crate::files::sync_directory;

/// Name of the file.
const ROLLED_BACK: &str = ".rolled-back";

/// A snapshot that a run must not make current, because it was rolled back from.
#[derive(Debug)]
pub struct BlockedSnapshot {
    /// Id of the blocked snapshot.
    pub id: String,
    /// Path of the current snapshot, which is another one.
    pub path: PathBuf,
    /// Whether the blocked snapshot exists in the directory.
    exists: bool,
}

impl BlockedSnapshot {
    /// Formats the warning: nothing was published, the reason, and the command that publishes it.
    pub fn warning(&self) -> String {
        let BlockedSnapshot { id, path, exists } = self;
        let snapshots = path.parent().unwrap_or(Path::new("."));
        let leads = escape_path(Path::new(path.file_name().unwrap_or_default()));
        let again = match exists {
            true => format!("`pinakes-compiler rollback {} --to {id}`", escape_path(snapshots)),
            false => {
                format!(
                    "remove its id from `{}` and run again",
                    escape_path(&snapshots.join(ROLLED_BACK))
                )
            }
        };
        format!(
            "nothing was published: {id} was rolled back from, and `current` still points at {leads}; to use \
             it again: {again}"
        )
    }
}

/// Returns the snapshot `id` if it is blocked: it was rolled back from, and another one is current.
pub fn find_blocked(snapshots: &Path, id: &str) -> Result<Option<BlockedSnapshot>> {
    let Some(leads) = current(snapshots).filter(|leads| leads != id) else { return Ok(None) };
    let (path, place) = (snapshots.join(leads), snapshots.join(id));
    let is_blocked = read(snapshots)?.contains(id) && path.is_dir();
    Ok(is_blocked.then(|| BlockedSnapshot { id: id.to_owned(), path, exists: place.is_dir() }))
}

/// Records a rollback from `from` to `to` and returns all blocked ids. `ids` is the publishing order.
///
/// Adds the ids after `to` up to and including `from`, and removes `to`.
///
/// Example: with the order `a b c d`, going from `c` to `a` blocks `b` and `c`; then going from `a` to
/// `b` leaves only `c` blocked.
pub fn update(
    snapshots: &Path,
    ids: &[String],
    from: Option<&str>,
    to: &str,
) -> Result<BTreeSet<String>> {
    let before = read(snapshots)?;
    let mut now = before.clone();
    let at = |id: &str| ids.iter().position(|other| other == id);
    // A pruned snapshot has no place in the order.
    if let (Some(to), Some(from)) = (at(to), from.and_then(at)) {
        now.extend(ids.iter().take(from + 1).skip(to + 1).cloned());
    }
    now.remove(to);
    if now == before {
        return Ok(now);
    }
    let path = snapshots.join(ROLLED_BACK);
    // A reader sees the old list or the new one, because the new one is renamed into place.
    let fresh = temporary_path(snapshots, "rolled-back");
    let write = || {
        let mut file = File::create(&fresh)?;
        now.iter().try_for_each(|id| writeln!(file, "{id}"))?;
        file.sync_all()?;
        fs::rename(&fresh, &path)?;
        sync_directory(snapshots)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&fresh);
        StoreError::write(&path)(error)
    })?;
    Ok(now)
}

/// Reads the ids that were rolled back from.
///
/// # Errors
///
/// The file exists but cannot be read.
pub fn read(snapshots: &Path) -> Result<BTreeSet<String>> {
    let path = snapshots.join(ROLLED_BACK);
    match fs::read(&path) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            Ok(text.lines().map(str::trim).filter(|id| is_id(id)).map(str::to_owned).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(StoreError::read(path)(error)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_between_stay_blocked_until_a_rollback_to_them() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = directory.path();
        let ids = ["a", "b", "c", "d"].map(|letter| letter.repeat(16));
        let [a, b, c, d] = &ids;
        for (from, to, expected) in [
            (Some(c), b, vec![c]),
            (Some(b), a, vec![b, c]),
            // Forward, past a blocked snapshot, to one that is not blocked.
            (Some(a), d, vec![b, c]),
            (Some(d), c, vec![b, d]),
            (None, d, vec![b]),
            (Some(d), d, vec![b]),
            (Some(d), b, vec![c, d]),
        ] {
            let written = update(snapshots, &ids, from.map(String::as_str), to).unwrap();
            let found = read(snapshots).unwrap();
            assert_eq!(written, found);
            assert!(found.iter().eq(expected.iter().copied()), "{from:?} to {to}: {found:?}");
        }
        // Blocked only while another snapshot is current and exists.
        let blocked = |id: &str| find_blocked(snapshots, id).unwrap().map(|found| found.warning());
        assert_eq!(blocked(c), None);
        fs::create_dir(snapshots.join(b)).unwrap();
        std::os::unix::fs::symlink(b, snapshots.join("current")).unwrap();
        let place = snapshots.display();
        let says = |again: String| {
            Some(format!(
                "nothing was published: {c} was rolled back from, and `current` still points at {b}; to use \
                 it again: {again}"
            ))
        };
        assert_eq!(
            blocked(c),
            says(format!("remove its id from `{place}/.rolled-back` and run again"))
        );
        fs::create_dir(snapshots.join(c)).unwrap();
        assert_eq!(blocked(c), says(format!("`pinakes-compiler rollback {place} --to {c}`")));
        assert_eq!((blocked(a), blocked(b)), (None, None));
    }
}
