//! Engines read the Parquet files of every entity, and agree with the REST interface row for row.
//!
//! `.ci/run` installs the engines into `target/tables`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use pinakes_format::entity::Entity;
use pinakes_format::record::members::{Member, Members, View};
use pinakes_tests::client::Connection;
use pinakes_tests::server::Server;
use pinakes_tests::{JAVA_OPTIONS, skip};
use serde_json::{Map, Value};

use crate::export::Setup;

/// Finds a Python with an engine: in `target/tables`, or the system's.
fn python(engine: &str) -> Option<PathBuf> {
    let own = pinakes_tests::root().join("target/tables/bin/python3");
    let import = match engine {
        "pandas" => "import pandas, pyarrow",
        "spark" => "import pyspark, subprocess; subprocess.run(['java', '-version'], check=True)",
        other => &format!("import {other}"),
    };
    [own, PathBuf::from("python3")].into_iter().find(|python| {
        let found = Command::new(python).args(["-c", import]).output();
        found.is_ok_and(|output| output.status.success())
    })
}

/// Reads tables with an engine, in one run: Spark takes seconds to start. Returns the rows of each.
fn read(python: &Path, engine: &str, tables: &[PathBuf]) -> Vec<Vec<Value>> {
    let script = pinakes_tests::root().join("tests/tests/export/read_table.py");
    let mut command = Command::new(python);
    command.arg(script).arg(engine).args(tables).envs([JAVA_OPTIONS]);
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{engine}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Gets every record of an entity's list, in the list's order, as single records show it.
fn records(connection: &mut Connection, entity: Entity) -> Vec<Value> {
    let facts = entity.facts();
    let mut records = Vec::new();
    for page in 1.. {
        let list = connection.get(&format!("/{}?per_page=100&page={page}", facts.route)).json();
        let items = list["results"].as_array().unwrap();
        if items.is_empty() {
            break;
        }
        records.extend(items.iter().map(|item| match facts.has_single {
            true => {
                let id = &item["id"];
                let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
                connection.get(&format!("/{}/{id}", facts.route)).json()
            }
            false => item.clone(),
        }));
    }
    records
}

/// Gives the values that JSON and tables spell differently one spelling: numbers are doubles, ids are
/// texts, times have neither zeros at the end nor a zone, and a text with JSON is JSON.
fn normalised(name: &str, value: Value) -> Value {
    match value {
        Value::Number(number) if name == "id" => number.to_string().into(),
        Value::Number(number) => number.as_f64().into(),
        Value::String(text) if name.ends_with("_date") && text.contains('T') => {
            let text = text.trim_end_matches('Z');
            let has_fraction = text.contains('.');
            let text = if has_fraction { text.trim_end_matches('0') } else { text };
            text.trim_end_matches('.').into()
        }
        Value::String(text) if name == "international" => serde_json::from_str(&text).unwrap(),
        Value::Array(items) => items.into_iter().map(|item| normalised(name, item)).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| {
                let value = normalised(&name, value);
                (name, value)
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Removes the columns of members that no reply shows.
fn remove_unshown(value: &mut Value, shown: &[Member]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| remove_unshown(item, shown)),
        Value::Object(members) if !shown.is_empty() => {
            members.retain(|name, _| shown.iter().any(|member| member.name == name));
            for member in shown {
                if let Some(value) = members.get_mut(member.name) {
                    remove_unshown(value, &member.members);
                }
            }
        }
        _ => {}
    }
}

fn check(test: &str, engine: &str) {
    let Some(python) = python(engine) else {
        skip(test, format!("no python3 has {engine}; .ci/run installs it into target/tables"));
        return;
    };
    let setup = Setup::from_sample();
    let tables = setup.export("tables", "--format parquet");
    let server = Server::serve_one(&setup.snapshot);
    let files: Vec<PathBuf> =
        Entity::all().map(|entity| tables.join(format!("{entity}.parquet"))).collect();
    let read = read(&python, engine, &files);
    assert_eq!(read.len(), files.len(), "{engine}");
    let mut connection = server.connect();
    for (entity, mut rows) in Entity::all().zip(read) {
        let expected = records(&mut connection, entity);
        let shown = Members::all(entity, View::Single);
        rows.iter_mut().for_each(|row| remove_unshown(row, shown.members()));
        assert_eq!(rows.len(), expected.len(), "{engine} {entity}");
        assert!(!rows.is_empty(), "{entity}");
        for (row, record) in rows.into_iter().zip(expected) {
            assert_eq!(normalised("", row), normalised("", record), "{engine} {entity}");
        }
    }
    server.end(&[]);
}

#[test]
fn duckdb_agrees_with_the_interface() {
    check("duckdb_agrees_with_the_interface", "duckdb");
}

#[test]
fn polars_agrees_with_the_interface() {
    check("polars_agrees_with_the_interface", "polars");
}

#[test]
fn pandas_agrees_with_the_interface() {
    check("pandas_agrees_with_the_interface", "pandas");
}

#[test]
fn spark_agrees_with_the_interface() {
    check("spark_agrees_with_the_interface", "spark");
}
