//! Links of a page that would lead to no record.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::record::references::NotedReferences;

/// The references of rendered records that have no record. The rows of references tell, so that no link of a page takes a
/// look-up by its id.
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
        let note = |entity, row, id| self.note(entity, row, id);
        let store = NotedReferences { snapshot: self.snapshot, note };
        let mut writer = JsonWriter::new(&store, shape);
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
