//! The one place that calls the list engine.

use std::{num::NonZeroU32, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query};
use pinakes_format::snapshot::Snapshot;

use super::Answer;
use crate::Result;

/// A snapshot that lists are asked of, in this process.
pub struct Engine {
    snapshot: Snapshot,
}

impl Engine {
    /// Opens a snapshot.
    pub fn open(snapshot: &Path) -> Result<Engine> {
        Ok(Engine { snapshot: Snapshot::open(snapshot)? })
    }

    /// A page of the outputs: parsed, counted and cut as for a request, but not rendered.
    ///
    /// `None` where it took longer than a request may.
    pub fn ask(
        &self,
        filter: &str,
        sort: &str,
        page: u32,
        per_page: u32,
    ) -> Result<Option<Answer>> {
        let mut query = Query::new(Entity::Output);
        let refused = |refusals| format!("{filter} {sort}: {refusals:?}");
        if !filter.is_empty() {
            query.filter(filter).map_err(refused)?;
        }
        if !sort.is_empty() {
            query.sort(sort).map_err(refused)?;
        }
        query.page = NonZeroU32::new(page).ok_or("pages begin at 1")?;
        query.per_page = per_page;
        let answer = query.answer(&self.snapshot, Deadline::NEVER)?;
        let id = |row: &u32| Ok(self.snapshot.row_id(Entity::Output, *row)?);
        let ids = answer.rows.iter().map(id).collect::<Result<Vec<u64>>>()?;
        Ok(Some(Answer { count: answer.count, ids }))
    }
}
