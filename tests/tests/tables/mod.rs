//! Selected members, random samples, and streams of whole lists, against the oracle and the pages of the server.

mod feeds;
mod limits;
mod refused;
mod samples;
mod selected;
mod strain;
mod streams;

use std::path::PathBuf;

use pinakes_tests::client::Connection;
use pinakes_tests::server::Snapshots;
use serde_json::Value;

/// All lists of the interface.
pub const ROUTES: [&str; 11] = [
    "outputs",
    "authors",
    "sources",
    "institutions",
    "publishers",
    "funders",
    "topics",
    "domains",
    "fields",
    "subfields",
    "references/institution-types",
];

/// Members that are objects whose keys are data.
pub const FREE: [&str; 1] = ["apc_usd_by_year"];

/// Reads all pages of a list.
#[track_caller]
pub fn all_records(connection: &mut Connection, target: &str) -> Vec<Value> {
    let mut records = Vec::new();
    for page in 1.. {
        let and = if target.contains('?') { '&' } else { '?' };
        let response = connection.get(&format!("{target}{and}per_page=100&page={page}"));
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        let body = response.json();
        let results = body["results"].as_array().unwrap();
        if results.is_empty() {
            assert_eq!(body["meta"]["count"], records.len(), "{target}");
            return records;
        }
        records.extend(results.iter().cloned());
    }
    records
}

/// Publishes a snapshot of a generated dump with this many works.
pub fn generated(works: u64) -> Snapshots {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(works, 5).with_part_records(1_000);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    let inputs: [PathBuf; 1] = [dump.path().to_path_buf()];
    Snapshots::from_inputs(&inputs)
}
