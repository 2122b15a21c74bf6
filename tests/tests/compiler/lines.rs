//! Bad lines and bad members.

use std::{collections::BTreeMap, fs};

use pinakes_tests::write_files;
use serde_json::{Value, json};

use crate::run::*;

#[test]
fn more_bad_records_than_allowed_end_the_run_with_4() {
    let place = Place::with_tiny_published();
    let text = format!("{}no JSON\n{}{{}}\n", work(1), work(2)).into_bytes();
    let cases: [(&[&str], &str); 5] = [
        (&["--strict"], "2 of 4 records are bad, more than `--max-bad` allows (0%)"),
        (&[], "2 of 4 records are bad, more than `--max-bad` allows (0.1%)"),
        (&["--max-bad", "0"], "2 of 4 records are bad"),
        (&["--max-bad", "49%"], "allows (49%)"),
        (&["--max-bad", "0.49"], "bad-records.jsonl"),
    ];
    for (options, phrase) in cases {
        let files = vec![("works.jsonl", text.clone())];
        let what = &options.join(" ");
        check_refused(&place, &Refused { what, files, inputs: &["."], options, code: 4, phrase });
    }
    let within = Place::new();
    write_files(&within.input(), [("works.jsonl", text)]);
    let run = build(&[&within.input()], &within.out(), &["--max-bad", "50%"]);
    assert_eq!(outputs(&published(&run)).len(), 2);
    assert_eq!(run.report["bad_records"], json!({"not_json": 1, "no_id": 1}));
    assert_eq!(run.report["entities"]["outputs"]["quarantined"], json!(2));
}

#[test]
fn every_bad_record_is_listed_with_its_place_and_code_and_costs_no_other() {
    let digits = format!("{{\"id\":\"https://openalex.org/W{}\"}}", "1".repeat(30));
    let bad: Vec<(&[u8], &str)> = vec![
        (b"{\"title\":\"no id\"}", "no_id"),
        (b"{\"id\":null}", "no_id"),
        (b"{\"id\":\"\"}", "no_id"),
        (b"{\"id\":\"  \"}", "no_id"),
        (b"{\"id\":[\"W12\"]}", "no_id"),
        (b"{\"id\":{}}", "no_id"),
        (b"{\"id\":true}", "no_id"),
        (b"{}", "no_id"),
        (b"[]", "not_a_record"),
        (b"{\"id\":\"https://openalex.org/A1\"}", "wrong_type"),
        (b"{\"id\":\"https://openalex.org/W007\"}", "bad_id"),
        (b"{\"id\":\" W7\"}", "bad_id"),
        (b"{\"id\":\"W\"}", "bad_id"),
        (b"{\"id\":\"W-7\"}", "bad_id"),
        (b"{\"id\":\"W7.0\"}", "bad_id"),
        (b"{\"id\":42}", "no_id"),
        (digits.as_bytes(), "bad_id"),
        (b"{\"id\":\"https://openalex.org/W18446744073709551616\"}", "bad_id"),
        (b"{\"id\":\"W7\",\"title\":\"\xff\"}", "not_utf8"),
        (b"{\"id\":\"W7\",\"ignored\":\"\xc3\"}", "not_utf8"),
        (b"{\"id\":\"W7\",\"title\":\"a\",\"title\":\"b\"}", "duplicate_key"),
        (b"{\"id\":\"W7\",\"biblio\":{\"volume\":\"1\",\"volume\":\"2\"}}", "duplicate_key"),
        (b"null", "not_a_record"),
        (b"\"x\"", "not_a_record"),
        (b"42", "not_a_record"),
        (b"true", "not_a_record"),
        (b"not JSON", "not_json"),
        (b"{\"id\":\"W7\"} {\"id\":\"W8\"}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"cut sho", "not_json"),
        (b"{\"id\":\"W7\",\"fwci\":NaN}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"\\ud800\"}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"a\x01b\"}", "not_json"),
        (b"\xef\xbb\xbf{\"id\":\"W7\"}", "not_json"),
        (b"{'id':'W7'}", "not_json"),
    ];
    let place = Place::new();
    let mut text = work(1).into_bytes();
    let mut expected = Vec::new();
    for (number, (line, code)) in bad.iter().enumerate() {
        expected.push((number as u64 + 2, text.len() as u64, (*code).to_string()));
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(work(2).as_bytes());
    write_files(&place.input(), [("works.jsonl", text)]);
    let run = build(&[&place.input()], &place.out(), &["--max-bad", "100%"]);
    let snapshot = published(&run);
    let list = fs::read_to_string(place.out().join("quarantine/bad-records.jsonl")).unwrap();
    let listed: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (line, (raw, _)) in listed.iter().zip(&bad) {
        assert!(line["file"].as_str().unwrap().ends_with("works.jsonl"), "{line}");
        assert_eq!(line["excerpt"], json!(String::from_utf8_lossy(raw)));
    }
    let places: Vec<_> = listed
        .iter()
        .map(|line| {
            let number = |name: &str| line[name].as_u64().unwrap();
            (number("line"), number("byte_offset"), line["code"].as_str().unwrap().to_string())
        })
        .collect();
    assert_eq!(places, expected);
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, code) in &bad {
        *codes.entry(code).or_default() += 1;
    }
    assert_eq!(run.report["bad_records"], json!(codes));
    assert_eq!(outputs(&snapshot).into_keys().collect::<Vec<_>>(), ["HX_W1", "HX_W2"]);
    let tally = &run.report["entities"]["outputs"];
    assert_eq!(tally["read"], json!(bad.len() + 2));
    assert_eq!(tally["quarantined"], json!(bad.len()));
}

#[test]
fn a_bad_optional_member_becomes_null_and_never_costs_its_record() {
    // The member's name in the dump, its value there, the member shown and its value, the warning.
    let cases = [
        ("cited_by_count", "\"5\"", "cited_by_count", json!(5), None),
        ("cited_by_count", "5.0", "cited_by_count", json!(5), None),
        ("cited_by_count", "null", "cited_by_count", json!(null), None),
        ("cited_by_count", "true", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "[]", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "{}", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "[[1],{\"a\":2}]", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "\"many\"", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "5.5", "cited_by_count", json!(null), Some("not_an_integer")),
        ("cited_by_count", "-1", "cited_by_count", json!(null), Some("negative_count")),
        ("cited_by_count", "\"-1\"", "cited_by_count", json!(null), Some("negative_count")),
        (
            "cited_by_count",
            "18446744073709551615",
            "cited_by_count",
            json!(null),
            Some("count_too_large"),
        ),
        ("publication_year", "\"2024\"", "year", json!(2024), None),
        ("publication_year", "0", "year", json!(null), Some("impossible_year")),
        ("publication_year", "-5", "year", json!(null), Some("impossible_year")),
        ("publication_year", "20240", "year", json!(null), Some("impossible_year")),
        ("publication_date", "\"2024-02-30\"", "date", json!(null), Some("impossible_date")),
        ("title", "{}", "title", json!(null), Some("not_a_text")),
        ("title", "[\"a\"]", "title", json!(null), Some("not_a_text")),
        ("title", "5", "title", json!(null), Some("not_a_text")),
        ("title", "\"a\\u0000b\"", "title", json!("ab"), Some("nul_removed")),
        ("is_retracted", "\"true\"", "is_retracted", json!(null), Some("not_a_boolean")),
        ("is_retracted", "1", "is_retracted", json!(null), Some("not_a_boolean")),
        ("biblio", "\"x\"", "biblio", json!(null), Some("not_an_object")),
        ("fwci", "-0.0", "fwci", json!(0), None),
    ];
    let place = Place::new();
    let lines = cases.iter().zip(1..).map(|((member, value, ..), id): (_, u64)| {
        format!("{{\"id\":\"https://openalex.org/W{id}\",\"{member}\":{value}}}\n")
    });
    write_files(&place.input(), [("works.jsonl", lines.collect::<String>())]);
    let run = build(&[&place.input()], &place.out(), &["--strict"]);
    let records = outputs(&published(&run));
    assert_eq!(records.len(), cases.len());
    let mut warnings: BTreeMap<&str, u64> = BTreeMap::new();
    for ((member, value, shown, expected, warning), id) in cases.iter().zip(1..) {
        let record = &records[&format!("HX_W{id}")];
        assert_eq!(record[shown], *expected, "`{member}` {value}");
        if let Some(code) = warning {
            *warnings.entry(code).or_default() += 1;
        }
    }
    assert_eq!(run.report["warnings"], json!(warnings));
    assert_eq!(run.report["bad_records"], json!({}));
}

#[test]
fn a_line_of_17_megabytes_is_set_aside_and_the_next_is_read() {
    let place = Place::new();
    let long = format!("{{\"id\":\"W9\",\"title\":\"{}\"}}\n", "x".repeat(17 << 20));
    let text = format!("{}{long}{}", work(1), work(2));
    write_files(&place.input(), [("works.jsonl", text)]);
    let run = build(&[&place.input()], &place.out(), &["--max-bad", "50%"]);
    assert_eq!(outputs(&published(&run)).into_keys().collect::<Vec<_>>(), ["HX_W1", "HX_W2"]);
    assert_eq!(run.report["bad_records"], json!({"line_too_long": 1}));
    let list = fs::read_to_string(place.out().join("quarantine/bad-records.jsonl")).unwrap();
    let line: Value = serde_json::from_str(list.trim()).unwrap();
    assert_eq!((&line["line"], &line["byte_offset"]), (&json!(2), &json!(work(1).len())));
}
