//! Objects in a bucket that several hosts share.

use std::{fs, path::PathBuf};

use pinakes_tests::bucket_store::BucketStore;
use pinakes_tests::compiler_run::*;
use pinakes_tests::{sample, write_files};
use serde_json::{Value, json};

use crate::buckets::setup::{BUCKET, command, run_in, snapshot, text};

const OBJECTS: &str = "s3://dump/objects";

/// A plan of the sample in a bucket.
struct Shared<'s> {
    store: &'s BucketStore,
    workspace: Workspace,
    plan: PathBuf,
}

impl<'s> Shared<'s> {
    fn new(store: &'s BucketStore, units: &str) -> Shared<'s> {
        store.create(BUCKET);
        store.upload(BUCKET, "openalex", &sample());
        let workspace = Workspace::new();
        let plan = workspace.0.path().join("plan.jsonl");
        let args = ["plan", "s3://dump/openalex", "--units", units, "--out", text(&plan)];
        assert!(command(&store.endpoint(), &args).status().unwrap().success());
        Shared { store, workspace, plan }
    }

    fn unit_args<'a>(&'a self, unit: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let args = ["compile", "--plan", text(&self.plan), "--unit", unit, "--objects", OBJECTS];
        [&args, more].concat()
    }

    fn compile(&self, unit: &str, more: &[&str]) -> Run {
        let run = run_in(self.store, &self.unit_args(unit, more));
        assert_eq!(run.code, 0, "{}", run.stderr);
        run
    }

    fn link(&self, more: &[&str]) -> Run {
        let out = self.workspace.out();
        let args = ["link", "--plan", text(&self.plan), "--objects", OBJECTS, "--out", text(&out)];
        run_in(self.store, &[&args, more].concat())
    }

    /// The key of an object of a unit.
    fn object_of(&self, unit: usize) -> String {
        let lines = fs::read_to_string(&self.plan).unwrap();
        let facts: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        let key = format!("objects/{}.{unit}.unit", facts["plan"].as_str().unwrap());
        let unit: Value = serde_json::from_slice(&self.store.get(BUCKET, &key)).unwrap();
        format!("objects/{}.object", unit["objects"][0].as_str().unwrap())
    }
}

#[test]
fn two_caches_and_one_bucket_give_the_snapshot_of_a_single_run() {
    let workspace = Workspace::new();
    let expected = snapshot(&build(&[&sample()], &workspace.out(), &[]));
    for store in BucketStore::all("two_caches_and_one_bucket_give_the_snapshot_of_a_single_run") {
        let shared = Shared::new(&store, "3");
        let caches = ["a", "b"].map(|name| shared.workspace.0.path().join(name));
        // Every unit runs twice at the same time, once with each cache.
        let mut runs = Vec::new();
        for (unit, cache) in ["0", "1", "2"]
            .into_iter()
            .flat_map(|unit| caches.iter().map(move |cache| (unit, cache)))
        {
            let args = shared.unit_args(unit, &["--quiet", "--objects-cache", text(cache)]);
            runs.push(command(&store.endpoint(), &args).spawn().unwrap());
        }
        for mut run in runs {
            assert!(run.wait().unwrap().success());
        }
        let linked = shared.link(&[]);
        assert!(snapshot(&linked) == expected, "the snapshots differ");
        // A unit without a cache finds everything in the bucket.
        let again = shared.compile("1", &[]);
        assert_eq!(again.report["parts_parsed"], json!(0), "{}", again.stderr);
        // So does a build, also of the same parts on disk.
        let out = shared.workspace.out();
        let args = ["--objects", OBJECTS, "--out", text(&out)];
        let input = sample();
        let built = run_in(&store, &[&["build", text(&input)], &args[..]].concat());
        assert_eq!(built.report["parts_parsed"], json!(0), "{}", built.stderr);
        let out = shared.workspace.0.path().join("all");
        let linked = run_in(&store, &["link", "--objects", OBJECTS, "--out", text(&out)]);
        assert!(snapshot(&linked) == expected, "the snapshots differ");
    }
}

#[test]
fn missing_units_and_damaged_objects_in_a_bucket_are_named() {
    let workspace = Workspace::new();
    let expected = snapshot(&build(&[&sample()], &workspace.out(), &[]));
    for store in BucketStore::all("missing_units_and_damaged_objects_in_a_bucket_are_named") {
        let shared = Shared::new(&store, "3");
        shared.compile("1", &[]);
        let linked = shared.link(&[]);
        assert_eq!(linked.code, 3, "{}", linked.stderr);
        assert!(
            linked.stderr.contains("`s3://dump/objects/` lacks the objects of 2 of 3 units"),
            "{}",
            linked.stderr
        );
        assert!(linked.stderr.contains(": 0,2; run `compile --plan`"), "{}", linked.stderr);
        shared.compile("0", &[]);
        shared.compile("2", &[]);
        let key = shared.object_of(2);
        let mut bytes = store.get(BUCKET, &key);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        store.put(BUCKET, &key, &bytes);
        let linked = shared.link(&[]);
        assert_eq!(linked.code, 3, "{}", linked.stderr);
        let phrase = format!("`s3://dump/{key}` is damaged: its content does not match its hash");
        assert!(linked.stderr.contains(&phrase), "{}", linked.stderr);
        assert!(linked.stderr.contains("1 of 3 units"), "{}", linked.stderr);
        // The unit replaces the damaged object.
        let again = shared.compile("2", &[]);
        assert_eq!(again.report["parts_parsed"], json!(1), "{}", again.stderr);
        assert!(snapshot(&shared.link(&[])) == expected, "the snapshots differ");
    }
}

#[test]
fn a_large_object_is_uploaded_in_parts() {
    let workspace = Workspace::new();
    let lines: String = (1..180_000).map(work).collect();
    write_files(&workspace.input(), [("works.jsonl", &*lines)]);
    let expected = snapshot(&build(&[&workspace.input()], &workspace.out(), &[]));
    for store in BucketStore::all("a_large_object_is_uploaded_in_parts") {
        store.create(BUCKET);
        let cache = tempfile::tempdir_in(workspace.0.path()).unwrap();
        let input = workspace.input();
        let args = ["compile", text(&input), "--objects", OBJECTS];
        let args = [&args, &["--objects-cache", text(cache.path())][..]].concat();
        let compiled = run_in(&store, &args);
        assert_eq!(compiled.code, 0, "{}", compiled.stderr);
        let mut files = fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path());
        let object =
            files.find(|path| path.extension().is_some_and(|end| end == "object")).unwrap();
        let bytes = fs::read(&object).unwrap();
        assert!(bytes.len() > 20_000_000, "{} bytes", bytes.len());
        let key = format!("objects/{}", object.file_name().unwrap().to_str().unwrap());
        assert!(store.get(BUCKET, &key) == bytes, "the uploaded object differs");
        let out = tempfile::tempdir_in(workspace.0.path()).unwrap();
        let linked = run_in(&store, &["link", "--objects", OBJECTS, "--out", text(out.path())]);
        assert!(snapshot(&linked) == expected, "the snapshots differ");
    }
}

#[test]
fn a_bucket_of_objects_is_refused_where_a_local_directory_is_missing_or_superfluous() {
    let workspace = Workspace::new();
    let (input, out) = (sample(), workspace.out());
    let check = |args: &[&str], phrase: &str| {
        let failed = run(args);
        assert_eq!(failed.code, 2, "{}", failed.stderr);
        assert!(failed.stderr.contains(phrase), "{}", failed.stderr);
    };
    check(&["compile", text(&input), "--objects", OBJECTS], "give `--objects-cache DIR`");
    let args = ["compile", text(&input), "--objects", text(&out), "--objects-cache", text(&out)];
    check(&args, "`--objects-cache` needs a bucket");
    let args =
        ["build", "s3://dump/all", "--objects", "s3://dump/all/objects", "--out", text(&out)];
    check(&args, "`--objects` lies inside the input `s3://dump/all`");
}
