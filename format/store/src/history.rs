//! The order in which snapshots became current.
//!
//! The file `.history` beside the snapshots holds one id a line, the oldest first. A run writes it
//! before it moves `current`. File times cannot replace it, because copying the directory changes them;
//! neither can the newest record of a snapshot, which does not tell when the snapshot was made.
//! A snapshot that the file does not list counts as older than all listed ones, ordered by the change
//! time of its directory. A current snapshot that the file does not list counts as the newest.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use pinakes_format::snapshot::HISTORY;

use crate::directory::{current, is_id, temporary_path};
use crate::error::{Result, StoreError};

/// Returns the ids of the existing snapshots, the oldest first.
///
/// # Errors
///
/// The directory cannot be read.
pub fn read_order(snapshots: &Path) -> Result<Vec<String>> {
    let mut existing = list_snapshots(snapshots).map_err(StoreError::read(snapshots))?;
    // Lines that name no existing snapshot are ignored.
    let text = fs::read(snapshots.join(HISTORY)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut listed: Vec<String> = Vec::new();
    for id in text.lines() {
        listed.retain(|other| other != id);
        if existing.iter().any(|(_, other)| other == id) {
            listed.push(id.to_owned());
        }
    }
    existing.retain(|(_, id)| !listed.contains(id));
    existing.sort();
    let current = current(snapshots);
    let (newest, older): (Vec<String>, Vec<String>) =
        existing.into_iter().map(|(_, id)| id).partition(|id| Some(id) == current.as_ref());
    Ok([older, listed, newest].concat())
}

/// Lists each snapshot's change time (seconds and nanoseconds) and id.
fn list_snapshots(snapshots: &Path) -> io::Result<Vec<((i64, i64), String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(snapshots)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(id) = name.to_str().filter(|name| is_id(name))
            && entry.file_type()?.is_dir()
        {
            let metadata = entry.metadata()?;
            found.push(((metadata.ctime(), metadata.ctime_nsec()), id.to_owned()));
        }
    }
    Ok(found)
}

/// Records that the snapshot `id` follows the current one.
///
/// Snapshots that were rolled back from move before both, so that `rollback` leads to the snapshot that
/// was served before.
///
/// # Errors
///
/// The file cannot be written.
pub fn append(snapshots: &Path, id: &str) -> Result<()> {
    let mut ids = read_order(snapshots)?;
    let before = current(snapshots);
    ids.retain(|other| other != id && Some(other) != before.as_ref());
    ids.extend(before.filter(|before| before != id));
    ids.push(id.to_owned());
    let text = ids.join("\n") + "\n";
    let path = snapshots.join(HISTORY);
    let fresh = temporary_path(snapshots, "history");
    let write = || {
        let mut file = File::create(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, &path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&fresh);
        StoreError::write(&path)(error)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbb";
    const C: &str = "cccccccccccccccc";

    #[test]
    fn the_order_follows_publishing_and_rolled_back_snapshots_come_first() {
        // The file's text, the current snapshot, the published snapshot, the expected order.
        let cases: [(&str, &str, &str, &[&str]); 8] = [
            ("", A, B, &[C, A, B]),
            (&format!("{A}\n{B}\n"), B, C, &[A, B, C]),
            (&format!("{B}\n{A}\n"), A, C, &[B, A, C]),
            (&format!("{A}\n{B}\n{C}\n"), A, C, &[B, A, C]),
            (&format!("{A}\n{B}\n{C}\n"), A, A, &[B, C, A]),
            (&format!("{A}\n{B}\n{A}\n{C}\n"), C, B, &[A, C, B]),
            (&format!("../x\n\n{B}\nno id\n{C}"), C, A, &[B, C, A]),
            ("\u{0}\u{1}", C, A, &[B, C, A]),
        ];
        for (listed, before, id, expected) in cases {
            let directory = tempfile::tempdir().unwrap();
            let snapshots = directory.path();
            for id in [A, B, C] {
                fs::create_dir(snapshots.join(id)).unwrap();
            }
            for other in ["objects", "quarantine", "AAAAAAAAAAAAAAAA", "abc"] {
                fs::create_dir(snapshots.join(other)).unwrap();
            }
            fs::write(snapshots.join(HISTORY), listed).unwrap();
            std::os::unix::fs::symlink(before, snapshots.join("current")).unwrap();
            append(snapshots, id).unwrap();
            assert_eq!(read_order(snapshots).unwrap(), expected, "{listed:?}, {id} after {before}");
            let text = fs::read_to_string(snapshots.join(HISTORY)).unwrap();
            assert_eq!(text, expected.join("\n") + "\n", "{listed:?}, {id} after {before}");
        }
    }

    #[test]
    fn unlisted_snapshots_are_older_except_the_current_one() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = directory.path();
        for id in [A, B, C] {
            fs::create_dir(snapshots.join(id)).unwrap();
        }
        fs::write(snapshots.join(HISTORY), format!("{A}\n")).unwrap();
        assert_eq!(read_order(snapshots).unwrap().last().map(String::as_str), Some(A));
        std::os::unix::fs::symlink(B, snapshots.join("current")).unwrap();
        assert_eq!(read_order(snapshots).unwrap(), [C, A, B]);
        fs::remove_dir(snapshots.join(A)).unwrap();
        assert_eq!(read_order(snapshots).unwrap(), [C, B]);
    }
}
