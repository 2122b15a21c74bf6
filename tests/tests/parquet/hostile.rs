//! Damaged and hostile Parquet files: the exit codes and messages of containers, and nothing published.

use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use pinakes_tests::compiler_run::{RefusedRun, Workspace, check_refused, peak_bytes, refused_run};
use pinakes_tests::{times, write_files};
use serde_json::{Value, json};

use crate::parquet::setup::parquet_file;

fn works() -> Vec<Value> {
    (1..=200)
        .map(|at| {
            json!({
                "id": format!("https://openalex.org/W{at}"), "title": format!("Title {at}"),
                "cited_by_count": at, "indexed_in": ["crossref", "doaj"],
                "referenced_works": [format!("https://openalex.org/W{}", at / 2)],
            })
        })
        .collect()
}

/// Replaces the footer of a file.
fn with_footer(file: &[u8], footer: &[u8]) -> Vec<u8> {
    let stated = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap());
    let pages = &file[..file.len() - 8 - stated as usize];
    let length = (footer.len() as u32).to_le_bytes();
    [pages, footer, &length, b"PAR1"].concat()
}

fn with_footer_length(file: &[u8], length: u32) -> Vec<u8> {
    let mut file = file.to_vec();
    let at = file.len() - 8;
    file[at..at + 4].copy_from_slice(&length.to_le_bytes());
    file
}

/// A footer whose schema nests as deep as `levels`: version 1, then groups of one child.
fn nested_footer(levels: usize) -> Vec<u8> {
    // field 1: i32 1; field 2: list of structs
    let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
    let mut count = levels + 1;
    while count >= 0x80 {
        footer.push(count as u8 | 0x80);
        count >>= 7;
    }
    footer.push(count as u8);
    for _ in 0..levels {
        // field 3: OPTIONAL; field 4: name "a"; field 5: one child
        footer.extend([0x35, 0x02, 0x18, 0x01, b'a', 0x15, 0x02, 0x00]);
    }
    // field 1: INT32; field 3: OPTIONAL; field 4: name "id"
    footer.extend([0x15, 0x02, 0x25, 0x02, 0x18, 0x02, b'i', b'd', 0x00]);
    // field 3: no rows; field 4: no row groups
    footer.extend([0x16, 0x00, 0x19, 0x0c, 0x00]);
    footer
}

#[test]
fn a_damaged_file_is_refused_and_nothing_is_published() {
    let workspace = Workspace::with_tiny_snapshot();
    let file = parquet_file(&works());
    let cut = |bytes: usize| file[..bytes].to_vec();
    let flipped = |at: usize| {
        let mut file = file.clone();
        file[at] ^= 0xff;
        file
    };
    let huge_children = {
        let mut footer = nested_footer(1);
        // The one child of the root becomes 2^27 - 1 children.
        footer.splice(11..12, [0xfe, 0xff, 0xff, 0x7f]);
        footer
    };
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("only the magic number", b"PAR1".to_vec(), "truncated"),
        ("no footer", cut(file.len() - 1), "truncated"),
        ("half of the file", cut(file.len() / 2), "truncated"),
        (
            "a footer longer than the file",
            with_footer_length(&file, u32::MAX),
            "more than the file",
        ),
        ("a footer of nothing", with_footer(&file, &[]), "footer"),
        ("a footer of noise", with_footer(&file, &[0xff; 40]), "footer"),
        ("a footer that is cut", with_footer_length(&file, 40), "footer"),
        ("1,000 levels", with_footer(&file, &nested_footer(1_000)), "nested too deeply"),
        ("100,000 levels", with_footer(&file, &nested_footer(100_000)), "10,000 columns"),
        ("children without end", with_footer(&file, &huge_children), "schema"),
        ("a page header of noise", flipped(4), "page header"),
        ("a damaged beginning", flipped(0), "does not begin"),
    ];
    for (what, bytes, phrase) in cases {
        check_refused(&workspace, &refused_run(what, vec![("works/a.parquet", bytes)], 5, phrase));
    }
    let encrypted = [&file[..file.len() - 4], b"PARE"].concat();
    let case =
        refused_run("encrypted", vec![("works/a.parquet", encrypted)], 3, "encrypted footer");
    check_refused(&workspace, &case);
    let nameless = parquet_file(&[json!({ "title": "x" })]);
    let case =
        refused_run("no id", vec![("works/a.parquet", nameless)], 3, "without a column `id`");
    check_refused(&workspace, &case);
    let case = RefusedRun {
        options: &["--max-inflated", "1K"],
        ..refused_run("inflated", vec![("works/a.parquet", file.clone())], 5, "`--max-inflated`")
    };
    check_refused(&workspace, &case);
}

/// Flips bytes all over a small file: the build ends with a result or with an error, never with a panic.
#[test]
fn a_flipped_byte_never_ends_in_a_panic() {
    let file = parquet_file(&works()[..3]);
    let workspace = Workspace::new();
    for at in (0..file.len()).step_by((file.len() / times(150)).max(1)) {
        let mut bytes = file.clone();
        bytes[at] ^= 1 << (at % 8);
        write_files(&workspace.input(), [("works/a.parquet", bytes)]);
        let run = pinakes_tests::compiler_run::build(
            &[&workspace.input()],
            &workspace.out(),
            &["--max-bad", "100%", "--allow-empty", "--allow-shrink"],
        );
        assert!([0, 3, 4, 5].contains(&run.code), "byte {at}: {}: {}", run.code, run.stderr);
        assert!(!run.stderr.contains("panicked"), "byte {at}: {}", run.stderr);
    }
}

/// A file of 4,000 works whose titles and names are 1 MiB each: one text of a dictionary.
fn bomb() -> Vec<u8> {
    const ROWS: usize = 4_000;
    let columns = ["id", "title", "display_name"]
        .map(|name| format!("required binary {name} (UTF8);"))
        .concat();
    let schema = Arc::new(parse_message_type(&format!("message works {{ {columns} }}")).unwrap());
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(4 << 20).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let ids = (1..=ROWS).map(|at| ByteArray::from(format!("W{at}").into_bytes())).collect();
    let texts = vec![ByteArray::from(vec![b'x'; 1 << 20]); ROWS];
    let mut group = writer.next_row_group().unwrap();
    for values in [ids, texts.clone(), texts] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_bomb_stays_within_memory() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works/a.parquet", bomb())]);
    assert!(std::fs::metadata(workspace.input().join("works/a.parquet")).unwrap().len() < 8 << 20);
    let out = workspace.out();
    let options = ["--max-inflated", "1G", "--max-text", "1000"];
    let (code, _) = peak_bytes(&workspace.input(), &out, &options);
    assert_eq!(code, Some(5));
    let options = ["--memory", "256M", "--threads", "2", "--max-text", "1000"];
    let (code, peak) = peak_bytes(&workspace.input(), &out, &options);
    assert_eq!(code, Some(0));
    assert!(peak < 256 << 20, "{peak} bytes");
}
