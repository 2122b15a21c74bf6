//! The document while it is made: the paths described so far, and the schemas that they refer to.

use pinakes_format::entity::{Entity, IdFormat, NO_ID};
use pinakes_format::schema::{Keys, keys_of};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::fold::fold;
use serde_json::{Map, Value};

use crate::openapi::schemas::Schemas;

/// A document to which endpoints add their paths.
pub struct Document<'s> {
    /// The served snapshot, for examples.
    pub snapshot: &'s Snapshot,
    pub schemas: Schemas,
    /// Path items, by path.
    pub paths: Map<String, Value>,
}

impl<'s> Document<'s> {
    /// A document without paths.
    pub fn new(snapshot: &'s Snapshot) -> Document<'s> {
        Document { snapshot, schemas: Schemas::default(), paths: Map::new() }
    }

    /// Values for examples, from the first record of the list of an entity.
    pub fn sample(&self, entity: Entity) -> Result<Sample, ReadError> {
        Sample::read(self.snapshot, entity, keys_of(entity))
    }
}

/// Values from a list's first record; all `None` for an empty list.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    id_number: Option<u64>,
    /// The first word of the record's name, folded.
    pub word: Option<String>,
    /// The name of the key that orders the list.
    pub order: Option<String>,
}

impl Sample {
    /// Reads the first record of a list that has these keys.
    pub fn read(snapshot: &Snapshot, entity: Entity, keys: &Keys) -> Result<Sample, ReadError> {
        let Some(row) = snapshot.first_visible_row(entity) else { return Ok(Sample::default()) };
        let id_number = Some(snapshot.row_id(entity, row)?).filter(|id| *id != NO_ID);
        let folded = snapshot.name(entity, row)?.map(fold).unwrap_or_default();
        let word = folded.split(' ').next().filter(|word| !word.is_empty()).map(str::to_owned);
        let is_row_order = |order: usize| keys.orders[order].is_row_order;
        let order = keys.keys.iter().find(|key| key.sort.is_some_and(is_row_order));
        Ok(Sample { id_number, word, order: order.map(|key| key.name.to_owned()) })
    }

    /// The record's identifier in the spelling of one interface variant.
    pub fn id(&self, spelling: &IdFormat, entity: Entity) -> Option<String> {
        Some(spelling.text(entity, self.id_number?))
    }
}
