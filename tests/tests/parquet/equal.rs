//! A Parquet dump gives the same snapshot as the JSON dump of the same records.

use std::{collections::BTreeMap, fs, path::Path};

use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use pinakes_generate::parquet::Times;
use pinakes_tests::compiler_run::{Workspace, gzip};
use pinakes_tests::{files_below, real_sample, sample, write_files};
use serde_json::Value;

use crate::parquet::setup::{
    assert_same_snapshot, parquet_files, records_of, snapshot, write_manifest,
};

/// Which of two lines of one id wins at equal dates depends on the hash of the lines, and a row has no
/// line. So the dumps here hold one of the two.
fn without_the_conflict(records: Vec<Value>) -> Vec<Value> {
    let is_loser = |record: &Value| {
        record["id"].as_str().is_some_and(|id| id.ends_with("W2900000203"))
            && record["has_fulltext"] != true
    };
    records.into_iter().filter(|record| !is_loser(record)).collect()
}

fn lines_of(records: &[Value]) -> Vec<u8> {
    let lines = records.iter().map(|record| format!("{record}\n"));
    gzip(lines.collect::<String>().as_bytes())
}

/// Writes the sample as JSON lines and as Parquet, in the layouts of the releases.
fn write_sample(json: &Path, parquet: &Path, properties: &WriterProperties) {
    for name in files_below(&sample()).keys() {
        let path = sample().join(name);
        let Some(place) = name.strip_prefix("data/jsonl/") else {
            write_files(json, [(name, fs::read(&path).unwrap())]);
            write_files(parquet, [(name, fs::read(&path).unwrap())]);
            continue;
        };
        let Some((entity, place)) = place.split_once('/').filter(|_| name.ends_with(".gz")) else {
            continue;
        };
        let records = without_the_conflict(records_of(&path));
        write_files(json, [(name, lines_of(&records))]);
        let folder = parquet.join("data/parquet").join(entity);
        let day = place.split_once('/').unwrap().0;
        for (at, file) in parquet_files(&records, Times::Text, properties).iter().enumerate() {
            write_files(&folder, [(format!("{day}/part_{at:04}.parquet"), file)]);
        }
    }
}

#[test]
fn a_parquet_tree_gives_the_same_snapshot_as_the_json_tree() {
    let workspace = Workspace::new();
    let (json, parquet) = (workspace.0.path().join("json"), workspace.0.path().join("parquet"));
    write_sample(&json, &parquet, &WriterProperties::default());
    let (from_json, _) = snapshot(&json, &workspace.0.path().join("from-json"));
    let (from_parquet, run) = snapshot(&parquet, &workspace.out());
    assert_same_snapshot(&from_json, &from_parquet, "the sample");
    assert_eq!(run.report["warnings"]["not_an_abstract"], Value::Null);
}

/// Every file of real records, with the timestamps and dates of the releases.
#[test]
fn real_records_are_the_same_from_either_format() {
    let Some([openalex, _]) = real_sample("real_records_are_the_same_from_either_format") else {
        return;
    };
    let workspace = Workspace::new();
    let (json, parquet) = (workspace.0.path().join("json"), workspace.0.path().join("parquet"));
    for name in files_below(&openalex).keys().filter(|name| name.ends_with(".jsonl.gz")) {
        let records = records_of(&openalex.join(name));
        let entity = name.strip_suffix(".jsonl.gz").unwrap();
        let folder = parquet.join("data/parquet").join(entity);
        let mut rows = BTreeMap::new();
        let day = "updated_date=2026-06-01";
        // Vintages differ in the types of members, so one file holds records of one vintage.
        let mut from = 0;
        for (at, file) in
            parquet_files(&records, Times::Typed, &WriterProperties::default()).iter().enumerate()
        {
            let part = format!("{day}/part_{at:04}.parquet");
            write_files(&folder, [(&part, file)]);
            let count = row_count(file);
            rows.insert(part, count);
            from += count;
        }
        assert_eq!(from, records.len());
        write_manifest(&folder, entity, &rows);
        let lines = lines_of(&records);
        write_files(&json, [(format!("data/jsonl/{entity}/{day}/part_0000.gz"), lines)]);
    }
    let (from_json, _) = snapshot(&json, &workspace.0.path().join("from-json"));
    let (from_parquet, _) = snapshot(&parquet, &workspace.out());
    assert_same_snapshot(&from_json, &from_parquet, "real records");
}

fn row_count(file: &[u8]) -> usize {
    use parquet::file::reader::FileReader;
    let file = bytes::Bytes::copy_from_slice(file);
    let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    reader.metadata().file_metadata().num_rows() as usize
}

#[test]
fn codecs_encodings_and_sizes_of_row_groups_do_not_change_the_snapshot() {
    let works = without_the_conflict(records_of(
        &sample().join("data/jsonl/works/updated_date=2026-02-01/part_0000.gz"),
    ));
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("json/works.jsonl.gz", lines_of(&works))]);
    let (from_json, _) =
        snapshot(&workspace.input().join("json"), &workspace.0.path().join("from-json"));
    let properties = WriterProperties::builder;
    // Numbers and texts become deltas where version 2 has no dictionary.
    let deltas = || {
        let builder = properties().set_dictionary_enabled(false);
        builder.set_writer_version(WriterVersion::PARQUET_2_0)
    };
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let cases = [
        ("snappy", properties().set_compression(Compression::SNAPPY)),
        ("gzip", properties().set_compression(Compression::GZIP(Default::default()))),
        ("zstd", properties().set_compression(zstd)),
        ("zstd, version 2", {
            let builder = properties().set_compression(zstd);
            builder.set_writer_version(WriterVersion::PARQUET_2_0)
        }),
        ("no dictionaries", properties().set_dictionary_enabled(false)),
        ("row groups of one row", properties().set_max_row_group_row_count(Some(1))),
        ("pages of one row", {
            let builder = properties().set_data_page_row_count_limit(1).set_write_batch_size(1);
            builder.set_compression(Compression::SNAPPY)
        }),
        ("statistics of pages", properties().set_statistics_enabled(EnabledStatistics::Page)),
        ("deltas, snappy", deltas().set_compression(Compression::SNAPPY)),
    ];
    for (what, properties) in cases {
        let properties = properties.build();
        let files = parquet_files(&works, Times::Text, &properties);
        let input = tempfile::tempdir().unwrap();
        for (at, file) in files.iter().enumerate() {
            write_files(input.path(), [(format!("works/{at}.parquet"), file)]);
        }
        let out = tempfile::tempdir().unwrap();
        let (from_parquet, _) = snapshot(input.path(), out.path());
        assert_same_snapshot(&from_json, &from_parquet, what);
    }
}
