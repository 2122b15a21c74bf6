//! The list of records to be withheld, and whether its file holds another by now.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::suppression_list::{SuppressionList, SuppressionListError};

/// How long after a change a file may change again without its times showing it, and far more.
const UNSETTLED: Duration = Duration::from_secs(2);

/// What is said of a file that is refused.
const STAYS: &str = "the list read before stays in force";

/// How many ids of one list another lacks.
fn missing(list: &SuppressionList, other: &SuppressionList) -> usize {
    let of_entity = |entity| {
        let there: HashSet<u64> = other.ids(entity).collect();
        list.ids(entity).filter(|id| !there.contains(id)).count()
    };
    Entity::all().map(of_entity).sum()
}

/// A list of ids in a file, read again when that changes.
pub struct Takedowns {
    path: PathBuf,
    read: Mutex<Read>,
}

/// What was read last.
struct Read {
    list: Arc<SuppressionList>,
    /// The file as it was just before; `None` where it may have changed since and look the same.
    seen: Option<Seen>,
    /// Whether what the file held then was refused.
    is_refused: bool,
    /// Whether the log says that the file is empty, and nothing else since.
    is_emptiness_told: bool,
}

/// What tells a file from what takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// A file.
    File {
        device: u64,
        inode: u64,
        bytes: u64,
        /// Seconds and nanoseconds since 1970.
        changed: (i64, i64),
    },
    /// None that can be looked at.
    Nothing(io::ErrorKind),
}

impl Seen {
    /// A file as it is now; where it was changed just now, it may change again and look the same.
    fn of(path: &Path) -> (Seen, bool) {
        match fs::metadata(path) {
            Ok(metadata) => {
                let age = metadata.modified().map(|at| SystemTime::now().duration_since(at));
                let is_settled = matches!(age, Ok(Ok(age)) if age > UNSETTLED);
                let changed = (metadata.ctime(), metadata.ctime_nsec());
                let (device, inode) = (metadata.dev(), metadata.ino());
                (Seen::File { device, inode, bytes: metadata.len(), changed }, is_settled)
            }
            Err(error) => (Seen::Nothing(error.kind()), true),
        }
    }
}

impl Takedowns {
    /// Reads the list in a file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or is none.
    pub fn open(path: PathBuf) -> Result<Takedowns, SuppressionListError> {
        // Before it is read: what is put in its place meanwhile is another one.
        let (seen, is_settled) = Seen::of(&path);
        let list = Arc::new(SuppressionList::read(&path)?);
        let seen = is_settled.then_some(seen);
        let read = Mutex::new(Read { list, seen, is_refused: false, is_emptiness_told: false });
        Ok(Takedowns { path, read })
    }

    /// The list as it was read last.
    pub fn list(&self) -> Arc<SuppressionList> {
        Arc::clone(&self.read().list)
    }

    /// Whether the list in force is an older one, since what the file holds is refused.
    pub fn is_refused(&self) -> bool {
        self.read().is_refused
    }

    /// Reads the list again where its file changed, or in any case where that is demanded; one that
    /// cannot be read is logged, once and whenever it is demanded, and what was read before stays.
    ///
    /// A file that is being written lacks ids for a moment. So a list with fewer is taken once nobody has
    /// written to it for two seconds, or where it is demanded; an empty file is no list that withholds
    /// nothing, which has a comment.
    pub fn follow(&self, is_demanded: bool) {
        let mut read = self.read();
        let (seen, is_settled) = Seen::of(&self.path);
        if !is_demanded && read.seen.as_ref() == Some(&seen) {
            return;
        }
        let is_emptied = matches!(seen, Seen::File { bytes: 0, .. }) && !read.list.is_empty();
        let is_told = std::mem::take(&mut read.is_emptiness_told);
        match SuppressionList::read(&self.path) {
            Ok(_) if is_emptied => {
                read.is_emptiness_told = true;
                if !is_told || is_demanded {
                    let error =
                        "the file is empty; write a comment into one that withholds nothing";
                    tracing::error!(path = %self.path.display(), error, ids = read.list.len(), "{STAYS}");
                }
                (read.seen, read.is_refused) = (is_settled.then_some(seen), true);
            }
            Ok(list) => {
                let lacks = missing(&read.list, &list);
                if lacks > 0 && !is_settled && !is_demanded {
                    read.seen = None;
                    return;
                }
                if lacks > 0 {
                    tracing::warn!(ids = lacks, "no longer withheld: the list has them no more");
                }
                if list != *read.list {
                    read.list = Arc::new(list);
                }
                (read.seen, read.is_refused) = (is_settled.then_some(seen), false);
            }
            Err(error) => {
                tracing::error!(%error, ids = read.list.len(), "{STAYS}");
                (read.seen, read.is_refused) = (Some(seen), true);
            }
        }
    }

    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_again_when_its_file_changes_and_stays_where_that_is_bad() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("list");
        assert!(Takedowns::open(path.clone()).is_err());
        fs::write(&path, "HX_A1").unwrap();
        let takedowns = Takedowns::open(path.clone()).unwrap();
        let check = |expected: usize| {
            takedowns.follow(false);
            assert_eq!(takedowns.list().len(), expected);
        };
        check(1);
        // As long as before, and within the same tick of the clock; it lacks one, so it must be demanded.
        fs::write(&path, "HX_A2").unwrap();
        takedowns.follow(false);
        assert_eq!(*takedowns.list(), SuppressionList::parse(b"HX_A1").unwrap());
        takedowns.follow(true);
        assert_eq!(*takedowns.list(), SuppressionList::parse(b"HX_A2").unwrap());
        fs::write(&path, "HX_A1\nHX_A2\n").unwrap();
        check(2);
        let refused = || {
            check(2);
            assert!(takedowns.is_refused());
        };
        fs::write(&path, "HX_A1\nnobody\n").unwrap();
        refused();
        fs::remove_file(&path).unwrap();
        refused();
        fs::write(&path, "").unwrap();
        refused();
        takedowns.follow(true);
        refused();
        // Settled, fewer are taken by themselves.
        fs::write(&path, "# none\n").unwrap();
        check(2);
        let past = SystemTime::now() - 2 * UNSETTLED;
        fs::File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
        check(0);
        assert!(!takedowns.is_refused());
    }
}
