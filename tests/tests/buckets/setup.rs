//! Runs of the compiler that ask a store of buckets.

use std::{ffi::OsStr, path::Path, process::Command};

use pinakes_tests::bucket_store::{BucketStore, sign_for};
use pinakes_tests::compiler_run::*;
use pinakes_tests::{files_below, program, write_files};

/// The name of the bucket.
pub const BUCKET: &str = "dump";

/// Makes the command of the compiler, with credentials for an endpoint.
pub fn command<A: AsRef<OsStr>>(endpoint: &str, args: &[A]) -> Command {
    let mut command = Command::new(program("pinakes-compiler"));
    sign_for(&mut command, endpoint).args(args);
    command
}

/// Runs the compiler with a report.
pub fn run_at<A: AsRef<OsStr>>(endpoint: &str, args: &[A]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.json");
    let mut command = command(endpoint, args);
    read_outcome(&command.arg("--report").arg(&report).output().unwrap(), &report)
}

/// Runs the compiler at a store.
pub fn run_in<A: AsRef<OsStr>>(store: &BucketStore, args: &[A]) -> Run {
    run_at(&store.endpoint(), args)
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The files of the published snapshot of a run.
pub fn snapshot(run: &Run) -> std::collections::BTreeMap<String, Vec<u8>> {
    files_below(&published_path(run))
}

/// A dump whose only part has more bytes than the first request for a file: about 600 KB of plain lines.
pub fn long_part(workspace: &Workspace) -> String {
    let lines: String = (1..10_000).map(work).collect();
    write_files(&workspace.input(), [("works/part_0000.jsonl", &*lines)]);
    lines
}
