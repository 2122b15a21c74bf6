//! Topics without a parent in the taxonomy, malformed tables, and merged nodes.

use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_tests::write_files;
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

const HEADER: &str = "topic_id,topic_name,subfield_id,subfield_name,field_id,field_name,domain_id,\
                      domain_name,keywords,summary,wikipedia_url\n";

/// Makes a row of the table, with a subfield, a field and a domain.
fn row(id: u64) -> String {
    format!("{id},Topic {id},11,Sub,1,Field,1,Domain,a; b,About,https://example.org\n")
}

fn topic(id: u64, above: &str) -> String {
    format!("{{\"id\":\"T{id}\",\"display_name\":\"Topic {id}\"{above}}}\n")
}

/// Makes 399 valid topics; some parents are named, others are not.
fn valid_topics() -> String {
    let above = ",\"subfield\":{\"id\":\"https://openalex.org/subfields/11\",\"display_name\":\"Sub\"},\
                 \"field\":{\"id\":1,\"display_name\":\"Field\"},\"domain\":1";
    let domain = ",\"domain\":{\"id\":1,\"display_name\":\"Domain\"}";
    (1..400).map(|id| topic(id, if id == 1 { domain } else { above })).collect()
}

#[test]
fn a_topic_whose_parent_has_no_name_in_any_source_is_set_aside() {
    let orphans = [
        ",\"subfield\":{\"id\":\"https://openalex.org/subfields/404\"}",
        ",\"subfield\":{\"id\":\"https://openalex.org/fields/1\",\"display_name\":\"Field\"}",
        ",\"subfield\":[{\"id\":11},{\"id\":12}]",
    ];
    let lines: String = orphans.iter().zip(1_001..).map(|(above, id)| topic(id, above)).collect();
    let output = "{\"id\":\"W1\",\"topics\":[{\"id\":\"T2000\",\"display_name\":\"Named in passing\",\
                  \"subfield\":{\"id\":404}}]}\n";
    let workspace = Workspace::new();
    let files = [
        ("topics.jsonl", format!("{}{lines}", valid_topics())),
        ("works.jsonl", output.to_string()),
    ];
    write_files(&workspace.input(), files);
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "1%"]);
    let topics = records(&published_path(&run), Entity::Topic);
    assert_eq!(topics.len(), 399, "{:?}", topics.keys());
    assert_eq!(run.report["bad_records"], json!({"no_parent": 3}));
    let tally = &run.report["entities"]["topics"];
    let counts = ["read", "published_from_input", "quarantined", "derived"];
    assert_eq!(counts.map(|name| tally[name].clone()), [402, 399, 3, 0].map(|count| json!(count)));
    let list =
        std::fs::read_to_string(workspace.out().join("quarantine/bad-records.jsonl")).unwrap();
    let mut listed: Vec<(u64, String)> = list
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["line"].as_u64().unwrap(), line["excerpt"].as_str().unwrap().into()))
        .collect();
    listed.sort();
    let expected: Vec<(u64, String)> = (400..).zip(lines.lines().map(str::to_owned)).collect();
    assert_eq!(listed, expected);
}

#[test]
fn an_invalid_parent_id_drops_the_parent_and_keeps_the_topic() {
    let workspace = Workspace::new();
    let bad = ",\"subfield\":{\"id\":11},\"field\":{\"id\":1},\"domain\":{\"id\":\"bad\"}";
    let lines = valid_topics() + &topic(1_000, bad) + &topic(1_001, ",\"subfield\":\"A5\"");
    write_files(&workspace.input(), [("topics.jsonl", lines)]);
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    let topics = records(&published_path(&run), Entity::Topic);
    let above = |id: &str| {
        ["subfield", "field", "domain"]
            .map(|level| topics[id][level]["id"].as_str().map(str::to_owned))
    };
    assert_eq!(above("HX_T1000"), [Some("11".into()), Some("1".into()), None]);
    assert_eq!(above("HX_T1001"), [None, None, None]);
    assert_eq!(run.report["warnings"]["bad_reference"], 2);
}

#[test]
fn more_than_1_percent_of_topics_without_a_parent_end_the_run_with_4() {
    let lines: String = (1_001..1_006).map(|id| topic(id, ",\"subfield\":{\"id\":404}")).collect();
    check(&[Case {
        bad: &[("no_parent", 5)],
        ..fails(
            "five in four hundred",
            vec![("topics.jsonl", format!("{}{lines}", valid_topics()).into_bytes())],
            4,
            "5 of 404 topics name a parent that no input contains, more than 1%",
        )
    }]);
}

#[test]
fn an_invalid_row_affects_no_other_row() {
    let rows: String = (1..=40).map(row).collect();
    let table = |bad: &str| vec![("topics.csv", format!("{HEADER}{rows}{bad}{}", row(41)).into())];
    let with = |delimiter: &str| {
        let text = format!("{HEADER}{rows}").replace("; ", "|").replace(',', delimiter);
        vec![("topics.csv", text.into_bytes())]
    };
    let options = &["--max-bad", "5%"];
    let unknown = format!("{HEADER}{rows}").replace("\n", ",=cmd()\n");
    check(&[
        succeeds("semicolons", with(";")),
        succeeds("tabs", with("\t")),
        succeeds("a column more that nothing reads", vec![("topics.csv", unknown.into_bytes())]),
        succeeds("a row over lines", table("42,\"Two\nlines, \"\"quoted\"\"\",,,,,,,,,\n")),
        Case {
            options,
            bad: &[("ragged_row", 1)],
            ..succeeds("a cell too few", table("42,X,,,\n"))
        },
        Case {
            options,
            bad: &[("unclosed_quote", 1)],
            ..succeeds("an open quote", table("42,\"X,,,,,,,,,\n"))
        },
        Case { options, bad: &[("no_id", 1)], ..succeeds("no id", table(",X,,,,,,,,,\n")) },
        Case { options, bad: &[("no_name", 1)], ..succeeds("no name", table("42,,,,,,,,,,\n")) },
        Case { options, bad: &[("bad_id", 1)], ..succeeds("no number", table("T-1,X,,,,,,,,,\n")) },
        Case {
            options,
            bad: &[("no_parent", 1)],
            ..succeeds("a parent that is none", table("42,X,x,Sub,,,,,,,\n"))
        },
    ]);
}

#[test]
fn merged_ids_resolve_chains_and_drop_cycles() {
    let works: String = [1, 4, 8].map(work).concat();
    let newer = "{\"id\":\"W9\",\"title\":\"Newer\",\"updated_date\":\"2026-03-01\"}\n";
    let merges = "merge_date,id,merge_into_id\n2026-01-01,W2,W3\n2026-01-01,W3,W4\n\
                  2026-01-01,W5,W6\n2026-01-01,W6,W5\n2026-01-01,W7,W404\n2026-01-01,W8,W1\n\
                  2026-01-01,W9,W1\n2026-01-01,W10,W1\nno,row\n2026-01-01,,W1\n";
    let workspace = Workspace::new();
    let files = [
        ("works.jsonl", format!("{works}{newer}")),
        ("merged_ids/works/2026.csv", merges.to_string()),
    ];
    write_files(&workspace.input(), files);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let snapshot = published_path(&run);
    assert_eq!(outputs(&snapshot).into_keys().collect::<Vec<_>>(), ["HX_W1", "HX_W4", "HX_W9"]);
    let warnings = json!({
        "bad_merge": 2,
        "merge_cycle": 2,
        "merge_target_missing": 1,
        "merged_but_newer": 1,
    });
    assert_eq!(run.report["warnings"], warnings);
    let snapshot = Snapshot::open(&snapshot).unwrap();
    let end = |id| match snapshot.find(Entity::Output, id).unwrap() {
        LookupResult::Merged(end) => Some(end),
        _ => None,
    };
    let ends = [2, 3, 5, 6, 8, 9, 10].map(end);
    assert_eq!(ends, [Some(4), Some(4), None, None, Some(1), None, Some(1)]);
}

/// Makes an output of a topic; its date is later than every merge in these tests.
fn output(id: &str, cited: u64, topic: u64) -> String {
    format!(
        "{{\"id\":\"{id}\",\"cited_by_count\":{cited},\"updated_date\":\"2026-05-01\",\
         \"primary_topic\":{{\"id\":\"https://openalex.org/T{topic}\",\"display_name\":\"x\"}}}}\n"
    )
}

fn merged(merges: &str) -> String {
    format!("merge_date,id,merge_into_id\n{merges}")
}

/// Returns the counts of outputs and citations of a node.
fn counts(snapshot: &Path, entity: Entity, id: &str) -> [u64; 2] {
    let record = &records(snapshot, entity)[id];
    ["outputs_count", "cited_by_count"].map(|member| record[member].as_u64().unwrap())
}

#[test]
fn outputs_of_a_merged_node_count_for_the_target_of_the_merge() {
    let workspace = Workspace::new();
    // Outputs of a merged topic, a topic, a merged topic without a record, and a topic newer than
    // its merge.
    let works = [("W1", 4, 500), ("W2", 2, 1), ("W3", 1, 501), ("W4", 8, 502)];
    let works = works.map(|(id, cited, topic)| output(id, cited, topic));
    let newer = "{\"id\":\"T502\",\"display_name\":\"Newer\",\"updated_date\":\"2026-04-01\",\
                 \"subfield\":{\"id\":12,\"display_name\":\"Merged\"}}\n";
    let topics = "2026-03-01,T500,T501\n2026-03-01,T501,T1\n2026-03-01,T502,T1\n";
    let files = [
        ("works.jsonl", works.concat()),
        ("topics.jsonl", newer.to_owned()),
        ("taxonomy.csv", format!("{HEADER}{}", row(1))),
        ("merged_ids/topics/2026.csv", merged(topics)),
        ("merged_ids/subfields/2026.csv", merged("2026-03-01,12,11\n")),
    ];
    write_files(&workspace.input(), files);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let snapshot = published_path(&run);
    assert_eq!(run.report["warnings"], json!({"merged_but_newer": 1}));
    let ids: Vec<String> = records(&snapshot, Entity::Topic).into_keys().collect();
    assert_eq!(ids, ["HX_T1", "HX_T502"]);
    assert_eq!(counts(&snapshot, Entity::Topic, "HX_T1"), [3, 7]);
    for (entity, id) in [(Entity::Subfield, "11"), (Entity::Field, "1"), (Entity::Domain, "1")] {
        assert_eq!(counts(&snapshot, entity, id), [4, 15], "{entity}");
    }
}

#[test]
fn a_topic_exists_if_published_outputs_name_it_only_by_a_merged_id() {
    let workspace = Workspace::new();
    let older = "{\"id\":\"W1\",\"updated_date\":\"2026-01-01\",\
                 \"topics\":[{\"id\":\"T600\",\"display_name\":\"Once named\"},\
                 {\"id\":\"T601\",\"display_name\":\"Named no more\"}]}\n";
    let files = [
        ("works.jsonl", [older, &output("W1", 1, 7), &output("W2", 2, 500)].concat()),
        ("merged_ids/topics/2026.csv", merged("2026-03-01,T500,T600\n")),
    ];
    write_files(&workspace.input(), files);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let snapshot = published_path(&run);
    let ids: Vec<String> = records(&snapshot, Entity::Topic).into_keys().collect();
    assert_eq!(ids, ["HX_T600", "HX_T7"]);
    assert_eq!(counts(&snapshot, Entity::Topic, "HX_T600"), [1, 2]);
}

#[test]
fn a_subfield_newer_than_its_merge_keeps_its_topics() {
    let workspace = Workspace::new();
    let subfield = "{\"id\":12,\"display_name\":\"Sub\",\"updated_date\":\"2026-04-01\"}\n\
                    {\"id\":13,\"display_name\":\"Circle\"}\n{\"id\":14,\"display_name\":\"Circle\"}\n";
    // Enough topics to stay within the budget with one topic set aside.
    let topics: String = (0..120).map(|id| topic(id, ",\"subfield\":{\"id\":12}")).collect();
    let topics = topics + &topic(500, ",\"subfield\":{\"id\":13}");
    let merges = "2026-03-01,12,11\n2026-03-01,13,14\n2026-03-01,14,13\n";
    let files = [
        ("subfields.jsonl", subfield.to_owned()),
        ("topics.jsonl", topics),
        ("merged_ids/subfields/2026.csv", merged(merges)),
    ];
    write_files(&workspace.input(), files);
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "1%"]);
    let topics = records(&published_path(&run), Entity::Topic);
    assert_eq!((topics.len(), topics.contains_key("HX_T500")), (120, false));
    assert_eq!(run.report["bad_records"], json!({"no_parent": 1}));
}
