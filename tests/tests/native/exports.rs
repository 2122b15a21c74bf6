//! Tests of the command `export`: output, rejected arguments, and interruption.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_tests::{TINY_DUMP, files_below, program, write_files};

use crate::native::{rendered_by, run};

/// A published snapshot in a temporary directory.
struct Setup {
    directory: tempfile::TempDir,
    snapshot: PathBuf,
}

impl Setup {
    fn new(inputs: &[PathBuf]) -> Setup {
        let directory = tempfile::tempdir().unwrap();
        let snapshot =
            pinakes_tests::build(inputs, &directory.path().join("snapshots"), &["--quiet"]);
        Setup { directory, snapshot }
    }

    fn of_tiny() -> Setup {
        let dump = tempfile::tempdir().unwrap();
        write_files(dump.path(), TINY_DUMP);
        Setup::new(&[dump.path().to_path_buf()])
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn export(&self, name: &str, more: &[&str]) -> BTreeMap<String, Vec<u8>> {
        pinakes_tests::export(&self.snapshot, &self.beside(name), more);
        files_below(&self.beside(name))
    }
}

/// Decompresses files and removes the compression from their names.
fn inflated(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, String> {
    let inflate = |name: &str, bytes: &[u8]| {
        let mut out = Vec::new();
        match Path::new(name).extension().and_then(|extension| extension.to_str()) {
            Some("zst") => out = zstd::decode_all(bytes).unwrap(),
            Some("gz") => {
                flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
            }
            _ => out.extend_from_slice(bytes),
        }
        let plain = name.trim_end_matches(".zst").trim_end_matches(".gz");
        (plain.to_owned(), String::from_utf8(out).unwrap())
    };
    files.iter().map(|(name, bytes)| inflate(name, bytes)).collect()
}

/// Adds the references of the output in a row to its line.
fn add_references(snapshot: &Snapshot, row: u32, line: &mut String) {
    let ids = RecordLookup::references(snapshot, Entity::Output, row).unwrap();
    if ids.is_empty() {
        return;
    }
    let ids: Vec<String> = ids.iter().map(|id| format!("\"HX_W{id}\"")).collect();
    line.truncate(line.len() - 1);
    *line += &format!(",\"references\":[{}]}}", ids.join(","));
}

#[test]
fn an_exported_line_equals_the_single_record_and_its_filter_keys() {
    let setup = Setup::new(&[pinakes_tests::sample()]);
    let snapshot = Snapshot::open(&setup.snapshot).unwrap();
    let mut expected = BTreeMap::new();
    for entity in Entity::all() {
        let mut lines = rendered_by(&snapshot, entity, JsonWriter::for_export);
        if keys_of(entity).has_citations() {
            (0..).zip(&mut lines).for_each(|(row, line)| add_references(&snapshot, row, line));
        }
        expected.insert(format!("{entity}.jsonl"), lines.join("\n") + "\n");
        let merged = snapshot.redirects(entity);
        let mut table = "merge_date,id,merge_into_id\n".to_owned();
        for at in 0..merged.count() {
            let (from, to) = merged.pair(at).unwrap();
            let mut row =
                snapshot.manifest().source.newest_updated_date.clone().unwrap().into_bytes();
            for id in [from, to] {
                row.push(b',');
                entity.write_id(id, &mut row);
            }
            table.push_str(&String::from_utf8(row).unwrap());
            table.push('\n');
        }
        if merged.count() > 0 {
            expected.insert(format!("merged_ids/{entity}.csv"), table);
        }
    }
    assert!(expected.contains_key("merged_ids/authors.csv"), "the sample merges authors");
    assert!(expected["outputs.jsonl"].contains(r#""pmid":"26918975""#), "a filter key alone");
    assert!(expected["outputs.jsonl"].contains(r#""references":["HX_W"#), "references");
    for compression in ["zst", "gz", "none"] {
        let files = setup.export(compression, &["--compress", compression]);
        assert!(inflated(&files) == expected, "{compression}");
    }
    assert_eq!(setup.export("default", &[]), setup.export("zst again", &["--compress", "zst"]));
}

#[test]
fn an_export_has_the_same_bytes_with_any_thread_count() {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(2_000, 4).with_part_records(500);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    let setup = Setup::new(&[dump.path().to_path_buf()]);
    let one = setup.export("one", &["--threads", "1"]);
    assert!(one == setup.export("three", &["--threads", "3"]));
}

#[test]
fn only_the_requested_entities_are_exported() {
    let setup = Setup::of_tiny();
    let check = |name: &str, entities: &[&str], expected: &[&str]| {
        let mut more = vec!["--compress", "none"];
        more.extend(entities);
        let found: Vec<String> = setup.export(name, &more).into_keys().collect();
        assert_eq!(found, expected, "{entities:?}");
    };
    check("a/", &["authors"], &["authors.jsonl", "merged_ids/authors.csv"]);
    check("b", &["works", "outputs", "fields"], &["fields.jsonl", "outputs.jsonl"]);
    check("c/", &["institution-types"], &["institution-types.jsonl"]);
    let dump = tempfile::tempdir().unwrap();
    write_files(dump.path(), [("funders.jsonl", "{\"id\":\"F1\",\"display_name\":\"x\"}\n")]);
    let setup = Setup::new(&[dump.path().to_path_buf()]);
    let found: Vec<String> = setup.export("all", &[]).into_keys().collect();
    assert_eq!(found, ["funders.jsonl.zst", "institution-types.jsonl.zst"]);
}

#[test]
fn a_rejected_export_changes_nothing() {
    let setup = Setup::of_tiny();
    let snapshot = setup.snapshot.to_str().unwrap();
    let missing = setup.beside("missing");
    let full = setup.beside("full");
    write_files(&full, [("here.txt", "already")]);
    let file = full.join("here.txt");
    let locked = setup.beside("locked");
    fs::create_dir(&locked).unwrap();
    let lock = File::open(&locked).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let check = |snapshot: &str, out: &Path, more: &[&str], code: i32, says: &str| {
        let mut args = vec!["export", snapshot, "--out", out.to_str().unwrap()];
        args.extend(more);
        let run = run(&args);
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
        assert_eq!(out.exists(), out != missing, "{args:?}");
    };
    check(snapshot, &full, &[], 2, "is not empty (it contains `here.txt`); export into a new or");
    check(snapshot, &missing, &["grants"], 2, "expected one of outputs, authors,");
    check(snapshot, &missing, &["--compress", "xz"], 2, "possible values: zst, gz, none");
    check("/nowhere", &missing, &[], 3, "input `/nowhere`");
    check(full.to_str().unwrap(), &missing, &[], 3, "is no snapshot");
    check(snapshot, &file, &[], 2, "is a file, and the output is several files");
    check(snapshot, &locked, &[], 7, "is locked by another run");
    assert_eq!(files_below(&full).into_keys().collect::<Vec<_>>(), ["here.txt"]);
    assert!(files_below(&locked).is_empty());
}

#[test]
fn a_damaged_record_ends_the_export_without_output() {
    use std::os::unix::fs::PermissionsExt;
    let setup = Setup::new(&[pinakes_tests::sample()]);
    let records = setup.snapshot.join("outputs/records");
    fs::set_permissions(&records, fs::Permissions::from_mode(0o644)).unwrap();
    let mut bytes = fs::read(&records).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&records, bytes).unwrap();
    let out = setup.beside("out");
    fs::create_dir(&out).unwrap();
    let args = ["export", setup.snapshot.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let run = run(&args);
    assert_eq!(run.code, 8, "{}", run.stderr);
    assert!(run.stderr.contains(" of outputs: "), "{}", run.stderr);
    assert!(run.stderr.contains("; nothing was exported"), "{}", run.stderr);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn export_removes_files_of_a_killed_run() {
    let setup = Setup::of_tiny();
    let out = setup.beside("out");
    write_files(&out, [(".tmp-1/outputs.jsonl.zst", "half")]);
    let files = setup.export("out", &[]);
    assert!(files == setup.export("fresh", &[]));
    assert!(!out.join(".tmp-1").exists());
}

#[test]
fn an_interrupted_export_ends_by_its_signal_and_leaves_no_files() {
    use rustix::process::{Pid, Signal, kill_process};
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(3_000, 5).with_part_records(500);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    let setup = Setup::new(&[dump.path().to_path_buf()]);
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let out = setup.beside("out");
        let child = Command::new(program("pinakes-compiler"))
            .args(["export".as_ref(), setup.snapshot.as_os_str(), "--out".as_ref()])
            .args([out.as_os_str(), "--threads".as_ref(), "1".as_ref(), "--quiet".as_ref()])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        while !out.join(format!(".tmp-{}", child.id())).exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before");
            pinakes_tests::pause();
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{errors}");
        assert_eq!(output.stdout, b"");
        assert!(errors.contains("interrupted; nothing was exported"), "{errors}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    }
    assert!(!setup.export("out", &[]).is_empty());
}
