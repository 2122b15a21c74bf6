//! Tests of the detection of native dumps, and of native and OpenAlex dumps together.

use std::{collections::BTreeMap, io::Write, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::Shape;
use pinakes_tests::write_files;
use serde_json::Value;

use crate::native::build;
use crate::native::opened;
use crate::native::rendered;

const AUTHOR: &str = r#"{"id":"HX_A1","name":"Native","outputs_count":1}"#;
const OPENALEX_AUTHOR: &str = r#"{"id":"HX_A2","display_name":"Other","works_count":1}"#;
const LOWER: &str = r#"{"id":"hx_a1","name":"Lower","outputs_count":1}"#;
/// An OpenAlex line and a native line.
const MIXED: &str = r#"{"id":"hx_a2","display_name":"Other","works_count":1}
{"id":"hx_a1","name":"Native","outputs_count":1}"#;
const MIXED_FIELDS: &str = r#"{"id":17,"display_name":"Named"}
{"id":18,"name":"Computer Science","subfields":[],"outputs_count":3}"#;
const MIXED_OUTPUTS: &str = r#"{"id":"W1","display_name":"Named"}
{"title":"Native","name":"Native","id":"HX_W2"}"#;
const FIELD: &str = r#"{"id":17,"name":"Computer Science","subfields":[],"outputs_count":3}"#;
const NUMBER: &str = r#"{"id":17,"name":"Computer Science","outputs_count":3}"#;
const TYPE: &str = r#"{"id":4,"code":"archive","name":"Archives"}"#;

/// Files, the input argument (`[KIND:]NAME`), and the outcome: names of published records by entity, and
/// codes of quarantined lines.
type Case = (&'static [(&'static str, &'static str)], &'static str, &'static str);

const CASES: &[Case] = &[
    (&[("authors.jsonl", AUTHOR)], "", "authors Native"),
    (
        &[("authors/a.jsonl", AUTHOR), ("authors/b.jsonl", OPENALEX_AUTHOR)],
        "",
        "authors Native Other",
    ),
    (&[("anything.jsonl", AUTHOR)], "", "authors Native"),
    (&[("anything.jsonl", AUTHOR)], "anything.jsonl", "authors Native"),
    (&[("anything", AUTHOR)], "anything", "authors Native"),
    (
        &[("one.jsonl", FIELD), ("two.jsonl", TYPE)],
        "",
        "fields Computer Science, institution-types Archives",
    ),
    (&[("fields.jsonl", NUMBER)], "", "fields Computer Science"),
    (&[("anything.jsonl", NUMBER)], "anything.jsonl", "exit 3"),
    (&[("anything.jsonl", NUMBER)], "", "exit 3"),
    (&[("authors.jsonl", OPENALEX_AUTHOR)], "", "authors Other"),
    (&[("authors.jsonl", OPENALEX_AUTHOR)], "native:", "quarantined not_native"),
    (&[("authors.jsonl", OPENALEX_AUTHOR)], "native:authors.jsonl", "quarantined not_native"),
    (&[("authors.jsonl", AUTHOR)], "openalex:", "quarantined is_native"),
    (&[("authors.jsonl", AUTHOR)], "openalex:authors.jsonl", "quarantined is_native"),
    (&[("authors.jsonl", LOWER)], "", "authors Lower"),
    (&[("authors.jsonl", MIXED)], "", "authors Other, quarantined is_native"),
    (&[("fields.jsonl", MIXED_FIELDS)], "", "fields Named, quarantined is_native"),
    (&[("works.jsonl", MIXED_OUTPUTS)], "", "outputs Named, quarantined is_native"),
    (&[("institution-types.jsonl", TYPE)], "openalex:", "quarantined is_native"),
    (&[("authors.jsonl", AUTHOR)], "native:", "authors Native"),
    (&[("works.jsonl", AUTHOR)], "", "quarantined wrong_type"),
    (
        &[("institutions.jsonl", r#"{"id":"https://ror.org/1","name":"x"}"#)],
        "",
        "quarantined no_id",
    ),
];

/// Builds the input and writes the outcome as the cases do.
fn outcome(directory: &Path, given: &str) -> String {
    let out = tempfile::tempdir().unwrap();
    let (kind, path) = given.split_once(':').unwrap_or(("", given));
    let path = directory.join(path);
    let colon = if kind.is_empty() { "" } else { ":" };
    let run = build(&[&format!("{kind}{colon}{}", path.display())], out.path());
    if run.code != 0 {
        assert!(run.stderr.contains("expected an OpenAlex dump"), "{}", run.stderr);
        return format!("exit {}", run.code);
    }
    let snapshot = opened(&run);
    let mut words = Vec::new();
    for entity in Entity::all() {
        let names = rendered(&snapshot, entity, Shape::Single).into_iter().map(|record| {
            serde_json::from_str::<Value>(&record).unwrap()["name"].as_str().unwrap().to_owned()
        });
        let names: Vec<String> = names.collect();
        let is_fixed = entity == Entity::InstitutionType && names.len() == 9;
        if !names.is_empty() && !is_fixed {
            words.push(format!("{entity} {}", names.join(" ")));
        }
    }
    let bad: BTreeMap<String, u64> =
        serde_json::from_value(run.report["bad_records"].clone()).unwrap();
    words.extend(bad.keys().map(|code| format!("quarantined {code}")));
    words.join(", ")
}

#[test]
fn native_lines_are_detected_by_content_unless_the_kind_is_given() {
    for (files, given, expected) in CASES {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("input");
        write_files(&input, files.iter().map(|(name, line)| (*name, format!("{line}\n"))));
        assert_eq!(outcome(&input, given), *expected, "{files:?} as `{given}`");
    }
}

#[test]
fn native_lines_are_detected_in_any_compression() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(AUTHOR.as_bytes()).unwrap();
    let zst = zstd::encode_all(AUTHOR.as_bytes(), 1).unwrap();
    for (name, bytes) in [("part_0.gz", gz.finish().unwrap()), ("a.jsonl.zst", zst)] {
        let directory = tempfile::tempdir().unwrap();
        let input = directory.path().join("input");
        write_files(&input, [(format!("authors/{name}"), bytes)]);
        assert_eq!(outcome(&input, ""), "authors Native", "{name}");
    }
}

#[test]
fn the_newest_of_native_and_openalex_copies_wins() {
    let directory = tempfile::tempdir().unwrap();
    let native = [
        r#"{"id":"HX_A1","name":"Native, newer","updated_date":"2026-01-02T00:00:00"}"#,
        r#"{"id":"HX_A2","name":"Native, older","updated_date":"2026-01-01T00:00:00"}"#,
        r#"{"id":"HX_A3","name":"Native, undated","updated_date":null}"#,
        r#"{"id":"HX_A4","name":"Native alone","last_known_institutions":[{"id":"HX_I1","name":"As it was"}]}"#,
    ];
    let other = [
        r#"{"id":"https://openalex.org/A1","display_name":"Other, older","updated_date":"2026-01-01"}"#,
        r#"{"id":"https://openalex.org/A2","display_name":"Other, newer","updated_date":"2026-01-02"}"#,
        r#"{"id":"https://openalex.org/A3","display_name":"Other, dated","updated_date":"1999-01-02"}"#,
    ];
    let institution = r#"{"id":"https://openalex.org/I1","display_name":"As it is"}"#;
    write_files(
        directory.path(),
        [
            ("native/authors.jsonl", native.join("\n")),
            ("other/authors.jsonl", other.join("\n")),
            ("other/institutions.jsonl", institution.to_owned()),
        ],
    );
    let input = |name: &str| directory.path().join(name).display().to_string();
    let run = build(&[&input("native"), &input("other")], &directory.path().join("out"));
    let snapshot = opened(&run);
    let found = rendered(&snapshot, Entity::Author, Shape::List).into_iter().map(|record| {
        let record: Value = serde_json::from_str(&record).unwrap();
        (record["name"].clone(), record["last_known_institutions"].clone())
    });
    let institutions = serde_json::json!([{"id": "HX_I1", "name": "As it is"}]);
    let expected = [
        ("Native, newer".into(), Value::Null),
        ("Other, newer".into(), Value::Null),
        ("Other, dated".into(), Value::Null),
        ("Native alone".into(), institutions),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(run.report["entities"]["authors"]["superseded"], 3);
}

#[test]
fn institution_types_with_different_ids_are_matched_by_code() {
    let directory = tempfile::tempdir().unwrap();
    let native = [
        r#"{"id":2,"code":"company","name":"Firms","updated_date":"2026-01-02T00:00:00.000Z"}"#,
        r#"{"id":4,"code":"archive","name":"Older","updated_date":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"id":5,"name":"Without a code"}"#,
    ];
    let other = [
        r#"{"id":"https://openalex.org/institution-types/archive","display_name":"Newer","updated_date":"2026-01-03"}"#,
        r#"{"id":"https://openalex.org/institution-types/company","display_name":"Undated"}"#,
    ];
    write_files(
        directory.path(),
        [
            ("native/institution-types.jsonl", native.join("\n")),
            ("other/institution-types.jsonl", other.join("\n")),
        ],
    );
    let out = tempfile::tempdir().unwrap();
    let run = build(&[&directory.path().display().to_string()], out.path());
    let snapshot = opened(&run);
    let found =
        rendered(&snapshot, Entity::InstitutionType, Shape::List).into_iter().map(|record| {
            let record: Value = serde_json::from_str(&record).unwrap();
            (record["id"].as_u64().unwrap(), record["name"].as_str().unwrap().to_owned())
        });
    let expected = [(2, "Firms".to_owned()), (4, "Newer".into()), (5, "Without a code".into())];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let tally = &run.report["entities"]["institution-types"];
    assert_eq!((&tally["read"], &tally["superseded"]), (&5.into(), &2.into()));
}
