//! The beginnings of the lists that a record leads to, and the groups of its outputs.

use std::num::NonZeroU32;

use pinakes_format::entity::{Entity, Facts};
use pinakes_format::query::{Deadline, Query, QueryError};
use pinakes_format::snapshot::{RecordLookup as _, Snapshot};

use crate::define::WorkLimits;
use crate::pages::address::Address;
use crate::pages::groups::KeyGroups;
use crate::pages::labels::thousands;
use crate::pages::list_rows::ListRow;
use crate::pages::tables::{OUTPUTS, REFERENCES};
use crate::pages::{groups, list_rows, tables};

/// Records that the beginning of a list shows.
const BEGINNING: u32 = 10;

/// The beginning of a list that the record leads to.
pub struct Beginning {
    pub heading: &'static str,
    pub found: u64,
    pub count: String,
    pub href: String,
    pub rows: Vec<ListRow>,
    pub has_more: bool,
    /// References that have no record: how many, and how many there are in all.
    pub unresolved: Option<(String, String)>,
}

/// The beginnings of the lists of a record, and the groups of its outputs.
#[derive(Default)]
pub struct Beginnings {
    pub lists: Vec<Beginning>,
    pub groups: Vec<KeyGroups>,
}

impl Beginnings {
    /// Finds the lists of a record and the groups of its outputs, in the time of one list.
    pub fn find(
        facts: &Facts,
        row: u32,
        id: &str,
        snapshot: &Snapshot,
        limits: WorkLimits,
    ) -> Result<Beginnings, QueryError> {
        limits.run(|deadline| {
            let mut found = Beginnings::default();
            for (heading, entity, key) in tables::lists_from(facts.entity) {
                let mut query = Query::new(entity);
                // The keys of the table take ids, and the id is one.
                let Ok(()) = query.add_filter(&format!("{key}:{id}")) else { continue };
                let list = beginning(heading, &query, (facts.entity, row), snapshot, deadline);
                // The groups are noted with the list, if chunks of it are absent.
                let has_many = list
                    .as_ref()
                    .map_or(true, |list| list.as_ref().is_some_and(|list| list.found > 1));
                let list = snapshot.or_noted(list)?;
                if heading == OUTPUTS && has_many {
                    let keys = tables::of(facts.entity).output_groups;
                    let groups = groups::of_record(&query, keys, id, snapshot, deadline, limits);
                    found.groups = snapshot.or_noted(groups)?;
                }
                found.lists.extend(list);
            }
            Ok(found)
        })
    }

    /// The list with a heading.
    pub fn list(&self, heading: &str) -> Option<&Beginning> {
        self.lists.iter().find(|list| list.heading == heading)
    }
}

/// The beginning of a list; `None` of an empty one.
fn beginning(
    heading: &'static str,
    query: &Query,
    (of, row): (Entity, u32),
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<Option<Beginning>, QueryError> {
    let href = Address::new(query).page_url();
    let query = Query { page: NonZeroU32::MIN, per_page: BEGINNING, ..query.clone() };
    let answer = query.execute(snapshot, deadline)?;
    let listed = match heading {
        REFERENCES => snapshot.or_noted(snapshot.references(of, row))?.len() as u64,
        _ => answer.count,
    };
    let missing = listed.saturating_sub(answer.count);
    if answer.count == 0 && missing == 0 {
        return Ok(None);
    }
    let rows = list_rows::rows(query.entity, &answer.rows, snapshot)?;
    Ok(Some(Beginning {
        heading,
        found: answer.count,
        count: thousands(answer.count),
        has_more: answer.count > rows.len() as u64,
        unresolved: (missing > 0).then(|| (thousands(missing), thousands(listed))),
        href,
        rows,
    }))
}
