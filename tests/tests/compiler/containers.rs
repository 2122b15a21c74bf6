//! Containers of lines: gzip, zstd and plain files; complete, concatenated, truncated and damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pinakes_tests::{SeededRng, sample, write_files};
use serde_json::json;

use pinakes_tests::compiler_run::*;

/// A zstd frame whose header asks for a window of 2^30 bytes.
const HUGE_WINDOW: &[u8] = b"\x28\xb5\x2f\xfd\x00\xa0\x19\x00\x00{}\n";
/// A zstd frame that needs dictionary 7.
const NEEDS_DICTIONARY: &[u8] = b"\x28\xb5\x2f\xfd\x01\x00\x07\x19\x00\x00{}\n";

#[test]
fn a_damaged_container_ends_the_run_with_5() {
    let workspace = Workspace::with_tiny_snapshot();
    let gz = gzipped();
    let length = gz.len();
    let works = "works/part_0000.gz";
    // The first ten bytes hold no data; the shortest prefix must count as truncated, not as empty.
    for at in [2, 3, 9, length / 2, length / 10, 20, length - 4, length - 8, length - 1, length - 9]
    {
        let case = refused_run("gzip cut", vec![(works, truncated(&gz, at))], 5, "truncated");
        check_refused(&workspace, &case);
    }
    let mut rng = SeededRng(7);
    for _ in 0..12 {
        let at = 10 + rng.below(length - 10);
        let mut flipped = gz.clone();
        flipped[at] ^= 1 << rng.below(8);
        let what = format!("gzip byte {at} flipped");
        check_refused(&workspace, &refused_run(&what, vec![(works, flipped)], 5, "is damaged: "));
    }
    let after_nothing = [gzip(b"").as_slice(), b"garbage", &gz].concat();
    check_refused(
        &workspace,
        &refused_run("garbage", vec![(works, after_nothing)], 5, "is damaged: "),
    );
    let garbage = [gz.as_slice(), b"garbage that is no gzip member"].concat();
    check_refused(
        &workspace,
        &refused_run("garbage after", vec![(works, garbage)], 5, "is damaged: "),
    );
    let frame = zstd_frame(work(1).as_bytes());
    for at in [8, 20, frame.len() - 1] {
        let files = vec![("works/part_0000.zst", truncated(&frame, at))];
        check_refused(&workspace, &refused_run("zstd cut", files, 5, "is damaged: "));
    }
}

#[test]
fn every_container_and_line_ending_gives_the_same_records() {
    let first = zstd_frame(work(1).as_bytes());
    let plain = format!("{}{}", work(1), work(2));
    let records = {
        let workspace = Workspace::new();
        write_files(&workspace.input(), [("works.jsonl", &plain)]);
        outputs(&published_path(&build(&[&workspace.input()], &workspace.out(), &["--strict"])))
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
        let workspace = Workspace::new();
        write_files(&workspace.input(), [(name, bytes)]);
        let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
        assert_eq!(run.code, 0, "{what}: {}", run.stderr);
        assert_eq!(outputs(&published_path(&run)), records, "{what}");
    }
}

#[test]
fn every_member_of_a_gzip_file_is_read_under_any_file_name() {
    let parts = ["2025-11-06", "2026-01-10", "2026-02-01"]
        .map(|day| sample().join(format!("data/jsonl/works/updated_date={day}/part_0000.gz")));
    let workspace = Workspace::new();
    let apart: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    let expected = outputs(&published_path(&build(&apart, &workspace.out(), &[])));
    let together = parts.map(|part| fs::read(part).unwrap()).concat();
    for name in ["works.jsonl.gz", "works.jsonl", "works.zst"] {
        let workspace = Workspace::new();
        write_files(&workspace.input(), [(name, &together)]);
        let run = build(&[&workspace.input()], &workspace.out(), &[]);
        assert_eq!(outputs(&published_path(&run)), expected, "{name}");
        assert_eq!(run.report["entities"]["outputs"]["read"], json!(238), "{name}");
    }
}

#[test]
fn only_zeros_may_follow_the_last_gzip_member() {
    let whole = gzip(format!("{}{}", work(1), work(2)).as_bytes());
    let then = |more: &[u8]| vec![("works.jsonl.gz", [whole.as_slice(), more].concat())];
    let zeros = vec![0; 300_000];
    let warnings = &[("gzip_zero_padding", 1)];
    check(&[
        Case { warnings, ..succeeds("zeros after a member", then(&zeros)) },
        Case { warnings, ..succeeds("one zero after a member", then(b"\0")) },
        fails(
            "zeros, then a byte",
            then(&[&zeros[..], b"x"].concat()),
            5,
            "is damaged: bytes after",
        ),
        fails("a text", then(b"and so on"), 5, "is damaged: bytes after the last gzip member"),
        fails("half a magic number", then(b"\x1f"), 5, "is damaged: "),
        fails("zeros, then a member", then(&[&zeros[..], &whole].concat()), 5, "is damaged: "),
    ]);
}

#[test]
fn allow_truncated_keeps_the_complete_lines_of_a_truncated_part() {
    let text: String = (1..2_000).map(work).collect();
    let whole = gzip(text.as_bytes());
    let frame = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let cut_gzip = || vec![("works.jsonl.gz", truncated(&whole, whole.len() - 100))];
    let cut_zstd = || vec![("works.jsonl.zst", truncated(&frame, frame.len() - 3))];
    let options = &["--allow-truncated", "--strict"];
    check(&[
        fails("gzip", cut_gzip(), 5, "or take those lines with `--allow-truncated`"),
        fails("zstd", cut_zstd(), 5, "truncated after"),
        Case {
            options,
            warnings: &[("truncated_part", 1)],
            ..succeeds("gzip allowed", cut_gzip())
        },
        // zstd decompresses whole blocks, and the truncated block is the only block of its frame.
        Case { options, ..fails("zstd allowed", cut_zstd(), 4, "hold no record") },
    ]);
    let workspace = Workspace::new();
    write_files(&workspace.input(), cut_gzip());
    let read =
        outputs(&published_path(&build(&[&workspace.input()], &workspace.out(), options))).len();
    assert!((1_000..1_999).contains(&read), "{read}");
    // The option is part of the object's key: without it, the build refuses the part again.
    assert_eq!(build(&[&workspace.input()], &workspace.out(), &[]).code, 5);
}

#[test]
fn misleading_container_names_and_headers_cause_a_warning_or_a_refusal() {
    let text = work(1);
    let named = |name, bytes: &[u8]| vec![(name, bytes.to_vec())];
    let plain = text.as_bytes();
    let summed = {
        use std::io::Write;
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    };
    let misnamed = &[("misnamed_container", 1)];
    let unsummed = &[("zstd_without_checksum", 1)];
    let twice = [zstd_frame(plain), zstd_frame(work(2).as_bytes())].concat();
    let skip = [&b"\x50\x2a\x4d\x18\x04\0\0\0skip"[..], &twice].concat();
    let more = &["--zstd-window-max", "30"];
    check(&[
        Case { warnings: misnamed, ..succeeds("lines called .gz", named("works.jsonl.gz", plain)) },
        Case {
            warnings: misnamed,
            ..succeeds("gzip without a name", named("works.jsonl", &gzip(plain)))
        },
        Case {
            warnings: misnamed,
            ..succeeds("gzip called .zst", named("works.zst", &gzip(plain)))
        },
        succeeds("zstd with a checksum", named("works.jsonl.zst", &summed)),
        Case { warnings: unsummed, ..succeeds("zstd without one", named("works.zst", &twice)) },
        Case { warnings: unsummed, ..succeeds("after a skipped frame", named("works.zst", &skip)) },
        fails("a window of 2^30", named("works.zst", HUGE_WINDOW), 5, "raise `--zstd-window-max`"),
        Case {
            options: more,
            bad: &[("no_id", 1)],
            ..fails("the same, allowed", named("works.zst", HUGE_WINDOW), 4, "1 of 1 records")
        },
        fails("a dictionary", named("works.zst", NEEDS_DICTIONARY), 5, "is damaged: "),
    ]);
}

#[test]
fn utf16_input_ends_the_run_with_5() {
    let text: String = (1..100).map(work).collect();
    let marked = [b"\xff\xfe", utf16(&text).as_slice()].concat();
    check(&[
        fails("UTF-16", vec![("works.jsonl", utf16(&text))], 5, "is damaged: not UTF-8 but UTF-16"),
        fails("UTF-16 with its mark", vec![("works.jsonl", marked)], 5, "(`iconv"),
        fails("UTF-16 in gzip", vec![("works.gz", gzip(&utf16(&text)))], 5, "not UTF-8"),
        fails(
            "a taxonomy in UTF-16",
            vec![
                ("works.jsonl", work(1).into_bytes()),
                ("topics.jsonl", utf16("{\"id\":\"T1\"}\n")),
            ],
            5,
            "not UTF-8",
        ),
    ]);
}

#[test]
fn a_decompression_bomb_needs_no_more_memory_than_the_longest_line() {
    let newlines = vec![b'\n'; 96 << 20];
    let line = vec![b'x'; 96 << 20];
    let bounded: &[&str] = &["--max-inflated", "64M"];
    let zstd = |bytes: &[u8]| vec![("works.zst", zstd::encode_all(bytes, 1).unwrap())];
    let gz = |bytes: &[u8]| vec![("works.gz", gzip(bytes))];
    let says = "more uncompressed bytes than `--max-inflated` allows; raise the limit if";
    let bad: &[(&str, u64)] = &[("line_too_long", 1)];
    check(&[
        Case { options: bounded, ..fails("gzip of blank lines", gz(&newlines), 5, says) },
        Case { options: bounded, ..fails("gzip of one line", gz(&line), 5, says) },
        Case { options: bounded, ..fails("zstd of one line", zstd(&line), 5, says) },
        Case {
            bad,
            ..fails("gzip of one line, unbounded", gz(&line), 4, "1 of 1 records are bad")
        },
        Case {
            bad,
            ..fails("zstd of one line, unbounded", zstd(&line), 4, "longer than `--max-line`")
        },
        fails("blank lines, unbounded", gz(&newlines), 4, "hold no record"),
    ]);
    let peak = |files: Vec<(&str, Vec<u8>)>| {
        let workspace = Workspace::new();
        write_files(&workspace.input(), files);
        peak_bytes(&workspace.input(), &workspace.out(), &[])
    };
    let ((small_code, small), (large_code, large)) =
        (peak(gz(work(1).as_bytes())), peak(gz(&line)));
    assert_eq!((small_code, large_code), (Some(0), Some(4)));
    assert!(large <= small + (32 << 20), "{large} bytes at most, {small} with one small record");
}
