//! What holds the lines: gzip, zstd, nothing; whole, several, damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pinakes_tests::{Seeded, sample, write_files};
use serde_json::json;

use crate::run::*;

#[test]
fn a_damaged_container_ends_the_run_with_5() {
    let place = Place::with_tiny_published();
    let gz = gzipped();
    let length = gz.len();
    let works = "works/part_0000.gz";
    for at in [length / 2, length / 10, 20, length - 4, length - 8, length - 1, length - 9] {
        let case = refused("gzip cut", vec![(works, cut(&gz, at))], 5, "truncated");
        check_refused(&place, &case);
    }
    let mut seeded = Seeded(7);
    for _ in 0..12 {
        let at = 10 + seeded.below(length - 10);
        let mut flipped = gz.clone();
        flipped[at] ^= 1 << seeded.below(8);
        let what = format!("gzip byte {at} flipped");
        check_refused(&place, &refused(&what, vec![(works, flipped)], 5, "is damaged: "));
    }
    let garbage = [gz.as_slice(), b"garbage that is no gzip member"].concat();
    check_refused(&place, &refused("garbage after", vec![(works, garbage)], 5, "is damaged: "));
    let frame = zstd_frame(work(1).as_bytes());
    for at in [8, 20, frame.len() - 1] {
        let files = vec![("works/part_0000.zst", cut(&frame, at))];
        check_refused(&place, &refused("zstd cut", files, 5, "is damaged: "));
    }
}

#[test]
fn lines_are_read_whatever_holds_and_ends_them() {
    let first = zstd_frame(work(1).as_bytes());
    let plain = format!("{}{}", work(1), work(2));
    let records = {
        let place = Place::new();
        write_files(&place.input(), [("works.jsonl", &plain)]);
        outputs(&published(&build(&[&place.input()], &place.out(), &["--strict"])))
    };
    assert_eq!(records.len(), 2);
    let zstd_twice = [first.clone(), zstd_frame(work(2).as_bytes())].concat();
    let skip = b"\x50\x2a\x4d\x18\x04\0\0\0skip";
    let skippable = [&first, skip.as_slice(), &zstd_frame(work(2).as_bytes())].concat();
    let cases: [(&str, &str, Vec<u8>); 11] = [
        ("plain text called gzip", "works.jsonl.gz", plain.clone().into()),
        ("plain text called zstd", "works.jsonl.zst", plain.clone().into()),
        ("CRLF", "works.jsonl", plain.replace('\n', "\r\n").into()),
        ("a BOM", "works.jsonl", format!("\u{feff}{plain}").into()),
        ("no final newline", "works.jsonl", plain.trim_end().into()),
        ("blank lines", "works.jsonl", plain.replace('\n', "\n\n \r\n").into()),
        ("spaces around", "works.jsonl", plain.replace('\n', " \t\n  ").into()),
        ("another name", "outputs.ndjson", plain.clone().into()),
        ("two zstd frames", "works.jsonl.zst", zstd_twice.clone()),
        ("a skippable frame between", "works.jsonl.zst", skippable),
        ("zstd called gzip", "works.gz", zstd_twice),
    ];
    for (what, name, bytes) in cases {
        let place = Place::new();
        write_files(&place.input(), [(name, bytes)]);
        let run = build(&[&place.input()], &place.out(), &["--strict"]);
        assert_eq!(run.code, 0, "{what}: {}", run.stderr);
        assert_eq!(outputs(&published(&run)), records, "{what}");
    }
}

#[test]
fn every_member_of_a_gzip_file_is_read_whatever_its_name() {
    let parts = ["2025-11-06", "2026-01-10", "2026-02-01"]
        .map(|day| sample().join(format!("data/jsonl/works/updated_date={day}/part_0000.gz")));
    let place = Place::new();
    let apart: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    let expected = outputs(&published(&build(&apart, &place.out(), &[])));
    let together = parts.map(|part| fs::read(part).unwrap()).concat();
    for name in ["works.jsonl.gz", "works.jsonl", "works.zst"] {
        let place = Place::new();
        write_files(&place.input(), [(name, &together)]);
        let run = build(&[&place.input()], &place.out(), &[]);
        assert_eq!(outputs(&published(&run)), expected, "{name}");
        assert_eq!(run.report["entities"]["outputs"]["read"], json!(238), "{name}");
    }
}
