//! Calls the list engine of `pinakes_format`; no other file of this benchmark does.

use std::{num::NonZeroU32, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::query::{Deadline, Query};
use pinakes_format::snapshot::Snapshot;

use super::ListPage;
use crate::Result;

/// A snapshot, queried in this process.
pub struct Engine {
    snapshot: Snapshot,
}

impl Engine {
    pub fn open(snapshot: &Path) -> Result<Engine> {
        Ok(Engine { snapshot: Snapshot::open(snapshot)? })
    }

    /// Parses a query of outputs, counts its matches and finds a page, as for a request; renders nothing.
    ///
    /// The query has no deadline, so the result is never `None`.
    pub fn query(
        &self,
        filter: &str,
        sort: &str,
        page: u32,
        per_page: u32,
    ) -> Result<Option<ListPage>> {
        let mut query = Query::new(Entity::Output);
        let refused = |refusals| format!("{filter} {sort}: {refusals:?}");
        if !filter.is_empty() {
            query.add_filter(filter).map_err(refused)?;
        }
        if !sort.is_empty() {
            query.set_sort(sort).map_err(refused)?;
        }
        query.page = NonZeroU32::new(page).ok_or("pages begin at 1")?;
        query.per_page = per_page;
        let answer = query.execute(&self.snapshot, Deadline::NEVER)?;
        let id = |row: &u32| Ok(self.snapshot.row_id(Entity::Output, *row)?);
        let ids = answer.rows.iter().map(id).collect::<Result<Vec<u64>>>()?;
        Ok(Some(ListPage { count: answer.count, ids }))
    }
}
