//! Lists of deleted ids: their places in a dump, the removed records, and the counts in the report.

use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_tests::write_files;
use serde_json::json;

use pinakes_tests::compiler_run::*;

/// Makes an output that was changed on a day and refers to a topic.
fn output(id: u64, updated: &str, topic: u64) -> String {
    format!(
        "{{\"id\":\"W{id}\",\"title\":\"Title {id}\",\"updated_date\":\"{updated}\",\
         \"primary_topic\":{{\"id\":\"https://openalex.org/T{topic}\",\"display_name\":\"T\"}}}}\n"
    )
}

fn works() -> String {
    let updated = ["2026-07-31", "2026-08-01T00:00:00", "2026-08-01T00:00:00.000001", "2026-09-01"];
    (1..).zip(updated).map(|(id, updated)| output(id, updated, id)).collect()
}

#[test]
fn a_deleted_record_leaves_unless_it_changed_after_its_deletion() {
    let workspace = Workspace::new();
    let author = "{\"id\":\"A1\",\"display_name\":\"Deleted\",\"updated_date\":\"2026-01-01\"}\n\
                  {\"id\":\"A2\",\"display_name\":\"Kept\"}\n";
    let of_works = "work_id,deleted_date\nW1,2026-08-01\nhttps://openalex.org/W2,2026-08-01\n\
                    3,2026-08-01\n4,2026-08-02\nW1,2026-05-01\nW404,2026-08-01\nW405,\n";
    let parts = "data/jsonl/works/updated_date=2026-09-01";
    write_files(
        &workspace.input(),
        [
            (format!("{parts}/part_0000.gz").as_str(), gzip(works().as_bytes())),
            (format!("{parts}/part_0001.gz").as_str(), gzip(output(1, "2026-06-01", 1).as_bytes())),
            ("data/jsonl/works/deleted_ids.csv.gz", gzip(of_works.as_bytes())),
            ("data/jsonl/authors/part_0000.gz", gzip(author.as_bytes())),
            ("data/jsonl/authors/deleted_ids.csv", b"deleted_date,id\n2026-08-01,1\n".to_vec()),
        ],
    );
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict", "--strict-manifest"]);
    let path = published_path(&run);
    assert_eq!(outputs(&path).into_keys().collect::<Vec<_>>(), ["HX_W3", "HX_W4"]);
    let authors = records(&path, Entity::Author);
    assert_eq!(authors.into_keys().collect::<Vec<_>>(), ["HX_A2"]);
    // A topic that deleted outputs alone name leaves with them.
    let topics = records(&path, Entity::Topic);
    assert_eq!(topics.into_keys().collect::<Vec<_>>(), ["HX_T3", "HX_T4"]);
    let snapshot = Snapshot::open(&path).unwrap();
    for id in [1, 2, 404] {
        assert_eq!(snapshot.find(Entity::Output, id).unwrap(), LookupResult::Absent, "{id}");
    }
    let tally = &run.report["entities"]["outputs"];
    let counted = ["read", "published_from_input", "superseded", "deleted"];
    assert_eq!(counted.map(|name| tally[name].as_u64().unwrap()), [5, 2, 1, 2]);
    assert_eq!(run.report["entities"]["authors"]["deleted"], 1);
    assert_eq!(run.report["warnings"], json!({"deleted_but_newer": 2}));
    let deleted = json!({"read": 8, "joined": 6, "unmatched": 2, "quarantined": 0});
    assert_eq!(run.report["side_tables"]["deleted_ids"], deleted);
}

#[test]
fn a_list_that_the_command_line_names_needs_no_folder() {
    let workspace = Workspace::new();
    write_files(
        &workspace.input(),
        [
            ("works.jsonl", works()),
            ("gone.txt", "work_id,deleted_date\nW1,2026-08-01\n".to_owned()),
            ("notes.csv", "work_id,date\nW1,2026-08-01\n".to_owned()),
        ],
    );
    let (dump, list) = (workspace.input().join("works.jsonl"), workspace.input().join("gone.txt"));
    let prefixed = format!("deleted:{}", list.display());
    for given in [prefixed.as_str(), list.to_str().unwrap()] {
        let run = build(&[dump.as_path(), Path::new(given)], &workspace.out(), &["--strict"]);
        let ids: Vec<String> = outputs(&published_path(&run)).into_keys().collect();
        assert_eq!(ids, ["HX_W2", "HX_W3", "HX_W4"], "{given}");
    }
    let wrong = format!("deleted:{}", workspace.input().join("notes.csv").display());
    let run = build(&[dump.as_path(), Path::new(&wrong)], &workspace.out(), &[]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("is not a list of deleted ids; expected the columns"));
}

#[test]
fn bad_rows_of_a_list_are_set_aside_within_the_budget_of_tables() {
    let workspace = Workspace::new();
    let good: String = (1_000..1_100).map(|id| format!("W{id},2026-08-01\n")).collect();
    let list = format!("work_id,deleted_date\nW1,2026-08-01\nA2,2026-08-01\nW3,soon\n{good}");
    write_files(&workspace.input(), [("works.jsonl", works()), ("works/deleted_ids.csv", list)]);
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    let ids: Vec<String> = outputs(&published_path(&run)).into_keys().collect();
    assert_eq!(ids, ["HX_W2", "HX_W3", "HX_W4"]);
    let deleted = json!({"read": 103, "joined": 1, "unmatched": 100, "quarantined": 2});
    assert_eq!(run.report["side_tables"]["deleted_ids"], deleted);
    let strict = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    assert_eq!(strict.code, 4, "{}", strict.stderr);
}

#[test]
fn a_list_larger_than_a_block_is_merged_by_id() {
    let workspace = Workspace::new();
    let mut rows = "work_id,deleted_date\n".to_owned();
    // Descending, so that the two blocks overlap the records in another order than they were written.
    for id in (1..=2_200_000u64).rev().filter(|id| *id != 2) {
        rows.push_str(&format!("{id},2026-12-01\n"));
    }
    write_files(&workspace.input(), [("works.jsonl", works()), ("works/deleted_ids.csv", rows)]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--memory", "256M"]);
    let ids: Vec<String> = outputs(&published_path(&run)).into_keys().collect();
    assert_eq!(ids, ["HX_W2"]);
    assert_eq!(run.report["entities"]["outputs"]["deleted"], 3);
    assert_eq!(run.report["side_tables"]["deleted_ids"]["unmatched"], 2_199_996);
}

#[test]
fn an_id_merged_into_a_deleted_record_is_not_found() {
    let workspace = Workspace::new();
    let merges =
        "merge_date,id,merge_into_id\n2026-01-01,W9,W1\n2026-01-01,W8,W4\n2026-12-01,W2,W4\n";
    let list = "work_id,deleted_date\nW1,2026-12-01\nW2,2026-12-01\n";
    write_files(
        &workspace.input(),
        [
            ("works.jsonl", works()),
            ("merged_ids/works/2026.csv", merges.to_owned()),
            ("works/deleted_ids.csv", list.to_owned()),
        ],
    );
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let path = published_path(&run);
    assert_eq!(outputs(&path).into_keys().collect::<Vec<_>>(), ["HX_W3", "HX_W4"]);
    let tally = &run.report["entities"]["outputs"];
    assert_eq!((&tally["merged"], &tally["deleted"]), (&1.into(), &1.into()));
    assert_eq!(run.report["warnings"], json!({"merge_target_missing": 1}));
    let snapshot = Snapshot::open(&path).unwrap();
    assert_eq!(snapshot.find(Entity::Output, 8).unwrap(), LookupResult::Merged(4));
    assert_eq!(snapshot.find(Entity::Output, 2).unwrap(), LookupResult::Merged(4));
}
