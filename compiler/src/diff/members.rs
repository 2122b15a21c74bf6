//! The records of an entity, hashed, and the members in which two of them differ.

use std::ops::Range;

use pinakes_format::changes::{NativeRecords, differing_members};
use pinakes_format::entity::Entity;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::ReadError;
use twox_hash::XxHash3_128;

use crate::diff::hashes::RecordHash;
use crate::error::{Error, Result};

/// The records of an entity as `export` writes them.
pub(super) struct ComparedRecords<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    records: NativeRecords<'s>,
}

impl<'s> ComparedRecords<'s> {
    pub(super) fn new(snapshot: &'s Snapshot, entity: Entity) -> ComparedRecords<'s> {
        ComparedRecords { snapshot, entity, records: NativeRecords::new(snapshot, entity) }
    }

    pub(super) fn count(&self) -> u32 {
        self.records.count()
    }

    /// The id that an id was merged into.
    pub(super) fn merged_into(&self, id: u64) -> Result<Option<u64>> {
        let target = RecordLookup::merged_into(self.snapshot, self.entity, id);
        let target = target.map_err(|error| Error::Refused(error.to_string()))?;
        Ok((target != id).then_some(target))
    }

    /// Hashes the records of some rows.
    pub(super) fn hashes(&self, rows: Range<u32>) -> Result<Vec<RecordHash>> {
        let mut page = self.records.page();
        rows.map(|row| {
            self.records.render(row, &mut page).map_err(|error| self.damaged(row, &error))?;
            let hash = XxHash3_128::oneshot(&page.out);
            page.out.clear();
            let id = self.snapshot.row_id(self.entity, row);
            let id = id.map_err(|error| self.damaged(row, &error))?;
            Ok(RecordHash { id, hash, row })
        })
        .collect()
    }

    fn damaged(&self, row: u32, error: &ReadError) -> Error {
        let id = &self.snapshot.manifest().id;
        Error::Refused(format!("snapshot {id}, row {row} of {}: {error}", self.entity))
    }
}

/// The names of the members in which the records of two rows differ, ascending.
pub(super) fn differing(records: &[ComparedRecords<'_>; 2], rows: [u32; 2]) -> Result<Vec<String>> {
    let line = |of: usize| {
        let line = records[of].records.line(rows[of]);
        line.map_err(|error| records[of].damaged(rows[of], &error))
    };
    let names = differing_members(&line(0)?, &line(1)?);
    names.map_err(|error| records[1].damaged(rows[1], &error))
}
