//! Compares a snapshot with the snapshot built from its export.

use std::path::{Path, PathBuf};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::Shape;
use pinakes_format::query::{Deadline, Query};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_tests::{TINY_DUMP, files_below, write_files};

use crate::native::rendered;

/// Asserts that two snapshots have equal records and merged ids.
fn assert_same_records(one: &Snapshot, other: &Snapshot) {
    assert_eq!(
        one.manifest().source.newest_updated_date,
        other.manifest().source.newest_updated_date
    );
    for entity in Entity::all() {
        for shape in [Shape::Single, Shape::List] {
            let (left, right) = (rendered(one, entity, shape), rendered(other, entity, shape));
            assert_eq!(left.len(), right.len(), "{entity}");
            for (left, right) in left.iter().zip(&right) {
                assert_eq!(left, right, "{entity} {shape:?}");
            }
        }
        let (left, right) = (one.redirects(entity), other.redirects(entity));
        assert_eq!(left.count(), right.count(), "merged {entity}");
        for at in 0..left.count() {
            let (from, to) = left.pair(at).unwrap();
            assert_eq!(right.pair(at).unwrap(), (from, to), "merged {entity}");
            assert_eq!(
                other.find(entity, from).unwrap(),
                LookupResult::Merged(to),
                "merged {entity}"
            );
        }
    }
}

/// Asserts equal answers for every key: records with a value, records without one, and both sort orders.
fn assert_same_lists(one: &Snapshot, other: &Snapshot) {
    for entity in Entity::all() {
        let mut queries = Vec::new();
        for key in &keys_of(entity).keys {
            for value in ["null", "!null"] {
                let mut query = Query { per_page: 100, ..Query::new(entity) };
                if query.add_filter(&format!("{}:{value}", key.name)).is_ok() {
                    queries.push((format!("{}:{value}", key.name), query));
                }
            }
            for direction in ["asc", "desc"] {
                let mut query = Query { per_page: 100, ..Query::new(entity) };
                if query.set_sort(&format!("{}:{direction}", key.name)).is_ok() {
                    queries.push((format!("{} {direction}", key.name), query));
                }
            }
        }
        for (asked, query) in queries {
            let answer = |snapshot| query.execute(snapshot, Deadline::NEVER).unwrap();
            let (left, right) = (answer(one), answer(other));
            assert_eq!((left.count, left.rows), (right.count, right.rows), "{entity} {asked}");
        }
    }
}

/// Builds a snapshot of inputs, and compares it with the snapshots built from its exports.
fn check(inputs: &[PathBuf]) {
    check_subset(inputs, &[]);
}

/// [`check`] with a subset of the inputs.
fn check_subset(inputs: &[PathBuf], wheres: &[&str]) {
    let (directory, first) = check_lines(inputs, wheres);
    check_tables(&first, directory.path());
}

/// Builds a snapshot, exports lines, builds a second snapshot of the lines, and exports that. Returns the
/// first snapshot and its directory.
fn check_lines(inputs: &[PathBuf], wheres: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let beside = |name: &str| directory.path().join(name);
    let open = |path: &Path| Snapshot::open(path).unwrap();
    let options = [&["--quiet"], wheres].concat();
    let first = pinakes_tests::build(inputs, &beside("first"), &options);
    pinakes_tests::export(&first, &beside("exported"), &[]);
    let second =
        pinakes_tests::build(&[beside("exported")], &beside("second"), &["--quiet", "--strict"]);
    open(&second).verify().unwrap();
    assert_same_records(&open(&first), &open(&second));
    assert_same_lists(&open(&first), &open(&second));
    pinakes_tests::export(&second, &beside("again"), &[]);
    let (exported, again) = (files_below(&beside("exported")), files_below(&beside("again")));
    assert_eq!(exported.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
    for (name, bytes) in &exported {
        assert!(bytes == &again[name], "{name} differs in the second export");
    }
    // A native dump causes no warning except for ids merged into ids without a record.
    let report = std::fs::read_to_string(second.join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let mut warnings = report["warnings"].as_object().unwrap().keys();
    assert!(warnings.all(|code| code == "merge_target_missing"), "{report}");
    (directory, first)
}

/// Builds a snapshot from the Parquet export of another, whose times have six digits of a fraction or none.
fn check_tables(first: &Path, directory: &Path) {
    let (tables, out) = (directory.join("tables"), directory.join("from-tables"));
    pinakes_tests::export(first, &tables, &["--format", "parquet"]);
    let rebuilt = pinakes_tests::build(&[tables], &out, &["--quiet", "--strict"]);
    let (one, other) = (Snapshot::open(first).unwrap(), Snapshot::open(&rebuilt).unwrap());
    assert_same_records(&one, &other);
    assert_same_lists(&one, &other);
}

#[test]
fn the_sample_survives_export_and_rebuild() {
    check(&[pinakes_tests::sample()]);
}

#[test]
fn an_exported_subset_keeps_the_sums_of_the_full_snapshot() {
    check_subset(&[pinakes_tests::sample()], &["--where", "outputs:year:>2000"]);
}

#[test]
fn the_real_sample_with_its_taxonomy_survives_export_and_rebuild() {
    let test = "the_real_sample_with_its_taxonomy_survives_export_and_rebuild";
    let Some(sample) = pinakes_tests::real_sample(test) else { return };
    check(&sample);
}

#[test]
fn real_records_of_every_vintage_survive_export_and_rebuild() {
    let test = "real_records_of_every_vintage_survive_export_and_rebuild";
    let Some(every) = pinakes_tests::current_and_2023_dumps(test) else { return };
    check(&every);
}

#[test]
fn a_generated_dump_survives_export_and_rebuild() {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(2_000, 3).with_part_records(500);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    check(&[dump.path().to_path_buf()]);
}

/// A dump with facts that no member of a record shows: references without ids or names, ids merged into
/// absent ids, chains and cycles of merges, nodes that only references name, and hosts with an id alone.
const UNUSUAL_DUMP: [(&str, &str); 12] = [
    (
        "works.jsonl",
        concat!(
            r#"{"id":"W1","display_name":" ","authorships":[{"author":{"id":null,"display_name":null,"orcid":"https://orcid.org/"},"raw_affiliation_strings":["\u0000"," "]},{"author":{"id":"A9","display_name":"Odd"}},{"author":{"id":"A9","display_name":"Øther"},"institutions":[{"id":"I7"},{"id":"I7","display_name":"x"}],"countries":["de","XX"]}],"primary_topic":{"id":"T2","display_name":"Merged away"},"topics":[{"id":"T2","display_name":"Merged away"},{"id":"T5","display_name":"Only named","subfield":{"id":5,"display_name":"Sub"},"field":{"id":6}}],"cited_by_count":7,"updated_date":"2026-01-10T00:00:00.1000"}"#,
            "\n",
            r#"{"id":"W2","title":"\u0001\u2028","primary_location":{"source":{"id":"S1","type":"other"}},"locations":[{"source":{"id":"S404","display_name":"Gone","type":"repository"}}],"cited_by_count":9007199254740991,"primary_topic":{"id":"T5","display_name":"Only named"},"abstract_inverted_index":{"a":[0],"b c":[2]},"fwci":1e300,"language":"xx","created_date":"9999-12-31T23:59:59-02:00","updated_date":"2026-01-11T23:59:59.999999+02:00"}"#,
            "\n",
            r#"{"id":"W3","cited_by_count":9007199254740991,"primary_topic":{"id":"T5"}}"#,
            "\n",
        ),
    ),
    (
        "authors.jsonl",
        concat!(
            r#"{"id":"A1","display_name":"One","orcid":"0000/odd","topics":[{"id":"T77","display_name":"Nowhere"}],"counts_by_year":[]}"#,
            "\n",
            r#"{"id":"A2","display_name":"Two","orcid":" https://orcid.org/ ","updated_date":"2027-01-01"}"#,
            "\n",
        ),
    ),
    (
        "sources.jsonl",
        concat!(
            r#"{"id":"S1","display_name":"Hosted","host_organization":"P1","type":"journal","apc_usd_by_year":{"2020":1,"2019":null}}"#,
            "\n",
            r#"{"id":"S2","display_name":"Hosted elsewhere","host_organization":"I404"}"#,
            "\n",
        ),
    ),
    ("publishers.jsonl", "{\"id\":\"P1\",\"display_name\":\"Host\",\"lineage\":[\"P1\",\"P2\"]}\n"),
    (
        "institutions.jsonl",
        concat!(
            r#"{"id":"I1","display_name":"Inst","type":"odd","works_count":3,"international":{"display_name":{"en":null,"de":"Ä"}},"roles":[{"role":"funder","id":"F3","works_count":1}]}"#,
            "\n",
            r#"{"id":"I2","display_name":"Other","type":"education","works_count":4,"international":{}}"#,
            "\n",
        ),
    ),
    (
        "institution-types.jsonl",
        concat!(
            r#"{"id":"https://openalex.org/institution-types/odd","display_name":"Odd ones","updated_date":"2026-02-03T00:00:00.123456"}"#,
            "\n",
            r#"{"id":"https://openalex.org/institution-types/education","display_name":null}"#,
            "\n",
        ),
    ),
    (
        "topics.jsonl",
        concat!(
            r#"{"id":"T1","display_name":"Own","subfield":{"id":5,"display_name":"Sub, as named"},"siblings":null}"#,
            "\n",
            r#"{"id":"T3","display_name":"Without","works_count":null}"#,
            "\n",
        ),
    ),
    (
        "taxonomy.csv",
        "topic_id,topic_name,subfield_id,subfield_name,keywords,summary\n8,\"N\u{0}ul\",5,Sub,a;b,\n",
    ),
    ("merged_ids/topics/1.csv", "merge_date,id,merge_into_id\n2026-01-15,T2,T404\n"),
    (
        "merged_ids/authors/1.csv",
        "merge_date,id,merge_into_id\n2026-01-15,A2,A1\n2026-01-15,A3,A4\n,A4,A5\n",
    ),
    ("merged_ids/publishers/1.csv", "id,merge_into_id\nP2,P3\nP3,P2\nP4,P2\n"),
    ("merged_ids/fields/1.csv", "merge_date,id,merge_into_id\n2026-01-15,17,6\n"),
];

#[test]
fn values_without_a_member_of_their_own_survive_export_and_rebuild() {
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), UNUSUAL_DUMP);
    // A time with four digits.
    check_lines(&[dump.path().to_path_buf()], &[]);
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), TINY_DUMP);
    check(&[dump.path().to_path_buf()]);
}
