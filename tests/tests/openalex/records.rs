//! Records read back have the members, types and values of the lines they were compiled from, apart from what
//! API.md lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

/// The lists with lines of OpenAlex.
const LISTS: [&str; 8] =
    ["works", "authors", "sources", "institutions", "publishers", "funders", "topics", "subfields"];
/// The years whose lines have today's members.
const NEWEST: [&str; 4] = ["2024", "2025", "2026", "walden"];
/// Members of records that others show, as the record itself has them.
const OF_OTHERS: [&str; 15] = [
    ".issn",
    ".issn_l",
    ".is_in_doaj",
    ".host_organization",
    ".host_organization_name",
    ".host_organization_lineage",
    ".display_name",
    ".type",
    ".ror",
    ".country_code",
    ".lineage",
    ".orcid",
    ".relationship",
    ".is_oa",
    ".is_core",
];

/// The newest line of each record. A record with two lines of the same time is left out, because either may
/// stand.
fn newest_lines(folder: &Path) -> BTreeMap<String, Value> {
    let mut newest: BTreeMap<String, (String, Option<Value>)> = BTreeMap::new();
    for folder in [folder.to_owned(), folder.join("older-versions")] {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            read_lines(&entry.unwrap().path(), &mut newest);
        }
    }
    newest.into_iter().filter_map(|(id, (_, line))| Some((id, line?))).collect()
}

fn read_lines(path: &Path, newest: &mut BTreeMap<String, (String, Option<Value>)>) {
    if path.extension().is_none_or(|end| end != "gz") {
        return;
    }
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let is_newest = NEWEST.iter().any(|year| name.contains(year));
    for line in BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let id = line["id"].as_str().unwrap().to_owned();
        let date = line["updated_date"].as_str().unwrap_or_default().to_owned();
        let known = newest.get(&id).map_or("", |(known, _)| known);
        if date.as_str() < known {
            continue;
        }
        // Pages of the API cut long lists of authors; dumps never do.
        let is_whole = line["is_authors_truncated"] != true;
        let is_compared = is_newest && is_whole && date.as_str() > known;
        newest.insert(id, (date, is_compared.then_some(line)));
    }
}

/// The members that API.md says are lost, or differ, by list.
fn listed() -> BTreeSet<(String, String)> {
    let guide = fs::read_to_string(pinakes_tests::root().join("server/API.md")).unwrap();
    let (_, rest) = guide.split_once("### What OpenAlex has and a mirror lacks").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap_or((rest, ""));
    let mut listed = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for list in cells[1].split(", ") {
            for member in cells[2].split('`').skip(1).step_by(2) {
                listed.insert((list.to_owned(), member.to_owned()));
            }
        }
    }
    assert!(listed.len() > 20, "{listed:?}");
    listed
}

fn is_listed(listed: &BTreeSet<(String, String)>, list: &str, path: &str) -> bool {
    [list, "all"].into_iter().any(|list| {
        listed.iter().any(|(of, member)| {
            of == list && (path == member || path.ends_with(&format!(".{member}")))
        })
    })
}

/// The differences of a record from its line, by path.
struct Comparison<'a> {
    list: &'a str,
    listed: &'a BTreeSet<(String, String)>,
    found: BTreeMap<String, (usize, String)>,
    compared: usize,
}

impl Comparison<'_> {
    fn compare(&mut self, path: &str, line: &Value, record: Option<&Value>) {
        if is_listed(self.listed, self.list, path) {
            return;
        }
        self.compared += 1;
        match (line, record) {
            (Value::Object(line), Some(Value::Object(record)))
                if path != "abstract_inverted_index" =>
            {
                for (name, value) in line {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.compare(&path, value, record.get(name));
                }
            }
            (Value::Array(lines), Some(Value::Array(records)))
                if lines.iter().any(Value::is_object) =>
            {
                // Locations have another order, with the primary first.
                for (at, line) in lines.iter().enumerate() {
                    let record = match path {
                        "authorships" => records.get(at),
                        _ => records.iter().find(|record| key(record) == key(line)),
                    };
                    self.compare(&format!("{path}[]"), line, record);
                }
            }
            (line, record) => {
                let record = record.unwrap_or(&Value::Null);
                if !is_alike(path, line, record) {
                    let example = format!("line {line:.200} record {record:.200}");
                    let found = self.found.entry(path.to_owned()).or_insert((0, example));
                    found.0 += 1;
                }
            }
        }
    }
}

/// The members that tell the objects of a list apart.
fn key(value: &Value) -> [&Value; 7] {
    let id = match &value["institution"] {
        Value::Null => &value["id"],
        institution => &institution["id"],
    };
    let names = ["year", "role", "relationship", "landing_page_url", "version", "currency"];
    let [year, role, relationship, page, version, currency] = names.map(|name| &value[name]);
    [id, year, role, relationship, page, version, currency]
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(values) => values.iter().all(is_empty),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn is_alike(path: &str, line: &Value, record: &Value) -> bool {
    let is_nested = path.contains('.');
    if line == record || (is_empty(line) && is_empty(record)) {
        return true;
    }
    if is_nested && OF_OTHERS.iter().any(|end| path.ends_with(end)) {
        return true;
    }
    match (line, record) {
        // Some lines say in `primary_location` what they leave open in `locations`.
        (Value::Null, Value::Bool(_)) => path == "locations[].is_published",
        (Value::Number(line), Value::Number(record)) => line.as_f64() == record.as_f64(),
        (Value::String(line), Value::String(record)) if path.ends_with("_date") => {
            record.starts_with(line)
        }
        (Value::String(_), Value::String(record)) if path.ends_with("_api_url") => {
            record.contains("?filter=")
        }
        (Value::Array(lines), Value::Array(records)) => {
            let set = |values: &[Value]| -> BTreeSet<String> {
                values.iter().filter(|value| !is_empty(value)).map(Value::to_string).collect()
            };
            set(lines) == set(records)
        }
        (Value::Object(_), Value::Object(_)) => words(line) == words(record),
        _ => false,
    }
}

/// The words of an abstract in their order.
fn words(index: &Value) -> Vec<&str> {
    let mut words: Vec<(u64, &str)> = Vec::new();
    for (word, positions) in index.as_object().unwrap() {
        let positions = positions.as_array().unwrap().iter();
        words.extend(positions.map(|at| (at.as_u64().unwrap(), word.as_str())));
    }
    words.sort_unstable();
    words.into_iter().flat_map(|(_, word)| word.split_whitespace()).collect()
}

#[track_caller]
fn compare(list: &str, folder: &Path, listed: &BTreeSet<(String, String)>, server: &Server) {
    let mut comparison = Comparison { list, listed, found: BTreeMap::new(), compared: 0 };
    let lines = newest_lines(folder);
    let mut connection = server.connect();
    for (id, line) in &lines {
        let reply = connection.get(&format!("/openalex/{list}/{id}"));
        assert_eq!(reply.status, 200, "{id}: {}", reply.text());
        comparison.compare("", line, Some(&reply.json()));
    }
    let Comparison { found, compared, .. } = comparison;
    println!("{list}: {} records, {compared} values compared", lines.len());
    assert!(found.is_empty(), "{list}: {found:#?}");
}

#[test]
fn records_have_the_values_of_their_lines() {
    let test = "records_have_the_values_of_their_lines";
    let Some(large) = pinakes_tests::real_data("large/openalex", test) else { return };
    let Some(taxonomy) = pinakes_tests::real_data("sample/taxonomy", test) else { return };
    let snapshots = Snapshots::from_inputs(&[large.clone(), taxonomy]);
    let server = Server::serve(&snapshots);
    let listed = listed();
    for list in LISTS {
        compare(list, &large.join(list), &listed, &server);
    }
    server.end(&[]);
}

#[test]
fn a_selected_member_is_that_of_the_whole_record() {
    let (_snapshots, server) = crate::openalex::serve();
    let lists = [
        "works",
        "authors",
        "sources",
        "institutions",
        "publishers",
        "funders",
        "topics",
        "subfields",
        "fields",
        "domains",
    ];
    for list in lists {
        let target = format!("/openalex/{list}?per-page=200");
        let whole = server.get(&target).json()["results"].as_array().unwrap().clone();
        let names: BTreeSet<&String> =
            whole.iter().flat_map(|record| record.as_object().unwrap().keys()).collect();
        assert!(names.len() > 5, "{list}: {names:?}");
        for name in names {
            let selected = server.get(&format!("{target}&select={name}")).json();
            let expected: Vec<Value> = whole
                .iter()
                .map(|record| {
                    record.get(name).map_or_else(|| json!({}), |value| json!({ name: value }))
                })
                .collect();
            assert_eq!(selected["results"], Value::from(expected), "{list} {name}");
        }
    }
}
