//! Parts in a bucket give the snapshot of parts on disk.

use std::fs;

use pinakes_tests::bucket_store::BucketStore;
use pinakes_tests::compiler_run::*;
use pinakes_tests::{export, sample};
use serde_json::json;

use crate::buckets::setup::{BUCKET, command, run_at, run_in, snapshot, text};

#[test]
fn a_bucket_gives_the_snapshot_of_a_directory() {
    let workspace = Workspace::new();
    let [first, parquet, dump] =
        ["first", "native", "dump"].map(|name| workspace.0.path().join(name));
    let published = published_path(&build(&[&sample()], &first, &[]));
    export(&published, &parquet, &["--format", "parquet"]);
    let works = dump.join("works/updated_date=2026-03-01");
    fs::create_dir_all(&works).unwrap();
    let lines: String = (1..3_000).map(work).collect();
    fs::write(works.join("part_0000.zst"), zstd::encode_all(lines.as_bytes(), 0).unwrap()).unwrap();
    fs::write(works.join("part_0001.jsonl"), work(3_001)).unwrap();
    // A part with a `+`, a space and a letter beyond ASCII in its name.
    fs::write(works.join("part 1+1=é.jsonl"), work(3_002)).unwrap();
    let inputs = [&*sample(), &*dump, &*parquet];
    let expected = snapshot(&build(&inputs, &workspace.out(), &[]));
    for store in BucketStore::all("a_bucket_gives_the_snapshot_of_a_directory") {
        store.create(BUCKET);
        for (prefix, input) in ["openalex", "more", "native"].into_iter().zip(inputs) {
            store.upload(BUCKET, prefix, input);
        }
        let out = tempfile::tempdir_in(workspace.0.path()).unwrap();
        let inputs = ["s3://dump/openalex", "s3://dump/more/", "native:s3://dump/native"];
        let args = [&["build"], &inputs[..], &["--out", text(out.path())]].concat();
        let built = run_in(&store, &args);
        assert!(snapshot(&built) == expected, "the snapshots differ");
        // The hash of each version is remembered.
        let again = run_in(&store, &args);
        assert_eq!(again.report["parts_parsed"], json!(0), "{}", again.stderr);
        let removed = |name: &str| fs::remove_dir_all(out.path().join(name)).unwrap();
        // A single file is a part, too.
        removed("objects");
        let one = "s3://dump/more/works/updated_date=2026-03-01/part_0001.jsonl";
        let args = ["build", one, "--allow-shrink", "--out", text(out.path())];
        let built = run_in(&store, &args);
        assert_eq!(built.report["entities"]["outputs"]["read"], json!(1), "{}", built.stderr);
    }
}

#[test]
fn all_pages_of_a_list_are_read() {
    for store in BucketStore::all("all_pages_of_a_list_are_read") {
        store.create(BUCKET);
        for number in 0..1_003 {
            store.put(BUCKET, &format!("openalex/notes/{number}.md"), b"");
        }
        store.put(BUCKET, "openalex/works/part_0000.jsonl", work(1).as_bytes());
        store.put(BUCKET, "openalex/works/part_0001.jsonl", work(2).as_bytes());
        let workspace = Workspace::new();
        let out = workspace.out();
        let args = ["build", "s3://dump/openalex", "--out", text(&out)];
        let built = run_in(&store, &args);
        assert_eq!(built.code, 0, "{}", built.stderr);
        assert_eq!(built.report["entities"]["outputs"]["read"], json!(2));
        assert_eq!(built.report["skipped_files"].as_array().unwrap().len(), 1_003);
    }
}

#[test]
fn a_public_bucket_needs_no_credentials() {
    let Some(store) = BucketStore::moto("a_public_bucket_needs_no_credentials") else { return };
    store.create(BUCKET);
    store.put_public(BUCKET, "open/works.jsonl", work(1).as_bytes());
    store.put(BUCKET, "closed/works.jsonl", work(1).as_bytes());
    let workspace = Workspace::new();
    let anonymous = |input: &str| {
        let out = workspace.out();
        let args = ["build", input, "--quiet", "--out", text(&out)];
        let mut command = command(&store.endpoint(), &args);
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(anonymous("s3://dump/open"), (Some(0), String::new()));
    let (code, error) = anonymous("s3://dump/closed");
    assert_eq!(code, Some(3), "{error}");
    assert!(
        error.contains("closed/works.jsonl`: 403 Forbidden; check `AWS_ACCESS_KEY_ID`"),
        "{error}"
    );
}

#[test]
fn a_bucket_that_cannot_be_read_is_named_with_what_to_check() {
    for store in BucketStore::all("a_bucket_that_cannot_be_read_is_named_with_what_to_check") {
        store.create(BUCKET);
        store.put(BUCKET, "openalex/works.jsonl", work(1).as_bytes());
        let workspace = Workspace::new();
        let check = |endpoint: &str, input: &str, code: i32, phrase: &str| {
            let out = workspace.out();
            let args = ["build", input, "--tries", "2", "--out", text(&out)];
            let failed = run_at(endpoint, &args);
            assert_eq!(failed.code, code, "{input}: {}", failed.stderr);
            assert!(failed.stderr.contains(phrase), "{}", failed.stderr);
            assert!(!failed.stderr.contains("X-Amz"), "{}", failed.stderr);
        };
        let endpoint = store.endpoint();
        check(&endpoint, "s3://nowhere/openalex", 3, "`s3://nowhere/openalex`: not found; check");
        check(&endpoint, "s3://dump/nothing", 3, "`s3://dump/nothing`: holds no file; check");
        check(&endpoint, "s3://dump/open", 3, "`s3://dump/open`: holds no file; check");
        check(&endpoint, "doaj:s3://dump/openalex/works.jsonl", 3, "works.jsonl`");
        // Nothing listens there.
        check("http://127.0.0.1:1", "s3://dump/openalex", 6, "in 2 attempts; run again");
    }
}
