//! Copies of one record in several files: which copy is kept, and how the others are counted.

use pinakes_tests::compiler_run::{Workspace, build, outputs, published_path};
use pinakes_tests::write_files;
use serde_json::{Value, json};

use crate::parquet::setup::parquet_file;

fn work(title: &str, date: &str) -> Value {
    json!({
        "id": "https://openalex.org/W1", "title": title, "cited_by_count": 3, "updated_date": date,
        "authorships": [{ "author": { "id": "https://openalex.org/A1", "display_name": "A. B." } }],
        "referenced_works": ["https://openalex.org/W2"],
        "abstract_inverted_index": { "words": [1], "Some": [0] },
    })
}

/// A copy of the record: its format, and its title and date.
#[derive(Clone, Copy)]
enum Shape {
    Line(&'static str, &'static str),
    Row(&'static str, &'static str),
}
use Shape::{Line, Row};

const OLD: &str = "2026-01-01T00:00:00";
const NEW: &str = "2026-01-01T00:00:00.000001";

/// Builds each copy as a part of its own, in both orders of their names.
fn check(copies: &[Shape], title: &str, counts: [u64; 3]) {
    for is_reversed in [false, true] {
        let workspace = Workspace::new();
        for (at, copy) in copies.iter().enumerate() {
            let at = if is_reversed { copies.len() - at } else { at };
            let (name, bytes) = match *copy {
                // Spaces at the end change the bytes of a line, but not its record.
                Line(title, date) => (
                    format!("{at}.jsonl"),
                    format!("{}{}\n", work(title, date), " ".repeat(at)).into(),
                ),
                Row(title, date) => (format!("{at}.parquet"), two_of(work(title, date), at)),
            };
            write_files(&workspace.input(), [(format!("works/{name}"), bytes)]);
        }
        let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
        assert_eq!(outputs(&published_path(&run))["HX_W1"]["title"], json!(title));
        let tally = &run.report["entities"]["outputs"];
        for (name, count) in ["duplicates", "superseded", "conflicts"].into_iter().zip(counts) {
            assert_eq!(tally[name], json!(count), "{name} of {title}, reversed: {is_reversed}");
        }
    }
}

/// A file of the record and of another one, so that no two files have the same bytes.
fn two_of(record: Value, at: usize) -> Vec<u8> {
    let other = json!({ "id": format!("W{}", 100 + at), "title": "another", "updated_date": OLD });
    parquet_file(&[record, other])
}

#[test]
fn a_row_with_the_content_of_a_line_is_its_duplicate() {
    check(&[Line("a", OLD), Row("a", OLD)], "a", [1, 0, 0]);
    check(&[Row("a", OLD), Row("a", OLD)], "a", [1, 0, 0]);
    check(&[Row("a", OLD), Line("a", OLD), Row("a", OLD)], "a", [2, 0, 0]);
}

#[test]
fn the_newest_copy_wins_in_any_format() {
    check(&[Line("a", OLD), Row("b", NEW)], "b", [0, 1, 0]);
    check(&[Line("a", NEW), Row("b", OLD)], "a", [0, 1, 0]);
    check(&[Row("a", NEW), Row("b", OLD)], "a", [0, 1, 0]);
}

/// A line is never cut; a row may have a cut abstract.
#[test]
fn a_line_wins_over_a_row_of_the_same_date_with_other_content() {
    check(&[Line("a", OLD), Row("b", OLD)], "a", [0, 1, 1]);
    check(&[Line("b", OLD), Row("a", OLD)], "b", [0, 1, 1]);
    check(&[Row("b", OLD), Line("a", OLD), Row("b", OLD)], "a", [1, 1, 1]);
}

/// Two lines of equal content are no duplicates of each other, because lines compare by their bytes. The
/// row is a duplicate of either, whatever the order.
#[test]
fn counts_do_not_depend_on_the_order_of_the_parts() {
    check(&[Row("a", OLD), Line("a", OLD), Line("a", OLD)], "a", [1, 1, 1]);
    check(&[Line("a", OLD), Row("a", OLD), Line("a", OLD), Line("b", NEW)], "b", [1, 2, 0]);
}
