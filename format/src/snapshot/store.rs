//! Gives records, while they are rendered, the names, codes and other records that they refer to.

use crate::entity::{Entity, NO_ID};
use crate::json::render::{RecordBytes, RecordStore};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;

impl RecordStore for Snapshot {
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        self.or_noted(Snapshot::row_id(self, entity, row))
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        self.or_noted(Snapshot::row_name(self, entity, row))
    }

    fn reference(&self, entity: Entity, row: u32) -> Result<(u64, Option<&[u8]>), ReadError> {
        match &self.files_of(entity).names {
            Some(names) => {
                let (id, name) = self.or_noted(names.get(row as usize))?;
                Ok((id, name.filter(|_| !self.suppressed.has(entity, row))))
            }
            None => Err(ReadError::Internal("the entity has no names file")),
        }
    }

    fn code(&self, code: u32) -> Result<&[u8], ReadError> {
        let text = self.mapped.strings.get(code as usize * 2);
        let missing = ReadError::corrupt("strings", "a code has no text");
        self.or_noted(text.and_then(|text| text.ok_or(missing)))
    }

    fn code_name(&self, code: u32) -> Result<Option<&[u8]>, ReadError> {
        self.or_noted(self.mapped.strings.get(code as usize * 2 + 1))
    }

    fn has_record(&self, entity: Entity, row: u32) -> bool {
        // A handle that collects goes on without the record, and notes what else is absent.
        let is_absent = || {
            self.is_collecting()
                && matches!(self.stored(entity, row), Err(ReadError::Absent { .. }))
        };
        self.has_visible_row(entity, row) && !is_absent()
    }

    fn is_placeholder(&self, entity: Entity, row: u32) -> Result<bool, ReadError> {
        if self.has_visible_row(entity, row) || !self.has_suppressed() {
            return Ok(false);
        }
        let has_name = match &self.files_of(entity).names {
            Some(_) => RecordStore::row_name(self, entity, row)?.is_some(),
            None => false,
        };
        Ok(!has_name && RecordStore::row_id(self, entity, row)? != NO_ID)
    }

    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        self.stored(entity, row)
    }
}
