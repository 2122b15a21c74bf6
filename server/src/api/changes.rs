//! `/changes`: the ids that differ between an earlier snapshot and the one that answers, part by part.
//!
//! A part compares a fixed number of rows, so that its reply depends on the snapshots alone and costs the same
//! at any size. `meta.next` is the path of the next part, of the same two snapshots:
//!
//! ```text
//! {"meta":{"since":"0f…","snapshot":"4c…","next":"/@4c…/changes?since=0f…&from=outputs:1000"},
//!  "results":[{"change":"changed","entity":"outputs","id":"HX_W1","members":["title"]}]}
//! ```

use std::sync::Arc;

use pinakes_format::changes::{Change, ChangesError, Position, next_changes};
use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::query::nearest;
use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::manifest::ID_DIGITS;
use serde::Serialize;

use crate::api::handlers::query_error_reply;
use crate::api::request::Request;
use crate::api::work_limits::WorkLimits;
use crate::http::named_snapshot::is_snapshot_id;
use crate::http::parameters::{DETAILS_MAX, Detail, GIVEN_TWICE, query_pairs};
use crate::http::reply::Reply;
use crate::snapshots::manager::ServedSnapshot;

const SINCE: &str = "since";
const ENTITY: &str = "entity";
const FROM: &str = "from";
const PARAMETERS: [&str; 3] = [SINCE, ENTITY, FROM];

/// A request for the changes since a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesQuery {
    /// The id of the earlier snapshot.
    pub since: String,
    /// The only entity to compare; all if `None`.
    entity: Option<Entity>,
    from: Position,
}

/// The changes since an open snapshot.
pub struct Changes {
    /// The snapshot that `query` names.
    pub since: Arc<ServedSnapshot>,
    pub query: ChangesQuery,
}

/// A snapshot that proved damaged while it was compared.
pub struct Damaged {
    pub snapshot: Arc<ServedSnapshot>,
    pub error: ReadError,
}

#[derive(Serialize)]
struct Part<'a> {
    meta: Meta<'a>,
    results: Vec<ChangedId>,
}

#[derive(Serialize)]
struct Meta<'a> {
    since: &'a str,
    snapshot: &'a str,
    next: Option<String>,
}

#[derive(Serialize)]
struct ChangedId {
    change: &'static str,
    entity: &'static str,
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    into: Option<String>,
}

/// Parses the text after the `?` of a URL; the errors are the details of a 400.
pub fn parse(raw: &str) -> Result<ChangesQuery, Vec<Detail>> {
    let mut values: [Option<String>; PARAMETERS.len()] = Default::default();
    let mut details = Vec::new();
    for pair in query_pairs(raw) {
        let detail = match pair {
            Err(detail) => Some(detail),
            Ok((name, value)) => match PARAMETERS.iter().position(|known| *known == name) {
                None => Some(Detail::new(&name, &value, unknown_reason(&name))),
                Some(at) if values[at].is_some() => Some(Detail::new(&name, &value, GIVEN_TWICE)),
                Some(at) => {
                    values[at] = Some(value);
                    None
                }
            },
        };
        details.extend(detail);
    }
    let [since, entity, from] = values;
    let mut checked = |name, value: Option<String>, reason: String| {
        details.push(Detail::new(name, &value.unwrap_or_default(), reason));
    };
    let since = since.ok_or(None).and_then(|text| match is_snapshot_id(&text) {
        true => Ok(text),
        false => Err(Some(text)),
    });
    let since = since.map_err(|value| {
        checked(SINCE, value, format!("must be the id of a snapshot, {ID_DIGITS} hex digits"));
    });
    let entity = entity.map(|text| entity_named(&text).ok_or(text)).transpose();
    let entity = entity.map_err(|value| {
        let known: Vec<&str> = CATALOG.iter().map(|facts| facts.plural).collect();
        checked(ENTITY, Some(value), format!("must be one of {}", known.join(", ")));
    });
    let from = from.map(|text| position(&text).ok_or(text)).transpose().map_err(|value| {
        checked(FROM, Some(value), "must come from `next` of another part".to_owned());
    });
    details.truncate(DETAILS_MAX);
    match (since, entity, from) {
        (Ok(since), Ok(entity), Ok(from)) if details.is_empty() => {
            let first = entity.or_else(|| Entity::all().next()).unwrap_or(Entity::Output);
            let from = from.unwrap_or_else(|| Position::beginning(first));
            Ok(ChangesQuery { since, entity, from })
        }
        _ => Err(details),
    }
}

fn entity_named(name: &str) -> Option<Entity> {
    CATALOG.iter().find(|facts| facts.plural == name).map(|facts| facts.entity)
}

/// Parses `outputs:5000`.
fn position(text: &str) -> Option<Position> {
    let (entity, digits) = text.split_once(':')?;
    let rows: u64 = digits.parse().ok().filter(|rows: &u64| rows.to_string() == digits)?;
    Some(Position { entity: entity_named(entity)?, rows })
}

fn unknown_reason(name: &str) -> String {
    match nearest(name, PARAMETERS.into_iter()) {
        Some(known) => format!("is no parameter of changes; did you mean `{known}`?"),
        None => format!("is no parameter of changes; it takes {}", PARAMETERS.join(", ")),
    }
}

impl Changes {
    /// Compares the rows of a part.
    ///
    /// Cost: at most 1,000 records rendered in each snapshot.
    ///
    /// # Errors
    ///
    /// The snapshot that is damaged.
    pub fn run(
        &self,
        request: &Request<'_>,
        served: &Arc<ServedSnapshot>,
        limits: WorkLimits,
    ) -> Result<Reply, Damaged> {
        if self.since.is_poisoned() {
            return Ok(Reply::unavailable());
        }
        let damaged = |snapshot: &Arc<ServedSnapshot>, error| Damaged {
            snapshot: Arc::clone(snapshot),
            error,
        };
        let [before, after] = [&self.since, served].map(|served| &served.snapshot);
        let from = self.query.from;
        let is_same = before.manifest().id == after.manifest().id;
        let found = match is_same {
            true => Ok((Vec::new(), None)),
            false => limits.run(|deadline| next_changes(before, after, from, deadline)),
        };
        if let Some(fault) = before.fault() {
            return Err(damaged(&self.since, ReadError::Fault(fault)));
        }
        let (changes, next) = match found {
            Ok(part) => part,
            Err(ChangesError::Before(error)) => return Err(damaged(&self.since, error)),
            Err(ChangesError::After(error)) => return Err(damaged(served, error)),
            Err(ChangesError::Refused(error)) => {
                return query_error_reply(error, request).map_err(|error| damaged(served, error));
            }
        };
        let next = next.filter(|next| self.query.entity.is_none_or(|entity| entity == next.entity));
        let part = Part {
            meta: Meta {
                since: &self.query.since,
                snapshot: &after.manifest().id,
                next: next.map(|next| self.path_of(next, &after.manifest().id)),
            },
            results: changes
                .into_iter()
                .map(|(id, change)| changed_id(from.entity, id, change))
                .collect(),
        };
        // Strings and numbers always serialise.
        let body = serde_json::to_vec(&part).unwrap_or_default();
        Ok(Reply::Json { body: body.into(), is_cacheable: true })
    }

    /// The path of another part, of the same two snapshots.
    fn path_of(&self, next: Position, snapshot: &str) -> String {
        let only = match self.query.entity {
            Some(entity) => format!("&{ENTITY}={}", entity.facts().plural),
            None => String::new(),
        };
        let (since, entity) = (&self.query.since, next.entity.facts().plural);
        format!("/@{snapshot}/changes?{SINCE}={since}{only}&{FROM}={entity}:{}", next.rows)
    }
}

fn changed_id(entity: Entity, id: u64, change: Change) -> ChangedId {
    let id_text = |id| {
        let mut text = Vec::new();
        entity.write_id(id, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let (change, members, into) = match change {
        Change::Added => ("added", None, None),
        Change::Changed(members) => ("changed", Some(members), None),
        Change::Merged(into) => ("merged", None, Some(id_text(into))),
        Change::Removed => ("removed", None, None),
    };
    ChangedId { change, entity: entity.facts().plural, id: id_text(id), members, into }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_snapshot_and_a_place() {
        let since = "0123456789abcdef";
        let check = |raw: &str, expected: (Option<Entity>, Entity, u64)| {
            let query = parse(raw).unwrap();
            assert_eq!((query.entity, query.from.entity, query.from.rows), expected, "{raw}");
            assert_eq!(query.since, since);
        };
        let first = Entity::all().next().unwrap();
        check(&format!("since={since}&mailto=a@b"), (None, first, 0));
        let authors = Some(Entity::Author);
        check(&format!("since={since}&entity=authors"), (authors, Entity::Author, 0));
        check(&format!("from=authors:5000&since={since}"), (None, Entity::Author, 5000));
        for (raw, refused) in [
            ("", "since"),
            ("since=", "since"),
            ("since=0123456789ABCDEF", "since"),
            ("since=0123456789abcdef&since=0123456789abcdef", "since"),
            ("since=0123456789abcdef&entity=author", "entity"),
            ("since=0123456789abcdef&from=authors", "from"),
            ("since=0123456789abcdef&from=authors:-1", "from"),
            ("since=0123456789abcdef&from=authors:007", "from"),
            ("since=0123456789abcdef&from=authors:99999999999999999999", "from"),
            ("since=0123456789abcdef&page=2", "page"),
        ] {
            let details = parse(raw).unwrap_err();
            assert_eq!(details.len(), 1, "{raw}");
            assert_eq!(details[0].parameter, refused, "{raw}");
        }
    }
}
