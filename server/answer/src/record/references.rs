//! The references of records, as they are rendered.

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{RecordBytes, RecordStore};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

/// A snapshot as the store of a [`JsonWriter`](pinakes_format::json::render::JsonWriter). It passes each reference of a
/// rendered record to a function: entity, row and id. So the references need not be found by their ids.
pub struct NotedReferences<'s, N> {
    pub snapshot: &'s Snapshot,
    pub note: N,
}

impl<N: Fn(Entity, u32, u64) + Sync> RecordStore for NotedReferences<'_, N> {
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        let id = RecordStore::row_id(self.snapshot, entity, row)?;
        (self.note)(entity, row, id);
        Ok(id)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        RecordStore::row_name(self.snapshot, entity, row)
    }

    fn reference(&self, entity: Entity, row: u32) -> Result<(u64, Option<&[u8]>), ReadError> {
        let (id, name) = RecordStore::reference(self.snapshot, entity, row)?;
        (self.note)(entity, row, id);
        Ok((id, name))
    }

    fn code(&self, code: u32) -> Result<&[u8], ReadError> {
        RecordStore::code(self.snapshot, code)
    }

    fn code_name(&self, code: u32) -> Result<Option<&[u8]>, ReadError> {
        RecordStore::code_name(self.snapshot, code)
    }

    fn has_record(&self, entity: Entity, row: u32) -> bool {
        RecordStore::has_record(self.snapshot, entity, row)
    }

    fn is_placeholder(&self, entity: Entity, row: u32) -> Result<bool, ReadError> {
        RecordStore::is_placeholder(self.snapshot, entity, row)
    }

    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        RecordStore::record(self.snapshot, entity, row)
    }
}
