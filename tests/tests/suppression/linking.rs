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

use crate::suppression::ids_of;
use crate::suppression::write_list;
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
        let options = ["--quiet", "--allow-unsuppress", "--suppress", list.to_str().unwrap()];
        let options = [&options[..], more].concat();
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
fn a_build_shows_no_record_that_the_current_snapshot_leaves_out() {
    let setup = Setup::new();
    setup.build(&["A1", "fields/17"], &["--allow-shrink"]);
    let dump = setup.dump();
    let out = setup.0.path().join("out");
    let run = |more: &[&str]| {
        let mut args = vec![OsStr::new("build"), dump.as_os_str(), OsStr::new("--out")];
        args.push(out.as_os_str());
        args.extend(["--quiet", "--allow-shrink"].iter().chain(more).map(OsStr::new));
        let output = compiler(&args);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let list = |ids: &[&str]| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        write_list(setup.0.path(), &ids).to_str().unwrap().to_owned()
    };
    let refused = |(code, errors): (Option<i32>, String), named: &str| {
        assert_eq!(code, Some(4), "{errors}");
        assert!(errors.contains(named) && errors.contains("--allow-unsuppress"), "{errors}");
    };
    refused(run(&[]), "would show: HX_A1, fields/17;");
    let longer = list(&["A1", "A2"]);
    refused(run(&["--suppress", &longer]), "would show: fields/17;");
    let longer = list(&["A1", "fields/17", "W1"]);
    assert_eq!(run(&["--suppress", &longer]).0, Some(0));
    let mode = |path: &Path| {
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
    };
    let lists = out.join(".suppressed");
    assert_eq!(mode(&lists), 0o700);
    let kept: Vec<PathBuf> =
        fs::read_dir(&lists).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.iter().map(|path| mode(path)).collect::<Vec<_>>(), [0o600; 2]);
    // Without the lists, only equal sets are known to hide the same records.
    fs::remove_dir_all(&lists).unwrap();
    assert_eq!(run(&["--suppress", &longer]).0, Some(0));
    let other = list(&["A1", "fields/17", "W1", "W2"]);
    fs::remove_dir_all(&lists).unwrap();
    refused(run(&["--suppress", &other]), "records of another suppression list");
    assert_eq!(run(&["--allow-unsuppress"]).0, Some(0));
    assert_eq!(run(&[]).0, Some(0));
}

#[test]
fn rollback_names_the_records_that_it_shows_again() {
    let setup = Setup::new();
    let (full, _) = setup.build(&[], &[]);
    let (_part, _) = setup.build(&["A1", "fields/17"], &["--allow-shrink"]);
    let out = setup.0.path().join("out");
    let id = full.file_name().unwrap();
    let output = compiler(&[OsStr::new("rollback"), out.as_os_str(), OsStr::new("--to"), id]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(
        errors.contains("it shows what the previous one left out: HX_A1, fields/17;"),
        "{errors}"
    );
}

#[test]
fn a_suppression_list_gives_the_same_bytes_in_any_spelling() {
    let setup = Setup::new();
    let ids = ["HX_A1", "HX_F1", "fields/17"];
    let (one, _) = setup.build(&ids, &["--threads", "1", "--allow-shrink"]);
    let ids = ["# again", "https://openalex.org/fields/17\r", "F1", "", "A1", "A1 # twice"];
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

#[test]
fn exports_leave_out_the_printed_name_of_a_suppressed_author() {
    let setup = Setup::new();
    let (path, _) = setup.build(&["HX_A1"], &[]);
    let out = setup.0.path().join("outputs");
    let check = |format: &str, more: &[&str]| {
        let options = ["outputs", "--format", format, "--compress", "none"];
        pinakes_tests::export(&path, &out, &[&options[..], more].concat());
        let text = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
        assert!(text.contains("N. Missing") && !text.contains("A. Example"), "{format}: {text}");
        fs::remove_file(&out).unwrap();
    };
    check("ndjson", &[]);
    check("csv", &["--select", "id,authors.raw_author_name"]);
}
