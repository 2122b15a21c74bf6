//! Disks that fail and processes that die, at any step: what is published is the old or the new
//! snapshot, whole.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use pinakes_tests::{TINY_DUMP, program, write_files};

use crate::run::*;

/// The library that makes calls fail, compiled; `None`, said by name, where there is no compiler.
fn fault_library(directory: &Path, test: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compiler/fault.c");
    let library = directory.join("fault.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .args(["-ldl"])
        .output();
    match compiled {
        Ok(compiled) if compiled.status.success() => Some(library),
        _ => {
            eprintln!("skipped: {test}: no C compiler that makes a shared library");
            None
        }
    }
}

/// A place where the tiny dump is published and its objects are there, and a dump that differs.
struct Disk {
    place: Place,
    library: PathBuf,
}

impl Disk {
    fn new(test: &str) -> Option<Disk> {
        let place = Place::with_tiny_published();
        let library = fault_library(place.0.path(), test)?;
        write_files(&place.input(), TINY_DUMP);
        write_files(&place.input(), [("funders.jsonl", TINY_DUMP[5].1.replace("Fund", "Pound"))]);
        Some(Disk { place, library })
    }

    fn build(&self, call: &str, at: usize, kill: bool) -> Output {
        let mut command = Command::new(program("pinakes-compiler"));
        command
            .args(["build".as_ref(), self.place.input().as_os_str(), "--quiet".as_ref()])
            .args(["--threads", "1", "--out"])
            .arg(self.place.out())
            .env("LD_PRELOAD", &self.library)
            .env("FAULT_CALL", call)
            .env("FAULT_AT", at.to_string())
            .env("FAULT_BELOW", self.place.out());
        if kill {
            command.env("FAULT_KILL", "1");
        }
        command.output().unwrap()
    }
}

/// The uses of a call that are made to fail: the first ones, then fewer and fewer.
fn places() -> impl Iterator<Item = usize> {
    [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233].into_iter()
}

#[test]
fn a_call_that_fails_ends_the_run_with_6_and_leaves_the_old_snapshot() {
    let test = "a_call_that_fails_ends_the_run_with_6_and_leaves_the_old_snapshot";
    let Some(disk) = Disk::new(test) else { return };
    let before = state(&disk.place.out());
    for call in ["write", "fsync", "rename", "symlink", "mkdir", "chmod"] {
        let mut failed = 0;
        for at in places() {
            let what = format!("{call} number {at}");
            let output = disk.build(call, at, false);
            let run = finished(&output, Path::new("none"));
            if run.code == 0 {
                // It has fewer of them; what it published is taken back for the next.
                fs::remove_file(disk.place.out().join("current")).unwrap();
                std::os::unix::fs::symlink(&before.0, disk.place.out().join("current")).unwrap();
                let fresh = disk.place.out().join(run.stdout.trim());
                remove_read_only(&fresh);
                break;
            }
            failed += 1;
            assert_eq!(run.code, 6, "{what}: {}", run.stderr);
            assert!(run.stderr.contains("Input/output error"), "{what}: {}", run.stderr);
            let after = state(&disk.place.out());
            assert_eq!(after.0, before.0, "{what}: `current` moved");
            demand_no_remains(&disk.place.out(), &what);
            for (name, bytes) in &before.1 {
                assert!(after.1.get(name) == Some(bytes), "{what}: {name} changed");
            }
            // A directory that could not be synced after the rename may stand there, whole.
            let fresh = after.1.keys().filter(|name| !before.1.contains_key(*name));
            for id in fresh.filter_map(|name| name.split('/').next()).collect::<BTreeSet<_>>() {
                remove_read_only(&disk.place.out().join(id));
            }
        }
        assert!(failed > 0, "{call} never failed");
    }
}

#[test]
fn a_run_killed_at_any_step_leaves_the_old_snapshot_or_the_new_one_whole() {
    let test = "a_run_killed_at_any_step_leaves_the_old_snapshot_or_the_new_one_whole";
    let Some(disk) = Disk::new(test) else { return };
    for (call, kills) in [("write", 8), ("fsync", 8), ("rename", 4), ("symlink", 1), ("chmod", 3)] {
        let mut killed = 0;
        for at in places().take(kills) {
            let output = disk.build(call, at, true);
            let was_killed =
                std::os::unix::process::ExitStatusExt::signal(&output.status) == Some(9);
            killed += usize::from(was_killed);
            let current = disk.place.out().join("current");
            let snapshot = fs::canonicalize(&current).unwrap();
            assert!(!records(&snapshot, pinakes_format::entity::Entity::Funder).is_empty());
            if !was_killed {
                break;
            }
        }
        assert!(killed > 0, "{call} never came");
    }
    // The next run clears what they left.
    assert_eq!(build(&[&disk.place.input()], &disk.place.out(), &[]).code, 0);
    demand_no_remains(&disk.place.out(), "the next run");
    let objects = fs::read_dir(disk.place.out().join("objects")).unwrap().flatten();
    let torn = objects.filter(|entry| entry.path().extension() == Some("tmp".as_ref())).count();
    assert_eq!(torn, 0, "an unfinished object is left");
}

/// Removes a published directory, whose folders are read-only.
fn remove_read_only(directory: &Path) {
    let status = Command::new("sh")
        .args(["-c", "chmod -R u+w \"$0\" && rm -rf \"$0\""])
        .arg(directory)
        .status();
    assert!(status.unwrap().success());
}
