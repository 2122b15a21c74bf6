//! `select` shows the named members in the order of the record, on pages of every list.

use std::collections::BTreeSet;

use pinakes_oracle::select;
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::{SeededRng, real_sample, sample};
use serde_json::Value;

use crate::{ROUTES, all_records};

/// The paths of all members of records, of objects and lists too.
fn member_paths(records: &[Value]) -> Vec<String> {
    fn add(value: &Value, prefix: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| add(item, prefix, found)),
            Value::Object(members) if prefix != "apc_usd_by_year." => {
                for (name, value) in members {
                    found.insert(format!("{prefix}{name}"));
                    add(value, &format!("{prefix}{name}."), found);
                }
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    records.iter().for_each(|record| add(record, "", &mut found));
    found.into_iter().collect()
}

fn compare(inputs: &[std::path::PathBuf], selections: usize, seed: u64) {
    let snapshots = Snapshots::from_inputs(inputs);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut rng = SeededRng(seed);
    for route in ROUTES {
        let whole = all_records(&mut connection, &format!("/{route}"));
        let paths = member_paths(&whole);
        let pages = whole.len().div_ceil(100).max(1);
        for _ in 0..selections {
            let count = 1 + rng.below(6);
            let chosen: BTreeSet<&str> =
                (0..count).map(|_| paths[rng.below(paths.len())].as_str()).collect();
            let mut chosen: Vec<&str> = chosen.into_iter().collect();
            let turns = rng.below(chosen.len());
            chosen.rotate_left(turns);
            let page = 1 + rng.below(pages);
            let names = chosen.join(if rng.below(5) == 0 { "+,++" } else { "," });
            let target = format!("/{route}?select={names}&per_page=100&page={page}");
            let response = connection.get(&target);
            assert_eq!(response.status, 200, "{target}: {}", response.text());
            let body = response.json();
            assert_eq!(body["meta"]["count"], whole.len(), "{target}");
            let rows = whole.iter().skip((page - 1) * 100).take(100);
            let expected: Value = rows.map(|record| select(record, &chosen)).collect();
            // As texts, which have an order of members.
            assert_eq!(body["results"].to_string(), expected.to_string(), "{target}");
        }
    }
    server.end(&[]);
}

#[test]
fn selected_members_of_the_sample_equal_the_oracle() {
    compare(&[sample()], 60, 1);
}

#[test]
fn selected_members_of_real_records_equal_the_oracle() {
    let Some(inputs) = real_sample("selected_members_of_real_records_equal_the_oracle") else {
        return;
    };
    compare(&inputs, 40, 2);
}

#[test]
fn a_selection_of_every_member_is_the_whole_record() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for route in ROUTES {
        let whole = connection.get(&format!("/{route}?per_page=100"));
        let first = whole.json()["results"][0].clone();
        let names: Vec<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
        let target = format!("/{route}?per_page=100&select={}", names.join(","));
        assert_eq!(connection.get(&target).text(), whole.text(), "{target}");
    }
    server.end(&[]);
}

#[test]
fn a_selection_has_exact_bytes() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut check = |target: &str, expected: &str| {
        let response = connection.get(target);
        let (_, results) = response.text().split_once("\"results\":").unwrap();
        assert_eq!(results, format!("{expected}}}"), "{target}");
    };
    check(
        "/outputs?filter=id:HX_W2900000096&select=year,doi,id",
        r#"[{"id":"HX_W2900000096","doi":"https://doi.org/10.1038/171737a0","year":1953}]"#,
    );
    check("/domains?filter=id:3&select=name", r#"[{"name":"Physical Sciences"}]"#);
    check("/domains?filter=id:0&select=name", "[]");
    check(
        "/outputs?filter=id:HX_W2900000096&select=authors.name,language.code",
        r#"[{"language":{"code":"en"},"authors":[{"name":"James D. Watson"},{"name":"Francis Crick"}]}]"#,
    );
    server.end(&[]);
}
