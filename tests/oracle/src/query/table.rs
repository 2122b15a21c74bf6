//! Selected members of records, and records as rows of a table.
//!
//! # Where the rules are silent
//!
//! - **Select.** A path that ends at an object, or at a list of objects, stands for all members below it. A
//!   null stays null, and a list keeps its length.
//! - **Columns** are the paths of values that are no object. The items of a cell are all values at the end of
//!   its path. A null, also of an object on the path, is an empty item; an empty list has no items.
//! - **Objects with years or other data as keys** are one value: an item `key: value` for each key.
//! - **Samples.** Which records are drawn is not predicted.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The record with only the members at these paths.
pub fn select(record: &Value, paths: &[&str]) -> Value {
    match record {
        Value::Array(items) => items.iter().map(|item| select(item, paths)).collect(),
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, value) in members {
                let below: Vec<&str> = paths
                    .iter()
                    .filter_map(|path| match path.split_once('.') {
                        Some((first, rest)) => (first == name).then_some(rest),
                        None => (path == name).then_some(""),
                    })
                    .collect();
                if below.contains(&"") {
                    kept.insert(name.clone(), value.clone());
                } else if !below.is_empty() {
                    kept.insert(name.clone(), select(value, &below));
                }
            }
            Value::Object(kept)
        }
        other => other.clone(),
    }
}

/// The paths of all values of records that are no object, in no order. An object of `free` paths is one value.
pub fn value_paths(records: &[Value], free: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    records.iter().for_each(|record| add_paths(record, "", free, &mut found));
    found
}

fn add_paths(value: &Value, path: &str, free: &[&str], found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_paths(item, path, free, found)),
        Value::Object(members) if !free.contains(&path) => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add_paths(value, &path, free, found);
            }
        }
        // A null may stand where an object does in another record.
        Value::Null => {}
        _ => _ = found.insert(path.to_owned()),
    }
}

/// The cells of records by the paths of their columns.
#[derive(Debug)]
pub struct Cells<'c>(pub &'c [&'c str]);

impl Cells<'_> {
    /// The table of records, as RFC 4180 writes it.
    pub fn table(&self, records: &[Value]) -> String {
        let mut table = line(self.0.iter().map(|column| String::from(*column)));
        for record in records {
            table += &line(self.0.iter().map(|column| {
                let mut items = Vec::new();
                let path: Vec<&str> = column.split('.').collect();
                gather(record, &path, &mut items);
                items.join("; ")
            }));
        }
        table
    }
}

fn line(cells: impl ExactSizeIterator<Item = String>) -> String {
    let is_alone = cells.len() == 1;
    let cells: Vec<String> = cells
        .map(|cell| match cell.contains([',', '"', '\r', '\n']) || is_alone && cell.is_empty() {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell,
        })
        .collect();
    cells.join(",") + "\r\n"
}

fn gather(value: &Value, path: &[&str], items: &mut Vec<String>) {
    match (value, path) {
        (Value::Null, _) => items.push(String::new()),
        (Value::Array(values), _) => values.iter().for_each(|value| gather(value, path, items)),
        (Value::Object(members), [name, rest @ ..]) => {
            gather(members.get(*name).unwrap_or(&Value::Null), rest, items);
        }
        (Value::Object(members), []) => free("", members, items),
        (scalar, _) => items.push(text(scalar)),
    }
}

/// Adds an item for each key of an object whose keys are data.
fn free(prefix: &str, members: &Map<String, Value>, items: &mut Vec<String>) {
    for (key, value) in members {
        let key = format!("{prefix}{key}");
        match value {
            Value::Object(members) => free(&format!("{key}."), members, items),
            Value::Null => items.push(format!("{key}: ")),
            Value::Array(values) => {
                items.extend(values.iter().map(|value| format!("{key}: {}", text(value))));
            }
            scalar => items.push(format!("{key}: {}", text(scalar))),
        }
    }
}

fn text(scalar: &Value) -> String {
    scalar.as_str().map_or_else(|| scalar.to_string(), str::to_owned)
}
