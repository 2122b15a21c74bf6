//! Dumps of the same records as JSON lines and as Parquet, and the comparison of their snapshots.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use parquet::file::properties::WriterProperties;
use pinakes_generate::parquet::{Times, write};
use pinakes_tests::compiler_run::{Run, build, published_path};
use pinakes_tests::{files_below, write_files};
use serde_json::{Value, json};

/// Reads the records of a file of JSON lines.
pub fn records_of(path: &Path) -> Vec<Value> {
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(fs::File::open(path).unwrap()));
    lines.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// Writes records as one Parquet file, or as several where they have no common schema.
pub fn parquet_files(
    records: &[Value],
    times: Times,
    properties: &WriterProperties,
) -> Vec<Vec<u8>> {
    match write(records, times, properties.clone()) {
        Ok(file) => vec![file],
        Err(error) if records.len() == 1 => panic!("{error}: {}", records[0]),
        Err(_) => {
            let (one, other) = records.split_at(records.len() / 2);
            let mut files = parquet_files(one, times, properties);
            files.extend(parquet_files(other, times, properties));
            files
        }
    }
}

/// Writes records as one Parquet file with the writer's defaults.
pub fn parquet_file(records: &[Value]) -> Vec<u8> {
    write(records, Times::Text, WriterProperties::default()).unwrap()
}

/// The files of a snapshot, and its manifest without what names the inputs. The report names the parts, and
/// `hashes` and `files` have its hash.
pub fn contents(snapshot: &Path) -> (BTreeMap<String, Vec<u8>>, Value) {
    let mut files = files_below(snapshot);
    let mut manifest: Value =
        serde_json::from_slice(&files.remove("manifest.json").unwrap()).unwrap();
    files.retain(|name, _| !matches!(name.as_str(), "report.json" | "hashes"));
    for member in ["id", "root", "source", "files"] {
        manifest.as_object_mut().unwrap().remove(member);
    }
    (files, manifest)
}

/// Builds a directory strictly, and returns the snapshot and the run.
pub fn snapshot(input: &Path, out: &Path) -> (PathBuf, Run) {
    let run = build(&[input], out, &["--strict"]);
    (published_path(&run), run)
}

/// Asserts that two dumps give the same snapshot, byte for byte but for the hashes of the parts.
pub fn assert_same_snapshot(one: &Path, other: &Path, what: &str) {
    let (one_files, one_manifest) = contents(one);
    let (other_files, other_manifest) = contents(other);
    for (name, bytes) in &one_files {
        assert!(other_files.get(name) == Some(bytes), "{what}: `{name}` differs");
    }
    assert_eq!(one_files.len(), other_files.len(), "{what}");
    assert_eq!(one_manifest, other_manifest, "{what}");
}

/// Writes a manifest of the parts below a folder, as the releases have it.
pub fn write_manifest(folder: &Path, entity: &str, rows: &BTreeMap<String, usize>) {
    let files: Vec<Value> = rows
        .iter()
        .map(|(name, rows)| {
            let size = fs::metadata(folder.join(name)).unwrap().len();
            let url = format!("s3://openalex/data/parquet/{entity}/{name}");
            json!({ "url": url, "meta": { "content_length": size, "record_count": rows } })
        })
        .collect();
    let manifest = json!({
        "date": "2026-06-02", "format": "parquet", "entity": entity,
        "record_count": rows.values().sum::<usize>(), "files": files,
    });
    write_files(folder, [("manifest.json", manifest.to_string().as_bytes())]);
}
