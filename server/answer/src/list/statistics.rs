//! `/statistics/outputs` and the statistics of the other entities with numbers: sums, quantiles and indexes of the
//! matching records of a list.

use pinakes_format::entity::Facts;
use pinakes_format::query::{
    INDEXES, KeyStatistics, MEASURES, Measure, Measured, OutputStatistics, Query, ResultKind,
    Statistics, StatisticsKeys,
};
use pinakes_format::schema::keys_of;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;
use serde_json::{Map, Value, json};

use crate::define::charge::QuotaClass;
use crate::define::{Answer, Call, Charge, Cost, Endpoint, Lists, Planned, Planning, RoutePath};
use crate::list::values::{render_number, render_value};
use crate::list::{parameters, query};
use crate::openapi::{
    CACHE_HEADERS, Document, LIST_STATUSES, Operation, Schemas, count, described, json_content,
    object, object_of, or_null, schema_name, text,
};
use crate::reply::Reply;

pub const STATISTICS: Endpoint = Endpoint {
    lists: Lists::Of(has_numbers),
    describe: Some(describe),
    ..Endpoint::new("/statistics/{list}", Charge::Daily(QuotaClass::List), plan)
};

/// Whether records of an entity have numbers to sum up.
fn has_numbers(facts: &Facts) -> bool {
    StatisticsKeys::all_names(keys_of(facts.entity)).next().is_some()
}

fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let call = &planning.call;
    let query = query::parse_statistics(planning.facts().entity, call.query);
    let query = query.map_err(Reply::bad_query)?;
    Ok(Planned::unless_current(call, Cost::Large, move |call| answer(&query, call)))
}

fn answer(query: &Query, call: &Call<'_>) -> Answer {
    let ResultKind::Statistics(keys) = &query.result_kind else {
        return Err(ReadError::Internal("a query of statistics has no keys").into());
    };
    let (limits, begun) = (call.limits(), call.now());
    let time = limits.time();
    let found = limits.run(|deadline| query.statistics(keys, call.snapshot, deadline, time))?;
    let micros = call.micros_since(begun);
    tracing::debug!(micros, "list summed up");
    Ok(Reply::json(render(&found, call.snapshot)?))
}

fn render(statistics: &Statistics, snapshot: &Snapshot) -> Result<Vec<u8>, ReadError> {
    let mut out = b"{\"count\":".to_vec();
    json::unsigned(&mut out, statistics.count);
    out.extend_from_slice(b",\"of\":{");
    for (at, of) in statistics.of.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        render_key(of, &mut out);
    }
    out.push(b'}');
    if let Some(outputs) = &statistics.outputs {
        render_outputs(outputs, statistics.count, snapshot, &mut out)?;
    }
    out.push(b'}');
    Ok(out)
}

fn render_key(of: &KeyStatistics, out: &mut Vec<u8>) {
    json::string(out, of.key);
    out.extend_from_slice(b":{\"count\":");
    json::unsigned(out, of.count);
    out.extend_from_slice(b",\"null\":");
    json::unsigned(out, of.null);
    for (at, measure) in MEASURES.iter().enumerate() {
        out.push(b',');
        json::string(out, measure.name);
        out.push(b':');
        render_measured(measure, of.measured.as_ref().map(|measured| measured[at]), out);
    }
    out.push(b'}');
}

/// Appends the value of a statistic; null, or an array of nulls, without values.
fn render_measured(measure: &Measure, measured: Option<Measured>, out: &mut Vec<u8>) {
    let numbers = match measured {
        Some(Measured::One(number)) => return render_number(Some(number), out),
        Some(Measured::Three(numbers)) => numbers.map(Some),
        None if measure.numbers == 1 => return render_number(None, out),
        None => [None; 3],
    };
    json::list(out, numbers, render_number);
}

fn render_outputs(
    outputs: &OutputStatistics,
    count: u64,
    snapshot: &Snapshot,
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
    for index in &INDEXES {
        out.push(b',');
        json::string(out, index.name);
        out.push(b':');
        json::unsigned(out, (index.of)(outputs));
    }
    // Shares are of all matching records, those without a status included.
    out.extend_from_slice(b",\"open_access\":[");
    for (at, (status, outputs)) in outputs.open_access.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{\"oa_status\":" } else { b"{\"oa_status\":" });
        render_value(status, snapshot, out)?;
        out.extend_from_slice(b",\"count\":");
        json::unsigned(out, *outputs);
        out.extend_from_slice(b",\"share\":");
        json::number(out, *outputs as f64 / count as f64);
        out.push(b'}');
    }
    out.extend_from_slice(b"],\"by_year\":[");
    for (at, (year, outputs)) in outputs.by_year.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{\"year\":" } else { b"{\"year\":" });
        match year {
            Some(year) => json::signed(out, *year),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"count\":");
        json::unsigned(out, *outputs);
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

fn describe(route: &RoutePath, document: &mut Document<'_>) -> Result<Value, ReadError> {
    let facts = route.facts();
    let keys = keys_of(facts.entity);
    let sample = document.sample(facts.entity)?;
    let name = format!("{}Statistics", schema_name(facts.entity));
    let schema = document.schemas.define(&name, |schemas| describe_statistics(facts, schemas));
    let operation = Operation {
        tag: facts.plural,
        description: "Exact, over all matching records. Records without a value have no part in the \
                      statistics of a key.",
        parameters: parameters::STATISTICS.describe(keys, &sample),
        headers: CACHE_HEADERS.to_vec(),
        statuses: LIST_STATUSES.to_vec(),
        ..Operation::new(
            format!("sum_up_{}", facts.plural),
            format!("Statistics of the matching {}", facts.plural),
            json_content(schema),
        )
    };
    Ok(operation.into_path_item())
}

fn describe_statistics(facts: &Facts, schemas: &mut Schemas) -> Value {
    let of_key = schemas.define("KeyStatistics", |_| describe_key());
    let keys = keys_of(facts.entity);
    let of: Map<String, Value> =
        StatisticsKeys::all_names(keys).map(|name| (name.into(), of_key.clone())).collect();
    let of = json!({
        "description": "The statistics of each key of `of`.",
        "type": "object",
        "properties": of,
        "additionalProperties": false,
    });
    let mut members = Map::new();
    members.insert("count".into(), described("Exact number of matching records.", count()));
    members.insert("of".into(), of);
    if keys.has_citations() {
        for index in &INDEXES {
            members.insert(index.name.into(), described(index.doc, count()));
        }
        let status = object_of(
            "The records of one status of open access.",
            [
                ("oa_status", "The status.", or_null(text())),
                ("count", "Number of records.", count()),
                (
                    "share",
                    "Their share of all matching records.",
                    json!({ "type": "number", "minimum": 0, "maximum": 1 }),
                ),
            ],
        );
        let year = object_of(
            "The records of one year.",
            [
                ("year", "The year.", or_null(json!({ "type": "integer" }))),
                ("count", "Number of records.", count()),
            ],
        );
        members.insert("open_access".into(), json!({ "type": "array", "items": status }));
        members.insert("by_year".into(), json!({ "type": "array", "items": year }));
    }
    object("Statistics of the matching records.", members)
}

fn describe_key() -> Value {
    let number = || json!({ "type": ["number", "null"] });
    let counts = [
        ("count", "Records with a value.", count()),
        ("null", "Records without a value, which have no part in the rest.", count()),
    ];
    let measures = MEASURES.iter().map(|Measure { name, doc, numbers, .. }| {
        let value = match numbers {
            1 => number(),
            some => {
                json!({ "type": "array", "items": (number()), "minItems": some, "maxItems": some })
            }
        };
        (*name, *doc, value)
    });
    let members = counts.into_iter().chain(measures);
    let members = members.map(|(name, doc, value)| (name.into(), described(doc, value)));
    let doc = "Statistics of the values of one key; null where no record has a value.";
    object(doc, members.collect())
}
