//! Deterministic builds: equal inputs give equal bytes.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_tests::{SeededRng, TINY_DUMP, files_below, sample, write_files};
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

#[test]
fn a_snapshot_has_the_same_bytes_for_any_threads_input_order_and_directory() {
    let workspace = Workspace::new();
    let snapshot = published_path(&build(&[&sample()], &workspace.out(), &["--threads", "1"]));
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
        let elsewhere = Workspace::new();
        let run = build(inputs, &elsewhere.out().join("deeper/still"), options);
        let found = published_path(&run);
        assert_eq!(found.file_name(), snapshot.file_name(), "{what}");
        assert!(files_below(&found) == expected, "{what}: the bytes differ");
        let current = fs::read_link(elsewhere.out().join("deeper/still/current")).unwrap();
        assert_eq!(Some(current.as_os_str()), snapshot.file_name(), "{what}");
    }
}

#[test]
fn compile_and_link_publish_the_same_snapshot_as_build() {
    let workspace = Workspace::new();
    let expected = files_below(&published_path(&build(&[&sample()], &workspace.out(), &[])));
    let objects = workspace.0.path().join("objects");
    for folder in ["merged_ids", "jsonl"] {
        let input = sample().join("data").join(folder);
        let args = ["compile".as_ref(), input.as_os_str(), "--objects".as_ref(), objects.as_ref()];
        // A unit of merged ids alone holds no record, so it needs `--allow-empty`.
        let run = run(&[args.as_slice(), &["--allow-empty".as_ref()]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.report["snapshot"], Value::Null);
    }
    let out = workspace.0.path().join("linked");
    let args: [&OsStr; 5] =
        ["link".as_ref(), "--objects".as_ref(), objects.as_ref(), "--out".as_ref(), out.as_ref()];
    let found = published_path(&run(&args));
    assert!(files_below(&found) == expected);
}

#[test]
fn a_second_build_parses_nothing_and_a_changed_part_is_parsed_alone() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let first = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(first.report["parts"], json!(TINY_DUMP.len()));
    assert_eq!(first.report["parts_parsed"], json!(TINY_DUMP.len()));

    let second = build(&[&workspace.input()], &workspace.out(), &[]);
    assert!(second.stderr.contains("nothing"), "{}", second.stderr);
    assert_eq!(second.report["parts_parsed"], json!(0));
    assert_eq!(second.report["parsed_bytes"], json!(0));
    assert_eq!(second.report["entities"], first.report["entities"]);
    assert_eq!(second.report["warnings"], first.report["warnings"]);
    assert_eq!(published_path(&second), published_path(&first));

    write_files(&workspace.input(), [("funders.jsonl", TINY_DUMP[5].1.replace("Fund", "Pound"))]);
    let third = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(third.report["parts_parsed"], json!(1));
    assert_ne!(published_path(&third), published_path(&first));
    assert_eq!(
        fs::read_link(workspace.out().join("current")).unwrap().as_os_str(),
        published_path(&third).file_name().unwrap()
    );

    write_files(&workspace.input(), [TINY_DUMP[5]]);
    let fourth = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(fourth.report["parts_parsed"], json!(0));
    assert_eq!(published_path(&fourth), published_path(&first));
}

#[test]
fn of_equal_parts_the_first_counts_in_the_first_build_and_in_later_ones() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let once = build(&[&workspace.input()], &workspace.out(), &[]);
    let copy = TINY_DUMP[5].1;
    write_files(&workspace.input(), [("a/funders.jsonl", copy), ("z/funders.jsonl", copy)]);
    let first = build(&[&workspace.input()], &workspace.0.path().join("fresh"), &[]);
    let second = build(&[&workspace.input()], &workspace.out(), &[]);
    for run in [&first, &second] {
        assert_eq!(run.report["warnings"]["same_parts"], json!(2));
        assert_eq!(run.report["entities"], once.report["entities"]);
        assert_eq!(run.report["parts"], json!(TINY_DUMP.len()));
        assert_eq!(published_path(run).file_name(), published_path(&once).file_name());
    }
    assert_eq!(first.report["parts_parsed"], json!(TINY_DUMP.len()));
    assert_eq!(second.report["parts_parsed"], json!(0));
}

/// Names of the stages that a run went through.
fn stages(run: &Run) -> Vec<&str> {
    let stages = run.report["stages"].as_array().unwrap();
    stages.iter().map(|stage| stage["stage"].as_str().unwrap()).collect()
}

#[test]
fn an_unchanged_build_links_nothing() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    // A topic without its parent is quarantined by the link, so that a run without one must remember it.
    let known =
        (1..=100).map(|id| format!("{{\"id\":\"T{id}\",\"display_name\":\"Topic {id}\"}}\n"));
    let orphan =
        "{\"id\":\"T999\",\"display_name\":\"O\",\"subfield\":{\"id\":\"subfields/9999\"}}\n";
    let topics = known.collect::<String>() + orphan;
    write_files(&workspace.input(), [("topics/part_0000.jsonl", topics)]);
    let build = |args: &[&str]| build(&[&workspace.input()], &workspace.out(), args);
    let first = build(&[]);
    let subset = build(&["--where", "outputs:year:>1900"]);
    assert_eq!(first.report["bad_records"], json!({ "no_parent": 1 }), "{}", first.stderr);
    for (args, expected) in [(&[][..], &first), (&["--where", "outputs:year:>1900"], &subset)] {
        let again = build(args);
        assert_eq!(stages(&again), ["read", "compile"], "{args:?}");
        assert!(again.stderr.contains("was linked from the same objects"), "{}", again.stderr);
        assert_eq!(published_path(&again), published_path(expected));
        for member in ["entities", "side_tables", "warnings", "bad_records", "snapshot_bytes"] {
            assert_eq!(again.report[member], expected.report[member], "{member} with {args:?}");
        }
        assert_eq!(again.report["quarantine"], expected.report["quarantine"], "{args:?}");
        let current = fs::read_link(workspace.out().join("current")).unwrap();
        assert_eq!(current.as_os_str(), published_path(expected).file_name().unwrap());
    }
    let paranoid = build(&["--paranoid"]);
    assert!(stages(&paranoid).contains(&"index"), "{:?}", stages(&paranoid));
    assert_eq!(published_path(&paranoid), published_path(&first));

    // Damaged records matter once objects are linked again, a damaged directory at once.
    for object in fs::read_dir(workspace.out().join("objects")).unwrap() {
        let path = object.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    let unlinked = build(&[]);
    assert_eq!(stages(&unlinked), ["read", "compile"]);
    write_files(&workspace.input(), [("funders.jsonl", "")]);
    let changed = build(&["--allow-shrink", "--allow-empty"]);
    assert!(stages(&changed).contains(&"index"));
    let parsed = |run: &Run| run.report["parts_parsed"].as_u64().unwrap();
    assert!(parsed(&unlinked) < 3, "{}", unlinked.stderr);
    assert_eq!(parsed(&unlinked) + parsed(&changed), changed.report["parts"].as_u64().unwrap());
}

#[test]
fn a_part_that_has_settled_is_read_once() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let remembered = || {
        let files = fs::read_dir(workspace.out().join("objects")).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths.filter(|path| path.extension() == Some("hash".as_ref())).collect::<Vec<PathBuf>>()
    };
    let first = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(remembered(), Vec::<PathBuf>::new(), "the parts have just been written");
    std::thread::sleep(std::time::Duration::from_millis(3_100));
    build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(remembered().len(), TINY_DUMP.len());

    // Each damaged hash is found out, and its part read again.
    for path in remembered() {
        let mut bytes = fs::read(&path).unwrap();
        bytes[0] = if bytes[0] == b'0' { b'1' } else { b'0' };
        fs::write(path, bytes).unwrap();
    }
    let again = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(stages(&again), ["read", "compile"]);
    assert_eq!(published_path(&again), published_path(&first));

    // A part of the same size with its former time of modification has changed all the same.
    let path = workspace.input().join("funders.jsonl");
    let before = fs::metadata(&path).unwrap();
    write_files(&workspace.input(), [("funders.jsonl", TINY_DUMP[5].1.replace("Fund", "Pond"))]);
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(before.modified().unwrap())
        .unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), before.len());
    let changed = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(changed.report["parts_parsed"], json!(1));
    assert_ne!(published_path(&changed), published_path(&first));
}

#[test]
fn a_damaged_snapshot_is_rebuilt() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let first = published_path(&build(&[&workspace.input()], &workspace.out(), &[]));
    let whole = files_below(&first);
    let records = first.join("outputs/records");
    let cut: fn(&mut Vec<u8>) = |bytes| bytes.truncate(10);
    let flip: fn(&mut Vec<u8>) = |bytes| *bytes.last_mut().unwrap() ^= 1;
    for damage in [cut, flip] {
        let mut bytes = fs::read(&records).unwrap();
        damage(&mut bytes);
        fs::set_permissions(&records, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(&records, bytes).unwrap();
        let again = build(&[&workspace.input()], &workspace.out(), &[]);
        assert_eq!(published_path(&again), first);
        assert!(again.stderr.contains("was damaged; this run replaces it"), "{}", again.stderr);
        assert!(files_below(&first) == whole, "the rebuilt snapshot differs");
        assert_no_leftovers(&workspace.out(), "made again");
    }
    let again = build(&[&workspace.input()], &workspace.out(), &[]);
    assert!(!again.stderr.contains("was damaged"), "{}", again.stderr);
}

#[test]
fn a_damaged_object_is_rebuilt() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let first = published_path(&build(&[&workspace.input()], &workspace.out(), &[]));
    let objects: Vec<PathBuf> = fs::read_dir(workspace.out().join("objects"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let objects: Vec<&PathBuf> =
        objects.iter().filter(|path| path.extension() == Some("object".as_ref())).collect();
    let mut rng = SeededRng(3);
    for (number, path) in objects.iter().enumerate() {
        let mut bytes = fs::read(path).unwrap();
        match number % 3 {
            0 => bytes.truncate(rng.below(bytes.len())),
            1 => bytes.clear(),
            _ => {
                let at = rng.below(bytes.len());
                bytes[at] ^= 0x10;
            }
        }
        fs::write(path, bytes).unwrap();
    }
    let second = build(&[&workspace.input()], &workspace.out(), &["--paranoid"]);
    assert_eq!(published_path(&second), first);
    assert_eq!(second.report["parts_parsed"], json!(objects.len()));
}
