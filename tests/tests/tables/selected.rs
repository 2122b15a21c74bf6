//! `select` shows the named members in the order of the record, on pages of every list.

use std::collections::BTreeSet;

use pinakes_oracle::select;
use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::{SeededRng, real_sample, sample};
use serde_json::Value;

use crate::tables::{ROUTES, all_records};

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

/// Members of single records come over streams, in the shape of single records, and so do references.
#[test]
fn streams_show_members_of_single_records_and_references() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let ids = |connection: &mut Connection, route: &str| -> Vec<String> {
        let text = connection.get(&format!("/{route}?select=id&format=csv")).text().to_owned();
        text.lines().skip(1).map(str::to_owned).collect()
    };
    for (route, select) in [
        ("outputs", "abstract,id,counts_by_year,ids"),
        ("authors", "id,orcid,affiliations"),
        ("institutions", "summary_stats,geo,id"),
    ] {
        let target = format!("/{route}?select={select}&format=ndjson");
        let stream = connection.get(&target);
        assert_eq!(stream.status, 200, "{target}: {}", stream.text());
        let lines: Vec<Value> =
            stream.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let all = ids(&mut connection, route);
        assert_eq!(lines.len(), all.len(), "{target}");
        for (line, id) in lines.iter().zip(&all).step_by(7) {
            let record = connection.get(&format!("/{route}/{id}")).json();
            for (name, value) in line.as_object().unwrap() {
                assert_eq!(&record[name], value, "{id} {name}");
            }
            assert_eq!(line.as_object().unwrap().len(), select.split(',').count(), "{id}");
        }
    }
    let edges = connection.get("/outputs?select=id,references&format=csv").text().to_owned();
    assert!(edges.starts_with("id,references\r\n"), "{edges}");
    let mut found = 0;
    for line in edges.lines().skip(1) {
        let (id, references) = line.split_once(',').unwrap();
        let references: Vec<&str> = references.split("; ").filter(|id| !id.is_empty()).collect();
        let filter = format!("/outputs?filter=id:{id},references.count:{}", references.len());
        assert_eq!(connection.get(&filter).json()["meta"]["count"], 1, "{line}");
        let listed = connection.get(&format!("/outputs/{id}/references?select=id&per_page=100"));
        for record in listed.json()["results"].as_array().unwrap() {
            assert!(references.contains(&record["id"].as_str().unwrap()), "{line}");
            found += 1;
        }
    }
    assert!(found > 50, "only {found} references were compared");
    let alone = connection.get("/outputs?select=references&format=ndjson").text().to_owned();
    assert!(alone.starts_with("{\"references\":["), "{alone}");
    for refused in
        ["select=abstract", "select=references", "select=references,references&format=csv"]
    {
        assert_eq!(connection.get(&format!("/outputs?{refused}")).status, 400, "{refused}");
    }
    assert_eq!(connection.get("/authors?select=references&format=csv").status, 400);
    server.end(&[]);
}
