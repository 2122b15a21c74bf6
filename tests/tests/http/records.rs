//! Single records: every record of the sample, its special records, and merged ids.

use pinakes_format::entity::CATALOG;
use pinakes_format::json::render::Shape;
use serde_json::Value;

use crate::http::lists::record_text;
use pinakes_tests::expect::check_head;
use pinakes_tests::server::{Server, Snapshots};

/// Special records of `data/README.md`: a path, a JSON pointer, and the value there.
const SPECIAL: &[(&str, &str, &str)] = &[
    ("/outputs/HX_W2900000300", "/name", "null"),
    ("/outputs/HX_W2900000300", "/title", "null"),
    ("/outputs/HX_W2900000300", "/year", "null"),
    ("/outputs/HX_W2900000300", "/date", "null"),
    ("/outputs/HX_W2900000300", "/type", "null"),
    ("/outputs/HX_W2900000300", "/primary_venue", "null"),
    ("/outputs/HX_W2900000300", "/authors", "[]"),
    ("/outputs/HX_W2900000300", "/open_access", r#"{"is_oa":null,"oa_status":null,"oa_url":null}"#),
    ("/outputs/HX_W2900000301", "/language", r#"{"code":"xx","name":null}"#),
    ("/outputs/HX_W2900000301", "/title", r#""<i></i>""#),
    ("/outputs/HX_W2900000183", "/cites", "2"),
    ("/outputs/HX_W2900000060", "/authors/59/id", r#""HX_A5999999002""#),
    ("/outputs/HX_W2900000060", "/authors/59/name", r#""Nemo Nobody""#),
    ("/outputs/HX_W2900000068", "/authors/0/id", r#""HX_A5900000036""#),
    ("/outputs/HX_W2900000068", "/authors/2/id", r#""HX_A5900000036""#),
    ("/outputs/HX_W2900000068", "/authors/0/name", r#""Andre Geim""#),
    ("/outputs/HX_W2900000068", "/authors/2/name", r#""Andre Geim""#),
    ("/outputs/HX_W2900000021", "/primary_venue", "null"),
    ("/outputs/HX_W2900000040", "/primary_venue/source", "null"),
    ("/outputs/HX_W2900000215", "/topics", "null"),
    ("/outputs/HX_W2900000215", "/keywords", "null"),
    ("/outputs/HX_W2900000215", "/counts_by_year", "null"),
    ("/outputs/HX_W2900000215", "/open_access", "null"),
    ("/outputs/HX_W2900000215", "/biblio", "null"),
    ("/outputs/HX_W2900000215", "/venues_count", "null"),
    ("/outputs/HX_W2900000215", "/additional_venues", "null"),
    ("/outputs/HX_W2900000210", "/cites", "1"),
    ("/outputs/HX_W2900000210", "/venues_count", "1"),
    ("/outputs/HX_W2900000210", "/fwci", "null"),
    ("/outputs/HX_W2900000210", "/counts_by_year", "null"),
    ("/outputs/HX_W2900000123", "/is_retracted", "null"),
    ("/outputs/HX_W2900000123", "/authors", "[]"),
    ("/outputs/HX_W2900000136", "/is_retracted", "true"),
    ("/outputs/HX_W2900000203", "/has_fulltext", "true"),
    ("/outputs/HX_W2900000008", "/authors/0/id", r#""HX_A5900000001""#),
    ("/outputs/HX_W2900000008", "/authors/0/name", r#""Albert Einstein""#),
    ("/outputs/HX_W2900000222", "/cited_by_count", "12"),
    ("/outputs/HX_W2900000222", "/date", "null"),
    ("/outputs/HX_W2900000222", "/year", "1920"),
    ("/outputs/HX_W2900000221", "/cited_by_count", "7"),
    ("/outputs/HX_W2900000226", "/cited_by_count", "null"),
    ("/outputs/HX_W2900000193", "/updated_date", r#""2026-02-01T07:30:00""#),
    ("/outputs/HX_W2900000179", "/updated_date", r#""2026-01-10T08:15:30""#),
    ("/outputs/HX_W2900000194", "/updated_date", r#""2026-01-10T00:00:00""#),
    ("/outputs/HX_W2900000206", "/id", r#""HX_W2900000206""#),
    ("/outputs/HX_W2900000093", "/keywords", r#"["Geology"]"#),
    ("/authors/HX_A5900000001", "/name", r#""Albert Einstein""#),
    ("/authors/HX_A5900000001", "/outputs_count", "8"),
    ("/authors/HX_A5900000001", "/cited_by_count", "25691"),
    ("/authors/HX_A5900009004", "/id", r#""HX_A5900009004""#),
    (
        "/authors/HX_A5900000073",
        "/display_name_alternatives",
        r#"["A. Fleming","Sir Alexander Fleming"]"#,
    ),
    ("/authors/HX_A5900000137", "/summary_stats", "null"),
    ("/authors/HX_A5900000137", "/affiliations", "null"),
    ("/topics/HX_T10044", "/subfield/id", r#""1312""#),
    ("/topics/HX_T10044", "/field/id", r#""13""#),
    ("/topics/HX_T10044", "/domain/id", r#""1""#),
    ("/institutions/HX_I4290000001", "/ror", "null"),
    ("/institutions/HX_I4290000001", "/geo", "null"),
    ("/institutions/HX_I4290000001", "/topics", "null"),
    ("/sources/HX_S4290000022", "/host_organization_name", r#""Bodleian Libraries""#),
    ("/sources/HX_S4290000016", "/issn", "null"),
    ("/sources/HX_S4290000016", "/country", "null"),
    (
        "/publishers/HX_P4310315673",
        "/parent_publisher",
        r#"{"id":"HX_P4310320990","name":"Elsevier BV"}"#,
    ),
];

/// Merged ids: a path, and the path of the target.
const MERGED: &[(&str, &str, &str, &str)] = &[
    ("/outputs/", "HX_W2900009001", "HX_W2900000096", "Output"),
    ("/outputs/", "HX_W2900009002", "HX_W2900000143", "Output"),
    ("/outputs/", "HX_W2900009003", "HX_W2900000143", "Output"),
    ("/authors/", "HX_A5900009001", "HX_A5900000001", "Author"),
    ("/authors/", "HX_A5900009002", "HX_A5900000090", "Author"),
    ("/authors/", "HX_A5900009003", "HX_A5900000090", "Author"),
];

/// Ids that records refer to, without a record.
const UNRESOLVED: &[(&str, &str)] = &[
    ("/authors/HX_A5999999001", "Author with ID HX_A5999999001 not found"),
    ("/authors/HX_A5999999002", "Author with ID HX_A5999999002 not found"),
    ("/institutions/HX_I4299999001", "Institution with ID HX_I4299999001 not found"),
];

#[test]
fn every_record_is_answered_as_the_snapshot_renders_it() {
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.open();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    let mut records = 0;
    for facts in CATALOG.iter().filter(|facts| facts.has_single) {
        for row in 0..snapshot.count(facts.entity) {
            let mut target = format!("/{}/", facts.route).into_bytes();
            facts.entity.write_id(snapshot.row_id(facts.entity, row).unwrap(), &mut target);
            let target = String::from_utf8(target).unwrap();
            let response = connection.get(&target);
            assert_eq!(response.status, 200, "{target}");
            let expected = record_text(&snapshot, facts, row, Shape::Single);
            assert_eq!(response.text(), expected, "{target}");
            check_head(&mut connection, &target, &response);
            records += 1;
        }
    }
    // All records except the nine institution types, which have no path of their own.
    assert_eq!(records, 611 - 9);
    server.end(&[]);
}

#[test]
fn special_records_of_the_sample_have_the_values_of_its_readme() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (target, pointer, expected) in SPECIAL {
        let body = connection.get(target).json();
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(body.pointer(pointer), Some(&expected), "{target} {pointer}");
    }
    let source = "HX_S137773608";
    let single = connection.get(&format!("/sources/{source}")).json();
    let list = connection.get("/sources?per_page=100").json();
    let item = list["results"].as_array().unwrap().iter().find(|item| item["id"] == source);
    assert!(single["apc_usd_by_year"].is_array());
    assert!(item.unwrap()["apc_usd_by_year"].is_object());
    for (target, message) in UNRESOLVED {
        let response = connection.get(target);
        let body = response.json();
        assert_eq!((response.status, &body["message"]), (404, &Value::from(*message)), "{target}");
        // Others refer to each of these ids.
        let reason = body["details"][0]["reason"].as_str().unwrap();
        let list = reason.split('`').nth(1).unwrap();
        let count = connection.get(list).json()["meta"]["count"].as_u64().unwrap();
        assert!(count > 0 && reason.contains(&format!(" lists {count} ")), "{target}: {reason}");
    }
    let names: Vec<Value> = ["HX_W2900000134", "HX_W2900000135"]
        .into_iter()
        .map(|id| connection.get(&format!("/outputs/{id}")).json())
        .collect();
    for (output, spelling) in names.iter().zip(["Center", "Centre"]) {
        let name = format!("Wuhan {spelling} for Disease Control");
        assert!(output.to_string().contains(&name), "{name}");
    }
    server.end(&[]);
}

#[test]
fn a_merged_id_redirects_to_the_end_of_its_chain() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for (route, from, into, word) in MERGED {
        for (asked, query) in [
            (format!("{route}{from}"), ""),
            (format!("{route}{from}/"), ""),
            (format!("{route}{}", from.replace('_', "%5F")), ""),
            (format!("{route}{from}"), "?mailto=a%40b&x=%zz&page=0"),
            (format!("http://evil.example{route}{from}"), "?x"),
        ] {
            let target = format!("{asked}{query}");
            let response = connection.get(&target);
            assert_eq!(response.status, 301, "{target}");
            let location = format!("{route}{into}{query}");
            assert_eq!(response.header("location"), Some(location.as_str()), "{target}");
            let body = response.json();
            assert_eq!(body["statusCode"], 301, "{target}");
            assert_eq!(body["error"], "Moved Permanently", "{target}");
            let message = body["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("{word} with ID {from} ")), "{message}");
            assert_eq!(body.as_object().unwrap().len(), 3, "{target}");
            check_head(&mut connection, &target, &response);
            // One redirect leads to the end of the chain.
            let there = connection.get(&location);
            assert_eq!((there.status, &there.json()["id"]), (200, &Value::from(*into)));
        }
    }
    server.end(&[]);
}
