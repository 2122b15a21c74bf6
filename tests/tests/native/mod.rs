//! Tests of native dumps: `export` writes a snapshot as lines, and a build from them loses nothing.

mod answers;
mod exports;
mod lines;
mod random;
mod recognised;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, RecordStore, Shape};
use pinakes_format::snapshot::Snapshot;
use pinakes_tests::compiler;
use serde_json::Value;

/// A run of the compiler with its output and report.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
    report: Value,
}

fn run<A: AsRef<OsStr>>(args: &[A]) -> Run {
    let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    let output = compiler(&args);
    Run {
        code: output.status.code().unwrap_or_else(|| panic!("killed: {}", output.status)),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        report: Value::Null,
    }
}

/// Builds a snapshot of inputs given as on the command line.
fn build(inputs: &[&str], out: &Path) -> Run {
    let reports = tempfile::tempdir().unwrap();
    let report = reports.path().join("report.json");
    let mut args: Vec<&OsStr> = vec!["build".as_ref(), "--max-bad".as_ref(), "100%".as_ref()];
    args.extend(inputs.iter().map(OsStr::new));
    args.extend(["--quiet".as_ref(), "--allow-empty".as_ref(), "--out".as_ref(), out.as_os_str()]);
    args.extend(["--report".as_ref(), report.as_os_str()]);
    let mut run = run(&args);
    let text = fs::read(&report);
    run.report = text.map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
    run
}

fn opened(run: &Run) -> Snapshot {
    assert_eq!(run.code, 0, "{}", run.stderr);
    Snapshot::open(&PathBuf::from(run.stdout.lines().last().unwrap())).unwrap()
}

/// Every record of an entity as JSON text, in row order.
fn rendered(snapshot: &Snapshot, entity: Entity, shape: Shape) -> Vec<String> {
    rendered_by(snapshot, entity, |store| JsonWriter::new(store, shape))
}

/// Renders every record of an entity on a page of its own.
fn rendered_by<'s>(
    snapshot: &'s Snapshot,
    entity: Entity,
    new_page: impl Fn(&'s dyn RecordStore) -> JsonWriter<'s>,
) -> Vec<String> {
    let text_of = |row| {
        let mut page = new_page(snapshot);
        snapshot.render(entity, row, &mut page).unwrap();
        String::from_utf8(page.out).unwrap()
    };
    (0..snapshot.count(entity)).map(text_of).collect()
}
