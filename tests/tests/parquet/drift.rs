//! Columns that differ from those of the releases: read as far as a JSON line of the kind would be.

use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use pinakes_tests::compiler_run::{Workspace, build, outputs, published_path, work};
use pinakes_tests::write_files;
use serde_json::{Value, json};

use crate::parquet::setup::{parquet_file, snapshot};

/// One value of a column.
enum Cell {
    Text(&'static [u8]),
    Int(i32),
    Long(i64),
    Moment96([u32; 3]),
    Null,
}
use Cell::{Int, Long, Moment96, Null, Text};

/// Writes one row: the schema, and the values of the columns in their order.
fn one_row(schema: &str, cells: &[Cell]) -> Vec<u8> {
    let schema =
        Arc::new(parse_message_type(&format!("message spark_schema {{ {schema} }}")).unwrap());
    let properties = Arc::new(WriterProperties::default());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for cell in cells {
        let mut column = group.next_column().unwrap().unwrap();
        let levels = |is_null: bool| Some([i16::from(!is_null)]);
        match cell {
            Text(text) => {
                let text = [ByteArray::from(text.to_vec())];
                column.typed::<ByteArrayType>().write_batch(
                    &text,
                    levels(false).as_ref().map(|l| &l[..]),
                    None,
                )
            }
            Int(int) => column.typed::<Int32Type>().write_batch(
                &[*int],
                levels(false).as_ref().map(|l| &l[..]),
                None,
            ),
            Long(long) => column.typed::<Int64Type>().write_batch(
                &[*long],
                levels(false).as_ref().map(|l| &l[..]),
                None,
            ),
            Moment96([low, high, day]) => {
                let mut moment = Int96::new();
                moment.set_data(*low, *high, *day);
                column.typed::<Int96Type>().write_batch(
                    &[moment],
                    levels(false).as_ref().map(|l| &l[..]),
                    None,
                )
            }
            Null => column.typed::<Int32Type>().write_batch(
                &[],
                levels(true).as_ref().map(|l| &l[..]),
                None,
            ),
        }
        .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

const ID: &str = "optional binary id (UTF8);";

/// Builds one work, and compares some of its members and the warnings of the run.
fn check(schema: &str, cells: Vec<Cell>, members: Value, warnings: Value) {
    let mut all = vec![Text(b"https://openalex.org/W1")];
    all.extend(cells);
    let file = one_row(&format!("{ID} {schema}"), &all);
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.parquet", file)]);
    let (snapshot, run) = snapshot(&workspace.input(), &workspace.out());
    let served = &outputs(&snapshot)["HX_W1"];
    for (member, expected) in members.as_object().unwrap() {
        assert_eq!(&served[member], expected, "{member} of {schema}");
    }
    let mut counted = run.report["warnings"].clone();
    counted.as_object_mut().unwrap().remove("parquet_without_checksum");
    assert_eq!(counted, warnings, "{schema}");
}

#[test]
fn numbers_may_have_any_width() {
    let year = json!({ "year": 2024 });
    check("optional int32 publication_year;", vec![Int(2024)], year.clone(), json!({}));
    check("optional int64 publication_year;", vec![Long(2024)], year.clone(), json!({}));
    check("optional int32 publication_year (INT_16);", vec![Int(2024)], year.clone(), json!({}));
    check("optional int64 publication_year (UINT_64);", vec![Long(2024)], year.clone(), json!({}));
    let decimal = "optional int64 publication_year (DECIMAL(18, 2));";
    check(decimal, vec![Long(202_400)], year.clone(), json!({}));
    check("optional binary publication_year (UTF8);", vec![Text(b"2024")], year, json!({}));
    let null = json!({ "year": null });
    check("optional int32 publication_year;", vec![Null], null.clone(), json!({}));
    let bad = "optional binary publication_year (UTF8);";
    check(bad, vec![Text(b"soon")], null, json!({ "not_a_number": 1 }));
}

#[test]
fn times_may_be_timestamps_of_any_unit_or_texts() {
    let at = |text: &str| json!({ "updated_date": text });
    let expected = at("2026-02-01T23:55:45.819870");
    for (schema, value) in [
        ("TIMESTAMP(MICROS, true)", 1_769_990_145_819_870),
        ("TIMESTAMP(MICROS, false)", 1_769_990_145_819_870),
        ("TIMESTAMP(NANOS, true)", 1_769_990_145_819_870_000),
        ("TIMESTAMP(NANOS, false)", 1_769_990_145_819_870_999),
        ("TIMESTAMP_MICROS", 1_769_990_145_819_870),
    ] {
        let schema = format!("optional int64 updated_date ({schema});");
        check(&schema, vec![Long(value)], expected.clone(), json!({}));
    }
    let millis = "optional int64 updated_date (TIMESTAMP(MILLIS, true));";
    check(millis, vec![Long(1_769_990_145_000)], at("2026-02-01T23:55:45"), json!({}));
    // 86,145.81987 s after the midnight that begins Julian day 2,461,073.
    let nanos = 86_145_819_870_000u64;
    let moment = [nanos as u32, (nanos >> 32) as u32, 2_461_073];
    check("optional int96 updated_date;", vec![Moment96(moment)], expected.clone(), json!({}));
    let day = "optional int32 updated_date (DATE);";
    check(day, vec![Int(20_485)], at("2026-02-01T00:00:00"), json!({}));
    let text = "optional binary updated_date (UTF8);";
    check(text, vec![Text(b"2026-02-02T00:55:45.819870+01:00")], expected, json!({}));
    let null = json!({ "updated_date": null });
    let never = vec![Long(i64::MAX)];
    check(
        "optional int64 updated_date (TIMESTAMP_MICROS);",
        never,
        null,
        json!({ "impossible_date": 1 }),
    );
    let date = "optional int32 publication_date (DATE);";
    check(date, vec![Int(20_485)], json!({ "date": "2026-02-01" }), json!({}));
}

#[test]
fn texts_need_no_annotation_and_other_types_are_null() {
    let title = json!({ "title": "Été" });
    check("optional binary title;", vec![Text("Été".as_bytes())], title.clone(), json!({}));
    check("optional binary title (ENUM);", vec![Text("Été".as_bytes())], title, json!({}));
    let null = json!({ "title": null });
    check("optional int32 title;", vec![Int(3)], null.clone(), json!({ "not_a_text": 1 }));
    let nested = "optional group title { optional int32 a; optional int32 b; }";
    check(nested, vec![Null, Null], null.clone(), json!({}));
    let time = "optional int32 title (TIME_MILLIS);";
    check(time, vec![Int(3)], null, json!({ "column_type": 1 }));
    check("optional int32 mesh (TIME_MILLIS);", vec![Int(3)], json!({ "title": null }), json!({}));
}

#[test]
fn an_object_may_be_a_map_and_a_list_may_have_two_levels() {
    let file =
        parquet_file(&[json!({ "id": "W1", "ids": { "mag": 7, "pmid": "https://pubmed/8" } })]);
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.parquet", file)]);
    let (snapshot, _) = snapshot(&workspace.input(), &workspace.out());
    assert_eq!(outputs(&snapshot)["HX_W1"]["ids"]["mag"], json!("7"));

    let levels = "optional group indexed_in (LIST) { repeated binary array (UTF8); }";
    let file = repeated(levels, &["doaj", "pubmed"]);
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.parquet", file)]);
    let (snapshot, _) = crate::parquet::setup::snapshot(&workspace.input(), &workspace.out());
    assert_eq!(outputs(&snapshot)["HX_W1"]["indexed_in"], json!(["doaj", "pubmed"]));
}

/// Writes one row with a list of texts.
fn repeated(schema: &str, texts: &[&str]) -> Vec<u8> {
    let schema = format!("message spark_schema {{ {ID} {schema} }}");
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::default()))
            .unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut id = group.next_column().unwrap().unwrap();
    id.typed::<ByteArrayType>().write_batch(&["W1".into()], Some(&[1]), None).unwrap();
    id.close().unwrap();
    let mut list = group.next_column().unwrap().unwrap();
    let values: Vec<ByteArray> = texts.iter().map(|text| (*text).into()).collect();
    let repetitions: Vec<i16> = (0..texts.len()).map(|at| i16::from(at > 0)).collect();
    list.typed::<ByteArrayType>()
        .write_batch(&values, Some(&vec![2; texts.len()]), Some(&repetitions))
        .unwrap();
    list.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_bad_row_is_quarantined_as_a_bad_line_is() {
    let bad = |schema: &str, cells: &[Cell], code: &str, excerpt: &str| {
        let workspace = Workspace::new();
        let file = one_row(schema, cells);
        write_files(&workspace.input(), [("works/1.parquet", file)]);
        write_files(&workspace.input(), [("works/2.jsonl", work(9))]);
        let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "60%"]);
        published_path(&run);
        assert_eq!(run.report["bad_records"], json!({ code: 1 }), "{}", run.stderr);
        let list = workspace.out().join("quarantine/bad-records.jsonl");
        let list = std::fs::read_to_string(list).unwrap();
        let listed: Value = serde_json::from_str(&list).unwrap();
        assert_eq!((&listed["line"], &listed["code"]), (&json!(1), &json!(code)));
        assert_eq!(listed["excerpt"], json!(excerpt));
    };
    bad(ID, &[Text(b"A1")], "wrong_type", r#"{"id":"A1"}"#);
    bad(ID, &[Text(b"")], "no_id", r#"{"id":""}"#);
    bad("optional int32 id;", &[Null], "no_id", r#"{"id":null}"#);
    let title = format!("{ID} optional binary title (UTF8);");
    bad(
        &title,
        &[Text(b"W1"), Text(b"\xff")],
        "not_utf8",
        "{\"id\":\"W1\",\"title\":\"\u{fffd}\"}",
    );
    let twice = format!("{ID} {ID}");
    bad(&twice, &[Text(b"W1"), Text(b"W1")], "duplicate_key", r#"{"id":"W1","id":"W1"}"#);
}

/// The decoder checks texts a page at a time, and rows are checked apart from the first bad text on.
#[test]
fn a_bad_text_after_many_rows_costs_its_row_alone() {
    const ROWS: usize = 3_000;
    let schema =
        format!("{ID} optional binary title (UTF8); optional int32 language (TIME_MILLIS);");
    let schema = parse_message_type(&format!("message spark_schema {{ {schema} }}")).unwrap();
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = Arc::new(properties.set_data_page_row_count_limit(100).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let levels = vec![1; ROWS];
    let ids = (1..=ROWS).map(|at| format!("W{at}").into_bytes()).collect::<Vec<_>>();
    let mut titles = vec![b"Title".to_vec(); ROWS];
    titles[2_500] = b"\xff".to_vec();
    for texts in [ids, titles] {
        let texts: Vec<ByteArray> = texts.into_iter().map(ByteArray::from).collect();
        let mut column = group.next_column().unwrap().unwrap();
        for (texts, levels) in texts.chunks(100).zip(levels.chunks(100)) {
            let column = column.typed::<ByteArrayType>();
            column.write_batch(texts, Some(levels), None).unwrap();
        }
        column.close().unwrap();
    }
    let mut times = group.next_column().unwrap().unwrap();
    times.typed::<Int32Type>().write_batch(&[3; ROWS], Some(&levels), None).unwrap();
    times.close().unwrap();
    group.close().unwrap();
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.parquet", writer.into_inner().unwrap())]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "1%"]);
    let served = outputs(&published_path(&run));
    assert_eq!(served.len(), ROWS - 1, "{}", run.stderr);
    assert!(!served.contains_key("HX_W2501"));
    assert_eq!(run.report["bad_records"], json!({ "not_utf8": 1 }));
    assert_eq!(run.report["warnings"]["column_type"], json!(1));
}

#[test]
fn a_row_longer_than_the_longest_line_is_quarantined() {
    let workspace = Workspace::new();
    let long = json!({ "id": "W1", "title": "x".repeat(70_000) });
    let file = parquet_file(&[long, json!({ "id": "W2", "title": "short" })]);
    write_files(&workspace.input(), [("works.parquet", file)]);
    let options = ["--max-bad", "60%", "--max-line", "64K"];
    let run = build(&[&workspace.input()], &workspace.out(), &options);
    assert_eq!(run.report["bad_records"], json!({ "line_too_long": 1 }), "{}", run.stderr);
    assert_eq!(outputs(&published_path(&run)).len(), 1);
}

#[test]
fn a_cut_abstract_is_read_to_its_cut() {
    let cut = r#"{"we":[0,2],"can":[3],"show":[1]"#;
    let file = parquet_file(&[json!({ "id": "W1", "abstract_inverted_index": cut })]);
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.parquet", file)]);
    let (snapshot, run) = snapshot(&workspace.input(), &workspace.out());
    assert_eq!(outputs(&snapshot)["HX_W1"]["abstract"], json!("we show we can"));
    assert_eq!(run.report["warnings"]["abstract_cut"], json!(1));
}
