//! Lists of the records that refer to an identifier: what a reply offers where no record has the identifier.
//!
//! Subsets and partial dumps hold thousands of names without a record:
//!
//! ```text
//! HX_A5      outputs by authors.id, authors by …     every key whose values are ids of authors
//! an ORCID   outputs by authors.orcid                keys of the scheme, except the keys of the records themselves
//! ```
//!
//! A name leads to lists too: `University of Washington` stands in outputs, and may have no record.
//!
//! A suppressed id gets the reply of an id that nothing refers to.

use std::time::Duration;

use pinakes_format::autocomplete::{Completion, ENTITIES, Identifier};
use pinakes_format::entity::{Entity, Facts};
use pinakes_format::json::render::RecordStore;
use pinakes_format::query::{Deadline, GroupValue, Query, QueryError, ResultKind};
use pinakes_format::schema::{Key, Kind, keys_of};
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::ReadError;
use pinakes_format::text::fold::fold;

use crate::define::Call;
use crate::reply::{DETAILS_MAX, Detail};
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
    /// The name that the records give what has the identifier, where the name led to the list.
    pub name: Option<String>,
}

/// The keys of outputs by the words of a name, and by the id that has the name.
const NAMED: [(&str, &str); 3] = [
    ("authors.affiliations.name.search", "authors.affiliations.id"),
    ("primary_venue.source.name.search", "primary_venue.source.id"),
    ("authors.name.search", "authors.id"),
];
/// Groups of a key among which names without a record are looked for.
const NAMED_GROUPS: u32 = 25;
/// Lists of a key that a name leads to.
const LISTS_MAX: usize = 3;

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
        Identifier::Record(entity, id) => entity.id_text(*id),
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
                found.push(ReferringList { facts, key: key.name, value, count, name: None });
            }
        }
    }
    Ok(found)
}

/// Finds the lists of the outputs that name what has no record, by the words of its name.
///
/// Cost: for each of three keys, the outputs with the words in a name, and their groups by id.
pub fn lists_by_name(
    completion: &Completion,
    call: &Call<'_>,
) -> Result<Vec<ReferringList>, QueryError> {
    let (snapshot, limits) = (call.snapshot, call.limits());
    limits.run(|deadline| find_by_name(completion, snapshot, deadline, limits.time()))
}

fn find_by_name(
    completion: &Completion,
    snapshot: &Snapshot,
    deadline: Deadline<'_>,
    time: Duration,
) -> Result<Vec<ReferringList>, QueryError> {
    let (facts, mut found) = (Entity::Output.facts(), Vec::new());
    let words: Vec<&str> = completion.folded().split(' ').filter(|word| !word.is_empty()).collect();
    for (by_words, key) in NAMED {
        let mut query = Query::new(facts.entity);
        let is_asked = keys_of(facts.entity).filter(key).is_some_and(|(key, _)| {
            matches!(key.kind, Kind::Id(target) if completion.entities().contains(&target))
        });
        let is_valid = is_asked
            && !words.is_empty()
            && query.add_filter(&format!("{by_words}:\"{}\"", words.join(" "))).is_ok()
            && query.set_group_by(key).is_ok();
        query.per_page = NAMED_GROUPS;
        let ResultKind::Groups(grouping) = &query.result_kind else { continue };
        if !is_valid {
            continue;
        }
        // On a mirror, the groups of all keys are fetched together.
        let groups = query.groups(grouping, snapshot, deadline, time).map(Some);
        let groups = match snapshot.or_noted(groups) {
            Err(QueryError::Refused { .. }) | Ok(None) => continue,
            Ok(Some(groups)) => groups,
            Err(error) => return Err(error),
        };
        let before = found.len();
        for group in groups.page {
            let [GroupValue::Record { entity, id, row }] = group.values[..] else { continue };
            if row < snapshot.count(entity) || found.len() - before == LISTS_MAX {
                continue;
            }
            let name = snapshot.or_noted(snapshot.name_of_id(entity, row))?.unwrap_or_default();
            let folded = fold(name);
            let has = |word: &&str| folded.split(' ').any(|of_name| of_name.starts_with(*word));
            if words.iter().all(has) {
                let (value, name) = (entity.id_text(id), Some(name.to_owned()));
                found.push(ReferringList { facts, key, value, count: group.count, name });
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
