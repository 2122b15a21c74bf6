//! The output directory: failed writes, concurrent runs and interrupted runs.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
};

use pinakes_tests::compiler_run::*;
use pinakes_tests::skip;
use pinakes_tests::{TINY_DUMP, program, sample, write_files};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

#[test]
fn an_output_that_cannot_be_written_ends_the_run_with_6() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    write_files(workspace.0.path(), [("file", "a regular file")]);
    for out in ["file", "file/below", "file/far/below"] {
        let run = build(&[&workspace.input()], &workspace.0.path().join(out), &[]);
        assert_eq!(run.code, 6, "{out}: {}", run.stderr);
        assert!(run.stderr.contains("; nothing was published"), "{out}: {}", run.stderr);
    }
    assert_eq!(fs::read(workspace.0.path().join("file")).unwrap(), b"a regular file");
    let objects = workspace.0.path().join("file/objects");
    let run =
        build(&[&workspace.input()], &workspace.out(), &["--objects", objects.to_str().unwrap()]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert_no_leftovers(&workspace.out(), "objects below a file");
    assert!(!workspace.out().join("current").exists());
}

#[test]
fn a_file_size_limit_ends_the_run_with_6_and_publishes_nothing() {
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    // Blocks of 512 or 1,024 bytes, depending on the shell.
    for limit in ["0", "1", "8", "64", "128"] {
        let output = Command::new("sh")
            .args(["-c", "ulimit -f $0; exec \"$@\"", limit])
            .arg(program("pinakes-compiler"))
            .args(["build".as_ref(), sample().as_os_str(), "--quiet".as_ref()])
            .args(["--out".as_ref(), workspace.out().as_os_str()])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "limit {limit}: {errors}");
        assert!(errors.contains("File too large"), "limit {limit}: {errors}");
        assert!(state(&workspace.out()) == before, "limit {limit}: something was published");
        assert_no_leftovers(&workspace.out(), limit);
    }
}

#[test]
fn a_full_disk_ends_the_run_with_6_and_publishes_nothing() {
    let test = "a_full_disk_ends_the_run_with_6_and_publishes_nothing";
    let workspace = Workspace::with_tiny_snapshot();
    let disk = workspace.0.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // Only this shell sees the mount, which ends with the shell.
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
            .args([disk.as_path(), &workspace.out(), &program("pinakes-compiler"), &sample()])
            .output();
        let Ok(output) = output else {
            return skip(test, "`unshare` is missing");
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(99) | Some(1) if codes.is_empty() => {
                return skip(test, format!("cannot mount a disk: {errors}"));
            }
            // The disk is too small for a copy of the published snapshot.
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
fn an_output_locked_by_another_run_ends_the_run_with_7_and_names_its_process() {
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    let path = workspace.out().join(".lock");
    let lock = File::options().write(true).open(&path).unwrap();
    lock.try_lock().unwrap();
    let pid = std::process::id().to_string();
    fs::write(&path, format!("{pid}\n")).unwrap();
    let objects = workspace.out().join("objects");
    let tiny = workspace.0.path().join("tiny");
    let link: [&OsStr; 5] = [
        "link".as_ref(),
        "--objects".as_ref(),
        objects.as_ref(),
        "--out".as_ref(),
        workspace.0.path().as_ref(),
    ];
    let out = workspace.out();
    let link = [&link[..4], &[out.as_os_str()]].concat();
    for refused in [build(&[&tiny], &workspace.out(), &[]), run(&link)] {
        assert_eq!(refused.code, 7, "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("(pid {pid})")), "{}", refused.stderr);
    }
    assert!(state(&workspace.out()) == before);
    // The process id left in the lock file of an ended run locks nothing.
    drop(lock);
    assert_eq!(build(&[&tiny], &workspace.out(), &[]).code, 0);
}

#[test]
fn a_run_removes_the_leftovers_of_a_killed_run() {
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    let left = [(".tmp-1/snapshot/outputs/records", "torn"), (".tmp-1/run", ""), (".tmp-x", "")];
    write_files(&workspace.out(), left);
    std::os::unix::fs::symlink("nowhere", workspace.out().join(".tmp-current-1")).unwrap();
    // A run that was killed before it replaced `current` leaves a temporary link.
    std::os::unix::fs::symlink(&before.0, workspace.out().join(".tmp-current-2")).unwrap();
    let tiny = workspace.0.path().join("tiny");
    assert_eq!(build(&[&tiny], &workspace.out(), &[]).code, 0);
    assert_no_leftovers(&workspace.out(), "the next run");
    assert!(state(&workspace.out()) == before);
}

#[test]
fn an_interrupted_run_ends_with_its_signal_and_leaves_the_old_snapshot() {
    let dump = tempfile::tempdir().unwrap();
    let plan = pinakes_generate::Plan::new(3_000, 1).with_part_records(500);
    pinakes_generate::write_dump(&plan, dump.path(), 2).unwrap();
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let what = format!("{signal:?}");
        let objects = workspace.0.path().join(format!("objects of {what}"));
        let report = workspace.0.path().join("report.json");
        let child = Command::new(program("pinakes-compiler"))
            .args(["build".as_ref(), dump.path().as_os_str(), "--quiet".as_ref()])
            .args(["--out".as_ref(), workspace.out().as_os_str()])
            .args(["--objects".as_ref(), objects.as_os_str()])
            .args(["--report".as_ref(), report.as_os_str()])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        while !objects.exists() {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{what}: the build ended before the signal"
            );
            pinakes_tests::pause();
        }
        let course = || -> Value {
            let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
            ["state", "exit_code", "error"].into_iter().map(|name| report[name].clone()).collect()
        };
        assert_eq!(course(), json!(["running", null, null]), "{what}");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), None, "{what}: {errors}");
        assert_eq!(output.status.code(), Some(code), "{what}: {errors}");
        assert_eq!(output.stdout, b"", "{what}");
        assert_eq!(course(), json!(["failed", code, "interrupted"]), "{what}");
        assert!(errors.contains("interrupted; nothing was published"), "{what}: {errors}");
        assert_no_leftovers(&workspace.out(), &what);
        assert!(state(&workspace.out()) == before, "{what}: something was published");
        // Finished objects are complete, and the next run uses them.
        let objects = objects.to_str().unwrap();
        let next = build(&[dump.path()], &Workspace::new().out(), &["--objects", objects]);
        assert_eq!(next.code, 0, "{what}: {}", next.stderr);
    }
}

#[test]
fn an_output_that_other_users_can_redirect_ends_the_run_with_2() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    let tiny = workspace.0.path().join("tiny");
    let link = workspace.0.path().join("link");
    symlink(workspace.out(), &link).unwrap();
    let run = build(&[&tiny], &link, &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("is a symbolic link; give the directory"), "{}", run.stderr);
    assert_nothing_published(&workspace.out(), &before, &run, "a symbolic link");
    fs::set_permissions(workspace.out(), fs::Permissions::from_mode(0o777)).unwrap();
    let run = build(&[&tiny], &workspace.out(), &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("may be written by everybody"), "{}", run.stderr);
    assert_nothing_published(&workspace.out(), &before, &run, "writable by everybody");
    if rustix::process::geteuid().is_root() {
        return skip(
            "an_output_that_other_users_can_redirect_ends_the_run_with_2",
            "root may write into a read-only output",
        );
    }
    fs::set_permissions(workspace.out(), fs::Permissions::from_mode(0o555)).unwrap();
    let run = build(&[&tiny], &workspace.out(), &[]);
    fs::set_permissions(workspace.out(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert_nothing_published(&workspace.out(), &before, &run, "read-only");
}

#[test]
fn clock_zone_locale_umask_and_home_change_no_byte_and_no_mode() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let mut snapshots = Vec::new();
    for (umask, settings) in [
        ("000", vec![("TZ", "Pacific/Kiritimati"), ("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR")]),
        ("077", vec![("TZ", ""), ("HOME", "/nowhere"), ("TMPDIR", "/nowhere")]),
    ] {
        let out = workspace.0.path().join(format!("out under {umask}"));
        let output = Command::new("sh")
            .args(["-c", "umask $0; exec \"$@\"", umask])
            .args([program("pinakes-compiler"), "build".into(), workspace.input()])
            .args(["--quiet".as_ref(), "--out".as_ref(), out.as_os_str()])
            .env_clear()
            .envs(settings)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "umask {umask}: {errors}");
        let snapshot = fs::canonicalize(out.join("current")).unwrap();
        let mut folders = vec![snapshot.clone()];
        while let Some(folder) = folders.pop() {
            let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode(&folder) & 0o7777, 0o555, "{}", folder.display());
            for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                match path.is_dir() {
                    true => folders.push(path),
                    false => assert_eq!(mode(&path) & 0o7777, 0o444, "{}", path.display()),
                }
            }
        }
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o022, 0, "umask {umask}");
        snapshots.push(pinakes_tests::files_below(&snapshot));
    }
    assert!(snapshots[0] == snapshots[1]);
}

#[test]
fn an_unprivileged_owner_of_the_output_builds_twice() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let test = "an_unprivileged_owner_of_the_output_builds_twice";
    if !rustix::process::geteuid().is_root() {
        // Without root, every other test is this test.
        return;
    }
    const NOBODY: u32 = 65_534;
    let workspace = Workspace::new();
    fs::set_permissions(workspace.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let owned = workspace.0.path().join("owned");
    fs::create_dir(&owned).unwrap();
    chown(&owned, Some(NOBODY), Some(NOBODY)).unwrap();
    let copy = workspace.0.path().join("pinakes-compiler");
    // `cp` writes the copy: a file that this process had open for writing could be inherited by a
    // child that another test starts at that moment, and could not be executed until it ends.
    let copied = Command::new("cp").arg(program("pinakes-compiler")).arg(&copy).status().unwrap();
    assert!(copied.success());
    for night in 0..3 {
        let funder = TINY_DUMP[5].1.replace("Example Fund", &format!("Fund of night {night}"));
        write_files(&workspace.input(), TINY_DUMP);
        write_files(&workspace.input(), [("funders.jsonl", funder)]);
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .args([copy.as_os_str(), "build".as_ref(), workspace.input().as_os_str()])
            .args(["--quiet", "--keep", "1", "--out"])
            .arg(owned.join("out"))
            .output();
        let Ok(output) = output else {
            return skip(test, "`setpriv` is missing");
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "night {night}: {errors}");
        assert_no_leftovers(&owned.join("out"), "a build by nobody");
        // The snapshot, `current`, the lock, the history, the objects, and what the snapshot was linked from.
        assert_eq!(fs::read_dir(owned.join("out")).unwrap().count(), 6, "night {night}");
    }
}

#[test]
fn a_loss_of_one_in_five_records_ends_the_run_with_4() {
    let workspace = Workspace::new();
    let works = |count: u64| {
        let text: String = (1..=count).map(work).collect();
        write_files(&workspace.input(), [("works.jsonl", text)]);
    };
    // So few records that the drift gate does not judge which of them are gone.
    works(99);
    published_path(&build(&[&workspace.input()], &workspace.out(), &[]));
    works(80);
    published_path(&build(&[&workspace.input()], &workspace.out(), &[]));
    let before = state(&workspace.out());
    works(63);
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    let says = "outputs would fall from 80 records to 63, by more than a fifth; if this is intended, \
                pass `--allow-shrink`";
    assert!(run.stderr.contains(says), "{}", run.stderr);
    assert_nothing_published(&workspace.out(), &before, &run, "a fifth fewer");
    published_path(&build(&[&workspace.input()], &workspace.out(), &["--allow-shrink"]));
    assert_ne!(fs::read_link(workspace.out().join("current")).unwrap(), before.0);
}

#[test]
fn a_run_within_the_budget_of_bad_records_publishes_the_other_records() {
    let dump = |bad: usize| {
        let good: String = (1..=10_000 - bad as u64).map(work).collect();
        vec![("works.jsonl", format!("{good}{}", "no JSON\n".repeat(bad)).into_bytes())]
    };
    check(&[
        Case { bad: &[("not_json", 5)], ..succeeds("0.05%", dump(5)) },
        Case { bad: &[("not_json", 10)], ..succeeds("0.1%", dump(10)) },
        Case {
            bad: &[("not_json", 20)],
            ..fails("0.2%", dump(20), 4, "20 of 10000 records are bad")
        },
        Case {
            options: &["--strict"],
            bad: &[("not_json", 1)],
            ..fails("strictly", dump(1), 4, "1 of 10000 records are bad")
        },
    ]);
}

#[test]
fn many_files_take_few_descriptors() {
    let workspace = Workspace::new();
    let count = size_from_env("PINAKES_PARTS", 1_500);
    let files = (1..=count).map(|id| (format!("works/part_{id}.jsonl"), work(id)));
    write_files(&workspace.input(), files);
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64; exec \"$@\"", "sh"])
        .args([program("pinakes-compiler"), "build".into(), workspace.input()])
        .args(["--quiet".as_ref(), "--out".as_ref(), workspace.out().as_os_str()])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(
        outputs(&fs::canonicalize(workspace.out().join("current")).unwrap()).len() as u64,
        count
    );
}

#[test]
fn little_address_space_ends_the_run_with_0_or_1_and_never_publishes_a_partial_snapshot() {
    let tight = |mebibytes: u64, out: &std::path::Path| {
        Command::new("sh")
            .args(["-c", "ulimit -v $0; exec \"$@\"", &(mebibytes << 10).to_string()])
            .args([program("pinakes-compiler"), "build".into(), sample(), "--quiet".into()])
            .args(["--memory", "256M", "--threads", "1", "--out"])
            .arg(out)
            // The standard library waits for ever where memory for a backtrace is short.
            .env("RUST_BACKTRACE", "0")
            .output()
            .unwrap()
    };
    for mebibytes in [56, 64, 72, 256, 1_024] {
        let what = format!("{mebibytes} MiB");
        let workspace = Workspace::with_tiny_snapshot();
        write_files(&workspace.input(), TINY_DUMP);
        let (snapshot, files) = state(&workspace.out());
        let output = tight(mebibytes, &workspace.out());
        let errors = String::from_utf8_lossy(&output.stderr);
        let current = fs::read_link(workspace.out().join("current")).unwrap();
        if output.status.code() == Some(0) {
            assert!(current != snapshot, "{what}: {errors}");
            assert!(!outputs(&workspace.out().join(&current)).is_empty(), "{what}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{what}: {errors}");
        assert!(mebibytes < 128, "{what} of address space should be enough: {errors}");
        assert!(!errors.is_empty(), "{what}: no error message");
        // The run may fail to clean up; the next run removes the leftovers.
        assert_eq!(current, snapshot, "{what}");
        let run = build(&[&workspace.input()], &workspace.out(), &[]);
        assert_eq!(run.code, 0, "{what}: {}", run.stderr);
        assert!(state(&workspace.out()) == (snapshot, files), "{what}: something was published");
        assert_no_leftovers(&workspace.out(), &what);
    }
}

#[test]
fn a_build_whose_errors_nobody_reads_publishes() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut build = Command::new(program("pinakes-compiler"));
    build.arg("build").arg(workspace.input()).arg("--out").arg(workspace.out()).stderr(writer);
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    assert!(workspace.out().join("current").exists());
}

#[test]
fn progress_as_json_tells_the_begin_and_the_end_of_each_stage() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let run = build_loud(&workspace, &["--progress", "json"]);
    let lines = run.lines().filter(|line| line.starts_with('{'));
    let mut stages: Vec<(String, u64, u64)> = Vec::new();
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["unit"].is_string(), "{line}");
        let (done, total) = (line["done"].as_u64().unwrap(), line["total"].as_u64().unwrap());
        assert!(done <= total, "{line}");
        let stage = line["stage"].as_str().unwrap().to_owned();
        match stages.last_mut().filter(|(last, ..)| *last == stage) {
            Some(last) => *last = (stage, done.max(last.1), total),
            None => {
                assert_eq!(done, 0, "{line}");
                stages.push((stage, done, total));
            }
        }
    }
    assert!(stages.iter().all(|(_, done, total)| done == total), "{stages:?}");
    let names: Vec<&str> = stages.iter().map(|(stage, ..)| stage.as_str()).collect();
    for stage in ["compile", "merge", "write", "index"] {
        assert!(names.contains(&stage), "{names:?}");
    }
    // A run that is quiet, or whose progress people read, writes no JSON.
    for options in [&["--progress", "json", "--quiet"][..], &[]] {
        assert!(!build_loud(&workspace, options).lines().any(|line| line.starts_with('{')));
    }
}

/// Builds, and returns what the run wrote to standard error.
fn build_loud(workspace: &Workspace, options: &[&str]) -> String {
    let mut command = Command::new(program("pinakes-compiler"));
    command.arg("build").arg(workspace.input()).arg("--out").arg(workspace.out()).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stderr).unwrap()
}
