//! The document while it is made: the paths described so far, and the schemas that they refer to.

use pinakes_format::snapshot::Snapshot;
use serde_json::{Map, Value};

use crate::openapi::operation::Operation;
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

    /// Adds the GET of a path.
    pub fn add(&mut self, path: &str, operation: Operation) {
        self.paths.insert(path.to_owned(), operation.into_path_item());
    }
}
