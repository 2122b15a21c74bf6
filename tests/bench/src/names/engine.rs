//! Calls autocompletion of `pinakes_format`, and names its files; no other file of this benchmark does.

use std::path::Path;

use pinakes_format::autocomplete::{Candidates, Completion, ENTITIES};
use pinakes_format::entity::Entity;
use pinakes_format::query::Deadline;
use pinakes_format::snapshot::Snapshot;

use crate::Result;

/// Files of an entity's directory that autocompletion reads; list queries read `words` too.
pub const FILES: [&str; 3] = ["words", "alternatives", "prefix_stats"];

/// The route of the server, followed by the query.
pub const ROUTE: &str = "/autocomplete/authors?query=";

/// A snapshot, queried in this process.
pub struct Engine {
    snapshot: Snapshot,
}

impl Engine {
    pub fn open(snapshot: &Path) -> Result<Engine> {
        Ok(Engine { snapshot: Snapshot::open(snapshot)? })
    }

    /// Finds candidates among the authors.
    pub fn authors(&self, query: &str) -> Result<Candidates> {
        self.find(&[Entity::Author], query)
    }

    /// Finds candidates among all entities, in one query.
    pub fn all(&self, query: &str) -> Result<Candidates> {
        self.find(&ENTITIES, query)
    }

    /// Finds candidates of each entity, in one query for each entity.
    pub fn each(&self, query: &str) -> Result<Vec<Candidates>> {
        ENTITIES.iter().map(|entity| self.find(&[*entity], query)).collect()
    }

    fn find(&self, entities: &[Entity], query: &str) -> Result<Candidates> {
        Ok(Completion::new(entities.to_vec(), query).execute(&self.snapshot, Deadline::NEVER)?)
    }
}
