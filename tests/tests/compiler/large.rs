//! Very large members, degenerate names, and references in cycles.

use std::fs;

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_tests::write_files;
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

#[test]
fn members_are_kept_whole_unless_an_option_bounds_them() {
    let authors: Vec<Value> =
        (0..40_000).map(|at| json!({"author": {"id": format!("A{}", at % 7 + 1)}})).collect();
    let keywords: Vec<Value> =
        (0..100_000).map(|at| json!({"display_name": format!("k{at}")})).collect();
    let words: serde_json::Map<String, Value> =
        (0..100_000).map(|at| (format!("word{at}"), json!([at]))).collect();
    let line = json!({
        "id": "W1",
        "title": "t".repeat(1_000_000),
        "authorships": authors,
        "keywords": keywords,
        "abstract_inverted_index": words,
    });
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.jsonl", format!("{line}\n"))]);
    let read = |options: &[&str]| {
        let run = build(&[&workspace.input()], &workspace.out(), options);
        let mut records = outputs(&published_path(&run));
        (records.remove("HX_W1").unwrap(), run.report["warnings"].clone())
    };
    let (whole, warnings) = read(&["--strict"]);
    let length = |member: &str| whole[member].as_array().map(Vec::len);
    assert_eq!((length("authors"), length("keywords")), (Some(40_000), Some(100_000)));
    assert_eq!(whole["title"].as_str().map(str::len), Some(1_000_000));
    assert_eq!(whole["abstract"].as_str().map(|text| text.split(' ').count()), Some(100_000));
    assert_eq!(warnings, json!({}));
    let (bounded, warnings) = read(&["--strict", "--max-array", "50000", "--max-text", "500000"]);
    assert_eq!(bounded["authors"], whole["authors"]);
    for member in ["title", "keywords", "abstract"] {
        assert_eq!(bounded[member], Value::Null, "{member}");
    }
    assert_eq!(warnings, json!({"array_too_long": 1, "text_too_long": 2}));
    // The bounds are part of the object's key.
    assert_eq!(read(&["--strict"]).0, whole);
}

/// Compiling a work with a million authors needs about 1 GB; the default `--memory` is 2 GB.
#[test]
fn a_work_of_a_million_authors_is_kept_whole_within_memory() {
    const AUTHORS: usize = 1_000_000;
    let mut line = String::from(r#"{"id":"W1","abstract_inverted_index":{"#);
    for at in 0..80_000 {
        line.push_str(&format!(r#""word{at}":[{at}],"#));
    }
    line.pop();
    line.push_str(r#"},"keywords":["#);
    for at in 0..100_000 {
        line.push_str(&format!(r#"{{"display_name":"k{at}"}},"#));
    }
    line.pop();
    line.push_str(r#"],"authorships":["#);
    for at in 0..AUTHORS {
        line.push_str(&format!(r#"{{"author":{{"id":"A{}"}}}},"#, at % 7 + 1));
    }
    line.pop();
    line.push_str("]}\n");
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.jsonl", line)]);
    let (code, peak) =
        peak_bytes(&workspace.input(), &workspace.out(), &["--strict", "--max-line", "64M"]);
    assert_eq!(code, Some(0));
    assert!(peak > 0 && peak < 2 << 30, "{peak} bytes");
    let whole = outputs(&fs::canonicalize(workspace.out().join("current")).unwrap());
    let whole = &whole["HX_W1"];
    let length = |member: &str| whole[member].as_array().map(Vec::len);
    assert_eq!((length("authors"), length("keywords")), (Some(AUTHORS), Some(100_000)));
    let words: Vec<String> = (0..80_000).map(|at| format!("word{at}")).collect();
    assert!(whole["abstract"] == words.join(" "));
}

/// Lists of empty objects, of which 3 bytes of a line made 100 to 300 bytes in memory: 1.9 to 2.6 GB.
#[test]
fn a_record_that_takes_too_much_memory_is_quarantined() {
    let many = vec!["{}"; 5_500_000].join(",");
    for (file, id, member) in [
        ("works/part_000.jsonl", "https://openalex.org/W", "authorships"),
        ("works/part_000.jsonl", "https://openalex.org/W", "locations"),
        ("outputs.jsonl", "HX_W", "authors"),
    ] {
        let lines = format!(
            "{{\"id\":\"{id}1\",\"name\":null,\"title\":\"A\"}}\n{{\"id\":\"{id}2\",\"name\":null,\"{member}\":[{many}]}}\n"
        );
        let workspace = Workspace::new();
        write_files(&workspace.input(), [(file, lines)]);
        let options = ["--max-bad", "50%", "--memory", "256M"];
        let (code, peak) = peak_bytes(&workspace.input(), &workspace.out(), &options);
        assert_eq!(code, Some(0), "{file}, {member}");
        assert!(peak > 0 && peak < 256 << 20, "{file}, {member}: {peak} bytes");
        let bad = workspace.out().join("quarantine/bad-records.jsonl");
        let bad = fs::read_to_string(bad).unwrap();
        assert_eq!((bad.lines().count(), bad.contains("takes_memory")), (1, true), "{bad}");
        let kept = outputs(&fs::canonicalize(workspace.out().join("current")).unwrap());
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["HX_W1"]);
    }
}

/// The longest records of a dump are often neighbours.
#[test]
fn neighbouring_records_of_many_names_stay_within_memory() {
    let names = size_from_env("PINAKES_LONG_NAMES", 300_000);
    let lines = (1..=10).fold(String::new(), |lines, id| {
        let names: Vec<String> =
            (0..names).map(|at| format!("\"N{id:02} {at:07} abcdefgh\"")).collect();
        let names = names.join(",");
        lines + &format!("{{\"id\":\"A{id}\",\"display_name\":\"A\",\"display_name_alternatives\":[{names}]}}\n")
    });
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("authors.jsonl", lines)]);
    let (code, peak) =
        peak_bytes(&workspace.input(), &workspace.out(), &["--strict", "--memory", "512M"]);
    assert_eq!(code, Some(0));
    assert!(peak > 0 && peak < 512 << 20, "{peak} bytes");
}

/// The list is longer than what sorts in memory at once. In memory it would take 96 MB more, with 24 bytes a line.
#[test]
fn merged_ids_take_the_same_memory_however_many() {
    let lines = size_from_env("PINAKES_MERGES", 4_000_000);
    let mut merges = "merge_date,id,merge_into_id\n".to_owned();
    for at in 0..lines {
        let from = at * 1_000_003 % (lines * 2 + 1);
        merges.push_str(&format!("2026-01-01,A{},A{}\n", from + 1, lines * 3 + at % 1_000));
    }
    let workspace = Workspace::new();
    let author = format!("{{\"id\":\"A{}\",\"display_name\":\"A\"}}\n", lines * 3);
    let files = [("authors.jsonl", author), ("merged_ids/authors/2026.csv", merges)];
    write_files(&workspace.input(), files);
    let (code, peak) = peak_bytes(&workspace.input(), &workspace.out(), &["--memory", "256M"]);
    assert_eq!(code, Some(0));
    assert!(peak > 0 && peak < 180_000_000, "{peak} bytes");
}

#[test]
fn a_long_chain_of_merges_leads_to_its_end_and_a_long_cycle_nowhere() {
    let length = size_from_env("PINAKES_CHAIN", 20_000);
    // W1 → W2 → … → W{length}, and a cycle above.
    let chain = (1..length).map(|id| (id, id + 1));
    let cycle = (0..length).map(|at| (length + 1 + at, length + 1 + (at + 1) % length));
    let merges =
        chain.chain(cycle).fold("merge_date,id,merge_into_id\n".to_owned(), |text, (id, into)| {
            text + &format!("2026-01-01,W{id},W{into}\n")
        });
    let workspace = Workspace::new();
    let files = [("works.jsonl", work(length)), ("merged_ids/works/2026.csv", merges)];
    write_files(&workspace.input(), files);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    assert_eq!(run.report["warnings"], json!({"merge_cycle": length}));
    let snapshot = Snapshot::open(&published_path(&run)).unwrap();
    let find = |id| snapshot.find(Entity::Output, id).unwrap();
    for id in [1, 2, length / 2, length - 1] {
        assert!(matches!(find(id), LookupResult::Merged(end) if end == length), "{id}");
    }
    assert!(matches!(find(length), LookupResult::Row(0)));
    for id in [length + 1, length * 3 / 2, length * 2] {
        assert!(matches!(find(id), LookupResult::Absent), "{id}");
    }
}

#[test]
fn names_that_are_hardly_names_are_kept_and_stay_distinct() {
    let names = [
        "a".repeat(10 << 20),
        "\u{301}".repeat(1_000),
        (1..32).filter_map(char::from_u32).collect(),
        "\u{202e}desrever".to_string(),
        "Caf\u{e9}".to_string(),
        "Cafe\u{301}".to_string(),
        "CAF\u{c9}".to_string(),
    ];
    let mut lines = String::new();
    for (name, id) in names.iter().zip(1..) {
        let line = json!({"id": format!("A{id}"), "display_name": name});
        lines.push_str(&format!("{line}\n"));
    }
    let same = size_from_env("PINAKES_SAME_NAMES", 5_000);
    for id in 100..100 + same {
        let line = json!({"id": format!("A{id}"), "display_name": "The Same Name"});
        lines.push_str(&format!("{line}\n"));
    }
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("authors.jsonl", lines)]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let authors = records(&published_path(&run), Entity::Author);
    assert_eq!(authors.len() as u64, names.len() as u64 + same);
    for (name, id) in names.iter().zip(1..) {
        assert!(authors[&format!("HX_A{id}")]["name"] == json!(name), "A{id}");
    }
}

#[test]
fn dangling_and_cyclic_references_are_kept() {
    let institution = |id: u64, above: u64| {
        let line = json!({
            "id": format!("I{id}"),
            "display_name": format!("Institution {id}"),
            "lineage": [format!("I{above}"), format!("I{id}")],
            "associated_institutions": [
                {"id": format!("I{above}"), "relationship": "parent"},
                {"id": format!("I{id}"), "relationship": "child"},
            ],
        });
        format!("{line}\n")
    };
    let work = json!({"id": "W1", "title": "Cites itself", "referenced_works": ["W1", "W404"],
        "authorships": [{"author": {"id": "A404", "display_name": "Nobody"}},
            {"author": {"id": null, "display_name": "Nameless"}}]});
    let workspace = Workspace::new();
    write_files(
        &workspace.input(),
        [
            ("institutions.jsonl", institution(1, 2) + &institution(2, 1)),
            ("works.jsonl", format!("{work}\n")),
            (
                "topics.jsonl",
                "{\"id\":\"T1\",\"display_name\":\"Own sibling\",\"siblings\":[{\"id\":\"T1\"}]}\n"
                    .into(),
            ),
        ],
    );
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let snapshot = published_path(&run);
    assert_eq!(records(&snapshot, Entity::Institution).len(), 2);
    let work = &outputs(&snapshot)["HX_W1"];
    assert_eq!(work["authors"][0]["name"], json!("Nobody"), "{work}");
    assert_eq!(run.report["entities"]["outputs"]["dangling"], json!(1));
    let topic = &records(&snapshot, Entity::Topic)["HX_T1"];
    assert_eq!(topic["siblings"][0]["id"], topic["id"], "{topic}");
}
