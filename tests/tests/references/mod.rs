//! References to outputs for reference managers: as streams, as single records, in pages, and as tools read them.

mod pages;
mod single;
mod streams;
mod tools;

use std::{fs, path::PathBuf};

use pinakes_tests::client::Connection;
use pinakes_tests::server::Snapshots;
use serde_json::{Value, json};

/// Name, extension and media type of each format.
pub const FORMATS: [(&str, &str, &str); 3] = [
    ("bibtex", "bib", "application/x-bibtex"),
    ("ris", "ris", "application/x-research-info-systems"),
    ("csl-json", "json", "application/vnd.citationstyles.csl+json"),
];

/// Texts that are signs of the formats or of what reads them.
const HOSTILE_TEXTS: [&str; 12] = [
    "On {DNA} and $x^2$ at 100% of \\cmd{a_b} #1 & more ~ now",
    "An open { brace and \\",
    "A closing } brace, \"quotes\" and 'quotes'",
    "}\n}\n@article{evil,\n  title = {injected}\n}",
    "Lines\r\nER  - \r\nTY  - BOOK\r\nTI  - injected",
    "Separators\u{2028}\u{2029}\u{85}\u{b}\u{c}\u{1c}\u{1e}end",
    "\u{202e}right to left\u{202c} شبكات عصبية \u{200f}mark",
    "</script><script>alert(1)</script><!-- <i>E. coli</i> &amp; H<sub>2</sub>O",
    "-- --- `` '' ,, and ~~ ^^ __ %% {{}}",
    "学习 of things, and others",
    "@comment{x} % y",
    "null \u{0} and \u{7f}",
];

/// Publishes the tiny dump with outputs whose texts are hostile, one with 3,000 authors, three with equal keys, and one
/// with an identifier alone.
pub fn hostile_snapshots() -> Snapshots {
    let author = |name: &str| json!({ "author": { "id": null, "display_name": name } });
    let mut works: Vec<Value> = HOSTILE_TEXTS
        .iter()
        .enumerate()
        .map(|(at, text)| {
            json!({
                "id": format!("https://openalex.org/W{}", 100 + at), "title": text, "display_name": text,
                "doi": format!("https://doi.org/10.5555/a_b%({at})<{{x}};2-#"), "publication_year": 2020,
                "publication_date": "2020-03-09", "type": "article", "language": "en",
                "authorships": [author(text), author("Ada van Berg Jr."), author("Food and Health Group")],
                "primary_location": {
                    "landing_page_url": "https://example.org/{a} b",
                    "source": { "id": "https://openalex.org/S1", "display_name": "Journal of Tests", "type": "journal" },
                },
                "keywords": [{ "display_name": text }],
                "biblio": { "volume": text, "issue": text, "first_page": text, "last_page": "9" },
                "abstract_inverted_index": { (*text): [0] },
                "updated_date": "2026-01-10",
            })
        })
        .collect();
    let names: Vec<Value> = (0..3_000).map(|at| author(&format!("Ada {at} Berg{at}"))).collect();
    works.push(json!({
        "id": "https://openalex.org/W200", "title": "Many", "authorships": names, "publication_year": 2021,
        "updated_date": "2026-01-10",
    }));
    for (at, title) in ["On tests", "On tests again", "Ona tests"].into_iter().enumerate() {
        works.push(json!({
            "id": format!("https://openalex.org/W{}", 300 + at), "title": title, "publication_year": 2022,
            "authorships": [author("Ada Berg")], "type": "book", "updated_date": "2026-01-10",
        }));
    }
    works.push(json!({ "id": "https://openalex.org/W400", "updated_date": "2026-01-10" }));
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(dump.path(), pinakes_tests::TINY_DUMP);
    let path = dump.path().join("works.jsonl");
    let lines: String = works.iter().map(|work| format!("{work}\n")).collect();
    let text = fs::read_to_string(&path).unwrap() + &lines;
    fs::write(&path, text).unwrap();
    Snapshots::from_inputs(&[PathBuf::from(dump.path())])
}

/// Reads the records of a list as JSON lines.
#[track_caller]
pub fn records(connection: &mut Connection, target: &str) -> Vec<Value> {
    let and = if target.contains('?') { '&' } else { '?' };
    let reply = connection.get(&format!("{target}{and}format=ndjson"));
    assert_eq!(reply.status, 200, "{target}");
    reply.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A text without tags of these names.
pub fn without(text: &str, tags: &[&str]) -> String {
    let mut text = text.to_owned();
    for tag in tags {
        for form in [format!("<{tag}>"), format!("</{tag}>")] {
            text = text.replace(&form, "");
        }
    }
    text
}

/// A title in one line, without the markup of the test's records.
pub fn plain(title: &str) -> String {
    one_line(&without(title, &["b", "em", "i", "p", "strong", "sub", "sup"]).replace("&amp;", "&"))
}

/// A text in one line, as references have it.
pub fn one_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The text at a path of a record, in one line; empty for null.
pub fn text(record: &Value, path: &str) -> String {
    one_line(record.pointer(path).and_then(Value::as_str).unwrap_or_default())
}
