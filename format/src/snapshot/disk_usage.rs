//! The bytes that the files of a snapshot take on the disk.

use std::{fs, os::unix::fs::MetadataExt};

use crate::snapshot::Snapshot;

impl Snapshot {
    /// The bytes that the files take on the disk.
    pub fn allocated_bytes(&self) -> u64 {
        let directory = &self.mapped.opened.path;
        let files = self.manifest().files.iter();
        let sizes = files.map(|entry| fs::symlink_metadata(directory.join(&entry.path)));
        sizes.flatten().map(|metadata| metadata.blocks() * 512).sum()
    }
}
