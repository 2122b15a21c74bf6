//! Parquet files of native records.

use parquet::file::properties::WriterProperties;
use pinakes_generate::parquet::Times;
use pinakes_tests::compiler_run::{Workspace, build, published_path};
use pinakes_tests::{export, files_below, sample, write_files};
use serde_json::Value;

use crate::parquet::setup::{assert_same_snapshot, parquet_files, snapshot};

#[test]
fn native_rows_give_the_same_snapshot_as_native_lines() {
    let workspace = Workspace::new();
    let published = published_path(&build(&[&sample()], &workspace.out(), &[]));
    let (lines, rows) = (workspace.0.path().join("lines"), workspace.0.path().join("rows"));
    export(&published, &lines, &["--compress", "none"]);
    for (name, bytes) in files_below(&lines) {
        let Some(entity) = name.strip_suffix(".jsonl") else {
            write_files(&rows, [(name, bytes)]);
            continue;
        };
        let text = String::from_utf8(bytes).unwrap();
        let records: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let files = parquet_files(&records, Times::Text, &WriterProperties::default());
        for (at, file) in files.iter().enumerate() {
            write_files(&rows, [(format!("{entity}/{at}.parquet"), file)]);
        }
    }
    let (from_lines, _) = snapshot(&lines, &workspace.0.path().join("from-lines"));
    let (from_rows, _) = snapshot(&rows, &workspace.0.path().join("from-rows"));
    assert_same_snapshot(&from_lines, &from_rows, "native records");
}

#[test]
fn a_file_of_the_other_kind_is_refused() {
    let workspace = Workspace::new();
    let openalex = crate::parquet::setup::parquet_file(&[serde_json::json!({
        "id": "W1", "title": "t", "display_name": "n",
    })]);
    let path = workspace.input().join("works.parquet");
    write_files(&workspace.input(), [("works.parquet", openalex)]);
    let native = format!("native:{}", path.display());
    let run = build(&[native.as_ref()], &workspace.out(), &[]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("give it as `openalex:PATH`"), "{}", run.stderr);
    assert!(!workspace.out().join("current").exists());
}
