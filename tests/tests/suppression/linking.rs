//! Tests of suppression lists of the linker: counts, content of the files, and invalid lists.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;
use pinakes_tests::{TINY_DUMP, build, compiler, files_below, write_files};
use serde_json::Value;

use crate::ids_of;
use crate::write_list;
use pinakes_tests::server::make_writable;

/// A temporary directory with the tiny dump and snapshots.
struct Setup(tempfile::TempDir);

impl Setup {
    fn new() -> Setup {
        let setup = Setup(tempfile::tempdir().unwrap());
        write_files(&setup.dump(), TINY_DUMP);
        setup
    }

    fn dump(&self) -> PathBuf {
        self.0.path().join("dump")
    }

    /// Builds the dump with a suppression list; returns the snapshot and its report.
    fn build(&self, ids: &[&str], more: &[&str]) -> (PathBuf, Value) {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let list = write_list(self.0.path(), &ids);
        let options = [&["--quiet", "--suppress", list.to_str().unwrap()], more].concat();
        let path = build(&[self.dump()], &self.0.path().join("out"), &options);
        let report = fs::read(path.join("report.json")).unwrap();
        (path, serde_json::from_slice(&report).unwrap())
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        make_writable(self.0.path());
    }
}

/// Whether any file of a snapshot contains a text.
fn holds(snapshot: &Path, text: &str) -> bool {
    let is_in = |bytes: &Vec<u8>| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    files_below(snapshot).values().any(is_in)
}

#[test]
fn suppressed_records_are_counted_and_absent_from_the_snapshot() {
    let setup = Setup::new();
    let (full, report) = setup.build(&[], &[]);
    assert!(holds(&full, "Ada Example") && holds(&full, "Nemo Missing"));
    assert_eq!(report["entities"]["authors"]["suppressed"], 0);
    let (part, report) = setup.build(&["A1", "HX_F1", "W999", "HX_A12345 # nobody"], &[]);
    assert!(!holds(&part, "Ada Example") && !holds(&part, "Example Fund"));
    let tally = |entity: &str| {
        let tally = &report["entities"][entity];
        ["read", "published_from_input", "suppressed", "excluded"].map(|part| tally[part].clone())
    };
    assert_eq!(tally("authors"), [1, 0, 1, 0]);
    assert_eq!(tally("funders"), [1, 0, 1, 0]);
    assert_eq!(tally("outputs"), [2, 2, 0, 0]);
    // Unknown ids are counted and are not an error.
    assert_eq!(report["warnings"]["suppressed_unknown"], 2);
    let snapshot = Snapshot::open(&part).unwrap();
    snapshot.verify().unwrap();
    let manifest = snapshot.manifest();
    let suppressed: Vec<(&str, u64)> =
        manifest.suppressed.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(suppressed, [("authors", 1), ("funders", 1)]);
    assert!(manifest.selection.is_none());
    let inspect = |more: &[&str]| {
        let args = [&["inspect"][..], more].concat();
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).chain([part.as_os_str()]).collect();
        String::from_utf8(compiler(&args).stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&inspect(&["--json"])).unwrap();
    assert_eq!(json["suppressed"], serde_json::json!({ "authors": 1, "funders": 1 }));
    let table = inspect(&[]);
    assert!(table.lines().any(|line| line == "suppressed 1 authors, 1 funders"), "{table}");
    assert_eq!(ids_of(&snapshot, Entity::Author), [0; 0]);
    assert_eq!(snapshot.rows(Entity::Author), 2, "outputs refer to two authors");
}

#[test]
fn names_from_suppressed_records_alone_disappear() {
    let setup = Setup::new();
    let (part, _) = setup.build(&["W1"], &[]);
    assert!(!holds(&part, "Nemo Missing"), "no remaining record refers to that author");
    assert!(holds(&part, "Ada Example"), "the snapshot keeps her record");
    // A suppressed unresolved reference loses its name too.
    let (part, _) = setup.build(&["A404"], &[]);
    assert!(!holds(&part, "Nemo Missing") && holds(&part, "Ada Example"));
}

#[test]
fn a_subset_is_chosen_among_records_that_are_not_suppressed() {
    let setup = Setup::new();
    let filter = ["--where", "outputs:authors.id:HX_A1"];
    let (part, _) = setup.build(&[], &filter);
    assert_eq!(ids_of(&Snapshot::open(&part).unwrap(), Entity::Output), [1, 2]);
    let (part, report) = setup.build(&["W2"], &filter);
    assert_eq!(ids_of(&Snapshot::open(&part).unwrap(), Entity::Output), [1]);
    let outputs = &report["entities"]["outputs"];
    assert_eq!((&outputs["suppressed"], &outputs["excluded"]), (&1.into(), &0.into()));
    // A filter by a suppressed name matches nothing.
    let by_name = ["--where", "outputs:authors.name:ada example", "--allow-empty"];
    let (part, _) = setup.build(&["A1"], &by_name);
    assert_eq!(ids_of(&Snapshot::open(&part).unwrap(), Entity::Output), [0; 0]);
}

#[test]
fn a_suppression_list_gives_the_same_bytes_in_any_spelling() {
    let setup = Setup::new();
    let ids = ["HX_A1", "HX_F1", "fields/17"];
    let (one, _) = setup.build(&ids, &["--threads", "1", "--allow-shrink"]);
    let ids = ["# again", "https://openalex.org/fields/17\r", "F1", "", "A2", "A1 # twice"];
    let (other, _) = setup.build(&ids, &["--threads", "3", "--allow-shrink"]);
    assert_eq!(one, other);
    let (full, _) = setup.build(&[], &["--allow-shrink"]);
    assert_ne!(one, full);
    let plain = setup.0.path().join("plain");
    let name = |path: &Path| path.file_name().unwrap().to_owned();
    assert_eq!(name(&build(&[setup.dump()], &plain, &["--quiet"])), name(&full));
}

#[test]
fn the_linker_rejects_a_bad_suppression_list_before_reading() {
    let setup = Setup::new();
    let list = write_list(setup.0.path(), &["HX_A1".to_owned(), "Ada Example".to_owned()]);
    let out = setup.0.path().join("out");
    let args = [OsStr::new("build"), setup.dump().as_os_str()].map(OsStr::to_owned);
    let more = [OsStr::new("--out"), out.as_os_str(), OsStr::new("--suppress"), list.as_os_str()];
    let args: Vec<&OsStr> = args.iter().map(|arg| &**arg).chain(more).collect();
    let output = compiler(&args);
    let errors = String::from_utf8_lossy(&output.stderr).replace(list.to_str().unwrap(), "LIST");
    let expected = "suppression list `LIST`, line 2: `Ada Example` is no id; write one a line";
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(expected), "{errors}");
    assert!(!out.exists());
}
