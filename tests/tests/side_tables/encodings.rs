//! Tests of encodings, and of files that people give in place of a table.

use pinakes_tests::compiler_run::{gzip, utf16};
use serde_json::json;

use super::Setup;

/// A list with a title beyond ASCII, as `Excel` saves it.
const LIST: &str = "Journal Title\tISSN\t2022 rating\r\nRevista Española\t1234-5679\tA\r\n";

fn big_endian(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

#[test]
fn a_table_in_utf16_is_read_in_either_byte_order_with_or_without_its_mark() {
    let marked = format!("\u{feff}{LIST}");
    for (name, bytes) in [
        ("le.csv", utf16(&marked)),
        ("be.csv", big_endian(&marked)),
        ("bare.tsv", utf16(LIST)),
        ("bare.txt", big_endian(LIST)),
        ("packed.csv.gz", gzip(&utf16(&marked))),
    ] {
        let setup = Setup::new();
        setup.write(name, bytes);
        for input in [name.to_owned(), format!("abdc:{name}")] {
            let run = setup.build(&[&input]);
            assert_eq!(run.tally("abdc"), [1, 1, 0, 0], "{input}");
            assert_eq!(run.source(1)["metrics"]["abdc"], json!({"rating": "A"}), "{input}");
        }
    }
    // The list of bad rows shows decoded text, and counts the bytes of the decoded table.
    let setup = Setup::new();
    setup.write("list.csv", utf16(&format!("{marked}Não\tnot one\tB\r\n")));
    let run = setup.build(&["list.csv"]);
    assert_eq!(run.bad[0]["excerpt"], json!("Não\tnot one\tB"));
    assert_eq!(run.bad[0]["byte_offset"], json!(LIST.len()));
}

#[test]
fn a_table_in_utf16_that_is_longer_than_any_buffer_is_read_whole() {
    let rows = "Título\t1234-5679\tA\r\n".repeat(200_000);
    let setup = Setup::new();
    setup.write("list.csv", utf16(&format!("\u{feff}Journal Title\tISSN\trating\r\n{rows}")));
    assert_eq!(setup.build(&["list.csv"]).tally("abdc"), [200_000, 200_000, 0, 0]);
}

#[test]
fn a_table_in_another_encoding_is_refused_with_what_to_do() {
    let latin = |text: &str| text.chars().map(|char| u8::try_from(char).unwrap()).collect();
    let setup = Setup::new();
    let header = "Journal Title,ISSN,2022 rating\n";
    let rows = "Revista Española,1234-5679,A\nÉtudes,0000-006X,B\nAscii,2049-3630,C\n";
    let table: Vec<u8> = latin(&(header.to_owned() + rows));
    setup.write("lists/latin.csv", &table);
    for input in ["lists/latin.csv", "abdc:lists/latin.csv", "lists"] {
        let run = setup.build(&[input]);
        assert_eq!(run.code, 3, "{input}: {}", run.stderr);
        for says in ["latin.csv`: is not UTF-8 (2 rows)", "`CSV UTF-8`", "iconv -f WINDOWS-1252"] {
            assert!(run.stderr.contains(says), "{input}: {}", run.stderr);
        }
    }
    // Bad bytes in a table of UTF-8 cost their rows only.
    let mixed = [&table[..], "Österreich,2049-3630,A\n".as_bytes()].concat();
    setup.write("mixed.csv", mixed);
    assert_eq!(setup.build(&["mixed.csv"]).tally("abdc"), [4, 2, 0, 2]);
}

#[test]
fn spreadsheets_and_pages_of_an_api_are_refused_with_what_to_do() {
    let setup = Setup::new();
    let page = json!({"meta": {"count": 1}, "results": [{"id": "https://openalex.org/W1"}]});
    let organisations = json!({"number_of_results": 1, "items": [{"id": "x", "names": []}]});
    setup
        .write("a/scopus.xlsx", b"PK\x03\x04\x14\0\x06\0rest of the archive")
        .write("a/list.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest of the file")
        .write("a/works.json", page.to_string())
        .write("a/pages.jsonl", format!("{page}\n{page}\n"))
        .write("a/pretty.json", serde_json::to_string_pretty(&page).unwrap())
        .write("a/ror.json", organisations.to_string());
    for (input, says) in [
        ("a/scopus.xlsx", "is a spreadsheet; save its sheet as `CSV UTF-8`"),
        ("scopus:a/scopus.xlsx", "is a spreadsheet; save its sheet as `CSV UTF-8`"),
        ("a/list.xls", "is a spreadsheet"),
        ("a/works.json", "is a page of an API; give one record a line (`jq -c '.results[]'`"),
        ("openalex:a/works.json", "`jq -c '.results[]'`"),
        ("a/pages.jsonl", "`jq -c '.results[]'`"),
        ("a/pretty.json", "`jq -c '.results[]'`"),
        ("ror:a/ror.json", "`jq -c '.items[]'`"),
    ] {
        let run = setup.build(&[input]);
        assert_eq!(run.code, 3, "{input}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{input}: {}", run.stderr);
    }
}
