//! Tests that every record of the sample has exactly the members of its schema.

use std::collections::BTreeSet;

use pinakes_format::entity::CATALOG;
use pinakes_format::record::legacy::LEGACY;
use serde_json::Value;

use crate::openapi::document::{document, resolved};
use pinakes_tests::server::{Server, Snapshots};

/// The first difference between a value and a schema; `None` if the value is valid.
///
/// Stricter than JSON Schema: an object has all declared members and no others, unless `required` lists
/// fewer members.
fn find_violation(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = resolved(document, schema);
    if let Some(choices) = schema["anyOf"].as_array() {
        let reasons: Option<Vec<String>> =
            choices.iter().map(|choice| find_violation(document, choice, value, at)).collect();
        return reasons.map(|reasons| reasons.join(" or "));
    }
    if !is_of_type(&schema["type"], value) {
        return Some(format!("{at} is {value}, expected {}", schema["type"]));
    }
    match value {
        Value::Object(members) => match schema["properties"].as_object() {
            Some(known) => {
                let (names, declared): (BTreeSet<&String>, BTreeSet<&String>) =
                    (members.keys().collect(), known.keys().collect());
                let required: BTreeSet<&str> = match schema["required"].as_array() {
                    Some(required) => required.iter().filter_map(Value::as_str).collect(),
                    None => declared.iter().map(|name| name.as_str()).collect(),
                };
                let is_absent = |name: &&str| !members.contains_key(*name);
                if !names.is_subset(&declared) || required.iter().any(is_absent) {
                    return Some(format!(
                        "{at} has {names:?}, expected {declared:?}, of which {required:?}"
                    ));
                }
                members.iter().find_map(|(name, value)| {
                    find_violation(document, &known[name], value, &format!("{at}.{name}"))
                })
            }
            None => {
                let of_all = &schema["additionalProperties"];
                let mut values = members.values().filter(|_| of_all.is_object());
                values.find_map(|value| find_violation(document, of_all, value, at))
            }
        },
        Value::Array(items) => {
            items.iter().find_map(|item| find_violation(document, &schema["items"], item, at))
        }
        _ => None,
    }
}

fn is_of_type(types: &Value, value: &Value) -> bool {
    let is_one = |name: &str| match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is not a type"),
    };
    match types {
        Value::String(name) => is_one(name),
        Value::Array(names) => names.iter().any(|name| is_one(name.as_str().unwrap())),
        _ => panic!("a schema of a record has a type"),
    }
}

/// The schema of the 200 reply of a path. Of the pages of a list it is the one with whole records.
fn answer<'d>(document: &'d Value, path: &str) -> &'d Value {
    let content = &document["paths"][path]["get"]["responses"]["200"]["content"];
    let schema = &content["application/json"]["schema"];
    match schema["anyOf"].as_array() {
        // Groups stand before it where the list has them, selected members after it.
        Some(pages) if content["text/csv"].is_object() => &pages[pages.len() - 2],
        _ => schema,
    }
}

#[test]
fn every_record_of_the_sample_has_the_members_of_its_schema() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let document = document(&mut connection);
    let current =
        CATALOG.iter().map(|facts| (facts.route, facts.has_single.then_some("{id}"), "/results"));
    let legacy = LEGACY.iter().map(|legacy| (legacy.route, Some("{older_id}"), ""));
    let mut records = 0;
    for (route, single, rows) in current.chain(legacy) {
        let list = format!("/{route}");
        for page in 1.. {
            let body = connection.get(&format!("{list}?per_page=100&page={page}")).json();
            let reason = find_violation(&document, answer(&document, &list), &body, &list);
            assert_eq!(reason, None);
            let rows = body.pointer(rows).unwrap().as_array().unwrap();
            if rows.is_empty() {
                break;
            }
            for (row, single) in rows.iter().filter_map(|row| Some((row, single?))) {
                let id = row["id"].as_str().map_or_else(|| row["id"].to_string(), str::to_owned);
                let record = connection.get(&format!("{list}/{id}")).json();
                let schema = answer(&document, &format!("{list}/{single}"));
                assert_eq!(find_violation(&document, schema, &record, &id), None);
                records += 1;
            }
        }
    }
    assert!(records > 600, "{records}");
    for path in ["/", "/health", "/ready", "/rate-limit", "/autocomplete?query=un"] {
        let body = connection.get(path).json();
        let schema = answer(&document, path.split('?').next().unwrap());
        assert_eq!(find_violation(&document, schema, &body, path), None);
    }
    server.end(&[]);
}
