//! The suppression list's file, read again when the file changes.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::suppression_list::{SuppressionList, SuppressionListError};

/// Age at which a file counts as settled. A younger file may change again without another timestamp, because
/// file systems record times in ticks of a few milliseconds.
const SETTLED_AGE: Duration = Duration::from_secs(2);

/// Log message for a file that is refused.
const REFUSED: &str = "refused the suppression list; keeping the previous list";

/// Counts the ids of `list` that `other` lacks.
fn count_missing(list: &SuppressionList, other: &SuppressionList) -> usize {
    let of_entity = |entity| {
        let present: HashSet<u64> = other.ids(entity).collect();
        list.ids(entity).filter(|id| !present.contains(id)).count()
    };
    Entity::all().map(of_entity).sum()
}

/// A file with the ids of records to suppress; the server reads the file again when the file changes.
pub struct SuppressionListFile {
    path: PathBuf,
    state: Mutex<Outcome>,
}

/// Outcome of the last read.
struct Outcome {
    list: Arc<SuppressionList>,
    /// The file just before the read; `None` forces the next check to read again.
    version: Option<FileVersion>,
    /// Whether the last read refused the file.
    is_refused: bool,
    /// Whether the last log line reported the file as empty.
    is_empty_logged: bool,
}

/// Metadata that differs between two versions of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileVersion {
    Present {
        device: u64,
        inode: u64,
        size_bytes: u64,
        /// Change time: seconds and nanoseconds since 1970.
        changed: (i64, i64),
    },
    /// The metadata cannot be read.
    Unreadable(io::ErrorKind),
}

impl FileVersion {
    /// Reads the version of a file, and whether the file is settled.
    fn read(path: &Path) -> (FileVersion, bool) {
        match fs::metadata(path) {
            Ok(metadata) => {
                let age = metadata.modified().map(|at| SystemTime::now().duration_since(at));
                let is_settled = matches!(age, Ok(Ok(age)) if age > SETTLED_AGE);
                let changed = (metadata.ctime(), metadata.ctime_nsec());
                let (device, inode) = (metadata.dev(), metadata.ino());
                let size_bytes = metadata.len();
                (FileVersion::Present { device, inode, size_bytes, changed }, is_settled)
            }
            Err(error) => (FileVersion::Unreadable(error.kind()), true),
        }
    }
}

impl SuppressionListFile {
    /// Reads the list of a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read or has an invalid line.
    pub fn open(path: PathBuf) -> Result<SuppressionListFile, SuppressionListError> {
        // The version first: a file that replaces this file during the read then has another version.
        let (version, is_settled) = FileVersion::read(&path);
        let list = Arc::new(SuppressionList::read(&path)?);
        let version = is_settled.then_some(version);
        let state = Outcome { list, version, is_refused: false, is_empty_logged: false };
        Ok(SuppressionListFile { path, state: Mutex::new(state) })
    }

    /// The list in force.
    pub fn list(&self) -> Arc<SuppressionList> {
        Arc::clone(&self.state().list)
    }

    /// Whether the server refused the file and keeps the previous list.
    pub fn is_refused(&self) -> bool {
        self.state().is_refused
    }

    /// Reads the list again if the file changed or `is_forced`.
    ///
    /// An unreadable or invalid file is refused: the previous list stays in force, and the log says so once
    /// per change and at every forced read. A writer may have written only a part of the ids so far.
    /// Therefore a list that lacks ids of the previous list is accepted when the file is settled, or when
    /// forced. An empty file is refused; to suppress nothing, a list has a comment line.
    pub fn reload(&self, is_forced: bool) {
        let mut state = self.state();
        let (version, is_settled) = FileVersion::read(&self.path);
        if !is_forced && state.version.as_ref() == Some(&version) {
            return;
        }
        // A writer that truncates first and writes then leaves the file empty for a moment.
        let is_emptied =
            matches!(version, FileVersion::Present { size_bytes: 0, .. }) && !state.list.is_empty();
        let is_empty_logged = std::mem::take(&mut state.is_empty_logged);
        match SuppressionList::read(&self.path) {
            Ok(_) if is_emptied => {
                state.is_empty_logged = true;
                if !is_empty_logged || is_forced {
                    let (path, ids) = (self.path.display(), state.list.len());
                    let error = "the file is empty; to suppress nothing, write a comment line";
                    tracing::error!(%path, error, ids, "{REFUSED}");
                }
                (state.version, state.is_refused) = (is_settled.then_some(version), true);
            }
            Ok(list) => {
                let missing = count_missing(&state.list, &list);
                // Perhaps the writer has more to write: reads again at the next check.
                if missing > 0 && !is_settled && !is_forced {
                    state.version = None;
                    return;
                }
                if missing > 0 {
                    tracing::warn!(ids = missing, "ids left the suppression list");
                }
                if list != *state.list {
                    state.list = Arc::new(list);
                }
                (state.version, state.is_refused) = (is_settled.then_some(version), false);
            }
            Err(error) => {
                tracing::error!(%error, ids = state.list.len(), "{REFUSED}");
                (state.version, state.is_refused) = (Some(version), true);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, Outcome> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_read_again_and_a_refused_file_keeps_the_previous_list() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list");
        assert!(SuppressionListFile::open(path.clone()).is_err());
        fs::write(&path, "HX_A1").unwrap();
        let file = SuppressionListFile::open(path.clone()).unwrap();
        let check = |expected: usize| {
            file.reload(false);
            assert_eq!(file.list().len(), expected);
        };
        check(1);
        // The new list has the same size, may have the same timestamp, and lacks an id: it must be forced.
        fs::write(&path, "HX_A2").unwrap();
        file.reload(false);
        assert_eq!(*file.list(), SuppressionList::parse(b"HX_A1").unwrap());
        file.reload(true);
        assert_eq!(*file.list(), SuppressionList::parse(b"HX_A2").unwrap());
        fs::write(&path, "HX_A1\nHX_A2\n").unwrap();
        check(2);
        let check_refused = || {
            check(2);
            assert!(file.is_refused());
        };
        fs::write(&path, "HX_A1\nnobody\n").unwrap();
        check_refused();
        fs::remove_file(&path).unwrap();
        check_refused();
        fs::write(&path, "").unwrap();
        check_refused();
        file.reload(true);
        check_refused();
        // A shorter list is accepted unforced when its file is settled.
        fs::write(&path, "# none\n").unwrap();
        check(2);
        let past = SystemTime::now() - 2 * SETTLED_AGE;
        fs::File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
        check(0);
        assert!(!file.is_refused());
    }
}
