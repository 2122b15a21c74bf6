//! Every property that OpenAlex filters, groups and sorts its lists by is answered, or refused with a reason.
//!
//! `properties.tsv` has the names and types of OpenAlex's own registry, and whether OpenAlex offers groups of a property.

use std::collections::BTreeMap;
use std::fs;

use pinakes_tests::client::Connection;
use serde_json::Value;

use crate::openalex::serve;

/// How many properties a list answers as filters, as groups, and as sorts by numbers and dates.
const ANSWERED: [(&str, [usize; 3]); 11] = [
    ("works", [155, 131, 21]),
    ("authors", [32, 27, 5]),
    ("awards", [34, 31, 4]),
    ("sources", [39, 27, 12]),
    ("institutions", [24, 21, 5]),
    ("topics", [9, 6, 2]),
    ("publishers", [17, 14, 6]),
    ("funders", [18, 15, 6]),
    ("domains", [7, 4, 2]),
    ("fields", [8, 5, 2]),
    ("subfields", [9, 6, 2]),
];

/// A property of a list.
struct Property<'t> {
    list: &'t str,
    name: &'t str,
    kind: &'t str,
    /// Whether OpenAlex groups by it.
    groups: bool,
}

fn properties() -> Vec<Property<'static>> {
    let rows = include_str!("properties.tsv").lines().skip(1);
    rows.map(|row| match row.split('\t').collect::<Vec<_>>()[..] {
        [list, name, kind, groups] => Property { list, name, kind, groups: groups == "yes" },
        _ => panic!("a row of four columns: {row}"),
    })
    .collect()
}

/// A value that a property of a type takes.
fn value(property: &Property<'_>) -> &'static str {
    match property.kind {
        _ if property.name.ends_with("_date") => "2020-01-01",
        "boolean" => "true",
        "number" if property.name.ends_with(".id") => "17",
        "number" => "1",
        _ if property.name == "best_open_version" => "published",
        // Strings are identifiers, codes and texts, each of which may be missing.
        _ => "null",
    }
}

/// Asks for a list. Tells whether it answers, and checks that a refusal names the property and says why.
#[track_caller]
fn is_answered(connection: &mut Connection, property: &Property<'_>, query: &str) -> bool {
    let target = format!("/openalex/{}?{query}", property.list);
    let reply = connection.get(&target);
    if reply.status == 200 {
        return true;
    }
    assert_eq!(reply.status, 400, "{target}: {}", reply.text());
    let message = reply.json()["message"].as_str().unwrap().to_owned();
    let reasons = ["here: ", "no groups are made by it", "no order sorts by it"];
    let has_reason = reasons.iter().any(|reason| message.contains(reason));
    assert!(message.contains(property.name) && has_reason, "{target}: {message}");
    false
}

#[test]
fn every_property_is_answered_or_refused_with_a_reason() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let tables: Value = connection.get("/openalex").json();
    let mut answered: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for property in properties() {
        let count = answered.entry(property.list).or_default();
        let name = property.name;
        let filter = format!("filter={name}:{}&select=id&per_page=1", value(&property));
        let is_filter = is_answered(&mut connection, &property, &filter);
        let refusals = &tables["lists"][property.list]["refused"];
        assert_eq!(is_filter, refusals[name].is_null(), "{} {name}", property.list);
        count[0] += usize::from(is_filter);
        if property.groups {
            let query = format!("group_by={name}&per_page=1");
            count[1] += usize::from(is_answered(&mut connection, &property, &query));
        }
        if ["number", "date", "datetime"].contains(&property.kind)
            && !name.starts_with("from_")
            && !name.starts_with("to_")
        {
            let query = format!("sort={name}:desc&select=id&per_page=1");
            count[2] += usize::from(is_answered(&mut connection, &property, &query));
        }
    }
    let expected: BTreeMap<&str, [usize; 3]> = ANSWERED.into_iter().collect();
    assert_eq!(answered, expected);
    server.end(&[]);
}

#[test]
fn the_guide_lists_the_properties_that_are_refused() {
    let (_snapshots, server) = serve();
    let tables: Value = server.connect().get("/openalex").json();
    let guide = fs::read_to_string(pinakes_tests::root().join("server/API.md")).unwrap();
    let (_, rest) = guide.split_once("### Properties that are refused").unwrap();
    let (table, _) = rest.split_once("\n### ").unwrap();
    let mut listed = BTreeMap::new();
    for row in table.lines().filter(|line| line.contains('`') && line.starts_with("| ")) {
        let cells: Vec<&str> = row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        for name in cells[1].split('`').skip(1).step_by(2) {
            listed.insert((cells[0].to_owned(), name.to_owned()), cells[2].to_owned());
        }
    }
    let mut refused = BTreeMap::new();
    for (list, table) in tables["lists"].as_object().unwrap() {
        for (name, reason) in table["refused"].as_object().unwrap() {
            refused.insert((list.clone(), name.clone()), reason.as_str().unwrap().to_owned());
        }
    }
    assert_eq!(listed, refused);
    server.end(&[]);
}

#[test]
fn values_read_as_openalex_writes_them() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let mut count = |list: &str, filter: &str| -> u64 {
        let reply = connection.get(&format!("/openalex/{list}?filter={filter}&per_page=1"));
        assert_eq!(reply.status, 200, "{filter}: {}", reply.text());
        reply.json()["meta"]["count"].as_u64().unwrap()
    };
    let mut same = |list: &str, filters: &[&str]| {
        let counts: Vec<u64> = filters.iter().map(|filter| count(list, filter)).collect();
        assert!(counts[0] > 0, "{filters:?}");
        assert!(counts.iter().all(|count| *count == counts[0]), "{filters:?}: {counts:?}");
    };
    same(
        "institutions",
        &[
            "continent:europe",
            "continent:Europe",
            "continent:Q46",
            "continent:https://openalex.org/continents/Q46",
        ],
    );
    same("institutions", &["continent:north_america", "continent:north-america", "continent:Q49"]);
    same(
        "works",
        &[
            "best_open_version:published",
            "best_oa_location.version:publishedVersion",
            "best_oa_location.version:https://openalex.org/publishedVersion",
        ],
    );
    same("works", &["best_open_version:any", "best_oa_location.is_oa:true"]);
    same(
        "works",
        &["keywords.id:geology", "keywords.id:keywords/geology", "keywords.display_name:Geology"],
    );
    server.end(&[]);
}

#[test]
fn fields_and_subfields_are_filtered_in_the_dialect() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let mut ids = |target: &str| -> Vec<String> {
        let reply = connection.get(target);
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
        let page = reply.json();
        let results = page["results"].as_array().unwrap().iter();
        results.map(|record| record["id"].as_str().unwrap().to_owned()).collect()
    };
    let fields = ids("/openalex/fields?select=id&per_page=200");
    let mut found = 0;
    for field in &fields {
        let own =
            ids(&format!("/openalex/subfields?filter=field.id:{field}&select=id&per_page=200"));
        for subfield in own.iter().take(2) {
            let number = subfield.rsplit('/').next().unwrap();
            let above = format!("/openalex/fields?filter=subfields.id:{number}&select=id");
            assert_eq!(ids(&above), std::slice::from_ref(field));
        }
        found += own.len();
    }
    let all = ids("/openalex/subfields?select=id&per_page=200").len();
    assert!(found > 0 && found >= all, "{found} of {all}");
    // The interface has no such filter.
    assert_eq!(server.connect().get("/fields?filter=id:17").status, 400);
    server.end(&[]);
}

#[test]
fn works_are_found_by_the_identifiers_of_the_works_they_cite() {
    let (_snapshots, server) = serve();
    let mut connection = server.connect();
    let listed = "/openalex/works?filter=has_doi:true,cited_by_count:>0&select=id,doi&per_page=200";
    let page = connection.get(listed).json();
    let mut found = 0;
    for work in page["results"].as_array().unwrap() {
        let (id, doi) = (work["id"].as_str().unwrap(), work["doi"].as_str().unwrap());
        let bare = doi.strip_prefix("https://doi.org/").unwrap();
        if bare.contains([',', '|', '+', '%', '#', '&', ';']) {
            continue;
        }
        for key in ["cites", "cited_by", "referenced_works"] {
            let mut count = |value: &str| {
                let target = format!("/openalex/works?filter={key}:{value}&select=id&per_page=1");
                let reply = connection.get(&target);
                assert_eq!(reply.status, 200, "{target}: {}", reply.text());
                reply.json()["meta"]["count"].as_u64().unwrap()
            };
            let expected = count(id);
            assert_eq!(count(&format!("doi:{bare}")), expected, "{key} {doi}");
            assert_eq!(count(doi), expected, "{key} {doi}");
            found += expected;
        }
    }
    assert!(found > 0);
    server.end(&[]);
}
