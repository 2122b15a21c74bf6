//! Lines that are no records, and records with invalid members.

use std::{collections::BTreeMap, fs};

use pinakes_tests::write_files;
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

#[test]
fn more_bad_records_than_allowed_end_the_run_with_4() {
    let workspace = Workspace::with_tiny_snapshot();
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
        check_refused(
            &workspace,
            &RefusedRun { what, files, inputs: &["."], options, code: 4, phrase },
        );
    }
    let within = Workspace::new();
    write_files(&within.input(), [("works.jsonl", text)]);
    let run = build(&[&within.input()], &within.out(), &["--max-bad", "50%"]);
    assert_eq!(outputs(&published_path(&run)).len(), 2);
    assert_eq!(run.report["bad_records"], json!({"not_json": 1, "no_id": 1}));
    let at = work(1).len();
    let expected = format!(
        "bad records (left out of the snapshot)\n  {:<24}{:>12}  first at {file}:4:{}\n      \
         the record has no id, or its id is not a string; fix or remove the line\n  {:<24}{:>12}  first at {file}:2:{at}\n",
        "no_id",
        1,
        at + "no JSON\n".len() + work(2).len(),
        "not_json",
        1,
        file = within.input().join("works.jsonl").display(),
    );
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
    // A build from cached objects repeats the report of bad records.
    let again = build(&[&within.input()], &within.out(), &["--max-bad", "50%"]);
    assert!(again.stderr.contains(&expected), "{}", again.stderr);
    assert_eq!(again.report["parts_parsed"], json!(0));
    for name in ["bad_records", "quarantine"] {
        assert_eq!(again.report[name], run.report[name], "{name}");
    }
    let listed = |name: &str| fs::read(within.out().join("quarantine").join(name)).unwrap();
    assert_eq!(listed("bad-lines"), b"no JSON\n{}\n");
    assert_eq!(listed("bad-records.jsonl").iter().filter(|byte| **byte == b'\n').count(), 2);
    assert_eq!(run.report["entities"]["outputs"]["quarantined"], json!(2));
}

#[test]
fn every_bad_record_is_listed_with_position_and_code_and_affects_no_other() {
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
        (b"{\"id\":\"W7\",\"fwci\":1e400}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"\\ud800\"}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"a\x01b\"}", "not_json"),
        (b"{\"id\":\"W7\",\"ignored\":\"\\ud800\"}", "not_json"),
        (b"{\"id\":\"W7\",\"ignored\":{\"a\":[\"\\udc00x\"]}}", "not_json"),
        (b"{\"id\":\"W7\",\"ignored\":\"a\x01b\"}", "not_json"),
        (b"{\"id\":\"W7\",\"ignored\":1e400}", "not_json"),
        (b"{\"id\":\"W7\",\"fwci\":-1e400}", "not_json"),
        (b"{\"id\":\"W7\",\"ignored\":1,\"ignored\":1}", "duplicate_key"),
        (b"{\"id\":\"W7\",\"ignored\":{\"a\":1,\"b\":2,\"a\":1}}", "duplicate_key"),
        (b"{\"id\":\"W7\",\"biblio\":{\"ignored\":1,\"ignored\":2}}", "duplicate_key"),
        (b"{\"id\":\"W7\",\"abstract_inverted_index\":{\"a\":[0],\"a\":[1]}}", "duplicate_key"),
        (b"{\"id\":\"W7\",\"\\u0069d\":\"W8\"}", "duplicate_key"),
        (b"\xef\xbb\xbf{\"id\":\"W7\"}", "not_json"),
        (b"{'id':'W7'}", "not_json"),
    ];
    let workspace = Workspace::new();
    let mut text = work(1).into_bytes();
    let mut expected = Vec::new();
    for (number, (line, code)) in bad.iter().enumerate() {
        expected.push((number as u64 + 2, text.len() as u64, (*code).to_string()));
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(work(2).as_bytes());
    write_files(&workspace.input(), [("works.jsonl", text)]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "100%"]);
    let snapshot = published_path(&run);
    let list = fs::read_to_string(workspace.out().join("quarantine/bad-records.jsonl")).unwrap();
    let listed: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (line, (raw, _)) in listed.iter().zip(&bad) {
        assert!(line["file"].as_str().unwrap().ends_with("works.jsonl"), "{line}");
        assert_eq!(line["excerpt"], json!(String::from_utf8_lossy(raw)));
    }
    let lines = fs::read(workspace.out().join("quarantine/bad-lines")).unwrap();
    let raws: Vec<&[u8]> = bad.iter().map(|(raw, _)| *raw).collect();
    assert_eq!(lines, [raws.join(&b"\n"[..]), b"\n".to_vec()].concat());
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
    // Member and value in the dump, member and value in the record, warning.
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
        ("fwci", "-1", "fwci", json!(-1), None),
        ("fwci", "1e308", "fwci", json!(1e308), None),
        ("fwci", "5e-324", "fwci", json!(5e-324), None),
        ("fwci", "\"NaN\"", "fwci", json!(null), Some("not_a_number")),
        ("fwci", "NaN", "fwci", json!(null), Some("not_a_number")),
        ("fwci", "-Infinity", "fwci", json!(null), Some("not_a_number")),
        (
            "cited_by_count",
            "9007199254740991",
            "cited_by_count",
            json!(9_007_199_254_740_991_u64),
            None,
        ),
        (
            "cited_by_count",
            "9007199254740992",
            "cited_by_count",
            json!(null),
            Some("count_too_large"),
        ),
    ];
    let workspace = Workspace::new();
    let lines = cases.iter().zip(1..).map(|((member, value, ..), id): (_, u64)| {
        format!("{{\"id\":\"https://openalex.org/W{id}\",\"{member}\":{value}}}\n")
    });
    write_files(&workspace.input(), [("works.jsonl", lines.collect::<String>())]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let records = outputs(&published_path(&run));
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
    // The first position of each code, and the warning that standard error prints.
    let file = workspace.input().join("works.jsonl").display().to_string();
    let text = fs::read_to_string(&file).unwrap();
    let place_of = |code: &str| {
        let at = cases.iter().position(|(.., warning)| *warning == Some(code)).unwrap();
        let before: usize = text.lines().take(at).map(|line| line.len() + 1).sum();
        format!("{file}:{}:{before}", at + 1)
    };
    let first: BTreeMap<&str, String> =
        warnings.keys().map(|code| (*code, place_of(code))).collect();
    assert_eq!(run.report["first_warnings"], json!(first));
    let expected = format!(
        "warnings (every record was kept)\n  {:<24}{:>12}  first at {}\n      a count is above \
         2^53 - 1; the member became null; fix the value if you need it\n",
        "count_too_large", 2, first["count_too_large"]
    );
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
}

#[test]
fn a_line_of_17_megabytes_is_set_aside_and_the_next_is_read() {
    let workspace = Workspace::new();
    let long = format!("{{\"id\":\"W9\",\"title\":\"{}\"}}\n", "x".repeat(17 << 20));
    let text = format!("{}{long}{}", work(1), work(2));
    write_files(&workspace.input(), [("works.jsonl", text)]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "50%"]);
    assert_eq!(outputs(&published_path(&run)).into_keys().collect::<Vec<_>>(), ["HX_W1", "HX_W2"]);
    assert_eq!(run.report["bad_records"], json!({"line_too_long": 1}));
    let list = fs::read_to_string(workspace.out().join("quarantine/bad-records.jsonl")).unwrap();
    let line: Value = serde_json::from_str(list.trim()).unwrap();
    assert_eq!((&line["line"], &line["byte_offset"]), (&json!(2), &json!(work(1).len())));
}

/// Nests values too deeply in members that the compiler reads and in a member that it ignores.
#[test]
fn a_deeply_nested_line_is_set_aside_in_any_member() {
    let nested = |member: &str, depth: usize, open: &str, close: &str| {
        let (open, close) = (open.repeat(depth), close.repeat(depth));
        let line = format!("{{\"id\":\"W7\",\"{member}\":{open}1{close}}}\n{}", work(1));
        vec![("works.jsonl", line.into_bytes())]
    };
    let options = &["--max-bad", "50%"];
    let mut cases = Vec::new();
    for member in ["ignored", "biblio", "referenced_works"] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            for depth in [200, 100_000] {
                cases.push(Case {
                    options,
                    bad: &[("too_deep", 1)],
                    ..succeeds("nested deeply", nested(member, depth, open, close))
                });
            }
        }
    }
    cases.push(Case { options, ..succeeds("nested enough", nested("ignored", 120, "[", "]")) });
    check(&cases);
}

#[test]
fn lines_that_are_not_json_are_set_aside() {
    let one = |line: &str| vec![("works.jsonl", format!("{line}\n{}", work(1)).into_bytes())];
    let options = &["--max-bad", "50%"];
    let bad: [(&str, &'static [(&str, u64)]); 7] = [
        ("\r\u{feff}{\"id\":\"W7\"}", &[("not_json", 1)]),
        ("{\"id\":\"W7\"}\r{\"id\":\"W8\"}", &[("not_json", 1)]),
        ("{\"id\":\"W7\"", &[("not_json", 1)]),
        ("{\"id\":\"W7\",\"x\":[1,]}", &[("not_json", 1)]),
        ("{\"id\":\"W7\",\"x\":01}", &[("not_json", 1)]),
        ("{\"id\":\"W7\",}", &[("not_json", 1)]),
        ("\u{85}{\"id\":\"W7\"}", &[("not_json", 1)]),
    ];
    let cases: Vec<Case<'_>> =
        bad.iter().map(|(line, bad)| Case { options, bad, ..succeeds(line, one(line)) }).collect();
    check(&cases);
    // A carriage return alone does not end a line, so the file is one line.
    let returns = [work(1), work(2)].concat().replace('\n', "\r");
    let case = fails("carriage returns alone", vec![("works.jsonl", returns.into())], 4, "1 of 1");
    check(&[Case { bad: &[("not_json", 1)], ..case }]);
}

#[test]
fn every_spelling_of_an_id_is_one_record() {
    let lines = ["https://openalex.org/W7", "W7", "w7", "HX_W7", "http://openalex.org/w7"]
        .map(|id| format!("{{\"id\":\"{id}\",\"title\":\"Same\"}}\n"));
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.jsonl", lines.concat())]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    assert_eq!(outputs(&published_path(&run)).into_keys().collect::<Vec<_>>(), ["HX_W7"]);
    let tally = &run.report["entities"]["outputs"];
    assert_eq!((&tally["superseded"], &tally["conflicts"]), (&json!(4), &json!(4)));
}

#[test]
fn every_record_but_an_output_needs_a_name() {
    let entities = [
        ("authors", "A1"),
        ("sources", "S1"),
        ("institutions", "I1"),
        ("publishers", "P1"),
        ("funders", "F1"),
        ("topics", "T1"),
        ("subfields", "17"),
        ("fields", "17"),
        ("domains", "17"),
    ];
    let names =
        ["", ",\"display_name\":null", ",\"display_name\":\"\"", ",\"display_name\":\" \\u3000\""];
    let files: Vec<(String, Vec<u8>)> = entities
        .iter()
        .map(|(entity, id)| {
            let line = |name: &str| format!("{{\"id\":\"{id}\"{name}}}\n");
            let named = line(",\"display_name\":\"Named\"");
            let lines: String = names.into_iter().map(line).chain([named]).collect();
            (format!("{entity}.jsonl"), lines.into_bytes())
        })
        .collect();
    let files = files.iter().map(|(name, lines)| (name.as_str(), lines.clone())).collect();
    check(&[Case {
        options: &["--max-bad", "80%"],
        bad: &[("no_name", 36)],
        ..succeeds("records without a name", files)
    }]);
    let workspace = Workspace::new();
    let lines = "{\"id\":\"W1\"}\n{\"id\":\"W2\",\"title\":\" \",\"display_name\":null}\n";
    write_files(&workspace.input(), [("works.jsonl", lines)]);
    let records =
        outputs(&published_path(&build(&[&workspace.input()], &workspace.out(), &["--strict"])));
    assert_eq!(
        records.values().map(|record| &record["name"]).collect::<Vec<_>>(),
        [&json!(null); 2]
    );
}

/// Compares both orders of two copies, in one file and in two files.
#[test]
fn compile_keeps_the_newest_copy_and_of_equal_dates_the_copy_with_the_greater_hash() {
    let copy = |title: &str, date: &str| {
        let date =
            if date.is_empty() { String::new() } else { format!(",\"updated_date\":\"{date}\"") };
        format!("{{\"id\":\"W1\",\"title\":\"{title}\"{date}}}\n")
    };
    let by_hash = {
        let (a, b) = (copy("a", "2024-01-01"), copy("b", "2024-01-01"));
        // Case five has equal dates, so its lines have the id W5.
        let hash = |line: &str| {
            let line = line.trim_end().replacen("W1", "W5", 1);
            twox_hash::XxHash3_128::oneshot(line.as_bytes())
        };
        if hash(&a) > hash(&b) { "a" } else { "b" }
    };
    // Two copies, the title of the kept copy, and counts of duplicates, superseded and conflicts.
    let cases = [
        (copy("a", "2024-01-01"), copy("a", "2024-01-01"), "a", [1, 0, 0]),
        (copy("a", "2024-01-01"), copy("b", "2024-01-02"), "b", [0, 1, 0]),
        (copy("a", "2024-01-01T00:00:00.000001"), copy("b", "2024-01-01"), "a", [0, 1, 0]),
        (copy("a", "2024-01-01T01:00:00+02:00"), copy("b", "2023-12-31T23:30:00Z"), "b", [0, 1, 0]),
        (copy("a", "2024-01-01"), copy("b", "2024-01-01"), by_hash, [0, 1, 1]),
        (copy("a", "2024-01-01"), copy("b", ""), "a", [0, 1, 0]),
        (copy("a", "1999-01-01"), copy("b", "2024-02-30"), "a", [0, 1, 0]),
        (copy("a", "9999-12-31"), copy("b", "2024-01-01"), "a", [0, 1, 0]),
    ];
    let renamed = |(line, at): (&String, u64)| line.replacen("W1", &format!("W{at}"), 1);
    let ones: String = cases.iter().map(|case| &case.0).zip(1..).map(renamed).collect();
    let others: String = cases.iter().map(|case| &case.1).zip(1..).map(renamed).collect();
    let orders = [
        vec![("works/a.jsonl", format!("{ones}{others}"))],
        vec![("works/a.jsonl", format!("{others}{ones}"))],
        vec![("works/a.jsonl", ones.clone()), ("works/b.jsonl", others.clone())],
        vec![("works/a.jsonl", others), ("works/b.jsonl", ones)],
    ];
    for files in orders {
        let workspace = Workspace::new();
        write_files(&workspace.input(), files);
        let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
        let records = outputs(&published_path(&run));
        for ((one, other, title, _), at) in cases.iter().zip(1..) {
            assert_eq!(records[&format!("HX_W{at}")]["title"], json!(title), "{one}{other}");
        }
        let tally = &run.report["entities"]["outputs"];
        for (at, name) in ["duplicates", "superseded", "conflicts"].into_iter().enumerate() {
            let sum: u64 = cases.iter().map(|(.., counts)| counts[at]).sum();
            assert_eq!(tally[name], json!(sum), "{name}");
        }
        assert!(run.report["warnings"]["future_updated_date"].as_u64() >= Some(1));
    }
}
