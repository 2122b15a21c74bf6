//! Files that Spark wrote, the producer's writer. `.ci/run` installs it into `target/tables`.

use std::{path::PathBuf, process::Command};

use pinakes_tests::compiler_run::Workspace;
use pinakes_tests::{JAVA_OPTIONS, real_sample, root, sample, spark_python};

use crate::parquet::setup::{assert_same_snapshot, snapshot};

/// Writes the tables of some files both ways, and compares the snapshots.
fn check(test: &str, inputs: &[(&str, PathBuf)], settings: &[(&str, &str)]) {
    let Some(python) = spark_python(test) else { return };
    let workspace = Workspace::new();
    let written = workspace.0.path().join("written");
    let arguments = inputs.iter().map(|(entity, path)| format!("{entity}={}", path.display()));
    let ran = Command::new(python)
        .arg(root().join("tests/tests/parquet/spark.py"))
        .arg(&written)
        .args(arguments)
        .envs(settings.iter().copied().chain([JAVA_OPTIONS]))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let (from_json, _) = snapshot(&written.join("jsonl"), &workspace.0.path().join("from-json"));
    let (from_parquet, run) = snapshot(&written.join("parquet"), &workspace.out());
    assert_same_snapshot(&from_json, &from_parquet, test);
    // Spark writes checksums.
    assert_eq!(run.report["warnings"]["parquet_without_checksum"], serde_json::Value::Null);
}

#[test]
fn real_records_written_by_spark_give_the_same_snapshot_as_its_json_lines() {
    let test = "real_records_written_by_spark_give_the_same_snapshot_as_its_json_lines";
    let Some([openalex, _]) = real_sample(test) else { return };
    let entities = [
        "works",
        "authors",
        "sources",
        "institutions",
        "publishers",
        "funders",
        "topics",
        "subfields",
    ];
    let inputs = entities.map(|entity| (entity, openalex.join(format!("{entity}.jsonl.gz"))));
    check(test, &inputs, &[]);
}

#[test]
fn spark_may_write_int96_times_and_gzip_pages() {
    let part = sample().join("data/jsonl/authors/updated_date=2026-01-10/part_0000.gz");
    let settings = [("CODEC", "gzip"), ("TIMESTAMPS", "INT96")];
    check("spark_may_write_int96_times_and_gzip_pages", &[("authors", part)], &settings);
}
