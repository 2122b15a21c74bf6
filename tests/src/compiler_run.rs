//! Runs of the compiler in a temporary workspace, and checks of each run's results.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use pinakes_format::entity::Entity;
use pinakes_format::record::members::{Members, View};
use pinakes_format::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::{TINY_DUMP, compiler, files_below, program, sample, write_files};

const WORKS_PART: &str = "data/jsonl/works/updated_date=2026-02-01/part_0000.gz";

/// Exit code, output and report of one run of the compiler.
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
    read_outcome(&compiler(&all), &report)
}

pub fn read_outcome(output: &Output, report: &Path) -> Run {
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

pub fn published_path(run: &Run) -> PathBuf {
    assert_eq!(run.code, 0, "{}", run.stderr);
    PathBuf::from(run.stdout.lines().last().unwrap())
}

/// A temporary directory with an `input` and an `out` directory.
pub struct Workspace(pub tempfile::TempDir);

impl Workspace {
    pub fn new() -> Workspace {
        Workspace(tempfile::tempdir().unwrap())
    }

    pub fn input(&self) -> PathBuf {
        self.0.path().join("input")
    }

    pub fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    /// Publishes a snapshot of the tiny dump in a new workspace.
    pub fn with_tiny_snapshot() -> Workspace {
        let workspace = Workspace::new();
        let dump = workspace.0.path().join("tiny");
        write_files(&dump, TINY_DUMP);
        published_path(&build(&[&dump], &workspace.out(), &[]));
        workspace
    }
}

/// Reads the published state of an output directory.
pub fn state(out: &Path) -> State {
    let mut files = files_below(out);
    files.retain(|name, _| {
        let is_own = [".lock", ".history", ".rolled-back"].contains(&&**name);
        !name.starts_with("objects/") && !name.starts_with("quarantine/") && !is_own
    });
    (fs::read_link(out.join("current")).unwrap(), files)
}

/// Asserts that a run left no temporary file or directory.
pub fn assert_no_leftovers(out: &Path, what: &str) {
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

/// Verifies a snapshot and renders the records of an entity, by id.
pub fn records(snapshot: &Path, entity: Entity) -> BTreeMap<String, Value> {
    records_in(snapshot, entity, View::Single)
}

/// [`records`], as exports or lists have them.
pub fn records_in(snapshot: &Path, entity: Entity, view: View) -> BTreeMap<String, Value> {
    let snapshot = Snapshot::open(snapshot).unwrap();
    snapshot.verify().unwrap();
    (0..snapshot.count(entity))
        .map(|row| {
            let mut page = Members::all(entity, view).writer(&snapshot);
            snapshot.render(entity, row, &mut page).unwrap();
            let record: Value = serde_json::from_slice(&page.out).unwrap();
            (record["id"].to_string().trim_matches('"').to_string(), record)
        })
        .collect()
}

pub fn outputs(snapshot: &Path) -> BTreeMap<String, Value> {
    records(snapshot, Entity::Output)
}

/// Reads the size of a test from an environment variable that `make soak` sets.
pub fn size_from_env(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |size| size.parse().unwrap())
}

pub fn work(id: u64) -> String {
    format!("{{\"id\":\"https://openalex.org/W{id}\",\"title\":\"Title {id}\"}}\n")
}

/// An invalid input, the expected exit code and a phrase of the error message.
pub struct RefusedRun<'c> {
    pub what: &'c str,
    pub files: Vec<(&'c str, Vec<u8>)>,
    /// Paths relative to the directory of `files`.
    pub inputs: &'c [&'c str],
    pub options: &'c [&'c str],
    pub code: i32,
    pub phrase: &'c str,
}

pub fn refused_run<'c>(
    what: &'c str,
    files: Vec<(&'c str, Vec<u8>)>,
    code: i32,
    phrase: &'c str,
) -> RefusedRun<'c> {
    RefusedRun { what, files, inputs: &["."], options: &[], code, phrase }
}

pub fn check_refused(workspace: &Workspace, case: &RefusedRun<'_>) {
    let what = case.what;
    let before = state(&workspace.out());
    let input = tempfile::tempdir().unwrap();
    write_files(input.path(), case.files.iter().map(|(name, bytes)| (name, bytes)));
    let inputs: Vec<PathBuf> = case.inputs.iter().map(|name| input.path().join(name)).collect();
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let run = build(&inputs, &workspace.out(), case.options);
    assert_eq!(run.code, case.code, "{what}: {}", run.stderr);
    let error = run.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    assert!(error.contains(case.phrase), "{what}: {}", run.stderr);
    assert_nothing_published(&workspace.out(), &before, &run, what);
}

pub fn gzipped() -> Vec<u8> {
    fs::read(sample().join(WORKS_PART)).unwrap()
}

pub fn truncated(bytes: &[u8], length: usize) -> Vec<u8> {
    bytes[..length].to_vec()
}

/// Wraps at most 255 bytes in a zstd frame of one raw block.
pub fn zstd_frame(text: &[u8]) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, length], &block[..3], text].concat()
}

pub fn manifest(url: &str, meta: Value) -> Vec<u8> {
    json!({ "entries": [{ "url": url, "meta": meta }] }).to_string().into_bytes()
}

/// An input and the expected result of a build.
pub struct Case<'c> {
    /// Name of the case in assertion messages.
    pub what: &'c str,
    pub files: Vec<(&'c str, Vec<u8>)>,
    pub options: &'c [&'c str],
    pub code: i32,
    /// A phrase that standard error must contain.
    pub message: &'c str,
    /// Bad records by code, if the run writes a report.
    pub bad: &'c [(&'c str, u64)],
    /// Warnings by code, if the run succeeds.
    pub warnings: &'c [(&'c str, u64)],
}

/// A case that succeeds without warnings or bad records.
pub fn succeeds<'c>(what: &'c str, files: Vec<(&'c str, Vec<u8>)>) -> Case<'c> {
    Case { what, files, options: &[], code: 0, message: "", bad: &[], warnings: &[] }
}

/// A case that fails with an exit code and a message.
pub fn fails<'c>(
    what: &'c str,
    files: Vec<(&'c str, Vec<u8>)>,
    code: i32,
    message: &'c str,
) -> Case<'c> {
    Case { code, message, ..succeeds(what, files) }
}

/// Builds each case.
///
/// A failing build must leave an earlier published snapshot unchanged, byte for byte, and no
/// leftovers. A succeeding build must publish a snapshot that verifies.
pub fn check(cases: &[Case<'_>]) {
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    for case in cases {
        let input = tempfile::tempdir().unwrap();
        write_files(input.path(), case.files.iter().map(|(name, bytes)| (name, bytes)));
        let elsewhere = Workspace::new();
        let out = if case.code == 0 { elsewhere.out() } else { workspace.out() };
        let run = build(&[input.path()], &out, case.options);
        let what = case.what;
        assert_eq!(run.code, case.code, "{what}: {}", run.stderr);
        assert!(run.stderr.contains(case.message), "{what}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{what}: {}", run.stderr);
        let by_code = |counts: &[(&str, u64)]| -> Value {
            counts.iter().map(|(code, count)| ((*code).to_string(), json!(count))).collect()
        };
        if run.report != Value::Null {
            assert_eq!(run.report["bad_records"], by_code(case.bad), "{what}: {}", run.stderr);
        }
        if case.code == 0 {
            assert_eq!(run.report["warnings"], by_code(case.warnings), "{what}: {}", run.stderr);
            let snapshot = Snapshot::open(&published_path(&run)).unwrap();
            snapshot.verify().unwrap();
        } else {
            assert_nothing_published(&workspace.out(), &before, &run, what);
        }
    }
}

/// Asserts that a failed run published nothing and left nothing unfinished.
pub fn assert_nothing_published(out: &Path, before: &State, run: &Run, what: &str) {
    assert_eq!(run.stdout, "", "{what}");
    assert!(state(out) == *before, "{what}: something was published");
    assert_no_leftovers(out, what);
    if let Ok(objects) = fs::read_dir(out.join("objects")) {
        let is_torn = |path: PathBuf| path.extension() == Some("tmp".as_ref());
        let unfinished = objects.flatten().filter(|entry| is_torn(entry.path())).count();
        assert_eq!(unfinished, 0, "{what}: an unfinished object is left");
    }
}

/// Published state: the target of `current`, and the bytes of every published file by path.
pub type State = (PathBuf, BTreeMap<String, Vec<u8>>);

pub fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Encodes text as little-endian UTF-16.
pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Runs a build. Returns its exit code and its peak memory in bytes, without mapped files (`RssAnon`).
pub fn peak_bytes(input: &Path, out: &Path, more: &[&str]) -> (Option<i32>, u64) {
    let mut args: Vec<&OsStr> = vec!["build".as_ref(), input.as_os_str()];
    args.extend(["--out".as_ref(), out.as_os_str(), "--quiet".as_ref()]);
    args.extend(more.iter().map(OsStr::new));
    peak_bytes_of(&args)
}

/// Runs the compiler. Returns its exit code and its peak memory in bytes, without mapped files (`RssAnon`).
pub fn peak_bytes_of(args: &[&OsStr]) -> (Option<i32>, u64) {
    let mut child = Command::new(program("pinakes-compiler"))
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        crate::pause();
    };
    (ended.code(), peak)
}
