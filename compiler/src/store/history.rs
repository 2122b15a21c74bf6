//! In which order snapshots became the current one.
//!
//! `.history` beside them: an id a line, the oldest first, written before `current` is moved. It is a
//! file of its own since nothing else tells: times of files are those of copies where the directory was
//! copied, and a snapshot's newest record says nothing of when it was made. What the file does not
//! list counts as older, by the time its directory last changed; a current one not listed, as newest.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use pinakes_format::snapshot::HISTORY;

use crate::error::{Error, Result};
use crate::store::directory::{current, is_id, unfinished};

/// The ids of the snapshots that are there, the oldest first.
///
/// # Errors
///
/// Where the directory cannot be read.
pub(crate) fn order(snapshots: &Path) -> Result<Vec<String>> {
    let mut there = those_there(snapshots).map_err(Error::input(snapshots))?;
    // Whatever else it holds is no id of a snapshot that is there.
    let text = fs::read(snapshots.join(HISTORY)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut listed: Vec<String> = Vec::new();
    for id in text.lines() {
        listed.retain(|other| other != id);
        if there.iter().any(|(_, other)| other == id) {
            listed.push(id.to_owned());
        }
    }
    there.retain(|(_, id)| !listed.contains(id));
    there.sort();
    let current = current(snapshots);
    let (newest, older): (Vec<String>, Vec<String>) =
        there.into_iter().map(|(_, id)| id).partition(|id| Some(id) == current.as_ref());
    Ok([older, listed, newest].concat())
}

/// When the directory of each snapshot that is there last changed, and its id.
fn those_there(snapshots: &Path) -> io::Result<Vec<((i64, i64), String)>> {
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

/// Notes that a snapshot is to be the current one after the one that is.
///
/// Those that were rolled back from come before both: `rollback` is to lead to what was served.
///
/// # Errors
///
/// Where it cannot be written.
pub(crate) fn note(snapshots: &Path, id: &str) -> Result<()> {
    let mut ids = order(snapshots)?;
    let before = current(snapshots);
    ids.retain(|other| other != id && Some(other) != before.as_ref());
    ids.extend(before.filter(|before| before != id));
    ids.push(id.to_owned());
    let text = ids.join("\n") + "\n";
    let path = snapshots.join(HISTORY);
    let fresh = unfinished(snapshots, "history");
    let write = || {
        let mut file = File::create(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&fresh, &path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&fresh);
        Error::output(&path)(error)
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
    fn the_order_is_that_of_publishing_and_what_was_rolled_back_from_comes_first() {
        // What is listed, where `current` leads, and what is published then.
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
            note(snapshots, id).unwrap();
            assert_eq!(order(snapshots).unwrap(), expected, "{listed:?}, {id} after {before}");
            let text = fs::read_to_string(snapshots.join(HISTORY)).unwrap();
            assert_eq!(text, expected.join("\n") + "\n", "{listed:?}, {id} after {before}");
        }
    }

    #[test]
    fn what_is_not_listed_is_older_but_for_the_current_one() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = directory.path();
        for id in [A, B, C] {
            fs::create_dir(snapshots.join(id)).unwrap();
        }
        fs::write(snapshots.join(HISTORY), format!("{A}\n")).unwrap();
        assert_eq!(order(snapshots).unwrap().last().map(String::as_str), Some(A));
        std::os::unix::fs::symlink(B, snapshots.join("current")).unwrap();
        assert_eq!(order(snapshots).unwrap(), [C, A, B]);
        fs::remove_dir(snapshots.join(A)).unwrap();
        assert_eq!(order(snapshots).unwrap(), [C, B]);
    }
}
