//! Transfers that break, stall, or find another version of a part.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use pinakes_tests::bucket_store::BucketStore;
use pinakes_tests::compiler_run::*;
use pinakes_tests::{export, sample};

use crate::buckets::proxy::{Harm, Proxy};
use crate::buckets::setup::{BUCKET, long_part, run_at, run_in, snapshot, text};

#[test]
fn a_broken_or_stalled_transfer_continues_where_it_stopped() {
    let workspace = Workspace::new();
    long_part(&workspace);
    let parquet = workspace.input().join("native");
    let published = published_path(&build(&[&sample()], &workspace.0.path().join("first"), &[]));
    export(&published, &parquet, &["--format", "parquet"]);
    let expected = snapshot(&build(&[&workspace.input()], &workspace.out(), &[]));
    for store in BucketStore::all("a_broken_or_stalled_transfer_continues_where_it_stopped") {
        store.create(BUCKET);
        store.upload(BUCKET, "openalex", &workspace.input());
        for (harm, count) in [(Harm::Cuts, 8), (Harm::Stalls, 2)] {
            let proxy = Proxy::harming(&store, harm, 100_000, count);
            let out = tempfile::tempdir_in(workspace.0.path()).unwrap();
            let args = ["build", "s3://dump/openalex", "--timeout", "1", "--out", text(out.path())];
            let built = run_at(&proxy.endpoint(), &args);
            assert!(snapshot(&built) == expected, "the snapshots differ");
            assert!(proxy.harmed() >= 2, "{} connections were harmed", proxy.harmed());
        }
    }
}

#[test]
fn a_transfer_that_breaks_at_every_attempt_ends_the_run_with_a_code_to_try_again() {
    let test = "a_transfer_that_breaks_at_every_attempt_ends_the_run_with_a_code_to_try_again";
    let Some(store) = BucketStore::moto(test) else { return };
    let workspace = Workspace::new();
    long_part(&workspace);
    store.create(BUCKET);
    store.upload(BUCKET, "openalex", &workspace.input());
    let proxy = Proxy::harming(&store, Harm::Cuts, 1_000, usize::MAX);
    let out = workspace.out();
    let args = ["build", "s3://dump/openalex", "--tries", "2", "--out", text(&out)];
    let failed = run_at(&proxy.endpoint(), &args);
    assert_eq!(failed.code, 6, "{}", failed.stderr);
    let part = "`s3://dump/openalex/works/part_0000.jsonl`: ";
    assert!(failed.stderr.contains(part), "{}", failed.stderr);
    assert!(failed.stderr.contains("in 2 attempts; run again"), "{}", failed.stderr);
}

#[test]
fn a_part_that_changes_is_never_mixed_with_its_earlier_version() {
    let Some(store) = BucketStore::moto("a_part_that_changes_is_never_mixed") else { return };
    let store = Arc::new(store);
    let workspace = Workspace::new();
    let lines = long_part(&workspace);
    store.create(BUCKET);
    store.upload(BUCKET, "openalex", &workspace.input());
    let key = "openalex/works/part_0000.jsonl";
    // The part changes, at the same size, when the second piece is requested.
    let (changed, other) = (AtomicBool::new(false), lines.replace("Title", "Tytle"));
    assert!(other.len() == lines.len() && other != lines);
    let writer = Arc::clone(&store);
    let proxy = Proxy::watching(&store, move |request| {
        let is_second = request.to_ascii_lowercase().contains("range: bytes=65536-");
        if is_second && !changed.swap(true, Ordering::SeqCst) {
            writer.put(BUCKET, key, other.as_bytes());
        }
    });
    let out = workspace.out();
    let args = ["build", "s3://dump/openalex", "--out", text(&out)];
    let failed = run_at(&proxy.endpoint(), &args);
    assert_eq!(failed.code, 6, "{}", failed.stderr);
    let phrase = format!("`s3://dump/{key}`: the file changed while it was read; run again");
    assert!(failed.stderr.contains(&phrase), "{}", failed.stderr);
    assert_eq!(run_at(&proxy.endpoint(), &args).code, 0);
    // A plan names the versions of its parts.
    let plan = workspace.0.path().join("plan.jsonl");
    let args = ["plan", "s3://dump/openalex", "--units", "1", "--out", text(&plan)];
    assert!(crate::buckets::setup::command(&store.endpoint(), &args).status().unwrap().success());
    store.put(BUCKET, key, lines.as_bytes());
    let objects = workspace.0.path().join("objects");
    let args = ["compile", "--plan", text(&plan), "--unit", "0", "--objects", text(&objects)];
    let failed = run_in(&store, &args);
    assert_eq!(failed.code, 5, "{}", failed.stderr);
    assert!(
        failed.stderr.contains("it changed after it was planned; plan again"),
        "{}",
        failed.stderr
    );
}
