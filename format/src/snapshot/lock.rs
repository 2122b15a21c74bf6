//! File locks that keep an open snapshot from removal.
//!
//! A process that opens a snapshot takes a shared lock (flock) on the snapshot's manifest. A
//! process that removes a snapshot takes the exclusive lock first. A process never waits for a lock.
//! The system releases a lock when its process ends, even by a crash.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::snapshot::error::Cause;
use crate::snapshot::files::open_regular;
use crate::storage::MANIFEST;

/// Locks a snapshot for reading, for as long as the manifest stays open.
///
/// On a file system without locks this does nothing: [`lock_exclusive`] then never succeeds.
pub(super) fn lock_shared(manifest: &File) -> Result<(), Cause> {
    match manifest.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(Cause::Removed),
        _ => Ok(()),
    }
}

/// The right to remove a snapshot: no process has it open, and none can open it. Released on drop.
#[derive(Debug)]
pub struct ExclusiveLock {
    _manifest: Option<File>,
}

/// Locks a snapshot for removal.
///
/// Returns `None` where a process on this host has the snapshot open, and where the file system
/// has no locks. Always succeeds where the snapshot has no manifest.
///
/// # Errors
///
/// Where the manifest exists and cannot be opened.
pub fn lock_exclusive(snapshot: &Path) -> io::Result<Option<ExclusiveLock>> {
    let manifest = match open_regular(&snapshot.join(MANIFEST)) {
        Ok(manifest) => manifest,
        Err(Cause::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some(ExclusiveLock { _manifest: None }));
        }
        Err(Cause::Io(error)) => return Err(error),
        Err(cause) => return Err(io::Error::other(cause.to_string())),
    };
    Ok(manifest.try_lock().is_ok().then_some(ExclusiveLock { _manifest: Some(manifest) }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn many_readers_share_a_snapshot_and_exclude_its_removal() {
        let directory = tempfile::tempdir().unwrap();
        assert!(lock_exclusive(directory.path()).unwrap().is_some(), "without a manifest");
        std::fs::write(directory.path().join(MANIFEST), "").unwrap();
        let open = || open_regular(&directory.path().join(MANIFEST)).unwrap();
        let (one, other) = (open(), open());
        lock_shared(&one).unwrap();
        lock_shared(&other).unwrap();
        assert!(lock_exclusive(directory.path()).unwrap().is_none());
        drop(one);
        assert!(lock_exclusive(directory.path()).unwrap().is_none());
        drop(other);
        let exclusive = lock_exclusive(directory.path()).unwrap();
        assert!(exclusive.is_some());
        assert!(lock_exclusive(directory.path()).unwrap().is_none(), "locked twice");
        assert!(matches!(lock_shared(&open()), Err(Cause::Removed)));
        drop(exclusive);
        lock_shared(&open()).unwrap();
    }
}
