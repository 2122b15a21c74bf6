//! The one place that knows autocomplete: how it is called, and which files of a snapshot are its own.

use std::path::Path;

use pinakes_format::autocomplete::{Candidates, ENTITIES, autocomplete};
use pinakes_format::entity::Entity;
use pinakes_format::query::Deadline;
use pinakes_format::snapshot::Snapshot;

use crate::Result;

/// The files of an entity's directory that autocomplete reads and lists do not, and the words that both do.
pub const FILES: [&str; 3] = ["words", "alternatives", "prefix_stats"];

/// The route that is served, before its query.
pub const ROUTE: &str = "/autocomplete/authors?query=";

/// A snapshot that candidates are asked of, in this process.
pub struct Engine {
    snapshot: Snapshot,
}

impl Engine {
    /// Opens a snapshot.
    pub fn open(snapshot: &Path) -> Result<Engine> {
        Ok(Engine { snapshot: Snapshot::open(snapshot)? })
    }

    /// Candidates among the authors.
    pub fn authors(&self, query: &str) -> Result<Candidates> {
        self.of(&[Entity::Author], query)
    }

    /// Candidates among all entities.
    pub fn all(&self, query: &str) -> Result<Candidates> {
        self.of(&ENTITIES, query)
    }

    /// Candidates of each entity by itself.
    pub fn each(&self, query: &str) -> Result<Vec<Candidates>> {
        ENTITIES.iter().map(|entity| self.of(&[*entity], query)).collect()
    }

    fn of(&self, entities: &[Entity], query: &str) -> Result<Candidates> {
        Ok(autocomplete(&self.snapshot, entities, query, Deadline::NEVER)?)
    }
}
