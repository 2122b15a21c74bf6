//! What rendered records refer to: the references that no record answers.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, RecordBytes, RecordStore, Shape};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

/// A snapshot as the store of a [`JsonWriter`], which notes the references without a record. Their rows tell, so that no
/// link of a page takes a look-up by its id.
pub struct Referred<'s> {
    /// The snapshot whose records are rendered.
    pub snapshot: &'s Snapshot,
    dead: Mutex<HashSet<(Entity, u64)>>,
}

impl<'s> Referred<'s> {
    /// Nothing is rendered yet.
    pub fn new(snapshot: &'s Snapshot) -> Referred<'s> {
        Referred { snapshot, dead: Mutex::default() }
    }

    /// The JSON text of the record in a row.
    ///
    /// # Errors
    ///
    /// Where the row has no record, or the snapshot is damaged.
    pub fn render(&self, entity: Entity, row: u32, shape: Shape) -> Result<Vec<u8>, ReadError> {
        let mut writer = JsonWriter::new(self, shape);
        self.snapshot.render(entity, row, &mut writer)?;
        Ok(writer.out)
    }

    /// Whether a rendered record refers to an id that has no record, or a suppressed one.
    pub fn is_dead(&self, entity: Entity, id: u64) -> bool {
        self.dead().contains(&(entity, id))
    }

    fn dead(&self) -> MutexGuard<'_, HashSet<(Entity, u64)>> {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, entity: Entity, row: u32, id: u64) {
        if !self.snapshot.has_visible_row(entity, row) {
            self.dead().insert((entity, id));
        }
    }
}

impl RecordStore for Referred<'_> {
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        let id = RecordStore::row_id(self.snapshot, entity, row)?;
        self.note(entity, row, id);
        Ok(id)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        RecordStore::row_name(self.snapshot, entity, row)
    }

    fn reference(&self, entity: Entity, row: u32) -> Result<(u64, Option<&[u8]>), ReadError> {
        let (id, name) = self.snapshot.reference(entity, row)?;
        self.note(entity, row, id);
        Ok((id, name))
    }

    fn code(&self, code: u32) -> Result<&[u8], ReadError> {
        RecordStore::code(self.snapshot, code)
    }

    fn code_name(&self, code: u32) -> Result<Option<&[u8]>, ReadError> {
        RecordStore::code_name(self.snapshot, code)
    }

    fn has_record(&self, entity: Entity, row: u32) -> bool {
        self.snapshot.has_record(entity, row)
    }

    fn is_placeholder(&self, entity: Entity, row: u32) -> Result<bool, ReadError> {
        self.snapshot.is_placeholder(entity, row)
    }

    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        RecordStore::record(self.snapshot, entity, row)
    }
}
