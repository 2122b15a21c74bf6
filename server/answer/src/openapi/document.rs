//! The document while it is made: the paths described so far, and the schemas that they refer to.

use pinakes_format::entity::Entity;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use serde_json::{Map, Value};

use crate::openapi::samples::Sample;
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
