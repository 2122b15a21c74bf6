//! The compiler as its users run it: the same bytes every time, an accounting that closes, and
//! bad input that ends in the exit code promised with nothing published.

#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use pinakes_format::{
    entity::Entity,
    render::{Page, Shape},
    snapshot::Snapshot,
};
use pinakes_tests::{Seeded, TINY_DUMP, compiler, files_below, program, sample, write_files};
use serde_json::{Value, json};

const WORKS_PART: &str = "data/jsonl/works/updated_date=2026-02-01/part_0000.gz";

/// A run of the compiler and what it left.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
    report: Value,
}

fn run<A: AsRef<OsStr>>(args: &[A]) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.json");
    let mut all: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    all.extend(["--report".as_ref(), report.as_os_str()]);
    finished(&compiler(&all), &report)
}

fn finished(output: &Output, report: &Path) -> Run {
    Run {
        code: output.status.code().unwrap_or_else(|| panic!("killed: {}", output.status)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        report: fs::read(report).map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap()),
    }
}

fn build(inputs: &[&Path], out: &Path, more: &[&str]) -> Run {
    let mut args: Vec<&OsStr> = vec!["build".as_ref()];
    args.extend(inputs.iter().map(|input| input.as_os_str()));
    args.extend(["--out".as_ref(), out.as_os_str()]);
    args.extend(more.iter().map(|arg| OsStr::new(*arg)));
    run(&args)
}

fn published(run: &Run) -> PathBuf {
    assert_eq!(run.code, 0, "{}", run.stderr);
    PathBuf::from(run.stdout.lines().last().unwrap())
}

/// A directory of inputs beside a directory of snapshots.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn input(&self) -> PathBuf {
        self.0.path().join("input")
    }

    fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    /// A place where a snapshot of the tiny dump is current.
    fn with_tiny_published() -> Place {
        let place = Place::new();
        let dump = place.0.path().join("tiny");
        write_files(&dump, TINY_DUMP);
        published(&build(&[&dump], &place.out(), &[]));
        place
    }
}

/// What is published in a directory: where `current` leads, and every file of every snapshot.
fn state(out: &Path) -> (PathBuf, BTreeMap<String, Vec<u8>>) {
    let mut files = files_below(out);
    files.retain(|name, _| !name.starts_with("objects/") && name != ".lock");
    (fs::read_link(out.join("current")).unwrap(), files)
}

/// Demands that a run left nothing unfinished behind.
fn demand_no_remains(out: &Path, what: &str) {
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

fn outputs(snapshot: &Path) -> BTreeMap<String, Value> {
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

fn work(id: u64) -> String {
    format!("{{\"id\":\"https://openalex.org/W{id}\",\"title\":\"Title {id}\"}}\n")
}

// The same bytes, whatever the circumstances.

#[test]
fn a_snapshot_is_the_same_bytes_for_any_threads_order_and_place() {
    let place = Place::new();
    let snapshot = published(&build(&[&sample()], &place.out(), &["--threads", "1"]));
    let expected = files_below(&snapshot);
    let folders: Vec<PathBuf> = Entity::all()
        .map(|entity| sample().join("data/jsonl").join(entity.facts().dump_names[0]))
        .chain([sample().join("data/merged_ids")])
        .collect();
    let forward: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let backward: Vec<&Path> = forward.iter().rev().copied().collect();
    let twice: Vec<&Path> = backward.iter().chain(&forward).copied().collect();
    let whole = sample();
    let cases: [(&str, &[&Path], &[&str]); 6] = [
        ("one thread again", &[&whole], &["--threads", "1"]),
        ("two threads", &[&whole], &["--threads", "2"]),
        ("five threads, little memory", &[&whole], &["--threads", "5", "--memory", "256M"]),
        ("a folder an argument", &forward, &[]),
        ("folders in another order", &backward, &["--threads", "2"]),
        ("every folder twice", &twice, &[]),
    ];
    for (what, inputs, options) in cases {
        let elsewhere = Place::new();
        let run = build(inputs, &elsewhere.out().join("deeper/still"), options);
        let found = published(&run);
        assert_eq!(found.file_name(), snapshot.file_name(), "{what}");
        assert!(files_below(&found) == expected, "{what}: other bytes");
        let current = fs::read_link(elsewhere.out().join("deeper/still/current")).unwrap();
        assert_eq!(Some(current.as_os_str()), snapshot.file_name(), "{what}");
    }
}

#[test]
fn compile_and_link_publish_what_build_publishes() {
    let place = Place::new();
    let expected = files_below(&published(&build(&[&sample()], &place.out(), &[])));
    let objects = place.0.path().join("objects");
    for folder in ["merged_ids", "jsonl"] {
        let input = sample().join("data").join(folder);
        let args = ["compile".as_ref(), input.as_os_str(), "--objects".as_ref(), objects.as_ref()];
        // Merged ids alone hold no record, which is said but allowed here.
        let run = run(&[args.as_slice(), &["--allow-empty".as_ref()]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.report["snapshot"], Value::Null);
    }
    let out = place.0.path().join("linked");
    let args: [&OsStr; 5] =
        ["link".as_ref(), "--objects".as_ref(), objects.as_ref(), "--out".as_ref(), out.as_ref()];
    let found = published(&run(&args));
    assert!(files_below(&found) == expected);
}

#[test]
fn a_second_build_parses_nothing_and_a_changed_part_is_parsed_alone() {
    let place = Place::new();
    write_files(&place.input(), TINY_DUMP);
    let first = build(&[&place.input()], &place.out(), &[]);
    assert_eq!(first.report["parts"], json!(TINY_DUMP.len()));
    assert_eq!(first.report["parts_parsed"], json!(TINY_DUMP.len()));

    let second = build(&[&place.input()], &place.out(), &[]);
    assert!(second.stderr.contains("nothing"), "{}", second.stderr);
    assert_eq!(second.report["parts_parsed"], json!(0));
    assert_eq!(second.report["parsed_bytes"], json!(0));
    assert_eq!(second.report["entities"], first.report["entities"]);
    assert_eq!(second.report["warnings"], first.report["warnings"]);
    assert_eq!(published(&second), published(&first));

    write_files(&place.input(), [("funders.jsonl", TINY_DUMP[5].1.replace("Fund", "Pound"))]);
    let third = build(&[&place.input()], &place.out(), &[]);
    assert_eq!(third.report["parts_parsed"], json!(1));
    assert_ne!(published(&third), published(&first));
    assert_eq!(
        fs::read_link(place.out().join("current")).unwrap().as_os_str(),
        published(&third).file_name().unwrap()
    );

    write_files(&place.input(), [TINY_DUMP[5]]);
    let fourth = build(&[&place.input()], &place.out(), &[]);
    assert_eq!(fourth.report["parts_parsed"], json!(0));
    assert_eq!(published(&fourth), published(&first));
}

#[test]
fn a_damaged_object_is_made_again() {
    let place = Place::new();
    write_files(&place.input(), TINY_DUMP);
    let first = published(&build(&[&place.input()], &place.out(), &[]));
    let objects: Vec<PathBuf> = fs::read_dir(place.out().join("objects"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let objects: Vec<&PathBuf> =
        objects.iter().filter(|path| path.extension() == Some("object".as_ref())).collect();
    let mut seeded = Seeded(3);
    for (number, path) in objects.iter().enumerate() {
        let mut bytes = fs::read(path).unwrap();
        match number % 3 {
            0 => bytes.truncate(seeded.below(bytes.len())),
            1 => bytes.clear(),
            _ => {
                let at = seeded.below(bytes.len());
                bytes[at] ^= 0x10;
            }
        }
        fs::write(path, bytes).unwrap();
    }
    let second = build(&[&place.input()], &place.out(), &[]);
    assert_eq!(published(&second), first);
    assert_eq!(second.report["parts_parsed"], json!(objects.len()));
}

// The accounting.

#[test]
fn every_line_of_the_sample_is_accounted_for() {
    let place = Place::new();
    let run = build(&[&sample()], &place.out(), &[]);
    let entities = run.report["entities"].as_object().unwrap();
    assert_eq!(entities.len(), Entity::COUNT);
    let number = |tally: &Value, name: &str| tally[name].as_u64().unwrap();
    for (entity, tally) in entities {
        let names = ["published_from_input", "duplicates", "superseded", "merged", "quarantined"];
        let sum: u64 = names.iter().map(|name| number(tally, name)).sum();
        assert_eq!(number(tally, "read"), sum, "{entity}");
        assert_eq!(number(tally, "quarantined"), 0, "{entity}");
        assert_eq!(number(tally, "derived"), 0, "{entity}");
    }
    // data/README.md: read, published, duplicates, superseded, of which conflicts, merged.
    for (entity, expected) in [
        ("outputs", [238, 234, 1, 2, 1, 1]),
        ("authors", [150, 147, 1, 1, 0, 1]),
        ("sources", [46, 46, 0, 0, 0, 0]),
        ("institutions", [56, 55, 0, 1, 0, 0]),
        ("publishers", [17, 17, 0, 0, 0, 0]),
        ("funders", [17, 17, 0, 0, 0, 0]),
        ("topics", [37, 37, 0, 0, 0, 0]),
        ("subfields", [23, 23, 0, 0, 0, 0]),
        ("fields", [12, 12, 0, 0, 0, 0]),
        ("domains", [4, 4, 0, 0, 0, 0]),
        ("institution-types", [9, 9, 0, 0, 0, 0]),
    ] {
        let tally = &entities[entity];
        let names =
            ["read", "published_from_input", "duplicates", "superseded", "conflicts", "merged"];
        assert_eq!(names.map(|name| number(tally, name)), expected, "{entity}");
    }
    assert_eq!(run.report["parts"], json!(20));
    assert_eq!(run.report["bad_records"], json!({}));
}

// Bad input.

/// Inputs that end a run, the exit code, and what the message says.
struct Refused<'c> {
    what: &'c str,
    files: Vec<(&'c str, Vec<u8>)>,
    /// Below the directory the files are in.
    inputs: &'c [&'c str],
    options: &'c [&'c str],
    code: i32,
    phrase: &'c str,
}

fn refused<'c>(
    what: &'c str,
    files: Vec<(&'c str, Vec<u8>)>,
    code: i32,
    phrase: &'c str,
) -> Refused<'c> {
    Refused { what, files, inputs: &["."], options: &[], code, phrase }
}

fn check_refused(place: &Place, case: &Refused<'_>) {
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

fn gzipped() -> Vec<u8> {
    fs::read(sample().join(WORKS_PART)).unwrap()
}

fn cut(bytes: &[u8], length: usize) -> Vec<u8> {
    bytes[..length].to_vec()
}

/// Lines in a zstd frame of one raw block, at most 255 bytes.
fn zstd_frame(text: &[u8]) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, length], &block[..3], text].concat()
}

#[test]
fn a_damaged_container_ends_the_run_with_5() {
    let place = Place::with_tiny_published();
    let gz = gzipped();
    let length = gz.len();
    let works = "works/part_0000.gz";
    for at in [length / 2, length / 10, 20, length - 4, length - 8, length - 1, length - 9] {
        let case = refused("gzip cut", vec![(works, cut(&gz, at))], 5, "truncated");
        check_refused(&place, &case);
    }
    let mut seeded = Seeded(7);
    for _ in 0..12 {
        let at = 10 + seeded.below(length - 10);
        let mut flipped = gz.clone();
        flipped[at] ^= 1 << seeded.below(8);
        let what = format!("gzip byte {at} flipped");
        check_refused(&place, &refused(&what, vec![(works, flipped)], 5, "is damaged: "));
    }
    let garbage = [gz.as_slice(), b"garbage that is no gzip member"].concat();
    check_refused(&place, &refused("garbage after", vec![(works, garbage)], 5, "is damaged: "));
    let frame = zstd_frame(work(1).as_bytes());
    for at in [8, 20, frame.len() - 1] {
        let files = vec![("works/part_0000.zst", cut(&frame, at))];
        check_refused(&place, &refused("zstd cut", files, 5, "is damaged: "));
    }
}

fn manifest(url: &str, meta: Value) -> Vec<u8> {
    json!({ "entries": [{ "url": url, "meta": meta }] }).to_string().into_bytes()
}

#[test]
fn a_manifest_its_parts_contradict_ends_the_run_with_5() {
    let place = Place::with_tiny_published();
    let part = "works/updated_date=2026-02-01/part_0000.jsonl";
    let text = format!("{}{}", work(1), work(2)).into_bytes();
    let url = format!("s3://openalex/data/{part}");
    let length = text.len();
    for (what, meta, phrase) in [
        ("a record too few", json!({"record_count": 3}), "2 records, expected 3 by its manifest"),
        ("a record too many", json!({"record_count": 1}), "2 records, expected 1 by its manifest"),
        (
            "a byte too few",
            json!({"content_length": length + 1}),
            "by its manifest; fetch it again",
        ),
        (
            "a byte too many",
            json!({"content_length": length - 1}),
            "by its manifest; fetch it again",
        ),
    ] {
        let files = vec![(part, text.clone()), ("works/manifest.json", manifest(&url, meta))];
        check_refused(&place, &refused(what, files, 5, phrase));
    }
    for url in ["s3://x/../part_0000.jsonl", "part", "", "x//part", "x/./part", "../../../x"] {
        let files = vec![(part, text.clone()), ("works/manifest.json", manifest(url, json!({})))];
        check_refused(&place, &refused(url, files, 5, "names no place below it"));
    }
    for bad in ["", "{", "[]x", r#"{"entries":5}"#] {
        let files = vec![(part, text.clone()), ("works/manifest.json", bad.into())];
        check_refused(&place, &refused(bad, files, 5, "it is no manifest"));
    }
}

#[test]
fn what_a_manifest_lists_and_is_not_there_is_warned_of() {
    let place = Place::new();
    let part = "works/updated_date=2026-02-01/part_0000.jsonl";
    let listed =
        |name: &str| json!({"url": format!("s3://x/works/updated_date=2026-02-01/{name}")});
    let both = json!({"entries": [listed("part_0000.jsonl"), listed("part_0001.jsonl")]});
    let none = json!({ "entries": [] });
    for (manifest, code) in [(both, "manifest_part_absent"), (none, "manifest_part_unlisted")] {
        let files = [(part, work(1)), ("works/manifest.json", manifest.to_string())];
        write_files(&place.input(), files);
        let run = build(&[&place.input()], &place.out(), &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.report["warnings"], json!({ code: 1 }));
    }
}

#[test]
fn inputs_that_are_missing_or_unknown_end_the_run_with_3_and_empty_ones_with_4() {
    let place = Place::with_tiny_published();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0".to_vec();
    let array = format!("[{}]\n", work(1).trim()).into_bytes();
    let unknown = "is nothing the compiler knows; expected an OpenAlex dump";
    let check = |what, name, bytes: &[u8], inputs: &[&str], code, phrase| {
        let files = vec![(name, bytes.to_vec())];
        check_refused(&place, &Refused { what, files, inputs, options: &[], code, phrase });
    };
    let good = work(1).into_bytes();
    check("missing", "works.jsonl", &good, &["nowhere"], 3, "No such file");
    check("one of two missing", "works.jsonl", &good, &[".", "nowhere"], 3, "No such file");
    check("a picture", "picture.png", &png, &["picture.png"], 3, unknown);
    check("a text", "notes.txt", b"some notes\n", &["notes.txt"], 3, unknown);
    check("a file of nothing", "empty.txt", b"", &["empty.txt"], 3, unknown);
    check("a folder of pictures", "picture.png", &png, &["."], 3, "holds nothing to compile");
    check("a JSON array", "dump.json", &array, &["dump.json"], 3, "one object a line (`jq");
    check("empty works", "works.jsonl", b"", &["."], 4, "hold no record");
    check("blank lines", "works.jsonl", b"\n \r\n\n", &["."], 4, "hold no record");
    check("a BOM", "works.jsonl", b"\xef\xbb\xbf", &["."], 4, "hold no record");
}

#[test]
fn an_empty_dump_is_published_where_it_is_allowed() {
    let place = Place::new();
    write_files(&place.input(), [("works.jsonl", "")]);
    let snapshot = published(&build(&[&place.input()], &place.out(), &["--allow-empty"]));
    assert!(outputs(&snapshot).is_empty());
}

#[test]
fn more_bad_records_than_allowed_end_the_run_with_4() {
    let place = Place::with_tiny_published();
    let text = format!("{}no JSON\n{}{{}}\n", work(1), work(2)).into_bytes();
    let cases: [(&[&str], &str); 5] = [
        (&["--strict"], "2 of 4 records are bad, more than `--max-bad` allows (0%)"),
        (&[], "2 of 4 records are bad, more than `--max-bad` allows (0.1%)"),
        (&["--max-bad", "0"], "2 of 4 records are bad"),
        (&["--max-bad", "49%"], "allows (49%)"),
        (&["--max-bad", "0.49"], "bad-records.jsonl"),
    ];
    for (options, phrase) in cases {
        let files = vec![("works.jsonl", text.clone())];
        let what = &options.join(" ");
        check_refused(&place, &Refused { what, files, inputs: &["."], options, code: 4, phrase });
    }
    let within = Place::new();
    write_files(&within.input(), [("works.jsonl", text)]);
    let run = build(&[&within.input()], &within.out(), &["--max-bad", "50%"]);
    assert_eq!(outputs(&published(&run)).len(), 2);
    assert_eq!(run.report["bad_records"], json!({"not_json": 1, "no_id": 1}));
    assert_eq!(run.report["entities"]["outputs"]["quarantined"], json!(2));
}

#[test]
fn every_bad_record_is_listed_with_its_place_and_code_and_costs_no_other() {
    let digits = format!("{{\"id\":\"https://openalex.org/W{}\"}}", "1".repeat(30));
    let bad: Vec<(&[u8], &str)> = vec![
        (b"{\"title\":\"no id\"}", "no_id"),
        (b"{\"id\":null}", "no_id"),
        (b"{\"id\":\"\"}", "no_id"),
        (b"{\"id\":\"  \"}", "no_id"),
        (b"{\"id\":[\"W12\"]}", "no_id"),
        (b"{\"id\":{}}", "no_id"),
        (b"{\"id\":true}", "no_id"),
        (b"{}", "no_id"),
        (b"[]", "not_a_record"),
        (b"{\"id\":\"https://openalex.org/A1\"}", "wrong_type"),
        (b"{\"id\":\"https://openalex.org/W007\"}", "bad_id"),
        (b"{\"id\":\" W7\"}", "bad_id"),
        (b"{\"id\":\"W\"}", "bad_id"),
        (b"{\"id\":\"W-7\"}", "bad_id"),
        (b"{\"id\":\"W7.0\"}", "bad_id"),
        (b"{\"id\":42}", "no_id"),
        (digits.as_bytes(), "bad_id"),
        (b"{\"id\":\"https://openalex.org/W18446744073709551616\"}", "bad_id"),
        (b"{\"id\":\"W7\",\"title\":\"\xff\"}", "not_utf8"),
        (b"{\"id\":\"W7\",\"ignored\":\"\xc3\"}", "not_utf8"),
        (b"{\"id\":\"W7\",\"title\":\"a\",\"title\":\"b\"}", "duplicate_key"),
        (b"{\"id\":\"W7\",\"biblio\":{\"volume\":\"1\",\"volume\":\"2\"}}", "duplicate_key"),
        (b"null", "not_a_record"),
        (b"\"x\"", "not_a_record"),
        (b"42", "not_a_record"),
        (b"true", "not_a_record"),
        (b"not JSON", "not_json"),
        (b"{\"id\":\"W7\"} {\"id\":\"W8\"}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"cut sho", "not_json"),
        (b"{\"id\":\"W7\",\"fwci\":NaN}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"\\ud800\"}", "not_json"),
        (b"{\"id\":\"W7\",\"title\":\"a\x01b\"}", "not_json"),
        (b"\xef\xbb\xbf{\"id\":\"W7\"}", "not_json"),
        (b"{'id':'W7'}", "not_json"),
    ];
    let place = Place::new();
    let mut text = work(1).into_bytes();
    let mut expected = Vec::new();
    for (number, (line, code)) in bad.iter().enumerate() {
        expected.push((number as u64 + 2, text.len() as u64, (*code).to_string()));
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(work(2).as_bytes());
    write_files(&place.input(), [("works.jsonl", text)]);
    let run = build(&[&place.input()], &place.out(), &["--max-bad", "100%"]);
    let snapshot = published(&run);
    let list = fs::read_to_string(place.out().join("objects/bad-records.jsonl")).unwrap();
    let listed: Vec<Value> = list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (line, (raw, _)) in listed.iter().zip(&bad) {
        assert!(line["file"].as_str().unwrap().ends_with("works.jsonl"), "{line}");
        assert_eq!(line["excerpt"], json!(String::from_utf8_lossy(raw)));
    }
    let places: Vec<_> = listed
        .iter()
        .map(|line| {
            let number = |name: &str| line[name].as_u64().unwrap();
            (number("line"), number("byte_offset"), line["code"].as_str().unwrap().to_string())
        })
        .collect();
    assert_eq!(places, expected);
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, code) in &bad {
        *codes.entry(code).or_default() += 1;
    }
    assert_eq!(run.report["bad_records"], json!(codes));
    assert_eq!(outputs(&snapshot).into_keys().collect::<Vec<_>>(), ["HX_W1", "HX_W2"]);
    let tally = &run.report["entities"]["outputs"];
    assert_eq!(tally["read"], json!(bad.len() + 2));
    assert_eq!(tally["quarantined"], json!(bad.len()));
}

#[test]
fn a_bad_optional_member_becomes_null_and_never_costs_its_record() {
    // The member's name in the dump, its value there, the member shown and its value, the warning.
    let cases = [
        ("cited_by_count", "\"5\"", "cited_by_count", json!(5), None),
        ("cited_by_count", "5.0", "cited_by_count", json!(5), None),
        ("cited_by_count", "null", "cited_by_count", json!(null), None),
        ("cited_by_count", "true", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "[]", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "{}", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "[[1],{\"a\":2}]", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "\"many\"", "cited_by_count", json!(null), Some("not_a_number")),
        ("cited_by_count", "5.5", "cited_by_count", json!(null), Some("not_an_integer")),
        ("cited_by_count", "-1", "cited_by_count", json!(null), Some("negative_count")),
        ("cited_by_count", "\"-1\"", "cited_by_count", json!(null), Some("negative_count")),
        (
            "cited_by_count",
            "18446744073709551615",
            "cited_by_count",
            json!(null),
            Some("count_too_large"),
        ),
        ("publication_year", "\"2024\"", "year", json!(2024), None),
        ("publication_year", "0", "year", json!(null), Some("impossible_year")),
        ("publication_year", "-5", "year", json!(null), Some("impossible_year")),
        ("publication_year", "20240", "year", json!(null), Some("impossible_year")),
        ("publication_date", "\"2024-02-30\"", "date", json!(null), Some("impossible_date")),
        ("title", "{}", "title", json!(null), Some("not_a_text")),
        ("title", "[\"a\"]", "title", json!(null), Some("not_a_text")),
        ("title", "5", "title", json!(null), Some("not_a_text")),
        ("title", "\"a\\u0000b\"", "title", json!("ab"), Some("nul_removed")),
        ("is_retracted", "\"true\"", "is_retracted", json!(null), Some("not_a_boolean")),
        ("is_retracted", "1", "is_retracted", json!(null), Some("not_a_boolean")),
        ("biblio", "\"x\"", "biblio", json!(null), Some("not_an_object")),
        ("fwci", "-0.0", "fwci", json!(0), None),
    ];
    let place = Place::new();
    let lines = cases.iter().zip(1..).map(|((member, value, ..), id): (_, u64)| {
        format!("{{\"id\":\"https://openalex.org/W{id}\",\"{member}\":{value}}}\n")
    });
    write_files(&place.input(), [("works.jsonl", lines.collect::<String>())]);
    let run = build(&[&place.input()], &place.out(), &["--strict"]);
    let records = outputs(&published(&run));
    assert_eq!(records.len(), cases.len());
    let mut warnings: BTreeMap<&str, u64> = BTreeMap::new();
    for ((member, value, shown, expected, warning), id) in cases.iter().zip(1..) {
        let record = &records[&format!("HX_W{id}")];
        assert_eq!(record[shown], *expected, "`{member}` {value}");
        if let Some(code) = warning {
            *warnings.entry(code).or_default() += 1;
        }
    }
    assert_eq!(run.report["warnings"], json!(warnings));
    assert_eq!(run.report["bad_records"], json!({}));
}

#[test]
fn lines_are_read_whatever_holds_and_ends_them() {
    let first = zstd_frame(work(1).as_bytes());
    let plain = format!("{}{}", work(1), work(2));
    let records = {
        let place = Place::new();
        write_files(&place.input(), [("works.jsonl", &plain)]);
        outputs(&published(&build(&[&place.input()], &place.out(), &["--strict"])))
    };
    assert_eq!(records.len(), 2);
    let zstd_twice = [first.clone(), zstd_frame(work(2).as_bytes())].concat();
    let skip = b"\x50\x2a\x4d\x18\x04\0\0\0skip";
    let skippable = [&first, skip.as_slice(), &zstd_frame(work(2).as_bytes())].concat();
    let cases: [(&str, &str, Vec<u8>); 11] = [
        ("plain text called gzip", "works.jsonl.gz", plain.clone().into()),
        ("plain text called zstd", "works.jsonl.zst", plain.clone().into()),
        ("CRLF", "works.jsonl", plain.replace('\n', "\r\n").into()),
        ("a BOM", "works.jsonl", format!("\u{feff}{plain}").into()),
        ("no final newline", "works.jsonl", plain.trim_end().into()),
        ("blank lines", "works.jsonl", plain.replace('\n', "\n\n \r\n").into()),
        ("spaces around", "works.jsonl", plain.replace('\n', " \t\n  ").into()),
        ("another name", "outputs.ndjson", plain.clone().into()),
        ("two zstd frames", "works.jsonl.zst", zstd_twice.clone()),
        ("a skippable frame between", "works.jsonl.zst", skippable),
        ("zstd called gzip", "works.gz", zstd_twice),
    ];
    for (what, name, bytes) in cases {
        let place = Place::new();
        write_files(&place.input(), [(name, bytes)]);
        let run = build(&[&place.input()], &place.out(), &["--strict"]);
        assert_eq!(run.code, 0, "{what}: {}", run.stderr);
        assert_eq!(outputs(&published(&run)), records, "{what}");
    }
}

#[test]
fn every_member_of_a_gzip_file_is_read_whatever_its_name() {
    let parts = ["2025-11-06", "2026-01-10", "2026-02-01"]
        .map(|day| sample().join(format!("data/jsonl/works/updated_date={day}/part_0000.gz")));
    let place = Place::new();
    let apart: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    let expected = outputs(&published(&build(&apart, &place.out(), &[])));
    let together = parts.map(|part| fs::read(part).unwrap()).concat();
    for name in ["works.jsonl.gz", "works.jsonl", "works.zst"] {
        let place = Place::new();
        write_files(&place.input(), [(name, &together)]);
        let run = build(&[&place.input()], &place.out(), &[]);
        assert_eq!(outputs(&published(&run)), expected, "{name}");
        assert_eq!(run.report["entities"]["outputs"]["read"], json!(238), "{name}");
    }
}

#[test]
fn a_line_of_17_megabytes_is_set_aside_and_the_next_is_read() {
    let place = Place::new();
    let long = format!("{{\"id\":\"W9\",\"title\":\"{}\"}}\n", "x".repeat(17 << 20));
    let text = format!("{}{long}{}", work(1), work(2));
    write_files(&place.input(), [("works.jsonl", text)]);
    let run = build(&[&place.input()], &place.out(), &["--max-bad", "50%"]);
    assert_eq!(outputs(&published(&run)).into_keys().collect::<Vec<_>>(), ["HX_W1", "HX_W2"]);
    assert_eq!(run.report["bad_records"], json!({"line_too_long": 1}));
    let list = fs::read_to_string(place.out().join("objects/bad-records.jsonl")).unwrap();
    let line: Value = serde_json::from_str(list.trim()).unwrap();
    assert_eq!((&line["line"], &line["byte_offset"]), (&json!(2), &json!(work(1).len())));
}

// The output.

#[test]
fn an_output_that_cannot_be_written_ends_the_run_with_6() {
    let place = Place::new();
    write_files(&place.input(), TINY_DUMP);
    write_files(place.0.path(), [("file", "a regular file")]);
    for out in ["file", "file/below", "file/far/below"] {
        let run = build(&[&place.input()], &place.0.path().join(out), &[]);
        assert_eq!(run.code, 6, "{out}: {}", run.stderr);
        assert!(run.stderr.contains("; nothing was published"), "{out}: {}", run.stderr);
    }
    assert_eq!(fs::read(place.0.path().join("file")).unwrap(), b"a regular file");
    let objects = place.0.path().join("file/objects");
    let run = build(&[&place.input()], &place.out(), &["--objects", objects.to_str().unwrap()]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    demand_no_remains(&place.out(), "objects below a file");
    assert!(!place.out().join("current").exists());
}

#[test]
fn no_file_larger_than_allowed_ends_the_run_with_6_and_publishes_nothing() {
    let place = Place::with_tiny_published();
    let before = state(&place.out());
    // In units of 512 or 1,024 bytes, as the shell has it; the signal would kill, the error speaks.
    for limit in ["0", "1", "8", "64", "128"] {
        let output = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f $0; exec \"$@\"", limit])
            .arg(program("pinakes-compiler"))
            .args(["build".as_ref(), sample().as_os_str(), "--quiet".as_ref()])
            .args(["--out".as_ref(), place.out().as_os_str()])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "limit {limit}: {errors}");
        assert!(errors.contains("File too large"), "limit {limit}: {errors}");
        assert!(state(&place.out()) == before, "limit {limit}: something was published");
        demand_no_remains(&place.out(), limit);
    }
}

#[test]
fn a_full_disk_ends_the_run_with_6_and_publishes_nothing() {
    let test = "a_full_disk_ends_the_run_with_6_and_publishes_nothing";
    let place = Place::with_tiny_published();
    let disk = place.0.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // The mount is seen by this shell alone, and gone with it.
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 99
        cp -a \"$3\" \"$2/out\" || exit 98
        old=$(readlink \"$2/out/current\")
        \"$4\" build \"$5\" --out \"$2/out\" --quiet; code=$?
        test \"$(readlink \"$2/out/current\")\" = \"$old\" || test $code = 0 || exit 97
        test -z \"$(find \"$2/out\" -name '.tmp-*')\" || exit 96
        \"$4\" verify \"$2/out/current\" > /dev/null || exit 95
        exit $code";
    let mut codes = Vec::new();
    for kib in [300, 400, 600, 800, 1_000, 1_200, 1_400, 1_600, 1_800, 2_000, 2_200, 20_000] {
        let output = Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh", &format!("{kib}k")])
            .args([disk.as_path(), &place.out(), &program("pinakes-compiler"), &sample()])
            .output();
        let Ok(output) = output else {
            return eprintln!("skipped: {test}: no `unshare` here");
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(99) | Some(1) if codes.is_empty() => {
                return eprintln!("skipped: {test}: no disk of its own can be mounted: {errors}");
            }
            // Too small for what was there before.
            Some(98) => continue,
            code => assert!(code == Some(6) || code == Some(0), "{kib} KiB: {code:?} {errors}"),
        }
        codes.push(output.status.code());
    }
    assert_eq!((codes.first(), codes.last()), (Some(&Some(6)), Some(&Some(0))), "{codes:?}");
}

#[test]
fn usage_errors_end_the_run_with_2() {
    let cases: [&[&str]; 13] = [
        &[],
        &["bild"],
        &["build"],
        &["build", "x"],
        &["build", "--out", "y"],
        &["build", "x", "--out", "y", "--no-such-option"],
        &["build", "x", "--out", "y", "--max-bad", "200%"],
        &["build", "x", "--out", "y", "--max-bad", "few"],
        &["build", "x", "--out", "y", "--memory", "1M"],
        &["build", "x", "--out", "y", "--memory", "99999999999999999999G"],
        &["build", "x", "--out", "y", "--threads", "two"],
        &["build", "x", "--out", "y", "--strict", "--max-bad", "1%"],
        &["link", "--objects", "x"],
    ];
    let dir = tempfile::tempdir().unwrap();
    for args in cases {
        let run = Command::new(program("pinakes-compiler")).args(args).current_dir(&dir).output();
        let run = run.unwrap();
        let errors = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains("--help"), "{args:?}: {errors}");
    }
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn an_output_held_by_another_run_ends_the_run_with_7_and_names_its_process() {
    let place = Place::with_tiny_published();
    let before = state(&place.out());
    let path = place.out().join(".lock");
    let lock = File::options().write(true).open(&path).unwrap();
    lock.try_lock().unwrap();
    let pid = std::process::id().to_string();
    fs::write(&path, format!("{pid}\n")).unwrap();
    let objects = place.out().join("objects");
    let tiny = place.0.path().join("tiny");
    let link: [&OsStr; 5] = [
        "link".as_ref(),
        "--objects".as_ref(),
        objects.as_ref(),
        "--out".as_ref(),
        place.0.path().as_ref(),
    ];
    let out = place.out();
    let link = [&link[..4], &[out.as_os_str()]].concat();
    for refused in [build(&[&tiny], &place.out(), &[]), run(&link)] {
        assert_eq!(refused.code, 7, "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("(pid {pid})")), "{}", refused.stderr);
    }
    assert!(state(&place.out()) == before);
    // What a dead run wrote there holds nobody up.
    drop(lock);
    assert_eq!(build(&[&tiny], &place.out(), &[]).code, 0);
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let place = Place::with_tiny_published();
    let before = state(&place.out());
    let left = [(".tmp-1/snapshot/outputs/records", "torn"), (".tmp-1/run", ""), (".tmp-x", "")];
    write_files(&place.out(), left);
    std::os::unix::fs::symlink("nowhere", place.out().join(".tmp-current-1")).unwrap();
    let tiny = place.0.path().join("tiny");
    assert_eq!(build(&[&tiny], &place.out(), &[]).code, 0);
    demand_no_remains(&place.out(), "the next run");
    assert!(state(&place.out()) == before);
}

#[test]
fn an_interrupted_run_ends_with_its_signal_and_leaves_the_old_snapshot() {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(3_000, 1).with_part_records(500);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    let place = Place::with_tiny_published();
    let before = state(&place.out());
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let what = format!("SIG{signal}");
        let objects = place.0.path().join(format!("objects of {signal}"));
        let child = Command::new(program("pinakes-compiler"))
            .args(["build".as_ref(), dump.path().as_os_str(), "--quiet".as_ref()])
            .args(["--out".as_ref(), place.out().as_os_str()])
            .args(["--objects".as_ref(), objects.as_os_str()])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        while !objects.exists() {
            assert!(child.try_wait().unwrap().is_none(), "{what}: it ended before");
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), None, "{what}: {errors}");
        assert_eq!(output.status.code(), Some(code), "{what}: {errors}");
        assert_eq!(output.stdout, b"", "{what}");
        assert!(errors.contains("interrupted; nothing was published"), "{what}: {errors}");
        demand_no_remains(&place.out(), &what);
        assert!(state(&place.out()) == before, "{what}: something was published");
        // What it had finished is whole: the next run takes it up.
        let objects = objects.to_str().unwrap();
        let next = build(&[dump.path()], &Place::new().out(), &["--objects", objects]);
        assert_eq!(next.code, 0, "{what}: {}", next.stderr);
    }
}
