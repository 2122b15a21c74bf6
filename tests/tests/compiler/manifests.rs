//! Manifests, and parts that contradict their manifest.

use std::{fs, os::unix::fs::symlink};

use pinakes_tests::write_files;
use serde_json::json;

use pinakes_tests::compiler_run::*;

#[test]
fn a_part_that_contradicts_its_manifest_ends_the_run_with_5() {
    let workspace = Workspace::with_tiny_snapshot();
    let part = "works/updated_date=2026-02-01/part_0000.jsonl";
    let text = format!("{}{}", work(1), work(2)).into_bytes();
    let url = format!("s3://openalex/data/{part}");
    let length = text.len();
    for (what, meta, phrase) in [
        ("a record too few", json!({"record_count": 3}), "2 records, expected 3 by its manifest"),
        ("a record too many", json!({"record_count": 1}), "2 records, expected 1 by its manifest"),
        (
            "a byte too few",
            json!({"content_length": length + 1}),
            "by its manifest; fetch it again",
        ),
        (
            "a byte too many",
            json!({"content_length": length - 1}),
            "by its manifest; fetch it again",
        ),
    ] {
        let files = vec![(part, text.clone()), ("works/manifest.json", manifest(&url, meta))];
        check_refused(&workspace, &refused_run(what, files, 5, phrase));
    }
    for url in ["s3://x/../part_0000.jsonl", "part", "", "x//part", "x/./part", "../../../x"] {
        let files = vec![(part, text.clone()), ("works/manifest.json", manifest(url, json!({})))];
        check_refused(&workspace, &refused_run(url, files, 5, "is not a path below its directory"));
    }
    for bad in ["", "{", "[]x", r#"{"entries":5}"#] {
        let files = vec![(part, text.clone()), ("works/manifest.json", bad.into())];
        check_refused(&workspace, &refused_run(bad, files, 5, "it is not a manifest"));
    }
}

#[test]
fn a_missing_or_unlisted_part_of_a_manifest_causes_a_warning() {
    let workspace = Workspace::new();
    let part = "works/updated_date=2026-02-01/part_0000.jsonl";
    let listed =
        |name: &str| json!({"url": format!("s3://x/works/updated_date=2026-02-01/{name}")});
    let both = json!({"entries": [listed("part_0000.jsonl"), listed("part_0001.jsonl")]});
    let none = json!({ "entries": [] });
    for (manifest, code) in [(both, "manifest_part_absent"), (none, "manifest_part_unlisted")] {
        let files = [(part, work(1)), ("works/manifest.json", manifest.to_string())];
        write_files(&workspace.input(), files);
        let run = build(&[&workspace.input()], &workspace.out(), &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.report["warnings"], json!({ code: 1 }));
    }
}

#[test]
fn manifests_of_unknown_folders_are_checked_and_their_parts_skipped() {
    let workspace = Workspace::new();
    let part = "updated_date=2026-08-01/part_0000.jsonl";
    let listing = |url: String| json!({"format": "jsonl", "files": [{"url": url}]});
    let manifests = [
        ("works", listing(format!("s3://openalex/data/jsonl/works/{part}"))),
        ("sdgs", listing(format!("s3://openalex/data/jsonl/sdgs/{part}"))),
        ("concepts", listing(part.to_string())),
        ("keywords", listing(format!("/data/jsonl/keywords/{part}"))),
    ];
    let below_root = |folder: &str| listing(format!("s3://openalex/data/jsonl/{folder}/{part}"));
    let root = json!({"entities": [below_root("works"), below_root("sdgs")]});
    let root = ("manifest.json".to_string(), root.to_string());
    let files = manifests.iter().flat_map(|(folder, manifest)| {
        [
            (format!("{folder}/manifest.json"), manifest.to_string()),
            (format!("{folder}/{part}"), work(1)),
        ]
    });
    write_files(&workspace.input(), files.chain([root]));
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict-manifest"]);
    assert_eq!((run.code, &run.report["warnings"]), (0, &json!({})), "{}", run.stderr);

    // The folder's own manifest and the one above list the part.
    fs::remove_file(workspace.input().join("sdgs").join(part)).unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    let warnings = json!({"manifest_part_absent": 2});
    assert_eq!((run.code, &run.report["warnings"]), (0, &warnings), "{}", run.stderr);
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict-manifest"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
}

#[test]
fn a_manifest_with_invalid_or_repeated_entries_ends_the_run_with_5() {
    let part = "works/updated_date=2026-02-01/part_0000.jsonl";
    let url = |name: &str| format!("s3://x/works/updated_date=2026-02-01/{name}");
    let listing = |names: &[&str]| {
        let entries: Vec<_> = names.iter().map(|name| json!({ "url": url(name) })).collect();
        let manifest = json!({ "entries": entries }).to_string().into_bytes();
        vec![(part, work(1).into_bytes()), ("works/manifest", manifest)]
    };
    let strict = &["--strict-manifest"];
    check(&[
        succeeds("as it is", listing(&["part_0000.jsonl"])),
        Case { options: strict, ..succeeds("strictly as it is", listing(&["part_0000.jsonl"])) },
        fails(
            "twice",
            listing(&["part_0000.jsonl", "part_0000.jsonl"]),
            5,
            "part_0000.jsonl` twice",
        ),
        Case {
            options: strict,
            ..fails("absent", listing(&["part_0000.jsonl", "part_1.gz"]), 5, "which is missing")
        },
        Case { options: strict, ..fails("unlisted", listing(&[]), 5, "which exists") },
    ]);
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    write_files(&workspace.input(), listing(&["part_0000.jsonl"]));
    let real = workspace.input().join("elsewhere");
    fs::rename(workspace.input().join(part), &real).unwrap();
    symlink(&real, workspace.input().join(part)).unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.stderr.contains("a symbolic link where a manifest lists a part"), "{}", run.stderr);
    assert_nothing_published(&workspace.out(), &before, &run, "a symbolic link");
}
