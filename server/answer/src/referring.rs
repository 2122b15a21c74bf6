//! Lists of the records that refer to an identifier: what a reply offers where no record has the identifier.
//!
//! Subsets and partial dumps hold thousands of names without a record:
//!
//! ```text
//! HX_A5      outputs by authors.id, authors by …     every key whose values are ids of authors
//! an ORCID   outputs by authors.orcid                keys of the scheme, except the keys of the records themselves
//! ```
//!
//! A suppressed id gets the reply of an id that nothing refers to.

use pinakes_format::autocomplete::{ENTITIES, Identifier};
use pinakes_format::entity::{Entity, Facts, IdFormat};
use pinakes_format::json::render::RecordStore;
use pinakes_format::query::{Deadline, Query, QueryError};
use pinakes_format::schema::keys::{Key, Kind, keys_of};
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::error::ReadError;

use crate::reply::detail::{DETAILS_MAX, Detail};
use crate::request::path::echo;

/// A list of records that refer to an identifier.
#[derive(Debug)]
pub struct ReferringList {
    pub facts: &'static Facts,
    /// The filter key that takes the identifier.
    pub key: &'static str,
    /// The identifier as a filter spells it.
    value: String,
    /// The number of records in the list.
    pub count: u64,
}

impl ReferringList {
    /// The path of the list, below `root`.
    pub fn path(&self, root: &str) -> String {
        format!("{root}/{}?filter={}:{}", self.facts.route, self.key, self.value)
    }

    /// Offers the list to the sender of an identifier.
    fn detail(&self, raw: &str) -> Detail {
        let (path, count) = (self.path(""), self.count);
        let plural = self.facts.plural;
        let reason =
            format!("has no record here, but is referred to: `{path}` lists {count} {plural}");
        Detail::new("id", &echo(raw), reason)
    }
}

/// Offers lists to the sender of an identifier.
pub fn details(lists: &[ReferringList], raw: &str) -> Vec<Detail> {
    lists.iter().take(DETAILS_MAX).map(|list| list.detail(raw)).collect()
}

/// Finds the lists that are not empty; none if a record has the identifier.
///
/// Cost: one look-up for each entity, and one posting list for each key.
pub fn referring_lists(
    identifier: &Identifier,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
) -> Result<Vec<ReferringList>, QueryError> {
    let mut found = Vec::new();
    if !identifier.find_rows(snapshot, &ENTITIES)?.is_empty()
        || is_suppressed(identifier, snapshot)?
    {
        return Ok(found);
    }
    let value = match identifier {
        Identifier::Record(entity, id) => {
            let mut text = Vec::new();
            IdFormat::CURRENT.write(*entity, *id, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        Identifier::External(_, normal) => normal.clone(),
    };
    for entity in Entity::all() {
        for key in keys_of(entity).keys.iter().filter(|key| refers(identifier, entity, key)) {
            let mut query = Query::new(entity);
            // The key takes the identifier, so the filter is valid.
            let Ok(()) = query.add_filter(&format!("{}:\"{value}\"", key.name)) else { continue };
            let count = query.execute(snapshot, deadline)?.count;
            if count > 0 {
                let (facts, value) = (entity.facts(), value.clone());
                found.push(ReferringList { facts, key: key.name, value, count });
            }
        }
    }
    Ok(found)
}

/// Whether an identifier is, or may be, that of a suppressed record: records refer to the identifier, and no reference has a
/// name. A single reference without a name decides nothing: a source names its host by id alone.
fn is_suppressed(identifier: &Identifier, snapshot: &Snapshot) -> Result<bool, ReadError> {
    let Identifier::Record(entity, id) = identifier else { return Ok(false) };
    let mut is_referred_to = false;
    for row in snapshot.rows_with(*entity, snapshot.merged_into(*entity, *id)?)? {
        if !snapshot.is_placeholder(*entity, row)? {
            return Ok(false);
        }
        is_referred_to = true;
    }
    Ok(is_referred_to)
}

/// Whether values of a key refer to an identifier. The identifiers by which records are found are the records'
/// own.
fn refers(identifier: &Identifier, entity: Entity, key: &Key) -> bool {
    let is_own = key.name == "id" || entity.facts().searched_ids.contains(&key.name);
    let fits = match identifier {
        Identifier::Record(of, _) => match key.kind {
            Kind::Id(target) => target == *of,
            Kind::AnyId => of.facts().letter.is_some(),
            _ => false,
        },
        Identifier::External(scheme, _) => key.kind == Kind::Identifier(*scheme),
    };
    // A key that follows from another finds the records that the other finds, and more.
    fits && !is_own && key.filter.is_some_and(|index| !index.is_follower())
}
