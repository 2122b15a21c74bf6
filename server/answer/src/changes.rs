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

use http::StatusCode;
use pinakes_format::changes::{Change, ChangesError, PART_ROWS, Position, next_changes};
use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::query::nearest;
use pinakes_format::storage::{ID_DIGITS, ReadError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::define::charge::QuotaClass;
use crate::define::served::ServedSnapshot;
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Failure, Planned, Planning, RoutePath};
use crate::openapi::{
    CACHE_HEADERS, Document, Operation, Schemas, add_optional, json_content, object_of, or_null,
    query_parameter, required, text,
};
use crate::reply::{DETAILS_MAX, Detail, Reply};
use crate::request::named_snapshot::is_snapshot_id;
use crate::request::parameters::{GIVEN_TWICE, query_pairs};

pub const CHANGES: Endpoint = Endpoint {
    describe: Some(describe),
    ..Endpoint::new("/changes", Charge::Daily(QuotaClass::List), plan)
};

const SINCE: &str = "since";
const ENTITY: &str = "entity";
const FROM: &str = "from";
const PARAMETERS: [&str; 3] = [SINCE, ENTITY, FROM];

/// A request for the changes since a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChangesQuery {
    /// The id of the earlier snapshot.
    since: String,
    /// The only entity to compare; all if `None`.
    entity: Option<Entity>,
    from: Position,
}

/// The changes since an open snapshot.
struct Changes {
    /// The snapshot that `query` names.
    since: Arc<ServedSnapshot>,
    query: ChangesQuery,
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
fn parse(raw: &str) -> Result<ChangesQuery, Vec<Detail>> {
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
    // Each value is checked although another is invalid: the reply lists all errors.
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

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let query = parse(call.query).map_err(Reply::bad_query)?;
    let since = call.host.named(&query.since);
    let since = since.ok_or_else(|| not_open(StatusCode::NOT_FOUND, &query.since))?;
    let changes = Changes { since, query };
    Ok(Planned::unless_current(call, Cost::Large, move |call| changes.answer(call)))
}

/// The reply to a request that names a snapshot which is not open, or not any more.
pub fn not_open(status: StatusCode, id: &str) -> Reply {
    Reply::error(status, format!("Snapshot {id} is not served here, or not any more"))
}

impl Changes {
    /// Compares the rows of a part.
    ///
    /// Cost: at most 1,000 records rendered in each snapshot.
    fn answer(&self, call: &Call<'_>) -> Answer {
        if self.since.is_poisoned() {
            return Ok(Reply::unavailable());
        }
        let damaged = |error| Failure::OtherDamaged(Arc::clone(&self.since), error);
        // A mirror fetches absent chunks of both snapshots together.
        let (before, after) = (&call.snapshot.beside(&self.since.snapshot), call.snapshot);
        let from = self.query.from;
        let is_same = before.manifest().id == after.manifest().id;
        let found = match is_same {
            true => Ok((Vec::new(), None)),
            false => call.limits().run(|deadline| next_changes(before, after, from, deadline)),
        };
        if let Some(fault) = before.fault() {
            return Err(damaged(ReadError::Fault(fault)));
        }
        let (changes, next) = found.map_err(|error| match error {
            ChangesError::Before(error @ ReadError::Absent { .. }) => error.into(),
            ChangesError::Before(error) => damaged(error),
            ChangesError::After(error) => error.into(),
            ChangesError::Refused(error) => error.into(),
        })?;
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
        Ok(Reply::json(serde_json::to_vec(&part).unwrap_or_default()))
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
    let (change, members, into) = match change {
        Change::Added => ("added", None, None),
        Change::Changed(members) => ("changed", Some(members), None),
        Change::Merged(into) => ("merged", None, Some(entity.id_text(into))),
        Change::Removed => ("removed", None, None),
    };
    ChangedId { change, entity: entity.facts().plural, id: entity.id_text(id), members, into }
}

fn describe(_: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let operation = Operation {
        description: "Compares a part of the records, of both snapshots. `meta.next` is the path of the next part. \
                      The earlier snapshot must be open, as `/@{snapshot}` needs it.",
        parameters: describe_parameters(&document.snapshot.manifest().id),
        headers: CACHE_HEADERS.to_vec(),
        statuses: vec![
            StatusCode::NOT_MODIFIED,
            StatusCode::BAD_REQUEST,
            StatusCode::NOT_FOUND,
            StatusCode::TOO_MANY_REQUESTS,
        ],
        ..Operation::new(
            "changes",
            "The ids that differ from an earlier snapshot",
            json_content(document.schemas.define("Changes", describe_part)),
        )
    };
    Ok(operation.into_path_item())
}

fn describe_parameters(snapshot: &str) -> Vec<Value> {
    let entities: Vec<&str> = CATALOG.iter().map(|facts| facts.plural).collect();
    let id = json!({ "type": "string", "pattern": (format!("^[0-9a-f]{{{ID_DIGITS}}}$")) });
    let example = Some(("served", snapshot.to_owned()));
    let doc = "The id of the earlier snapshot.";
    let since = required(query_parameter("since", doc, id, [example]));
    let entity = json!({ "type": "string", "enum": entities });
    let doc = "The only records to compare; all if missing.";
    let entity = query_parameter("entity", doc, entity, []);
    let pattern = format!("^({}):(0|[1-9][0-9]{{0,17}})$", entities.join("|"));
    let doc = format!(
        "Where the part begins, from `meta.next` of another part. A part compares {PART_ROWS} records."
    );
    let from = json!({ "type": "string", "pattern": pattern });
    vec![since, entity, query_parameter("from", &doc, from, [])]
}

fn describe_part(schemas: &mut Schemas) -> Value {
    let meta = object_of(
        "The snapshots, and the next part.",
        [
            ("since", "The id of the earlier snapshot.", text()),
            ("snapshot", "The id of the later snapshot.", text()),
            ("next", "The path of the next part; null after the last.", or_null(text())),
        ],
    );
    let meta = schemas.define("ChangesMeta", |_| meta);
    let change = schemas.define("Change", |_| describe_change());
    let changes = json!({ "type": "array", "items": change });
    object_of(
        "The ids that differ in a part of the records.",
        [
            ("meta", "The snapshots, and the next part.", meta),
            ("results", "The ids, in the order of the rows.", changes),
        ],
    )
}

fn describe_change() -> Value {
    let names = json!({ "type": "string", "enum": ["added", "changed", "merged", "removed"] });
    let mut change = object_of(
        "The difference of an id.",
        [
            ("change", "The kind of difference.", names),
            ("entity", "The records that the id belongs to.", text()),
            ("id", "The id.", text()),
        ],
    );
    let names = json!({ "type": "array", "items": { "type": "string" } });
    let optional = [
        ("members", "The members whose values differ, where the record changed.", names),
        ("into", "The id that the id was merged into.", text()),
    ];
    add_optional(&mut change, optional);
    change
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
