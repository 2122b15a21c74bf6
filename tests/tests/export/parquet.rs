//! Parquet files as bytes: their edges, their row groups, and that threads leave no trace in them.

use std::{fs::File, path::Path};

use arrow_array::{Array, RecordBatchReader, StringArray, UInt64Array};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use pinakes_arrow::records::Records;
use pinakes_format::entity::Entity;
use pinakes_format::query::Query;
use pinakes_format::snapshot::Snapshot;
use pinakes_tests::files_below;
use serde_json::Value;

use crate::export::Setup;

/// Reads the rows of a table as texts, as the parquet crate shows them.
fn rows(table: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(File::open(table).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_string()).collect()
}

/// A text as the parquet crate shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn row(cells: &[(&str, Value)]) -> String {
    let cells: Vec<String> =
        cells.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect();
    format!("{{{}}}", cells.join(", "))
}

fn items(value: &Value) -> impl Iterator<Item = (u32, &Value)> {
    (1..).zip(value.as_array().into_iter().flatten())
}

/// Collects a member of each object of a list; null for no list.
fn each(list: &Value, member: &str) -> Value {
    match list.as_array() {
        Some(items) => items.iter().map(|item| item[member].clone()).collect(),
        None => Value::Null,
    }
}

#[test]
fn the_edges_are_those_of_the_records() {
    let setup = Setup::from_sample();
    let tables = setup.export("tables", "outputs --format parquet --edges");
    let [mut authors, mut topics, mut funders, mut venues, mut citations] =
        [const { Vec::new() }; 5];
    for output in setup.lines("outputs") {
        let id = || ("output_id", output["id"].clone());
        for (at, author) in items(&output["authors"]) {
            authors.push(row(&[
                id(),
                ("position", at.into()),
                ("author_id", author["id"].clone()),
                ("author_position", author["author_position"].clone()),
                ("is_corresponding", author["is_corresponding"].clone()),
                ("institution_ids", each(&author["affiliations"], "id")),
                ("country_codes", each(&author["countries"], "code")),
            ]));
        }
        for (at, topic) in items(&output["topics"]) {
            let is_primary = topic["id"] == output["primary_topic"]["id"];
            topics.push(row(&[
                id(),
                ("position", at.into()),
                ("topic_id", topic["id"].clone()),
                ("is_primary", is_primary.into()),
            ]));
        }
        for (at, funder) in items(&output["funders"]) {
            let awards =
                items(&funder["awards"]).map(|(_, award)| award["funder_award_id"].clone());
            let awards = awards.filter(|award| !award.is_null()).collect();
            funders.push(row(&[
                id(),
                ("position", at.into()),
                ("funder_id", funder["id"].clone()),
                ("funder_award_ids", awards),
            ]));
        }
        let primary = Some((0, &output["primary_venue"])).filter(|(_, venue)| !venue.is_null());
        for (at, venue) in primary.into_iter().chain(items(&output["additional_venues"])) {
            venues.push(row(&[
                id(),
                ("position", at.into()),
                ("is_primary", (at == 0).into()),
                ("source_id", venue["source"]["id"].clone()),
                ("is_oa", venue["is_oa"].clone()),
                ("version", venue["version"].clone()),
                ("license", venue["license"].clone()),
                ("landing_page_url", venue["landing_page_url"].clone()),
                ("pdf_url", venue["pdf_url"].clone()),
            ]));
        }
        for (_, cited) in items(&output["references"]) {
            citations
                .push(row(&[("citing_id", output["id"].clone()), ("cited_id", cited.clone())]));
        }
    }
    let expected = [
        ("outputs_authors", authors),
        ("outputs_topics", topics),
        ("outputs_funders", funders),
        ("outputs_venues", venues),
        ("citations", citations),
    ];
    for (name, expected) in expected {
        assert!(!expected.is_empty(), "the sample has {name}");
        assert_eq!(rows(&tables.join(format!("{name}.parquet"))), expected, "{name}");
    }
}

#[test]
fn tables_have_the_same_bytes_with_any_thread_count() {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(6_000, 4).with_part_records(2_000);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    let setup = Setup::from_inputs(&[dump.path().to_path_buf()]);
    let export = |threads: u32| {
        let more = format!("--format parquet --edges --threads {threads}");
        files_below(&setup.export(&format!("threads-{threads}"), &more))
    };
    let one = export(1);
    assert!(one == export(2) && one == export(5));
    let csv = |threads: u32| setup.text(&format!("outputs --format csv --threads {threads}"));
    assert!(csv(1) == csv(3));
}

#[test]
fn every_row_group_has_statistics_and_filters_of_ids() {
    let setup = Setup::from_sample();
    let table = setup.export("outputs.parquet", "outputs --format parquet");
    let reader = SerializedFileReader::new(File::open(table).unwrap()).unwrap();
    let expected = setup.lines("outputs");
    let metadata = reader.metadata();
    assert_eq!(metadata.file_metadata().num_rows(), expected.len() as i64);
    let facts = metadata.file_metadata().key_value_metadata().unwrap();
    let snapshot = setup.snapshot.file_name().unwrap().to_str().unwrap();
    let fact = facts.iter().find(|fact| fact.key == "pinakes.snapshot").unwrap();
    assert_eq!(fact.value.as_deref(), Some(snapshot));
    for group in metadata.row_groups() {
        for column in group.columns() {
            // Engines prune by columns outside of lists.
            let path = column.column_path();
            let is_in_list = path.parts().iter().any(|part| part == "list");
            assert_eq!(column.statistics().is_none(), is_in_list, "{path}");
        }
        assert!(group.column(0).bloom_filter_offset().is_some());
        let Some(Statistics::ByteArray(ids)) = group.column(0).statistics() else {
            panic!("no ids")
        };
        let ids = [ids.min_bytes_opt(), ids.max_bytes_opt()].map(|id| id.unwrap().to_vec());
        let texts = expected.iter().map(|output| output["id"].as_str().unwrap().as_bytes());
        let (least, most) = (texts.clone().min().unwrap(), texts.max().unwrap());
        assert_eq!([&ids[0][..], &ids[1][..]], [least, most]);
    }
}

#[test]
fn selected_columns_are_the_only_columns() {
    let setup = Setup::from_sample();
    let check = |entity: &str, select: &str, expected: &[&str]| {
        let name = format!("{entity}-{select}.parquet");
        let table = setup.export(&name, &format!("{entity} --format parquet --select {select}"));
        let reader = SerializedFileReader::new(File::open(table).unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let paths: Vec<String> =
            schema.columns().iter().map(|column| column.path().string()).collect();
        assert_eq!(paths, expected, "{entity} {select}");
    };
    check(
        "outputs",
        "ids.pmid,id,authors.name,topics",
        &[
            "id",
            "ids.pmid",
            "authors.list.element.name",
            "topics.list.element.id",
            "topics.list.element.name",
        ],
    );
    check(
        "sources",
        "is_oa,apc_usd_by_year",
        &["is_oa", "apc_usd_by_year.list.element.year", "apc_usd_by_year.list.element.price"],
    );
    check(
        "outputs",
        "primary_venue.source.metrics.scopus.sjr",
        &["primary_venue.source.metrics.scopus.sjr"],
    );
}

/// A hundred records with a megabyte of text each are larger than the memory of one row group.
#[test]
fn long_texts_need_no_memory_of_their_own() {
    let dump = tempfile::tempdir().unwrap();
    let word = "w".repeat(1 << 20);
    let works: String = (1..=400)
        .map(|id| {
            format!("{{\"id\":\"W{id}\",\"abstract_inverted_index\":{{\"{word}{id}\":[0]}}}}\n")
        })
        .collect();
    pinakes_tests::write_files(dump.path(), [("works.jsonl", works)]);
    let setup = Setup::from_inputs(&[dump.path().to_path_buf()]);
    for format in ["parquet", "csv", "ndjson"] {
        let out = setup.beside(format);
        let (code, peak) = pinakes_tests::compiler_run::peak_bytes_of(&[
            "export".as_ref(),
            setup.snapshot.as_os_str(),
            "outputs".as_ref(),
            "--format".as_ref(),
            format.as_ref(),
            "--threads".as_ref(),
            "2".as_ref(),
            "--out".as_ref(),
            out.as_os_str(),
        ]);
        assert_eq!(code, Some(0), "{format}");
        assert!(peak < 256 << 20, "{format}: {} MiB", peak >> 20);
    }
}

#[test]
fn the_number_of_each_id_stands_beside_the_id() {
    let setup = Setup::from_sample();
    let tables = setup.export("tables", "outputs --format parquet --edges --integer-ids");
    let mut compared = 0;
    for name in ["outputs", "outputs_authors", "citations"] {
        for row in rows(&tables.join(format!("{name}.parquet"))) {
            // Ids as texts have quotes; each is followed by its number: `id: "HX_W12", id_number: 12`.
            for (at, _) in row.match_indices("id: \"HX_") {
                let (id, after) = row[at + "id: \"".len()..].split_once("\", ").unwrap();
                let number = id.trim_start_matches(|c: char| !c.is_ascii_digit());
                if id.starts_with("HX_G") {
                    // Awards are no records, and their ids are texts.
                    continue;
                }
                let (named, found) = after.split_once(": ").unwrap();
                assert!(named.ends_with("id_number"), "{name}: {id} before {named}");
                let found: String = found.chars().take_while(char::is_ascii_digit).collect();
                assert_eq!(found, number, "{name}: {id}");
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "only {compared} ids have numbers");
    let refused = setup.run(&setup.beside("refused"), "outputs --integer-ids");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("`--integer-ids` needs `--format parquet`"), "{said}");
}

/// The tests of the Python package compare every column with that of a Parquet file.
#[test]
fn batches_of_a_list_have_its_rows_in_order() {
    let setup = Setup::from_sample();
    let snapshot = Snapshot::open(&setup.snapshot).unwrap();
    let mut query = Query::new(Entity::Output);
    query.add_filter("type:article").unwrap();
    query.set_sort("year:desc").unwrap();
    query.set_stream_select("id,name").unwrap();
    let records = Records::new(&snapshot, &query, true);
    let names: Vec<_> =
        records.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "id_number", "name"]);
    let mut found = Vec::new();
    for batch in records {
        let batch = batch.unwrap();
        let ids = batch.column(0).as_any().downcast_ref::<StringArray>().unwrap();
        let numbers = batch.column(1).as_any().downcast_ref::<UInt64Array>().unwrap();
        for at in 0..batch.num_rows() {
            assert_eq!(ids.value(at), format!("HX_W{}", numbers.value(at)));
            found.push(ids.value(at).to_owned());
        }
    }
    let lines = setup.lines("outputs --where type:article --sort year:desc --select id");
    let expected: Vec<&str> = lines.iter().map(|line| line["id"].as_str().unwrap()).collect();
    assert!(expected.len() > 100, "{}", expected.len());
    assert_eq!(found, expected);
    query.add_filter("year:1066").unwrap();
    assert_eq!(Records::new(&snapshot, &query, false).count(), 0);
}
