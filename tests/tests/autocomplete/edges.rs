//! Edge cases of names and ids: long words, long lists, texts like ids, and shared ids.

use std::path::Path;

use serde_json::{Value, json};

use crate::autocomplete::cases::{Case, check_oracle, check_server};

/// Letters of three bytes in a word that is longer than a query may be.
const HAN_LETTERS: u32 = 150;

fn han(from: u32, to: u32) -> String {
    (from..to).filter_map(|at| char::from_u32(0x4e00 + at)).collect()
}

/// Repeats a three-byte letter that folds to four letters.
fn apartments(count: usize) -> String {
    "㌀".repeat(count)
}

/// Writes the dump to a temporary directory.
pub fn write() -> tempfile::TempDir {
    let dump = tempfile::tempdir().unwrap();
    let files = [
        ("authors.jsonl", authors()),
        ("works.jsonl", works()),
        ("sources.jsonl", sources()),
        ("institutions.jsonl", institutions()),
    ];
    let files = files.map(|(name, records)| {
        (name, records.iter().map(|record| format!("{record}\n")).collect::<String>())
    });
    pinakes_tests::write_files(dump.path(), files);
    dump
}

fn authors() -> Vec<Value> {
    let author = |id: u64, name: &str, cited: Option<u64>, alternatives: &[&str]| {
        json!({
            "id": format!("A{id}"),
            "display_name": name,
            "display_name_alternatives": alternatives,
            "cited_by_count": cited,
            "updated_date": "2026-01-10",
        })
    };
    let counted: Vec<String> = (0..1_000).map(|number| format!("w{number}")).collect();
    let others: Vec<String> = (0..300).map(|number| format!("Other v{number}")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let mut authors = vec![
        author(1, &"x".repeat(300), Some(1), &[]),
        author(2, &han(0, HAN_LETTERS), Some(2), &[]),
        author(3, "Tokyo東京Tower塔", Some(3), &[]),
        author(4, "ﾊﾟｿｺﾝ", Some(4), &[]),
        author(5, "😀", Some(5), &["Smiley"]),
        author(6, "Same", Some(6), &["Same", "same!", "Sa-me"]),
        author(7, "Qa Za", Some(70), &["Za Qa"]),
        author(8, "Za Qa Xa", Some(8), &[]),
        author(9, "Zab Qab", Some(900), &[]),
        author(12, "Huge One", Some((1 << 53) - 1), &[]),
        author(13, "Huge Two", Some(1 << 53), &[]),
        author(14, "Nil One", None, &[]),
        author(15, "Nil Two", Some(0), &[]),
        author(16, &counted.join(" "), Some(16), &[]),
        author(17, "Many", Some(17), &others),
        author(20, "㌖ meter", Some(20), &[]),
        author(21, "가나다", Some(21), &[]),
        author(23, "ʻOkina Hawaiʻi", Some(23), &[]),
        author(24, "Ivan–Petrov", Some(24), &[]),
        author(26, "zero\u{200d}width", Some(26), &[]),
        author(27, "हिन्दी", Some(27), &[]),
        author(28, "שָׁלוֹם", Some(28), &[]),
        author(29, "Łukasz Żółć", Some(29), &["???", "<i></i>"]),
        author(30, "\u{98}The \u{9c}Marked", Some(30), &[]),
        author(31, "Repeat repeat REPEAT", Some(31), &[]),
        author(32, &apartments(100), Some(32), &[]),
        author(33, "Alternative", Some(330), &[&apartments(90)]),
        author(34, &apartments(60), Some(340), &[]),
        author(9_999_999_999_999_999_999, "Last", None, &[]),
    ];
    for (id, cited) in [(10, 5), (11, 9)] {
        let mut twin = author(id, "Twin", Some(cited), &[]);
        twin["orcid"] = "https://orcid.org/0000-0001-2345-678X".into();
        authors.push(twin);
    }
    authors
}

fn works() -> Vec<Value> {
    let work = |id: u64, name: Option<&str>, doi: Option<&str>, cited: Option<u64>| {
        json!({
            "id": format!("W{id}"),
            "display_name": name,
            "title": name,
            "doi": doi,
            "cited_by_count": cited,
            "updated_date": "2026-01-10",
        })
    };
    vec![
        work(1, Some("10.5555/title"), None, Some(9)),
        work(2, Some("Other"), Some("https://doi.org/10.5555/title"), Some(1)),
        work(3, Some("Twice"), Some("https://doi.org/10.5555/twice"), None),
        work(4, Some("Twice, too"), Some("https://doi.org/10.5555/TWICE"), Some(4)),
        work(5, Some("Upper"), Some("HTTPS://DOI.ORG/10.5555/UPPER"), None),
        work(6, Some("Bare"), Some("10.5555/bare"), None),
        work(7, Some("HX_W2"), None, Some(7)),
        work(8, None, None, Some(8)),
        work(
            9,
            Some("Odd"),
            Some("https://doi.org/10.1002/(SICI)1097-4571(1999)50:1<2::AID;#A&B=C>3.0.CO;2-%+"),
            None,
        ),
    ]
}

fn sources() -> Vec<Value> {
    let source = |id: u64, name: &str, issn_l: Option<&str>, issn: &[&str], cited: u64| {
        json!({
            "id": format!("S{id}"),
            "display_name": name,
            "issn_l": issn_l,
            "issn": issn,
            "cited_by_count": cited,
            "updated_date": "2026-01-10",
        })
    };
    vec![
        source(1, "First", Some("1111-1111"), &[], 10),
        source(2, "Second", None, &["3333-3333", "1111-1111"], 20),
        source(3, "1111-1112", None, &[], 30),
        source(4, "Lower", Some("2222-222x"), &["2222-222x"], 40),
    ]
}

fn institutions() -> Vec<Value> {
    let institution = |id: u64, name: &str, ror: &str| json!({ "id": format!("I{id}"), "display_name": name, "ror": ror, "updated_date": "2026-01-10" });
    vec![institution(1, "Bare", "05abcde12"), institution(2, "Upper", "https://ror.org/05ABCDE34")]
}

const CASES: &[Case<'_>] = &[
    ("authors", "xxx", 1, "A1"),
    ("authors", "Tokyo東", 1, "A3"),
    ("authors", "京Tower", 1, "A3"),
    ("authors", "塔", 1, "A3"),
    ("authors", "tower", 0, ""),
    ("authors", "パソコン", 1, "A4"),
    ("authors", "ソコ", 1, "A4"),
    ("authors", "smiley", 1, "A5"),
    ("authors", "😀 smiley", 1, "A5"),
    ("authors", "😀", 0, ""),
    ("authors", "same", 1, "A6"),
    ("authors", "sa me", 1, "A6"),
    ("authors", "me same", 1, "A6"),
    ("authors", "za qa", 3, "A8 A7 A9"),
    ("authors", "qa za", 3, "A7 A9 A8"),
    ("authors", "huge", 2, "A12 A13"),
    ("authors", "nil", 2, "A15 A14"),
    ("authors", "w999 w0 w500", 1, "A16"),
    ("authors", "w1000", 0, ""),
    ("authors", "many other v299", 1, "A17"),
    ("authors", "other v299", 1, "A17"),
    ("authors", "メートル", 1, "A20"),
    ("authors", "나다", 1, "A21"),
    ("authors", "나라", 0, ""),
    ("authors", "okina", 0, ""),
    ("authors", "ʻokina", 1, "A23"),
    ("authors", "hawai", 1, "A23"),
    ("authors", "petrov ivan", 1, "A24"),
    ("authors", "ivanpetrov", 0, ""),
    ("authors", "zerowidth", 0, ""),
    ("authors", "width", 1, "A26"),
    ("authors", "हि", 1, "A27"),
    ("authors", "हिन्दी", 1, "A27"),
    ("authors", "שלום", 1, "A28"),
    ("authors", "lukasz zolc", 1, "A29"),
    ("authors", "\u{98}the marked", 1, "A30"),
    ("authors", "the marked", 1, "A30"),
    ("authors", "repeat repeat repeat repeat", 1, "A31"),
    ("authors", "HX_A9999999999999999999", 1, "A9999999999999999999"),
    ("authors", "HX_A10000000000000000000", 0, ""),
    ("authors", "HX_A18446744073709551617", 0, ""),
    ("authors", "HX_A01", 0, ""),
    // Several records share an id: candidates keep the usual order. An id match hides text matches.
    ("authors", "0000-0001-2345-678x", 2, "A11 A10"),
    ("", "https://orcid.org/0000-0001-2345-678X", 2, "A11 A10"),
    ("outputs", "10.5555/title", 1, "W2"),
    ("outputs", "10.5555 title", 1, "W1"),
    ("outputs", "10.5555", 1, "W1"),
    ("outputs", "10.5555/titl", 1, "W1"),
    ("outputs", "10.5555/twice", 2, "W4 W3"),
    ("outputs", "10.5555/upper", 1, "W5"),
    ("outputs", "doi:10.5555/BARE", 1, "W6"),
    ("outputs", "https://doi.org/10.5555/bare", 1, "W6"),
    ("outputs", "HX_W2", 1, "W2"),
    ("outputs", "HX W2", 1, "W7"),
    ("outputs", "HX_W", 1, "W7"),
    ("outputs", "10.1002/(sici)1097-4571(1999)50:1<2::aid;#a&b=c>3.0.co;2-%+", 1, "W9"),
    ("sources", "1111-1111", 2, "S2 S1"),
    ("sources", "3333-3333", 1, "S2"),
    ("sources", "1111-1112", 1, "S3"),
    ("sources", "1111", 1, "S3"),
    ("sources", "2222-222X", 1, "S4"),
    ("institutions", "https://ror.org/05abcde12", 1, "I1"),
    ("institutions", "05ABCDE34", 1, "I2"),
];

/// Searches prefixes, infixes and suffixes of words that are longer than a query.
fn check_long_words(check: impl Fn(&[Case<'_>], &Path)) {
    let parts =
        [(0, 80), (0, 1), (40, 45), (84, 90), (100, 104), (120, 149), (148, 150), (149, 150)];
    let parts: Vec<String> = parts.into_iter().map(|(from, to)| han(from, to)).collect();
    let beginning = "x".repeat(256);
    let mut cases: Vec<Case<'_>> =
        parts.iter().map(|part| ("authors", part.as_str(), 1, "A2")).collect();
    cases.push(("authors", &beginning, 1, "A1"));
    // The folded words are longer than the index keeps, and equal up to that length.
    let folded_long = apartments(85);
    cases.push(("authors", &folded_long, 2, "A32 A33"));
    let and_more = format!("{} alt", apartments(80));
    cases.push(("authors", &and_more, 1, "A33"));
    check(&cases, write().path());
}

#[test]
fn the_oracle_finds_names_and_ids_at_the_edges() {
    check_oracle(CASES, write().path());
    check_long_words(check_oracle);
}

#[test]
fn the_server_finds_names_and_ids_at_the_edges() {
    check_server(CASES, write().path());
}

#[test]
fn any_part_of_a_word_longer_than_a_query_finds_it() {
    check_long_words(check_server);
}
