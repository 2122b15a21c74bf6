//! The bytes of an entity's records, by member, and those that the files of a snapshot take on the disk.

use crate::entity::{Entity, with_record};
use crate::json::record_reader::RecordReader;
use crate::record::Measured;
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

/// The bytes of an entity's records, by member.
#[derive(Clone, Debug, Default)]
pub struct RecordSizes {
    /// The number of records.
    pub records: u64,
    /// Bytes of the stored records.
    pub stored_bytes: u64,
    /// Bytes of the frames of long texts.
    pub long_text_bytes: u64,
    /// Bytes of the packed records, by member.
    pub members: Measured,
}

impl Snapshot {
    /// Reads every record of an entity that is not suppressed, and adds up the bytes of its members.
    pub fn measure_records(&self, entity: Entity) -> Result<RecordSizes, ReadError> {
        let mut sizes = RecordSizes::default();
        for row in (0..self.count(entity)).filter(|row| !self.suppressed().has(entity, *row)) {
            let stored = self.stored(entity, row)?;
            sizes.records += 1;
            sizes.stored_bytes += self.record_bytes(entity, row)? as u64;
            sizes.long_text_bytes += stored.long_texts.len() as u64;
            let mut from = RecordReader::new(stored.packed)?;
            with_record!(entity, R => sizes.members.add::<R>(&mut from)?);
        }
        Ok(sizes)
    }

    /// The bytes that the files take on the disk.
    #[cfg(not(target_family = "wasm"))]
    pub fn allocated_bytes(&self) -> u64 {
        use std::{fs, os::unix::fs::MetadataExt};

        let directory = &self.mapped.opened.path;
        let files = self.manifest().files.iter();
        let sizes = files.map(|entry| fs::symlink_metadata(directory.join(&entry.path)));
        sizes.flatten().map(|metadata| metadata.blocks() * 512).sum()
    }
}
