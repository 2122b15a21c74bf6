//! `/openalex/autocomplete`: the candidates of `/autocomplete` in OpenAlex's members.

use std::borrow::Cow;

use pinakes_format::autocomplete;
use pinakes_format::autocomplete::{Candidate, Completion};
use pinakes_format::entity::Entity;
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

use crate::complete::candidates::{cost, parse_entity_type};
use crate::complete::query;
use crate::complete::query::TextError;
use crate::define::{Answer, Call, Planned, Planning};
use crate::dialects::openalex::errors::{list_named, refuse_absent};
use crate::dialects::openalex::names::List;
use crate::dialects::openalex::stored::{PageParts, Stored, StoredMembers};
use crate::dialects::openalex::values::{address_of, short_id};
use crate::reply::{Detail, Reply};
use crate::request::parameters::query_pairs;

/// The authors that the hint of a work names.
const HINT_AUTHORS_MAX: usize = 3;

/// Plans the candidates of a list, or of all lists without a name.
pub fn plan(name: &str, planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    refuse_absent(call)?;
    let route = match name {
        "" => None,
        name => Some(list_named(name)?.entity.facts().route),
    };
    let entities = parse_entity_type(route).map_err(|detail| Reply::bad_query(vec![detail]))?;
    let text = text(call.query).map_err(Reply::bad_query)?;
    let completion = Completion::new(entities, &text);
    let cost = cost(&completion, call.snapshot);
    Ok(Planned::unless_current(call, cost, move |call| answer(&completion, call)))
}

/// Reads the typed text, `q`.
fn text(raw: &str) -> Result<String, Vec<Detail>> {
    let mut typed = None;
    for pair in query_pairs(raw) {
        let (name, value) = pair.map_err(|detail| vec![detail])?;
        match &*name {
            "q" if typed.is_none() => typed = Some(value),
            // Clients send the filters of the list that they complete for.
            "filter" | "search" if value.is_empty() => {}
            _ => return Err(vec![Detail::new(&name, &value, "is not taken here; `q` is")]),
        }
    }
    let typed = typed.unwrap_or_default();
    match query::check(&typed) {
        Ok(()) => Ok(typed),
        Err(TextError::Missing) => Err(vec![Detail::new("q", "", "is required")]),
        Err(TextError::Invalid(details)) => Err(details),
    }
}

fn answer(completion: &Completion, call: &Call<'_>) -> Answer {
    let found = call.limits().run(|deadline| completion.execute(call.snapshot, deadline))?;
    let results: Result<Vec<Value>, ReadError> =
        found.best.iter().map(|found| call.snapshot.or_noted(render(*found, call))).collect();
    let results = results?;
    let meta = json!({ "count": (found.count), "page": 1, "per_page": (results.len()) });
    Ok(Reply::json(json!({ "meta": meta, "results": results }).to_string()))
}

fn render(candidate: Candidate, call: &Call<'_>) -> Result<Value, ReadError> {
    let Candidate { entity, row, .. } = candidate;
    // Read first: on a mirror, the record is fetched together with what the completion shows.
    let hint = call.snapshot.or_noted(hint(entity, row, call))?;
    let mut text = Vec::new();
    autocomplete::render(call.snapshot, entity, row, &mut text)?;
    let found: Value = serde_json::from_slice(&text)
        .map_err(|_| ReadError::Internal("a candidate is not JSON"))?;
    let (name, singular) = List::of(entity).map_or(("", ""), |list| (list.name(), list.singular()));
    let id = found["id"].as_str().map_or_else(|| found["id"].to_string(), str::to_owned);
    let short = short_id(&id);
    let id = match entity.facts().letter {
        Some(_) => address_of(short),
        None => address_of(&format!("{name}/{short}")),
    };
    Ok(json!({
        "id": id,
        "short_id": (format!("{name}/{short}")),
        "display_name": (found["name"]),
        "hint": hint,
        "cited_by_count": (found["cited_by_count"]),
        "works_count": (found["outputs_count"]),
        "entity_type": singular,
        "external_id": (found["external_id"]),
    }))
}

/// A text that tells records of the same name apart.
fn hint(entity: Entity, row: u32, call: &Call<'_>) -> Result<Option<String>, ReadError> {
    let paths = match entity {
        Entity::Output => "authors.name",
        Entity::Author => "last_known_institutions",
        Entity::Source => "host_organization_name",
        Entity::Institution => "geo",
        Entity::Topic => "description",
        _ => return Ok(None),
    };
    let parts = StoredMembers::at(entity, std::iter::once(paths));
    let page = PageParts::default();
    let record = Stored::read(call.snapshot, entity, row, &parts, &page)?;
    let text = |path| record.at(path).text().map(Cow::into_owned);
    Ok(match entity {
        Entity::Output => {
            let mut authors = record.list("authors");
            let first = authors.by_ref().take(HINT_AUTHORS_MAX);
            let first: Vec<_> = first.filter_map(|author| author.get("name").text()).collect();
            let others = if authors.next().is_some() { " et al." } else { "" };
            (!first.is_empty()).then(|| format!("{}{others}", first.join(", ")))
        }
        Entity::Author => {
            let known = record.list("last_known_institutions").next();
            known.and_then(|known| known.get("name").text()).map(Cow::into_owned)
        }
        Entity::Source => text("host_organization_name"),
        Entity::Institution => {
            let places = ["geo.city", "geo.country"].map(|path| record.at(path).text());
            let places: Vec<_> = places.into_iter().flatten().collect();
            (!places.is_empty()).then(|| places.join(", "))
        }
        Entity::Topic => text("description"),
        _ => None,
    })
}
