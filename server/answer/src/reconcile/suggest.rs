//! Entities, types and properties for typed text, and the properties of a type.

use std::num::IntErrorKind;

use pinakes_format::autocomplete::{Completion, ENTITIES};
use pinakes_format::entity::Entity;
use pinakes_format::query::member_names;
use pinakes_format::record::View;
use serde_json::{Value, json};

use crate::complete::query;
use crate::define::{Answer, Call, Cost, Planned, Planning};
use crate::reconcile::batch::find_type;
use crate::reconcile::types::{id_text, type_value, types};
use crate::reply::{Detail, Reply};
use crate::request::parameters::query_pairs;

/// The most properties of a reply.
const PROPERTIES_MAX: usize = 200;

/// The parameters of these paths; clients send others, which change nothing.
#[derive(Default)]
struct Parameters {
    prefix: String,
    /// The first result, from 0.
    cursor: usize,
    limit: Option<usize>,
    r#type: Option<String>,
}

impl Parameters {
    fn parse(raw: &str) -> Result<Parameters, Reply> {
        let mut parameters = Parameters::default();
        for pair in query_pairs(raw) {
            let (name, value) = pair.map_err(|detail| Reply::bad_query(vec![detail]))?;
            let number = || {
                let reason = "must be a whole number";
                match value.parse::<usize>() {
                    Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(usize::MAX),
                    Err(_) => Err(Reply::bad_query(vec![Detail::new(&name, &value, reason)])),
                    Ok(number) => Ok(number),
                }
            };
            match name.as_str() {
                "prefix" => parameters.prefix = value,
                "cursor" => parameters.cursor = number()?,
                "limit" => parameters.limit = Some(number()?),
                "type" => {
                    let refuse =
                        |reason| Reply::bad_query(vec![Detail::new(&name, &value, reason)]);
                    find_type(&value).map_err(refuse)?;
                    parameters.r#type = Some(value);
                }
                _ => {}
            }
        }
        Ok(parameters)
    }
}

/// Plans `/reconcile/suggest/{kind}`.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let suggest: fn(&Parameters, &Call<'_>) -> Answer = match planning.segment() {
        "entity" => suggest_entities,
        "type" => suggest_types,
        "property" => suggest_properties,
        _ => return Err(call.not_found()),
    };
    let parameters = Parameters::parse(call.query)?;
    Ok(Planned::unless_current(call, Cost::Large, move |call| suggest(&parameters, call)))
}

/// The reply with the results from `cursor` on, at most `limit`.
fn reply(results: impl Iterator<Item = Value>, parameters: &Parameters) -> Answer {
    let results = results.skip(parameters.cursor).take(parameters.limit.unwrap_or(PROPERTIES_MAX));
    Ok(Reply::json(json!({ "result": (results.collect::<Vec<_>>()) }).to_string()))
}

/// Suggests the records that autocomplete finds.
fn suggest_entities(parameters: &Parameters, call: &Call<'_>) -> Answer {
    // A text that autocomplete refuses finds nothing.
    if query::check(&parameters.prefix).is_err() {
        return reply(std::iter::empty(), parameters);
    }
    let of_type = |entity: &Entity| {
        parameters.r#type.as_ref().is_none_or(|name| entity.facts().route == name)
    };
    let entities = ENTITIES.iter().copied().filter(of_type).collect();
    let completion = Completion::new(entities, &parameters.prefix);
    let snapshot = call.snapshot;
    let found = call.limits().run(|deadline| completion.execute(snapshot, deadline))?;
    let mut results = Vec::new();
    for candidate in &found.best {
        let (entity, row) = (candidate.entity, candidate.row);
        results.push(json!({
            "id": (id_text(entity, snapshot.or_noted(snapshot.row_id(entity, row))?)),
            "name": (snapshot.or_noted(snapshot.name(entity, row))?.unwrap_or_default()),
            "description": (entity.facts().label),
            "notable": [(type_value(entity.facts()))],
        }));
    }
    reply(results.into_iter(), parameters)
}

/// Suggests the types whose ids have the text.
fn suggest_types(parameters: &Parameters, _: &Call<'_>) -> Answer {
    let text = parameters.prefix.trim().to_lowercase();
    reply(types().filter(|facts| facts.route.contains(&text)).map(type_value), parameters)
}

/// Suggests the members that have the text.
fn suggest_properties(parameters: &Parameters, _: &Call<'_>) -> Answer {
    let text = parameters.prefix.trim().to_lowercase();
    let names = properties(parameters.r#type.as_deref());
    reply(names.into_iter().filter(|name| name.contains(&text)).map(property_value), parameters)
}

/// The members of the records of a type, or of all, each once.
fn properties(of_type: Option<&str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for facts in types().filter(|facts| of_type.is_none_or(|name| facts.route == name)) {
        for name in member_names(facts.entity, View::Single) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn property_value(name: String) -> Value {
    json!({ "id": name, "name": name })
}

/// Plans `/reconcile/properties`.
pub fn plan_properties(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let parameters = Parameters::parse(planning.call.query)?;
    let names = properties(parameters.r#type.as_deref());
    let limit = parameters.limit.unwrap_or(PROPERTIES_MAX);
    let properties: Vec<Value> = names.into_iter().take(limit).map(property_value).collect();
    let mut reply = json!({ "limit": limit, "properties": properties });
    if let Some(name) = parameters.r#type {
        reply["type"] = name.into();
    }
    Ok(Planned::Reply(Reply::momentary_json(reply.to_string())))
}
