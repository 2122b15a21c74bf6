//! Who reads a snapshot, and who may remove it.
//!
//! Whoever has a snapshot open holds a shared lock (flock) on its manifest, and whoever would remove one
//! needs the exclusive lock. Neither waits. The system lets go of a lock when its process ends, however
//! it does.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
};

use crate::snapshot::open::{Cause, open_regular};
use crate::storage::manifest::MANIFEST;

/// Holds a snapshot by its open manifest for as long as that is open.
///
/// A file system without locks holds nobody back: nobody can take what lies on it for removal either.
pub(super) fn hold(manifest: &File) -> Result<(), Cause> {
    match manifest.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(Cause::Removed),
        _ => Ok(()),
    }
}

/// A snapshot that nobody has open, nor can open: it may be removed. Let go of when dropped.
#[derive(Debug)]
pub struct Seized {
    _manifest: Option<File>,
}

/// Takes a snapshot for removal; `None` where somebody has it open, on this host, or where that cannot
/// be known. One without a manifest is nobody's.
///
/// # Errors
///
/// Where the manifest cannot be opened for another reason than that it is not there.
pub fn seize(snapshot: &Path) -> io::Result<Option<Seized>> {
    let manifest = match open_regular(&snapshot.join(MANIFEST)) {
        Ok(manifest) => manifest,
        Err(Cause::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some(Seized { _manifest: None }));
        }
        Err(Cause::Io(error)) => return Err(error),
        Err(cause) => return Err(io::Error::other(cause.to_string())),
    };
    Ok(manifest.try_lock().is_ok().then_some(Seized { _manifest: Some(manifest) }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_read_by_many_or_removed_by_one() {
        let directory = tempfile::tempdir().unwrap();
        assert!(seize(directory.path()).unwrap().is_some(), "without a manifest");
        std::fs::write(directory.path().join(MANIFEST), "").unwrap();
        let open = || open_regular(&directory.path().join(MANIFEST)).unwrap();
        let (one, other) = (open(), open());
        hold(&one).unwrap();
        hold(&other).unwrap();
        assert!(seize(directory.path()).unwrap().is_none());
        drop(one);
        assert!(seize(directory.path()).unwrap().is_none());
        drop(other);
        let seized = seize(directory.path()).unwrap();
        assert!(seized.is_some());
        assert!(seize(directory.path()).unwrap().is_none(), "it was taken twice");
        assert!(matches!(hold(&open()), Err(Cause::Removed)));
        drop(seized);
        hold(&open()).unwrap();
    }
}
