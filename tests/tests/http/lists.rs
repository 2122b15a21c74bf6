//! Pages of lists: accepted and refused parameters, and complete traversals.

use std::cmp::Reverse;

use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::Snapshot;
use serde_json::Value;

use pinakes_tests::expect::check_head;
use pinakes_tests::server::{Server, Snapshots};

const REFUSED_START: &str = concat!(
    r#"{"statusCode":400,"error":"Bad Request","#,
    r#""message":"Bad Request - Invalid query parameters","details":["#
);

/// Accepted queries, and the page and page size that they select.
const ACCEPTED: &[(&str, u32, u32)] = &[
    ("", 1, 25),
    ("?", 1, 25),
    ("?&&&", 1, 25),
    ("?&page=2", 2, 25),
    ("?page=1", 1, 25),
    ("?page=01", 1, 25),
    ("?page=00000000000000000000000000002", 2, 25),
    ("?page=%32", 2, 25),
    ("?p%61ge=2", 2, 25),
    ("?page=2&per_page=10", 2, 10),
    ("?per_page=10&page=2", 2, 10),
    ("?per_page=10", 1, 10),
    ("?per_page=25", 1, 25),
    ("?per_page=50", 1, 50),
    ("?per_page=100", 1, 100),
    ("?per-page=50", 1, 50),
    ("?page=2147483647&per_page=100", 2_147_483_647, 100),
    ("?page=1000", 1_000, 25),
    ("?mailto=me%40example.org&api_key=x", 1, 25),
    ("?mailto=&mailto=%00&api_key", 1, 25),
    ("?page=1#page=2", 1, 25),
];

/// Refused queries, with each wrong parameter, its value, and words of the reason.
type Refused = (&'static str, &'static [(&'static str, &'static str, &'static str)]);
const REFUSED: &[Refused] = &[
    ("page=0", &[("page", "0", "from 1 to 2147483647")]),
    ("page=00", &[("page", "00", "from 1 to 2147483647")]),
    ("page=-1", &[("page", "-1", "whole number")]),
    ("page=1.5", &[("page", "1.5", "whole number")]),
    ("page=1e3", &[("page", "1e3", "whole number")]),
    ("page=0x10", &[("page", "0x10", "whole number")]),
    ("page=abc", &[("page", "abc", "whole number")]),
    ("page=NaN", &[("page", "NaN", "whole number")]),
    ("page=null", &[("page", "null", "whole number")]),
    ("page=１", &[("page", "１", "whole number")]),
    ("page=%EF%BC%91", &[("page", "１", "whole number")]),
    ("page=", &[("page", "", "whole number")]),
    ("page", &[("page", "", "whole number")]),
    ("page=+1", &[("page", " 1", "whole number")]),
    ("page=%2B1", &[("page", "+1", "whole number")]),
    ("page=1%20", &[("page", "1 ", "whole number")]),
    ("page=1%00", &[("page", "1\0", "whole number")]),
    ("page=1=2", &[("page", "1=2", "whole number")]),
    ("page=1;per_page=10", &[("page", "1;per_page=10", "whole number")]),
    ("page=2147483648", &[("page", "2147483648", "from 1 to 2147483647")]),
    ("page=4294967296", &[("page", "4294967296", "from 1 to 2147483647")]),
    ("page=4294967297", &[("page", "4294967297", "from 1 to 2147483647")]),
    ("page=9223372036854775808", &[("page", "9223372036854775808", "")]),
    ("page=18446744073709551615", &[("page", "18446744073709551615", "")]),
    ("page=18446744073709551616", &[("page", "18446744073709551616", "")]),
    ("page=18446744073709551617", &[("page", "18446744073709551617", "")]),
    ("page=1&page=2", &[("page", "2", "twice")]),
    ("page=1&page=1", &[("page", "1", "twice")]),
    ("per_page=10&per-page=10", &[("per-page", "10", "twice")]),
    ("page[]=1", &[("page[]", "1", "`page`")]),
    ("JsonWriter=2", &[("JsonWriter", "2", "`page`")]),
    ("page%00=1", &[("page\0", "1", "`page`")]),
    ("perpage=50", &[("perpage", "50", "`per_page`")]),
    ("=", &[("", "", "")]),
    ("=1", &[("", "1", "")]),
    ("?page=1", &[("?page", "1", "`page`")]),
    ("page=%zz", &[("page", "%zz", "percent")]),
    ("page=%", &[("page", "%", "percent")]),
    ("page=%ff", &[("page", "%ff", "percent")]),
    ("%ff=1", &[("%ff", "1", "percent")]),
    ("per_page=0", &[("per_page", "0", "10, 25, 50 or 100")]),
    ("per_page=1", &[("per_page", "1", "10, 25, 50 or 100")]),
    ("per_page=24", &[("per_page", "24", "10, 25, 50 or 100")]),
    ("per_page=26", &[("per_page", "26", "10, 25, 50 or 100")]),
    ("per_page=99", &[("per_page", "99", "10, 25, 50 or 100")]),
    ("per_page=101", &[("per_page", "101", "10, 25, 50 or 100")]),
    ("per_page=200", &[("per_page", "200", "10, 25, 50 or 100")]),
    ("per_page=2147483648", &[("per_page", "2147483648", "")]),
    ("per_page=18446744073709551616", &[("per_page", "18446744073709551616", "")]),
    ("per_page=25.0", &[("per_page", "25.0", "10, 25, 50 or 100")]),
    ("per_page=-25", &[("per_page", "-25", "10, 25, 50 or 100")]),
    ("per_page=025", &[("per_page", "025", "10, 25, 50 or 100")]),
    ("per_page=%2025", &[("per_page", " 25", "10, 25, 50 or 100")]),
    ("per_page=25abc", &[("per_page", "25abc", "10, 25, 50 or 100")]),
    ("per_page=", &[("per_page", "", "10, 25, 50 or 100")]),
    ("per_page", &[("per_page", "", "10, 25, 50 or 100")]),
    ("colour=red", &[("colour", "red", "")]),
    ("colour=%22%5C%0A", &[("colour", "\"\\\n", "")]),
    ("cursor=*", &[("cursor", "*", "`page`")]),
    ("group_by=name.search", &[("group_by", "name.search", "")]),
    ("q=x", &[("q", "x", "")]),
    (
        "page=0&per_page=7&colour=red",
        &[("page", "0", "whole number"), ("per_page", "7", "10, 25"), ("colour", "red", "")],
    ),
];

/// Renders a page with the snapshot's own renderer.
fn page_text(snapshot: &Snapshot, facts: &Facts, page: u32, per_page: u32) -> String {
    let count = snapshot.count(facts.entity);
    let from = (u64::from(page - 1) * u64::from(per_page)).min(u64::from(count));
    let to = (from + u64::from(per_page)).min(u64::from(count));
    let items: Vec<String> =
        (from..to).map(|row| record_text(snapshot, facts, row as u32, Shape::List)).collect();
    let items = items.join(",");
    format!(
        r#"{{"meta":{{"count":{count},"page":{page},"per_page":{per_page}}},"results":[{items}]}}"#
    )
}

/// Renders a record with the snapshot's own renderer.
pub fn record_text(snapshot: &Snapshot, facts: &Facts, row: u32, shape: Shape) -> String {
    let mut page = JsonWriter::new(snapshot, shape);
    snapshot.render(facts.entity, row, &mut page).unwrap();
    String::from_utf8(page.out).unwrap()
}

/// Returns the number in an id.
fn number(item: &Value) -> u64 {
    let of_text = |id: &str| id.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    item["id"].as_u64().unwrap_or_else(|| of_text(item["id"].as_str().unwrap()))
}

/// Returns the key of an item in the default order of its list.
fn sort_key(facts: &Facts, item: &Value) -> (Reverse<Option<u64>>, u64) {
    let key = match facts.plural {
        "outputs" => item["cited_by_count"].as_u64(),
        "institution-types" => None,
        _ => item["outputs_count"].as_u64(),
    };
    (Reverse(key), number(item))
}

#[test]
fn the_pages_of_a_list_hold_each_record_once_in_the_default_order() {
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.open();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for facts in &CATALOG {
        let count = snapshot.count(facts.entity);
        assert!(count > 0, "the sample has {}", facts.plural);
        for per_page in [10, 25, 50, 100] {
            let pages = count.div_ceil(per_page);
            let mut sort_keys = Vec::new();
            for page in (1..=pages + 1).chain([pages + 1_000, 2_147_483_647]) {
                let target = format!("/{}?page={page}&per_page={per_page}", facts.route);
                let response = connection.get(&target);
                assert_eq!(response.status, 200, "{target}");
                let expected = page_text(&snapshot, facts, page, per_page);
                assert_eq!(response.text(), expected, "{target}");
                check_head(&mut connection, &target, &response);
                let body = response.json();
                let items = body["results"].as_array().unwrap();
                assert_eq!(items.is_empty(), page > pages, "{target}");
                sort_keys.extend(items.iter().map(|item| sort_key(facts, item)));
            }
            assert_eq!(sort_keys.len(), count as usize, "{} by {per_page}", facts.plural);
            // Strictly ascending: in order, and without duplicates.
            assert!(sort_keys.is_sorted_by(|a, b| a < b), "{} by {per_page}", facts.plural);
        }
    }
    server.end(&[]);
}

#[test]
fn an_accepted_page_is_answered_on_every_list() {
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.open();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for facts in &CATALOG {
        for (query, page, per_page) in ACCEPTED {
            for slash in ["", "/"] {
                let target = format!("/{}{slash}{query}", facts.route);
                let response = connection.get(&target);
                assert_eq!(response.status, 200, "{target}");
                let expected = page_text(&snapshot, facts, *page, *per_page);
                assert_eq!(response.text(), expected, "{target}");
            }
        }
    }
    server.end(&[]);
}

#[test]
fn a_wrong_parameter_is_named_in_the_refusal_on_every_list() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let lists = CATALOG.iter().map(|facts| facts.route);
    for (query, expected) in lists.flat_map(|list| REFUSED.iter().map(move |case| (list, case))) {
        let target = format!("/{query}?{}", expected.0);
        let response = connection.get(&target);
        assert_eq!(response.status, 400, "{target}");
        assert!(response.text().starts_with(REFUSED_START), "{target}: {}", response.text());
        let body = response.json();
        assert_eq!(body.as_object().unwrap().len(), 4, "{target}");
        let details = body["details"].as_array().unwrap();
        assert_eq!(details.len(), expected.1.len(), "{target}: {details:?}");
        for (detail, (parameter, value, words)) in details.iter().zip(expected.1) {
            let members: Vec<&String> = detail.as_object().unwrap().keys().collect();
            assert_eq!(members, ["parameter", "value", "reason"], "{target}");
            assert_eq!(detail["parameter"], *parameter, "{target}");
            assert_eq!(detail["value"], *value, "{target}");
            let reason = detail["reason"].as_str().unwrap();
            assert!(!reason.is_empty() && reason.contains(words), "{target}: {reason}");
        }
        check_head(&mut connection, &target, &response);
    }
    server.end(&[]);
}

#[test]
fn refusals_of_many_or_long_parameters_stay_short() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let thousand: String = (0..1_000).map(|at| format!("p{at:03}=1&")).collect();
    let digits = format!("page=1{}", "0".repeat(400));
    let name = format!("{}=1", "é".repeat(2_000));
    for (query, details_max) in [(thousand, 10), (digits, 1), (name, 1)] {
        let response = connection.get(&format!("/authors?{query}"));
        assert_eq!(response.status, 400, "{query}");
        let details = response.json()["details"].as_array().unwrap().len();
        assert!((1..=details_max).contains(&details), "{}", response.text());
        assert!(response.body.len() < 4_096, "{} bytes", response.body.len());
    }
    server.end(&[]);
}
