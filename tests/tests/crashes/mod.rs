//! Failing disks and killed builds: `current` stays the old or becomes the new snapshot.
//!
//! After each fault, the next build succeeds and removes all leftovers.
//!
//! The tests inject a seeded sample of faults. `PINAKES_CRASHES` sets the size of the sample (12, or
//! `all`), and `PINAKES_KILLS` the number of builds killed at random times (20).

#![allow(dead_code)]

mod steps;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use pinakes_format::snapshot::Snapshot;
use pinakes_tests::compiler_run::*;
use pinakes_tests::skip;
use pinakes_tests::{SeededRng, TINY_DUMP, files_below, program, sample, write_files};

use crate::crashes::steps::*;

/// System calls whose last three uses publish and prune.
const PUBLISHING: [&str; 3] = ["fsync", "rename", "symlink"];
/// System calls whose last use always fails in the sample.
const OTHERS: [&str; 6] = ["chmod", "mkdir", "openat", "unlink", "unlinkat", "write"];
/// Default number of other faults.
const SAMPLED: usize = 12;
/// Default number of builds killed at random times.
const KILLS: usize = 20;
/// Runs of a fault until the build makes the call.
const ATTEMPTS: usize = 5;

/// Makes a temporary directory, in memory if possible, since `fsync` takes no time there.
fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let in_memory = memory.is_dir().then(|| tempfile::tempdir_in(memory).ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// An output directory with a published snapshot, copied for each fault, and another dump.
struct Model {
    directory: tempfile::TempDir,
    /// The id of the published snapshot, and its files.
    old: (String, BTreeMap<String, Vec<u8>>),
    /// The id of the other dump's snapshot.
    new: String,
}

impl Model {
    fn new() -> Model {
        let directory = directory();
        let (tiny, input) = (directory.path().join("tiny"), directory.path().join("input"));
        write_files(&tiny, TINY_DUMP);
        write_files(&input, TINY_DUMP);
        write_files(&input, [("funders.jsonl", TINY_DUMP[5].1.replace("Fund", "Pound"))]);
        // A build remembers the hashes of parts that have settled. Now all builds make the same calls.
        std::thread::sleep(Duration::from_millis(3_100));
        let id = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let new = id(published_path(&build(&[&input], &directory.path().join("other"), &[])));
        let model = directory.path().join("model");
        let old = published_path(&build(&[&tiny], &model, &[]));
        let files = files_below(&old);
        Model { old: (id(old), files), new, directory }
    }

    fn input(&self) -> PathBuf {
        self.directory.path().join("input")
    }

    /// Copies the output directory for a worker.
    fn copy(&self, worker: usize) -> PathBuf {
        let out = self.directory.path().join(format!("out-{worker}"));
        let script =
            "if test -e \"$1\"; then chmod -R u+w \"$1\"; rm -rf \"$1\"; fi; cp -a \"$0\" \"$1\"";
        let copy = Command::new("sh")
            .args(["-c", script])
            .args([&self.directory.path().join("model"), &out])
            .status();
        assert!(copy.unwrap().success());
        out
    }

    /// Verifies the current snapshot and returns its id, the old or the new.
    ///
    /// If the old snapshot is current, its bytes must be unchanged.
    fn current(&self, out: &Path, what: &str) -> String {
        let led = fs::read_link(out.join("current")).unwrap().into_os_string();
        let led = led.into_string().unwrap();
        assert!([&self.old.0, &self.new].contains(&&led), "{what}: `current` leads to {led}");
        let snapshot = Snapshot::open(&out.join(&led)).unwrap_or_else(|error| {
            panic!("{what}: {error}");
        });
        snapshot.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
        if led == self.old.0 {
            assert!(files_below(&out.join(&led)) == self.old.1, "{what}: the old one changed");
        }
        led
    }

    /// Runs the next build and compares its files with the files of an undisturbed build.
    fn assert_recovery(&self, out: &Path, what: &str) {
        let run = build(&[&self.input()], out, &["--quiet", "--keep", "1"]);
        assert_eq!(run.code, 0, "{what}, the next run: {}", run.stderr);
        assert_eq!(self.current(out, what), self.new, "{what}, the next run");
        let left: BTreeSet<String> = names_in(out);
        let expected = [".history", ".linked", ".lock", "current", "objects", &self.new];
        assert_eq!(left, expected.map(str::to_owned).into(), "{what}");
        let objects = objects_in(out);
        assert_eq!(objects.len(), TINY_DUMP.len(), "{what}: {objects:?}");
    }
}

/// Names of the objects of an output; nothing else is beside them but the hashes of parts.
fn objects_in(out: &Path) -> BTreeSet<String> {
    let names = names_in(&out.join("objects"));
    let (objects, others): (BTreeSet<String>, BTreeSet<String>) =
        names.into_iter().partition(|name| name.ends_with(".object"));
    assert!(others.iter().all(|name| name.ends_with(".hash")), "{others:?}");
    objects
}

fn names_in(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Injects a fault into a build and checks the result.
fn check(model: &Model, worker: usize, step: &Step, fault: Fault) {
    let what = format!("{step:?}, {fault:?}");
    let attempt = || {
        let out = model.copy(worker);
        let output = step.build(&model.input(), &out, fault);
        (out, output)
    };
    // The thread that syncs a file varies, so a run may not make the call.
    let missed = |output: &Output| fault == Fault::Kill && output.status.success();
    let (out, output) = std::iter::repeat_with(attempt)
        .take(ATTEMPTS)
        .find(|(_, output)| !missed(output))
        .unwrap_or_else(|| panic!("{what}: the call was not made in {ATTEMPTS} runs"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{what}: {errors}");
    let led = model.current(&out, &what);
    match (fault, output.status.code()) {
        (Fault::Kill, code) => {
            assert_eq!((code, output.status.signal()), (None, Some(9)), "{what}: {errors}");
        }
        (_, Some(0)) => assert_eq!(led, model.new, "{what}: {errors}"),
        (_, code) => {
            assert_eq!(code, Some(6), "{what}: {errors}");
            assert_eq!(led, model.old.0, "{what}: `current` moved: {errors}");
            assert!(errors.contains("(os error "), "{what}: {errors}");
        }
    }
    model.assert_recovery(&out, &what);
}

#[test]
fn after_any_failed_or_last_call_the_old_or_the_new_snapshot_is_current() {
    let test = "after_any_failed_or_last_call_the_old_or_the_new_snapshot_is_current";
    if !has_strace() {
        return skip(test, "`strace` is missing or may not trace");
    }
    let model = Model::new();
    let steps = steps_of_a_build(&model.input(), &model.copy(0));
    for call in PUBLISHING.into_iter().chain(OTHERS) {
        assert!(steps.iter().any(|step| step.call() == call), "no {call} in {steps:?}");
    }
    let given = std::env::var("PINAKES_CRASHES").unwrap_or_else(|_| SAMPLED.to_string());
    let chosen: Vec<(&Step, Fault)> = if given == "all" {
        FAULTS.into_iter().flat_map(|fault| steps.iter().map(move |step| (step, fault))).collect()
    } else {
        let last = |call: &'static str| steps.iter().rev().filter(move |step| step.call() == call);
        let of_publishing = PUBLISHING.into_iter().flat_map(|call| last(call).take(3));
        let of_publishing = of_publishing.flat_map(|step| FAULTS.map(|fault| (step, fault)));
        let mut rng = SeededRng(55);
        let sampled = (0..given.parse().unwrap()).map(|_| &steps[rng.below(steps.len())]);
        let others = OTHERS.into_iter().flat_map(|call| last(call).take(1)).chain(sampled);
        of_publishing.chain(others.zip(FAULTS.into_iter().cycle())).collect()
    };
    println!("{} of {} faults", chosen.len(), steps.len() * FAULTS.len());
    let next = AtomicUsize::new(0);
    let work = |worker: usize| {
        while let Some((at, (step, fault))) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, chosen.get(at)?)))
        {
            check(&model, worker, step, *fault);
            if at % 100 == 99 {
                println!("{} faults, the last at {step:?}", at + 1);
            }
        }
    };
    // strace waits most of the time.
    let workers = 2 * std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        (0..workers).for_each(|worker| drop(scope.spawn(move || work(worker))))
    });
}

#[test]
fn a_full_disk_ends_a_build_that_takes_index_entries_over() {
    let test = "a_full_disk_ends_a_build_that_takes_index_entries_over";
    if !has_strace() {
        return skip(test, "`strace` is missing or may not trace");
    }
    let model = Model::new();
    let night = build(&[&model.input()], &model.copy(1), &["--threads", "1"]);
    assert!(night.report["rows_reused"]["authors"].as_u64() > Some(0), "{}", night.report);
    // Only the first write fails. A build that began again from scratch would succeed.
    let step = Step::On("write".into(), "snapshot/authors/term_lists".into());
    let out = model.copy(0);
    let output = step.build(&model.input(), &out, Fault::Full);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{errors}");
    assert!(errors.contains("snapshot/authors/term_lists`"), "{errors}");
    assert_eq!(model.current(&out, test), model.old.0);
    model.assert_recovery(&out, test);
}

#[test]
fn a_killed_repair_leaves_the_damaged_or_the_repaired_snapshot() {
    let test = "a_killed_repair_leaves_the_damaged_or_the_repaired_snapshot";
    if !has_strace() {
        return skip(test, "`strace` is missing or may not trace");
    }
    let model = Model::new();
    let tiny = model.directory.path().join("tiny");
    let mut died = 0;
    for (call, when) in
        ["rename", "renameat2"].iter().flat_map(|call| (1..=6).map(move |at| (call, at)))
    {
        let out = model.copy(0);
        let place = out.join(&model.old.0);
        let file = place.join("strings");
        for path in [&place, &file] {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(path, mode).unwrap();
        }
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, bytes).unwrap();
        let output = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")])
            .args(["-e", &format!("inject={call}:signal=KILL:when={when}")])
            .arg(program("pinakes-compiler"))
            .args(["build".as_ref(), tiny.as_os_str(), "--quiet".as_ref(), "--out".as_ref()])
            .arg(&out)
            .output()
            .unwrap();
        died += usize::from(!output.status.success());
        let led = fs::read_link(out.join("current")).unwrap();
        let files = files_below(&out.join(led)).len();
        assert_eq!(files, model.old.1.len(), "{call} {when}: not all of it is there");
        let run = build(&[&tiny], &out, &["--quiet", "--keep", "1"]);
        assert_eq!(run.code, 0, "{call} {when}, the next run: {}", run.stderr);
        model.current(&out, &format!("{call} {when}, the next run"));
        let expected = [".history", ".linked", ".lock", "current", "objects", &model.old.0];
        assert_eq!(names_in(&out), expected.map(str::to_owned).into(), "{call} {when}");
    }
    assert!(died > 3, "{died} runs died");
}

#[test]
fn a_build_killed_at_any_time_leaves_the_old_or_the_new_snapshot_and_the_next_build_succeeds() {
    let kills = std::env::var("PINAKES_KILLS").map_or(KILLS, |count| count.parse().unwrap());
    let directory = directory();
    let out = directory.path().join("out");
    let tiny = directory.path().join("tiny");
    write_files(&tiny, TINY_DUMP);
    let dumps = [sample(), tiny];
    let ids: Vec<PathBuf> = dumps
        .iter()
        .map(|dump| published_path(&build(&[dump], &out, &["--allow-shrink"])))
        .map(|path| path.file_name().unwrap().into())
        .collect();
    let start = |dump: &Path| {
        Command::new(program("pinakes-compiler"))
            .args(["build".as_ref(), dump.as_os_str(), "--quiet".as_ref(), "--keep".as_ref()])
            .args(["1", "--allow-shrink", "--out"])
            .arg(&out)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let begun = Instant::now();
    assert!(start(&dumps[0]).wait().unwrap().success());
    let mut longest = begun.elapsed();
    let mut rng = SeededRng(57);
    let (mut killed, mut published_then, mut at) = (0, 0, 0);
    while killed < kills {
        at += 1;
        assert!(at <= kills * 10, "{killed} of {at} killed");
        let mut child = start(&dumps[at % 2]);
        let begun = Instant::now();
        let moment = longest * u32::try_from(rng.below(1_000)).unwrap() / 1_000;
        while begun.elapsed() < moment && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        let _ = child.kill();
        if child.wait().unwrap().signal() == Some(9) {
            killed += 1;
        } else {
            // The build ended before the kill, so the next kills come earlier.
            longest = longest * 9 / 10;
        }
        let led = fs::read_link(out.join("current")).unwrap();
        assert!(ids.contains(&led), "{at}: `current` leads to {}", led.display());
        published_then += usize::from(led == ids[at % 2]);
        let snapshot =
            Snapshot::open(&out.join(&led)).unwrap_or_else(|error| panic!("{at}: {error}"));
        snapshot.verify().unwrap_or_else(|error| panic!("{at}: {error}"));
    }
    println!("{killed} of {at} builds killed; {published_then} had published");
    assert!(start(&dumps[1]).wait().unwrap().success());
    let id = ids[1].to_str().unwrap();
    let expected = [".history", ".linked", ".lock", "current", "objects", id].map(str::to_owned);
    assert_eq!(names_in(&out), expected.into());
    assert_eq!(objects_in(&out).len(), TINY_DUMP.len());
}
