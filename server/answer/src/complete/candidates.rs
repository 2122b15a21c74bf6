//! `/autocomplete`: the ten best records whose names a typed text may begin.

use bytes::Bytes;
use http::StatusCode;
use pinakes_format::autocomplete;
use pinakes_format::autocomplete::{Candidates, Completion, ENTITIES};
use pinakes_format::entity::{CATALOG, Entity, Facts};
use pinakes_format::query::QueryError;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde_json::{Value, json};

use crate::complete::query;
use crate::complete::query::{TEXT_BYTES_MAX, TextError};
use crate::define::charge::QuotaClass;
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Planned, Planning, RoutePath};
use crate::openapi::{
    AUTOCOMPLETE_TAG, CACHE_HEADERS, Document, LIST_STATUSES, Operation, Sample, Schemas, count,
    json_content, object_of, or_null, page, page_meta, path_parameter, patterns, query_parameter,
    required, text,
};
use crate::referring::{ReferringList, lists_by_name, referring_lists};
use crate::reply::{Detail, QUERY_REQUIRED, Reply};
use crate::request::path::{decode, echo};

const CHARGE: Charge = Charge::Daily(QuotaClass::Search);

pub const OF_ALL: Endpoint = Endpoint {
    describe: Some(describe_all),
    ..Endpoint::new("/autocomplete", CHARGE, |planning| plan(None, planning))
};

pub const OF_ONE: Endpoint = Endpoint {
    describe: Some(describe_one),
    ..Endpoint::new("/autocomplete/{entity_type}", CHARGE, |planning| {
        plan(Some(planning.segment()), planning)
    })
};

/// Capacity of the buffer for ten candidates at the start.
const CAPACITY_BYTES: usize = 4 << 10;

/// Plans the candidates of the entity whose list has a name, or of all entities.
pub fn plan(entity_type: Option<&str>, planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let completion = parse(entity_type, call.query)?;
    let cost = cost(&completion, call.snapshot);
    Ok(Planned::unless_current(call, cost, move |call| answer(&completion, call)))
}

/// How much work a completion is. The index holds the candidates of one word; several words intersect the
/// records of each word.
pub fn cost(completion: &Completion, snapshot: &Snapshot) -> Cost {
    if !completion.has_several_words() {
        return Cost::Small;
    }
    let rows = completion.entities().iter().map(|entity| u64::from(snapshot.count(*entity)));
    Cost::of_rows(rows.sum())
}

/// Parses the entities and the text of a request; the error is the reply 400.
fn parse(entity_type: Option<&str>, query: &str) -> Result<Completion, Reply> {
    let name = entity_type.map(|raw| decode(raw).unwrap_or_default());
    let entities = parse_entity_type(name.as_deref()).map_err(|detail| {
        let value = entity_type.map(echo).unwrap_or_default();
        Reply::bad_query(vec![Detail::new(&detail.parameter, &value, detail.reason)])
    })?;
    let text = query::parse(query).map_err(|error| match error {
        TextError::Missing => Reply::error(StatusCode::BAD_REQUEST, QUERY_REQUIRED),
        TextError::Invalid(details) => Reply::bad_query(details),
    })?;
    Ok(Completion::new(entities, &text))
}

/// The entities that autocomplete searches: the entity whose list has this name, or all without a name.
pub fn parse_entity_type(name: Option<&str>) -> Result<Vec<Entity>, Detail> {
    let Some(name) = name else { return Ok(ENTITIES.to_vec()) };
    let facts = entities().find(|facts| facts.route == name).ok_or_else(|| {
        let known: Vec<&str> = entities().map(|facts| facts.route).collect();
        Detail::new("entity_type", name, format!("must be one of {}", known.join(", ")))
    })?;
    Ok(vec![facts.entity])
}

/// The entities that autocomplete accepts as `entity_type`.
fn entities() -> impl Iterator<Item = &'static Facts> {
    CATALOG.iter().filter(|facts| facts.letter.is_some() && facts.autocomplete_order.is_some())
}

/// Answers the candidates for a typed text.
///
/// Cost: one look-up for one word; several words are intersected as the expressions of a filter are.
fn answer(completion: &Completion, call: &Call<'_>) -> Answer {
    let begun = call.now();
    let found = call.limits().run(|deadline| completion.execute(call.snapshot, deadline))?;
    let lists = lists_without_record(completion, &found, call)?;
    let micros = call.micros_since(begun);
    tracing::debug!(micros, count = found.count, "completed");
    Ok(Reply::json(render(&found, &lists, call.snapshot)?))
}

/// If nothing is found by the text, the lists of the records that refer to the identifier, or have the name.
pub fn lists_without_record(
    completion: &Completion,
    found: &Candidates,
    call: &Call<'_>,
) -> Result<Vec<ReferringList>, QueryError> {
    match completion.identifier() {
        Some(identifier) if found.count == 0 => {
            call.limits().run(|deadline| referring_lists(identifier, call.snapshot, deadline))
        }
        None if found.count == 0 => lists_by_name(completion, call),
        _ => Ok(Vec::new()),
    }
}

/// Renders a page of candidates, and the lists that take the place of missing records.
pub fn render(
    found: &Candidates,
    lists: &[ReferringList],
    snapshot: &Snapshot,
) -> Result<Bytes, ReadError> {
    let mut body = Vec::with_capacity(CAPACITY_BYTES);
    body.extend_from_slice(b"{\"meta\":{\"count\":");
    json::unsigned(&mut body, found.count);
    for (at, list) in lists.iter().enumerate() {
        body.extend_from_slice(if at == 0 { b",\"lists\":[" } else { b"," });
        json::string(&mut body, &list.path(""));
    }
    if !lists.is_empty() {
        body.push(b']');
    }
    body.extend_from_slice(b"},\"results\":");
    json::try_list(&mut body, &found.best, |candidate, body| {
        let rendered = autocomplete::render(snapshot, candidate.entity, candidate.row, body);
        snapshot.or_noted(rendered)
    })?;
    body.push(b'}');
    Ok(Bytes::from(body))
}

fn describe_all(_: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let summary = "Candidates of all entities for a typed text";
    let operation = operation("autocomplete", summary, Vec::new(), document)?;
    Ok(operation.into_path_item())
}

fn describe_one(_: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let routes: Vec<&str> = entities().map(|facts| facts.route).collect();
    let schema = json!({ "type": "string", "enum": routes });
    let doc = "The list whose names the server completes.";
    let entity_type = path_parameter("entity_type", doc, schema, Some(CATALOG[0].route.into()));
    let summary = "Candidates of one entity for a typed text";
    let operation = operation("autocomplete_entity", summary, vec![entity_type], document)?;
    Ok(operation.into_path_item())
}

fn operation(
    id: &str,
    summary: &str,
    mut parameters: Vec<Value>,
    document: &mut Document<'_>,
) -> Result<Operation, ReadError> {
    let first = CATALOG[0].entity;
    let sample = document.sample(first)?;
    parameters.push(describe_text(&sample));
    Ok(Operation {
        tag: AUTOCOMPLETE_TAG,
        description: "Candidates come in this order: names equal to the text, names that begin \
                      with the text, records with an alternative name that begins with the text, \
                      other matches. Within each group the most cited come first.",
        parameters,
        headers: CACHE_HEADERS.to_vec(),
        statuses: LIST_STATUSES.to_vec(),
        ..Operation::new(id, summary, json_content(describe_page(&mut document.schemas)))
    })
}

/// Describes the parameter `query`, with an example that finds a record.
fn describe_text(sample: &Sample) -> Value {
    let doc = format!(
        "The typed text, at most {TEXT_BYTES_MAX} bytes: a complete identifier, or words. For each word, \
         a name of the record must have a word that begins with it."
    );
    let schema =
        json!({ "type": "string", "maxLength": TEXT_BYTES_MAX, "pattern": (patterns::words()) });
    let example = sample.word.clone().map(|word| ("typed", word));
    required(query_parameter("query", &doc, schema, [example]))
}

/// Describes a page of candidates.
pub fn describe_page(schemas: &mut Schemas) -> Value {
    schemas.define("CandidatePage", |schemas| {
        let meta = schemas.define("CandidateMeta", |_| {
            let mut meta = page_meta(&["count"]);
            let doc = "Present where the text is an identifier without a record: lists of the records that \
                       refer to the identifier.";
            let lists = json!({ "description": doc, "type": "array", "items": (text()) });
            meta["properties"]["lists"] = lists;
            meta
        });
        let candidate = schemas.define("Candidate", |_| {
            let names: Vec<&str> = ENTITIES.iter().map(|entity| entity.facts().singular).collect();
            let entities = json!({ "type": "string", "enum": names });
            object_of(
                "A record whose name may complete the typed text.",
                [
                    ("id", "The identifier; a string for every entity.", text()),
                    ("name", "The display name.", text()),
                    ("cited_by_count", "Citations received.", or_null(count())),
                    ("entity_type", "The entity of the record.", entities),
                    (
                        "external_id",
                        "The identifier in another system, such as a DOI.",
                        or_null(text()),
                    ),
                    ("outputs_count", "Indexed outputs; null for an output.", or_null(count())),
                ],
            )
        });
        page(meta, candidate)
    })
}
