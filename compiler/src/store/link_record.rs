//! Records the objects and the selection of each link, so that a run with the same inputs links nothing.
//!
//! ```text
//! SNAPSHOTS/.linked/ID     {"inputs":"5e0c…","files":{"outputs/records":"81ab…",…},"orphans":[…],"orphans_read":0}
//! SNAPSHOTS/.linked/ID.state   what the link keeps for the next, see `link/previous/state`
//! ```
//!
//! A record is a hint. If it is missing, unreadable or no longer true, a run links.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use pinakes_format::storage::{MANIFEST, Manifest};
use pinakes_store::files::{remove_temporary_files, write_atomically};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::read::file_version::FileVersion;

/// Directory of the records.
const LINK_RECORDS: &str = ".linked";
/// Extension of the file that holds the state of a link.
const STATE: &str = "state";

/// Names of the versions of a snapshot's files.
type FileVersions = BTreeMap<String, String>;

/// The inputs of the link that made a snapshot, and the results of the link that the snapshot does not hold.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LinkRecord {
    /// Identifies the objects and the selection.
    pub inputs: String,
    /// The files as they were published.
    pub files: FileVersions,
    /// Hashes, in hex, of the lines whose topics the link quarantined.
    pub orphans: Vec<String>,
    pub orphans_read: u64,
}

impl LinkRecord {
    /// Keeps the record of a published snapshot and the state of its link, which it moves. Removes what concerns no
    /// snapshot, and what killed runs left. The caller holds the lock on the directory of snapshots.
    pub(crate) fn keep(&self, snapshots: &Path, id: &str, state: Option<&Path>) -> Result<()> {
        let directory = snapshots.join(LINK_RECORDS);
        match fs::create_dir(&directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::output(&directory)(error));
            }
            _ => {}
        }
        remove_temporary_files(&directory)?;
        for entry in fs::read_dir(&directory).map_err(Error::output(&directory))?.flatten() {
            let name = entry.file_name();
            let id = Path::new(&name).with_extension("");
            if !snapshots.join(id).is_dir() {
                // A record that stays is ignored.
                let _ = fs::remove_file(entry.path());
            }
        }
        let kept = state_path(snapshots, id);
        if let Some(state) = state {
            fs::rename(state, &kept).map_err(Error::output(&kept))?;
        }
        let text = serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(write_atomically(&directory.join(id), &text)?)
    }

    /// Finds the id and the record of a snapshot that was linked from `inputs`.
    pub(crate) fn find(snapshots: &Path, inputs: &str) -> Option<(String, LinkRecord)> {
        fs::read_dir(snapshots.join(LINK_RECORDS)).ok()?.flatten().find_map(|entry| {
            let id =
                entry.file_name().into_string().ok().filter(|id| snapshots.join(id).is_dir())?;
            let record: LinkRecord = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
            (record.inputs == inputs).then_some((id, record))
        })
    }
}

/// The file with the state that the link of a snapshot kept for the next.
pub(crate) fn state_path(snapshots: &Path, id: &str) -> PathBuf {
    snapshots.join(LINK_RECORDS).join(id).with_extension(STATE)
}

/// Returns the versions of a snapshot's files.
pub(crate) fn file_versions(snapshot: &Path, manifest: &Manifest) -> io::Result<FileVersions> {
    let paths = manifest.files.iter().map(|file| file.path.as_str()).chain([MANIFEST]);
    let version = |path: &str| {
        let file = fs::symlink_metadata(snapshot.join(path))?;
        Ok((path.to_owned(), FileVersion::of(&file).content_name()))
    };
    paths.map(version).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_record_replaces_the_remains_of_killed_runs_and_of_removed_snapshots() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = directory.path();
        fs::create_dir_all(snapshots.join("kept")).unwrap();
        fs::create_dir_all(snapshots.join("new")).unwrap();
        let records = snapshots.join(LINK_RECORDS);
        fs::create_dir(&records).unwrap();
        for name in ["kept", "kept.state", "kept.tmp-12", "new.tmp-3", "gone", "gone.state"] {
            fs::write(records.join(name), "").unwrap();
        }
        let (files, orphans) = Default::default();
        let record = LinkRecord { inputs: String::new(), files, orphans, orphans_read: 0 };
        record.keep(snapshots, "new", None).unwrap();
        let entries = fs::read_dir(records).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["kept", "kept.state", "new"]);
    }
}
