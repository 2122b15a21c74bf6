//! Tests of edited native lines: parsed values, counted warnings and quarantined lines.

use std::fs;

use pinakes_format::entity::Entity;
use pinakes_format::json::render::Shape;
use serde_json::{Value, json};

use crate::native::build;
use crate::native::opened;
use crate::native::rendered;
use crate::native::run;

/// Funders: members besides id and name, and the resulting changes of a record with id and name alone.
const FUNDERS: &[(&str, &str)] = &[
    (r#""description":null,"roles":[]"#, r#"{"roles":[]}"#),
    (
        r#""outputs_count":"5","cited_by_count":5.0,"grants_count":true,"awards_count":-1"#,
        r#"{"outputs_count":5,"cited_by_count":5}"#,
    ),
    (
        r#""outputs_count":[],"cited_by_count":{},"grants_count":9007199254740992,"awards_count":1.5"#,
        "{}",
    ),
    (r#""alternate_titles":["a",null," ",3,"b\u0000"]"#, r#"{"alternate_titles":["a","b"]}"#),
    (r#""alternate_titles":"a","country":"DE","summary_stats":[],"ids":null"#, "{}"),
    (
        r#""country":{"name":"wrong","code":"de"},"description":7,"ids":{"doi":"10.1/x"}"#,
        r#"{"country":{"code":"de","name":"Germany"},"ids":{"doi":"10.1/x","ror":null,"openalex":null,"crossref":null}}"#,
    ),
    (
        r#""roles":[{"role":"funder","id":"HX_I5","outputs_count":"2"},{"id":"nonsense"},5]"#,
        r#"{"roles":[{"role":"funder","id":"HX_I5","outputs_count":2},{"role":null,"id":null,"outputs_count":null}]}"#,
    ),
    (
        r#""updated_date":"2026-01-10","created_date":"nonsense","homepage":"typed wrong""#,
        r#"{"updated_date":"2026-01-10T00:00:00"}"#,
    ),
    (
        r#""counts_by_year":[{"outputs_count":1,"year":"2020"},{"year":0,"is_odd":1},null]"#,
        r#"{"counts_by_year":[{"year":2020,"outputs_count":1,"oa_outputs_count":null,"cited_by_count":null},{"year":null,"outputs_count":null,"oa_outputs_count":null,"cited_by_count":null}]}"#,
    ),
];

const FUNDER_WARNINGS: &str = r#"{"bad_reference":1,"count_too_large":1,"impossible_date":1,"impossible_year":1,"negative_count":1,"not_a_number":3,"not_a_text":2,"not_an_array":1,"not_an_integer":1,"not_an_object":3,"nul_removed":1,"unknown_member":2}"#;

const BARE_FUNDER: &str = r#"{"id":"HX_F1","name":"Fund","alternate_titles":null,"country":null,"description":null,"homepage_url":null,"image_url":null,"image_thumbnail_url":null,"grants_count":null,"awards_count":null,"outputs_count":null,"cited_by_count":null,"summary_stats":null,"roles":null,"ids":{"doi":null,"ror":null,"openalex":null,"crossref":null},"counts_by_year":null,"updated_date":null,"created_date":null}"#;

/// The same for outputs.
const OUTPUTS: &[(&str, &str)] = &[
    (
        r#""primary_venue":{"source":{"id":"nonsense","name":"Somewhere","type":"journal","metrics":{"abdc":1}}}"#,
        r#"{"primary_venue":{"id":null,"is_oa":null,"landing_page_url":null,"pdf_url":null,"license":null,"version":null,"is_accepted":null,"is_published":null,"source":{"id":null,"name":"Somewhere","type":"journal","metrics":null}}}"#,
    ),
    (
        r#""authors":[{"name":"Ada","id":"https://openalex.org/A7","orcid":"0000-0002-1825-009x","countries":[{"code":null},{"code":"GB"}],"raw_affiliation_strings":["Here",""],"is_corresponding":"yes"},7]"#,
        r#"{"authors":[{"author_position":null,"id":"HX_A7","name":"Ada","orcid":"https://orcid.org/0000-0002-1825-009X","affiliations":null,"countries":[{"code":"GB","name":"United Kingdom"}],"is_corresponding":null,"raw_affiliation_strings":["Here"]}]}"#,
    ),
    (
        r#""topics":{"id":"HX_T1"},"primary_topic":{"id":null},"funders":[{}],"language":{"code":"EN"}"#,
        r#"{"primary_topic":{"id":null,"name":null},"funders":[{"id":null,"name":null,"awards":null}],"language":{"code":"EN","name":"English"}}"#,
    ),
    (
        r#""abstract":["no"],"date":"2024-02-30","year":"2024","is_retracted":1,"fwci":"NaN","ids":{"mag":7}"#,
        r#"{"year":2024}"#,
    ),
];

const OUTPUT_WARNINGS: &str = r#"{"bad_reference":1,"impossible_date":1,"not_a_boolean":2,"not_a_number":1,"not_a_text":2,"not_an_array":1,"not_an_object":1}"#;

const BARE_OUTPUT: &str = r#"{"id":"HX_W1","doi":null,"title":null,"name":null,"year":null,"date":null,"ids":{"mag":null},"language":null,"primary_venue":null,"additional_venues":null,"venues_count":null,"type":null,"indexed_in":null,"open_access":null,"authors":null,"fwci":null,"has_fulltext":null,"cited_by_count":null,"cites":null,"citation_normalized_percentile":null,"cited_by_percentile_year":null,"biblio":null,"is_retracted":null,"is_paratext":null,"apc_paid":null,"primary_topic":null,"topics":null,"sustainable_development_goals":null,"funders":null,"counts_by_year":null,"keywords":null,"abstract":null,"updated_date":null,"created_date":null}"#;

/// Builds one line per case and compares the records and warnings with the expected ones.
fn check(entity: Entity, bare: &str, cases: &[(&str, &str)], warnings: &str) {
    let directory = tempfile::tempdir().unwrap();
    let bare: Value = serde_json::from_str(bare).unwrap();
    let bare_id = bare["id"].as_str().unwrap().to_owned();
    let name = &bare["name"];
    let mut lines = format!("{{\"id\":\"{bare_id}\",\"name\":{name}}}\n");
    let mut expected = vec![bare.to_string()];
    for (at, (members, changes)) in cases.iter().enumerate() {
        let id = format!("{bare_id}{at}");
        lines.push_str(&format!("{{{members},\"id\":\"{id}\",\"name\":{name}}}\n"));
        let mut record = bare.clone();
        record["id"] = Value::from(id);
        let changes: Value = serde_json::from_str(changes).unwrap();
        for (member, value) in changes.as_object().unwrap() {
            record[member] = value.clone();
        }
        expected.push(record.to_string());
    }
    let input = directory.path().join(format!("{entity}.jsonl"));
    fs::write(&input, lines).unwrap();
    let run = build(&[input.to_str().unwrap()], &directory.path().join("out"));
    let snapshot = opened(&run);
    let mut found = rendered(&snapshot, entity, Shape::Single);
    found.sort_by_key(|record| record.split('"').nth(3).map(str::to_owned));
    assert_eq!(found, expected);
    let expected: Value = serde_json::from_str(warnings).unwrap();
    assert_eq!(run.report["warnings"], expected);
    assert_eq!(run.report["bad_records"], json!({}));
}

#[test]
fn an_invalid_member_is_null_and_counted_and_keeps_its_record() {
    check(Entity::Funder, BARE_FUNDER, FUNDERS, FUNDER_WARNINGS);
    check(Entity::Output, BARE_OUTPUT, OUTPUTS, OUTPUT_WARNINGS);
}

/// Lines of authors with the code of their quarantine; `""` for an accepted line.
const LINES: &[(&str, &str)] = &[
    (r#"{"id":"HX_A1","name":"x"}"#, ""),
    (r#"{"name":"x","id":"https://openalex.org/A1"}"#, ""),
    (r#"{"id":"a1","name":"x"}"#, ""),
    ("[]", "not_a_record"),
    ("null", "not_a_record"),
    ("\"x\"", "not_a_record"),
    ("42", "not_a_record"),
    ("{}", "no_id"),
    (r#"{"id":null,"name":"x"}"#, "no_id"),
    (r#"{"id":"","name":"x"}"#, "no_id"),
    (r#"{"id":1,"name":"x"}"#, "no_id"),
    (r#"{"id":{},"name":"x"}"#, "no_id"),
    (r#"{"id":"HX_W1","name":"x"}"#, "wrong_type"),
    (r#"{"id":"HX_A01","name":"x"}"#, "bad_id"),
    (r#"{"id":" HX_A1","name":"x"}"#, "bad_id"),
    (r#"{"id":"HX_A99999999999999999999","name":"x"}"#, "bad_id"),
    (r#"{"id":"HX_A1"}"#, "no_name"),
    (r#"{"id":"HX_A1","name":" "}"#, "no_name"),
    (r#"{"id":"HX_A1","name":7}"#, "no_name"),
    (r#"{"id":"HX_A1","name":"x","id":"HX_A1"}"#, "duplicate_key"),
    (r#"{"id":"HX_A1","name":"x","summary_stats":{"h_index":1,"h_index":1}}"#, "duplicate_key"),
    (r#"{"id":"HX_A1","name":"x","unknown":[{"a":1,"a":1}]}"#, "duplicate_key"),
    (r#"{"id":"HX_A1","name":"x""#, "not_json"),
    (r#"{"id":"HX_A1","name":"x","outputs_count":1e400}"#, "not_json"),
    (r#"{"id":"HX_A1","name":"x","unknown":1e400}"#, "not_json"),
    (r#"{"id":"HX_A1","name":"x","unknown":"\ud800"}"#, "not_json"),
    (r#"{"id":"HX_A1","display_name":"x","works_count":1}"#, "not_native"),
    (r#"{"id":"HX_A1","name":"x","display_name":"x"}"#, "not_native"),
];

/// The codes of quarantined lines in the report for a good line and this line.
fn quarantine_codes(line: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("authors.jsonl");
    fs::write(&input, format!("{{\"id\":\"HX_A9\",\"name\":\"y\"}}\n{line}\n")).unwrap();
    let (objects, report) =
        (directory.path().join("objects"), directory.path().join("report.json"));
    let run = run(&[
        "compile",
        &format!("native:{}", input.display()),
        "--objects",
        objects.to_str().unwrap(),
        "--report",
        report.to_str().unwrap(),
        "--max-bad",
        "100%",
        "--quiet",
    ]);
    assert_eq!(run.code, 0, "{line}: {}", run.stderr);
    let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    report["bad_records"].clone()
}

#[test]
fn a_line_that_is_not_a_record_is_quarantined_under_its_code() {
    let check = |line: &str, code: &str| {
        let expected = if code.is_empty() { json!({}) } else { json!({ code: 1 }) };
        assert_eq!(quarantine_codes(line), expected, "{}", &line[..line.len().min(100)]);
    };
    LINES.iter().for_each(|(line, code)| check(line, code));
    let deep =
        format!(r#"{{"id":"HX_A1","name":"x","unknown":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    check(&deep, "too_deep");
}
