//! Tests of sorts: the pages of every order hold each record once, ordered by its values.

use std::{cmp::Ordering, collections::BTreeSet};

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::schema::keys::{Kind, keys_of};
use pinakes_format::snapshot::{LookupResult, RecordLookup, Snapshot};
use serde_json::{Value, json};

use pinakes_tests::client::Connection;
use pinakes_tests::expect::{AcceptedQuery, check_all_accepted};
use pinakes_tests::server::{Server, Snapshots};

const TAKEN: &[AcceptedQuery<'_>] = &[
    (
        "/outputs?sort=cited_by_count:desc",
        234,
        &["HX_W2900000160", "HX_W2900000161", "HX_W2900000162"],
    ),
    ("/outputs?sort=cited_by_count", 234, &["HX_W2900000045", "HX_W2900000068", "HX_W2900000076"]),
    (
        "/outputs?sort=cited_by_count:asc",
        234,
        &["HX_W2900000045", "HX_W2900000068", "HX_W2900000076"],
    ),
    (
        "/outputs?sort=cited_by_count:desc,id:asc",
        234,
        &["HX_W2900000160", "HX_W2900000161", "HX_W2900000162"],
    ),
    (
        "/outputs?sort=cited_by_count:desc,id:desc",
        234,
        &["HX_W2900000160", "HX_W2900000161", "HX_W2900000162"],
    ),
    ("/outputs?sort=id:desc", 234, &["HX_W2900000302", "HX_W2900000301", "HX_W2900000300"]),
    ("/outputs?sort=id,year,name", 234, &["HX_W2900000001", "HX_W2900000002", "HX_W2900000003"]),
    (
        "/outputs?sort=+year+,+name%20:+asc",
        234,
        &["HX_W2900000223", "HX_W2900000225", "HX_W2900000230"],
    ),
    ("/outputs?sort=year%2Cname", 234, &["HX_W2900000223", "HX_W2900000225", "HX_W2900000230"]),
    ("/outputs?sort=year%3Adesc", 234, &["HX_W2900000212", "HX_W2900000163", "HX_W2900000134"]),
    ("/outputs?s%6Frt=year:desc", 234, &["HX_W2900000212", "HX_W2900000163", "HX_W2900000134"]),
    ("/outputs?sort=name", 234, &["HX_W2900000301", "HX_W2900000155", "HX_W2900000204"]),
    ("/outputs?sort=name:desc", 234, &["HX_W2900000227", "HX_W2900000226", "HX_W2900000225"]),
    ("/outputs?sort=title:asc", 234, &["HX_W2900000301", "HX_W2900000155", "HX_W2900000204"]),
    ("/outputs?sort=date:desc", 234, &["HX_W2900000212", "HX_W2900000163", "HX_W2900000134"]),
    ("/outputs?sort=fwci:desc", 234, &["HX_W2900000080", "HX_W2900000302", "HX_W2900000136"]),
    (
        "/outputs?sort=year:desc&filter=is_oa:true",
        37,
        &["HX_W2900000212", "HX_W2900000163", "HX_W2900000134"],
    ),
    (
        "/outputs?sort=year:desc&filter=is_oa:true&page=4&per_page=10",
        37,
        &["HX_W2900000003", "HX_W2900000004", "HX_W2900000009"],
    ),
    ("/outputs?sort=year:desc&page=1000", 234, &[]),
    ("/outputs?sort=fwci&page=2147483647&per_page=100", 234, &[]),
    ("/authors?sort=name", 147, &["HX_A5900000026", "HX_A5900000047", "HX_A5900000101"]),
    (
        "/authors?sort=cited_by_count:desc,outputs_count",
        147,
        &["HX_A5900000099", "HX_A5900000003", "HX_A5900000058"],
    ),
    ("/fields?sort=name", 12, &["12", "13", "16"]),
    ("/fields?sort=id:desc", 12, &["31", "28", "27"]),
    ("/subfields?sort=outputs_count", 23, &["2712", "3104", "1203"]),
    ("/domains?sort=name:desc", 4, &["2", "3", "1"]),
    (
        "/institutions?sort=geo.latitude:desc",
        55,
        &["HX_I1335113835", "HX_I98677209", "HX_I19880235"],
    ),
    ("/sources?sort=type,name", 46, &["HX_S4290000016", "HX_S4306463937", "HX_S4290000002"]),
];

/// The value of a sort key in an item of a list.
fn value<'v>(item: &'v Value, key: &str) -> &'v Value {
    key.split('.').fold(item, |value, member| &value[member])
}

fn number(item: &Value) -> u64 {
    let id = item["id"].to_string();
    id.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

/// Compares two values of a sort key without text: numbers by size, dates and timestamps as written.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.as_str().unwrap().cmp(b.as_str().unwrap()),
    }
}

/// Adds the number of references to a record, where the key `references.count` looks for it.
fn add_references(snapshot: &Snapshot, entity: Entity, item: &mut Value) {
    let LookupResult::Row(row) = snapshot.find(entity, number(item)).unwrap() else {
        panic!("a listed record has a row")
    };
    let ids = RecordLookup::references(snapshot, entity, row).unwrap();
    item["references"] = json!({ "count": ids.len() });
}

/// Whether two adjacent records are in order: records without a value last, ties by id.
fn is_ordered(pair: [&Value; 2], key: &str, kind: Kind, is_descending: bool) -> bool {
    let [a, b] = pair.map(|item| value(item, key));
    let by_value = match (a.is_null(), b.is_null()) {
        (false, false) if key == "id" => number(pair[0]).cmp(&number(pair[1])),
        // Other tests check the order of texts.
        (false, false) if matches!(kind, Kind::Text | Kind::Code) && a != b => return true,
        (false, false) => compare(a, b),
        (true, true) => return number(pair[0]) < number(pair[1]),
        (a_is_null, _) => return !a_is_null,
    };
    let by_value = if is_descending { by_value.reverse() } else { by_value };
    by_value.then_with(|| number(pair[0]).cmp(&number(pair[1]))) == Ordering::Less
}

/// All items of a list in an order, read in pages of ten.
fn items(connection: &mut Connection, route: &str, query: &str, count: u32) -> Vec<Value> {
    let mut items = Vec::new();
    for page in 1..=count.div_ceil(10) + 1 {
        let target = format!("/{route}?{query}&per_page=10&page={page}");
        let response = connection.get(&target);
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        let mut body = response.json();
        assert_eq!(body["meta"]["count"], count, "{target}");
        let Value::Array(results) = body["results"].take() else { panic!("{target}: no list") };
        assert_eq!(
            results.len(),
            10.min(count.saturating_sub((page - 1) * 10) as usize),
            "{target}"
        );
        items.extend(results);
    }
    items
}

#[test]
fn every_sort_of_every_list_holds_each_record_once_in_order() {
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.open();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut orders = 0;
    for facts in &CATALOG {
        let count = snapshot.count(facts.entity);
        for name in keys_of(facts.entity).sorts() {
            let (key, order) = keys_of(facts.entity).sort(name).unwrap();
            let counts_references = keys_of(facts.entity).orders[order].counts_references;
            for direction in ["asc", "desc"] {
                let query = format!("sort={name}:{direction}");
                let mut items = items(&mut connection, facts.route, &query, count);
                if counts_references {
                    items.iter_mut().for_each(|item| add_references(&snapshot, facts.entity, item));
                }
                let once: BTreeSet<u64> = items.iter().map(number).collect();
                assert_eq!(once.len(), count as usize, "/{}?{query}", facts.route);
                for pair in items.windows(2) {
                    let pair = [&pair[0], &pair[1]];
                    assert!(
                        is_ordered(pair, name, key.kind, direction == "desc"),
                        "/{}?{query}: {} before {}",
                        facts.route,
                        pair[0]["id"],
                        pair[1]["id"]
                    );
                }
                orders += 1;
            }
        }
    }
    assert_eq!(keys_of(Entity::InstitutionType).sorts().count(), 0);
    assert_eq!(orders, 208, "the number of orders changed");
    server.end(&[]);
}

#[test]
fn further_sort_keys_break_ties_of_the_first() {
    let snapshots = Snapshots::from_sample();
    let count = snapshots.open().count(Entity::Output);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let query = "sort=type:desc,year,cited_by_count:desc";
    let items = items(&mut connection, "outputs", query, count);
    let once: BTreeSet<u64> = items.iter().map(number).collect();
    assert_eq!(once.len(), count as usize);
    for pair in items.windows(2) {
        let pair = [&pair[0], &pair[1]];
        let is_tie = |key: &str| value(pair[0], key) == value(pair[1], key);
        let (key, is_descending) = match (is_tie("type"), is_tie("year")) {
            (false, _) => ("type", true),
            (true, false) => ("year", false),
            (true, true) => ("cited_by_count", true),
        };
        let is_ordered = is_ordered(pair, key, Kind::Integer, is_descending);
        assert!(is_ordered, "{} before {} by {key}", pair[0]["id"], pair[1]["id"]);
    }
    server.end(&[]);
}

#[test]
fn valid_sorts_have_their_first_records() {
    check_all_accepted(TAKEN);
}
