//! Copies records from where they cost least: unchanged ones from the previous snapshot, others from the objects.

use pinakes_format::entity::Entity;

use crate::error::Result;
use crate::link::record::linker::{LinkedRecord, LocatedRecord, RecordLinker};
use crate::link::record::old_records::OldRecords;
use crate::link::take_over::{NotTakenOverList, TakenPart};

/// Copies records of the previous snapshot and of the objects.
#[derive(Clone, Copy)]
pub(crate) struct RecordCopier<'c, 'a, 'o> {
    pub linker: &'c RecordLinker<'a, 'o>,
    /// The previous snapshot, if anything is taken over.
    pub old: Option<&'c OldRecords<'a>>,
    pub not_taken_over: &'c NotTakenOverList,
}

/// Where the record of a row is copied from.
pub(crate) enum CopyFrom<'a, 'o> {
    /// A row of the previous snapshot, whose record is the same.
    Previous(u32),
    Object(LocatedRecord<'a, 'o>),
}

impl<'a, 'o> CopyFrom<'a, 'o> {
    /// The record of an object.
    pub(crate) fn located(&self) -> Option<&LocatedRecord<'a, 'o>> {
        match self {
            CopyFrom::Previous(_) => None,
            CopyFrom::Object(located) => Some(located),
        }
    }
}

impl<'a, 'o> RecordCopier<'_, 'a, 'o> {
    /// Finds where to copy the record of a row from.
    pub(crate) fn copy_from(&self, entity: Entity, row: usize) -> Result<CopyFrom<'a, 'o>> {
        match self.old.and_then(|old| old.row(entity, row)) {
            Some(old_row) => Ok(CopyFrom::Previous(old_row)),
            None => self.linker.locate(entity, row).map(CopyFrom::Object),
        }
    }

    /// Copies the record of a row to the end of `blobs`, from where it was found.
    pub(crate) fn copy(
        &self,
        entity: Entity,
        row: usize,
        from: &CopyFrom<'_, '_>,
        blobs: &mut Vec<u8>,
    ) -> Result<LinkedRecord> {
        let changes = self.old.map(|old| &old.changes);
        if let CopyFrom::Object(located) = from {
            return self.linker.link(entity, located, changes, blobs);
        }
        if let (CopyFrom::Previous(old_row), Some(old)) = (from, self.old) {
            let copied = old.copy(self.linker.inputs, entity, *old_row, blobs);
            // Of a damaged chunk, the objects still have the records.
            let copied = self.not_taken_over.or_note(TakenPart::Records, entity, copied)?;
            if let Some(copied) = copied.flatten() {
                return Ok(copied);
            }
        }
        self.linker.link(entity, &self.linker.locate(entity, row)?, changes, blobs)
    }
}
