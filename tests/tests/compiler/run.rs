//! Runs of the compiler, where they work, and what must hold of each.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use pinakes_format::{
    entity::Entity,
    render::{Page, Shape},
    snapshot::Snapshot,
};
use pinakes_tests::{TINY_DUMP, compiler, files_below, sample, write_files};
use serde_json::{Value, json};

const WORKS_PART: &str = "data/jsonl/works/updated_date=2026-02-01/part_0000.gz";

/// A run of the compiler and what it left.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub report: Value,
}

pub fn run<A: AsRef<OsStr>>(args: &[A]) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.json");
    let mut all: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    all.extend(["--report".as_ref(), report.as_os_str()]);
    finished(&compiler(&all), &report)
}

pub fn finished(output: &Output, report: &Path) -> Run {
    Run {
        code: output.status.code().unwrap_or_else(|| panic!("killed: {}", output.status)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        report: fs::read(report).map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap()),
    }
}

pub fn build(inputs: &[&Path], out: &Path, more: &[&str]) -> Run {
    let mut args: Vec<&OsStr> = vec!["build".as_ref()];
    args.extend(inputs.iter().map(|input| input.as_os_str()));
    args.extend(["--out".as_ref(), out.as_os_str()]);
    args.extend(more.iter().map(|arg| OsStr::new(*arg)));
    run(&args)
}

pub fn published(run: &Run) -> PathBuf {
    assert_eq!(run.code, 0, "{}", run.stderr);
    PathBuf::from(run.stdout.lines().last().unwrap())
}

/// A directory of inputs beside a directory of snapshots.
pub struct Place(pub tempfile::TempDir);

impl Place {
    pub fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn input(&self) -> PathBuf {
        self.0.path().join("input")
    }

    pub fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    /// A place where a snapshot of the tiny dump is current.
    pub fn with_tiny_published() -> Place {
        let place = Place::new();
        let dump = place.0.path().join("tiny");
        write_files(&dump, TINY_DUMP);
        published(&build(&[&dump], &place.out(), &[]));
        place
    }
}

/// What is published in a directory: where `current` leads, and every file of every snapshot.
pub fn state(out: &Path) -> (PathBuf, BTreeMap<String, Vec<u8>>) {
    let mut files = files_below(out);
    files.retain(|name, _| {
        !name.starts_with("objects/") && !name.starts_with("quarantine/") && name != ".lock"
    });
    (fs::read_link(out.join("current")).unwrap(), files)
}

/// Demands that a run left nothing unfinished behind.
pub fn demand_no_remains(out: &Path, what: &str) {
    let mut folders = vec![out.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with(".tmp-"), "{what}: {} is left", entry.path().display());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
}

pub fn outputs(snapshot: &Path) -> BTreeMap<String, Value> {
    let snapshot = Snapshot::open(snapshot).unwrap();
    snapshot.verify().unwrap();
    (0..snapshot.count(Entity::Output))
        .map(|row| {
            let mut page = Page::new(&snapshot, Shape::Single);
            snapshot.render(Entity::Output, row, &mut page).unwrap();
            let record: Value = serde_json::from_slice(&page.out).unwrap();
            (record["id"].as_str().unwrap().to_string(), record)
        })
        .collect()
}

pub fn work(id: u64) -> String {
    format!("{{\"id\":\"https://openalex.org/W{id}\",\"title\":\"Title {id}\"}}\n")
}

/// Inputs that end a run, the exit code, and what the message says.
pub struct Refused<'c> {
    pub what: &'c str,
    pub files: Vec<(&'c str, Vec<u8>)>,
    /// Below the directory the files are in.
    pub inputs: &'c [&'c str],
    pub options: &'c [&'c str],
    pub code: i32,
    pub phrase: &'c str,
}

pub fn refused<'c>(
    what: &'c str,
    files: Vec<(&'c str, Vec<u8>)>,
    code: i32,
    phrase: &'c str,
) -> Refused<'c> {
    Refused { what, files, inputs: &["."], options: &[], code, phrase }
}

pub fn check_refused(place: &Place, case: &Refused<'_>) {
    let what = case.what;
    let before = state(&place.out());
    let input = tempfile::tempdir().unwrap();
    write_files(input.path(), case.files.iter().map(|(name, bytes)| (name, bytes)));
    let inputs: Vec<PathBuf> = case.inputs.iter().map(|name| input.path().join(name)).collect();
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let run = build(&inputs, &place.out(), case.options);
    assert_eq!(run.code, case.code, "{what}: {}", run.stderr);
    let error = run.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(error.contains(case.phrase), "{what}: {}", run.stderr);
    assert_eq!(run.stdout, "", "{what}");
    assert!(state(&place.out()) == before, "{what}: something was published");
    demand_no_remains(&place.out(), what);
    let objects = fs::read_dir(place.out().join("objects")).unwrap().flatten();
    let torn = objects.filter(|entry| entry.path().extension() == Some("tmp".as_ref())).count();
    assert_eq!(torn, 0, "{what}: an unfinished object is left");
}

pub fn gzipped() -> Vec<u8> {
    fs::read(sample().join(WORKS_PART)).unwrap()
}

pub fn cut(bytes: &[u8], length: usize) -> Vec<u8> {
    bytes[..length].to_vec()
}

/// Lines in a zstd frame of one raw block, at most 255 bytes.
pub fn zstd_frame(text: &[u8]) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, length], &block[..3], text].concat()
}

pub fn manifest(url: &str, meta: Value) -> Vec<u8> {
    json!({ "entries": [{ "url": url, "meta": meta }] }).to_string().into_bytes()
}
