//! Runs of the compiler, where they work, and what must hold of each.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::{TINY_DUMP, compiler, files_below, program, sample, write_files};
use pinakes_format::entity::Entity;
use pinakes_format::json::render::{Page, Shape};
use pinakes_format::snapshot::Snapshot;
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
pub fn state(out: &Path) -> State {
    let mut files = files_below(out);
    files.retain(|name, _| {
        let is_own = [".lock", ".history", ".rolled-back"].contains(&&**name);
        !name.starts_with("objects/") && !name.starts_with("quarantine/") && !is_own
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

/// The records of an entity in a snapshot, which must verify, by id.
pub fn records(snapshot: &Path, entity: Entity) -> BTreeMap<String, Value> {
    let snapshot = Snapshot::open(snapshot).unwrap();
    snapshot.verify().unwrap();
    (0..snapshot.count(entity))
        .map(|row| {
            let mut page = Page::new(&snapshot, Shape::Single);
            snapshot.render(entity, row, &mut page).unwrap();
            let record: Value = serde_json::from_slice(&page.out).unwrap();
            (record["id"].to_string().trim_matches('"').to_string(), record)
        })
        .collect()
}

pub fn outputs(snapshot: &Path) -> BTreeMap<String, Value> {
    records(snapshot, Entity::Output)
}

/// How much a test takes: so much, or what `make soak` says.
pub fn size(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |size| size.parse().unwrap())
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
    demand_unpublished(&place.out(), &before, &run, what);
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

/// Inputs, and what a run over them must come to.
pub struct Case<'c> {
    /// What is odd about them.
    pub what: &'c str,
    pub files: Vec<(&'c str, Vec<u8>)>,
    pub options: &'c [&'c str],
    pub code: i32,
    /// What standard error must say.
    pub says: &'c str,
    /// Bad records by code, in a run that got as far as counting them.
    pub bad: &'c [(&'c str, u64)],
    /// Warnings by code, in a run that ended well.
    pub warnings: &'c [(&'c str, u64)],
}

/// A case that ends well and has nothing to say.
pub fn good<'c>(what: &'c str, files: Vec<(&'c str, Vec<u8>)>) -> Case<'c> {
    Case { what, files, options: &[], code: 0, says: "", bad: &[], warnings: &[] }
}

/// A case that ends with a code and a message.
pub fn ends<'c>(
    what: &'c str,
    files: Vec<(&'c str, Vec<u8>)>,
    code: i32,
    says: &'c str,
) -> Case<'c> {
    Case { code, says, ..good(what, files) }
}

/// Runs every case over a place where a snapshot is current. A run that does not end well leaves
/// that byte for byte as it was, and nothing beside it; one that does publishes what verifies.
pub fn check(cases: &[Case<'_>]) {
    let place = Place::with_tiny_published();
    let before = state(&place.out());
    for case in cases {
        let input = tempfile::tempdir().unwrap();
        write_files(input.path(), case.files.iter().map(|(name, bytes)| (name, bytes)));
        let elsewhere = Place::new();
        let out = if case.code == 0 { elsewhere.out() } else { place.out() };
        let run = build(&[input.path()], &out, case.options);
        let what = case.what;
        assert_eq!(run.code, case.code, "{what}: {}", run.stderr);
        assert!(run.stderr.contains(case.says), "{what}: {}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{what}: {}", run.stderr);
        let by_code = |counts: &[(&str, u64)]| -> Value {
            counts.iter().map(|(code, count)| ((*code).to_string(), json!(count))).collect()
        };
        if run.report != Value::Null {
            assert_eq!(run.report["bad_records"], by_code(case.bad), "{what}: {}", run.stderr);
        }
        if case.code == 0 {
            assert_eq!(run.report["warnings"], by_code(case.warnings), "{what}: {}", run.stderr);
            let snapshot = Snapshot::open(&published(&run)).unwrap();
            snapshot.verify().unwrap();
        } else {
            demand_unpublished(&place.out(), &before, &run, what);
        }
    }
}

/// Demands that a run which failed left what was published as it was, and nothing beside it.
pub fn demand_unpublished(out: &Path, before: &State, run: &Run, what: &str) {
    assert_eq!(run.stdout, "", "{what}");
    assert!(state(out) == *before, "{what}: something was published");
    demand_no_remains(out, what);
    if let Ok(objects) = fs::read_dir(out.join("objects")) {
        let is_torn = |path: PathBuf| path.extension() == Some("tmp".as_ref());
        let torn = objects.flatten().filter(|entry| is_torn(entry.path())).count();
        assert_eq!(torn, 0, "{what}: an unfinished object is left");
    }
}

/// What is published: where `current` leads, and every file.
pub type State = (PathBuf, BTreeMap<String, Vec<u8>>);

pub fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Text in UTF-16, little-endian.
pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The most memory a build held, in bytes, as the system last said it while it ran.
pub fn peak_bytes(input: &Path, out: &Path, more: &[&str]) -> u64 {
    let mut child = Command::new(program("pinakes-compiler"))
        .args(["build".as_ref(), input.as_os_str(), "--out".as_ref(), out.as_os_str()])
        .args(["--quiet", "--threads", "1"])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        std::thread::yield_now();
    }
    peak
}
