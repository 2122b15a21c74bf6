//! Inputs that are missing, unknown or empty.

use pinakes_tests::write_files;

use crate::run::*;

#[test]
fn inputs_that_are_missing_or_unknown_end_the_run_with_3_and_empty_ones_with_4() {
    let place = Place::with_tiny_published();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0".to_vec();
    let array = format!("[{}]\n", work(1).trim()).into_bytes();
    let unknown = "is nothing the compiler knows; expected an OpenAlex dump";
    let check = |what, name, bytes: &[u8], inputs: &[&str], code, phrase| {
        let files = vec![(name, bytes.to_vec())];
        check_refused(&place, &Refused { what, files, inputs, options: &[], code, phrase });
    };
    let good = work(1).into_bytes();
    check("missing", "works.jsonl", &good, &["nowhere"], 3, "No such file");
    check("one of two missing", "works.jsonl", &good, &[".", "nowhere"], 3, "No such file");
    check("a picture", "picture.png", &png, &["picture.png"], 3, unknown);
    check("a text", "notes.txt", b"some notes\n", &["notes.txt"], 3, unknown);
    check("a file of nothing", "empty.txt", b"", &["empty.txt"], 3, unknown);
    check("a folder of pictures", "picture.png", &png, &["."], 3, "holds nothing to compile");
    check("a JSON array", "dump.json", &array, &["dump.json"], 3, "one object a line (`jq");
    check("empty works", "works.jsonl", b"", &["."], 4, "hold no record");
    check("blank lines", "works.jsonl", b"\n \r\n\n", &["."], 4, "hold no record");
    check("a BOM", "works.jsonl", b"\xef\xbb\xbf", &["."], 4, "hold no record");
}

#[test]
fn an_empty_dump_is_published_where_it_is_allowed() {
    let place = Place::new();
    write_files(&place.input(), [("works.jsonl", "")]);
    let snapshot = published(&build(&[&place.input()], &place.out(), &["--allow-empty"]));
    assert!(outputs(&snapshot).is_empty());
}
