//! Versions of the links `current` and `next`.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Metadata that differs between two links, even links with the same target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkVersion {
    inode: u64,
    /// Change time: seconds and nanoseconds since 1970.
    changed: (i64, i64),
}

impl LinkVersion {
    /// Reads the version of a link; `None` if the link does not exist.
    pub fn read(link: &Path) -> Option<LinkVersion> {
        let metadata = fs::symlink_metadata(link).ok()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(LinkVersion { inode: metadata.ino(), changed })
    }
}
