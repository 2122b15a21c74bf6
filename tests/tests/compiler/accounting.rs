//! The counts of records in a run's report.

use pinakes_format::entity::Entity;
use pinakes_tests::sample;
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

#[test]
fn every_line_of_the_sample_is_accounted_for() {
    let workspace = Workspace::new();
    let run = build(&[&sample()], &workspace.out(), &[]);
    let entities = run.report["entities"].as_object().unwrap();
    assert_eq!(entities.len(), Entity::COUNT);
    let number = |tally: &Value, name: &str| tally[name].as_u64().unwrap();
    for (entity, tally) in entities {
        let names = ["published_from_input", "duplicates", "superseded", "merged", "quarantined"];
        let sum: u64 = names.iter().map(|name| number(tally, name)).sum();
        assert_eq!(number(tally, "read"), sum, "{entity}");
        assert_eq!(number(tally, "quarantined"), 0, "{entity}");
        assert_eq!(number(tally, "derived"), 0, "{entity}");
    }
    // From data/README.md: read, published, duplicates, superseded (conflicts included), merged.
    for (entity, expected) in [
        ("outputs", [238, 234, 1, 2, 1, 1]),
        ("authors", [150, 147, 1, 1, 0, 1]),
        ("sources", [46, 46, 0, 0, 0, 0]),
        ("institutions", [56, 55, 0, 1, 0, 0]),
        ("publishers", [17, 17, 0, 0, 0, 0]),
        ("funders", [17, 17, 0, 0, 0, 0]),
        ("topics", [37, 37, 0, 0, 0, 0]),
        ("subfields", [23, 23, 0, 0, 0, 0]),
        ("fields", [12, 12, 0, 0, 0, 0]),
        ("domains", [4, 4, 0, 0, 0, 0]),
        ("institution-types", [9, 9, 0, 0, 0, 0]),
        ("awards", [10, 10, 0, 0, 0, 0]),
    ] {
        let tally = &entities[entity];
        let names =
            ["read", "published_from_input", "duplicates", "superseded", "conflicts", "merged"];
        assert_eq!(names.map(|name| number(tally, name)), expected, "{entity}");
    }
    assert_eq!(run.report["parts"], json!(21));
    assert_eq!(run.report["bad_records"], json!({}));
}

#[test]
fn the_table_on_the_terminal_has_the_counts_of_the_report() {
    let workspace = Workspace::new();
    let run = build(&[&sample()], &workspace.out(), &[]);
    let row = |first: &str| -> Vec<&str> {
        let line = run.stderr.lines().find(|line| line.split_whitespace().next() == Some(first));
        line.unwrap_or_else(|| panic!("{}", run.stderr)).split_whitespace().skip(1).collect()
    };
    let columns = row("entity");
    let counted = ["read", "published", "duplicate", "superseded", "conflicts", "merged"];
    assert_eq!(columns[..6], counted);
    assert_eq!(row("outputs")[..6], ["238", "234", "1", "2", "1", "1"]);
    assert_eq!(row("outputs").len(), columns.len());
}
