//! Tests of runs of `publish`, `pull` and `keygen`: reports, signals, umasks, keys and log lines.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use chrono::{TimeDelta, Utc};
use pinakes_format::storage::publication::moment;
use pinakes_tests::program;
use pinakes_tests::static_host::{Behaviour, Host};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mirror::setup::{Edition, Setup, run};

/// The members of a report that are equal in every run.
fn stable_members(report: &Value) -> Value {
    let names = [
        "state",
        "command",
        "exit_code",
        "error",
        "snapshot",
        "snapshot_id",
        "version",
        "was_here",
        "is_stale",
        "held_back",
        "kept_bytes",
        "copied_bytes",
    ];
    names.map(|name| (name.to_owned(), report[name].clone())).into_iter().collect()
}

#[test]
fn reports_describe_published_pulled_and_rejected_runs() {
    let setup = Setup::new();
    let at = |name: &str| setup.path().join(name).into_os_string().into_string().unwrap();
    let (report, textfile) = (at("report.json"), at("pinakes.prom"));
    let files = ["--report", &report, "--textfile", &textfile];
    let read = || -> (Value, String) {
        let text = fs::read_to_string(&textfile).unwrap();
        (serde_json::from_slice(&fs::read(&report).unwrap()).unwrap(), text)
    };
    let id = Edition::Tiny.id();
    let begun = Utc::now();
    setup.publish(Edition::Tiny, &files);
    let (published, text) = read();
    let tree = setup.tree().join("publication.json");
    let version = setup.publication().version;
    let at = moment(&version).unwrap();
    assert!(begun - TimeDelta::milliseconds(1) < at && at <= Utc::now(), "{version}");
    let expected = |command: &str, snapshot: &str, was_here: bool| {
        json!({
            "state": "done", "command": command, "exit_code": 0, "error": null, "snapshot": snapshot,
            "snapshot_id": id, "version": version, "was_here": was_here, "is_stale": false,
            "held_back": null, "kept_bytes": 0, "copied_bytes": 0,
        })
    };
    assert_eq!(stable_members(&published), expected("publish", tree.to_str().unwrap(), false));
    for line in [
        "pinakes_publish_exit_code 0\n",
        &format!("pinakes_publish_version_timestamp_seconds {}\n", at.timestamp()),
    ] {
        assert!(text.contains(line), "{text}");
    }
    let host = setup.host();
    let out = setup.out().join(&id);
    for was_here in [false, true] {
        host.take_sent_bytes();
        let pulled = setup.pull(&host.url(), &files);
        setup.assert_current(Edition::Tiny, &pulled);
        let (report, text) = read();
        assert_eq!(stable_members(&report), expected("pull", out.to_str().unwrap(), was_here));
        assert_eq!(report["fetched_bytes"], json!(host.sent_bytes()));
        assert_eq!(report["requests"], json!(host.asked().len()));
        assert_eq!(report["signer"].as_str().map(str::len), Some(16));
        for line in [
            "pinakes_pull_exit_code 0\n".to_owned(),
            "pinakes_pull_held_back 0\n".to_owned(),
            format!("pinakes_pull_fetched_bytes {}\n", host.sent_bytes()),
        ] {
            assert!(text.contains(&line), "{text}");
        }
        let last = pulled.stderr.lines().last().unwrap();
        let what = if was_here { " unchanged" } else { " published" };
        let begins = format!("{what} {}: version {version}, expires ", out.display());
        assert!(last.starts_with(&begins), "{}", pulled.stderr);
    }
    fs::write(setup.tree().join("publication.json"), "{").unwrap();
    let refused = setup.pull(&host.url(), &[&files[..], &["--timeout", "1", "--quiet"]].concat());
    let (report, text) = read();
    let error = refused.stderr.strip_prefix("error: ").unwrap().trim_end();
    assert_eq!((&report["state"], &report["error"]), (&json!("failed"), &json!(error)));
    assert_eq!((&report["exit_code"], &report["snapshot"]), (&json!(9), &Value::Null));
    assert!(text.contains("pinakes_pull_exit_code 9\n"), "{text}");
}

#[test]
fn pull_logs_the_snapshots_that_keep_removes_or_leaves() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &[]));
    let open =
        pinakes_format::snapshot::Snapshot::open(&setup.out().join(Edition::Tiny.id())).unwrap();
    setup.publish(Edition::Old, &[]);
    let last =
        |pulled: &crate::mirror::setup::Run| pulled.stderr.lines().last().unwrap().to_owned();
    let pulled = setup.pull(&host.url(), &["--keep", "1"]);
    let left = format!("      kept snapshots beyond --keep, still in use: {}", Edition::Tiny.id());
    assert_eq!((pulled.code, last(&pulled)), (Some(0), left));
    drop(open);
    let pulled = setup.pull(&host.url(), &["--keep", "1"]);
    let removed = format!("   removed snapshots: {}; objects: 0", Edition::Tiny.id());
    assert_eq!((pulled.code, last(&pulled)), (Some(0), removed));
}

#[test]
fn a_signal_ends_a_pull_and_fetched_chunks_are_kept() {
    let setup = Setup::with(Edition::Old);
    let records = format!("snapshots/{}/outputs/records", Edition::Old.id());
    let pubkey = setup.pubkey("ours").into_os_string().into_string().unwrap();
    let report = setup.path().join("report.json");
    let more = ["--quiet", "--pubkey", &pubkey, "--report", report.to_str().unwrap()];
    for (signal, code) in [(Signal::HUP, 129), (Signal::INT, 130), (Signal::TERM, 143)] {
        let path = records.clone();
        let host = Host::with_rule(setup.tree(), move |asked| {
            if asked.path == path { Behaviour::Stalls(100_000) } else { Behaviour::Serves }
        });
        let mut command = setup.pull_command(&host.url(), &more);
        let pulling = command.stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !host.asked().iter().any(|asked| asked.path == records) {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is fetched");
            std::thread::sleep(Duration::from_millis(10));
        }
        kill_process(Pid::from_child(&pulling), signal).unwrap();
        let ended = pulling.wait_with_output().unwrap();
        let says =
            "interrupted; nothing was published; fetched files are kept, run again to continue\n";
        assert_eq!(
            (ended.status.code(), &*String::from_utf8_lossy(&ended.stderr)),
            (Some(code), says)
        );
        let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert_eq!((&report["exit_code"], &report["error"]), (&json!(code), &json!("interrupted")));
        let left: Vec<String> = fs::read_dir(setup.out())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(".tmp-") || name == "current")
            .collect();
        assert_eq!(left, [""; 0]);
    }
    let pulled = setup.pull(&setup.host().url(), &[]);
    setup.assert_current(Edition::Old, &pulled);
    assert!(!pulled.stderr.contains(" 0 bytes fetched before"), "{}", pulled.stderr);
}

#[test]
fn an_ignored_hangup_does_not_end_a_pull() {
    let setup = Setup::with(Edition::Tiny);
    let silent = Host::with_rule(setup.tree(), |asked| match asked.before {
        0 if asked.path == "publication.json" => Behaviour::Stalls(0),
        _ => Behaviour::Serves,
    });
    let (url, out) = (silent.url(), setup.out());
    let pulling = Command::new("sh")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(program("pinakes-compiler"))
        .args(["pull", &url, "--quiet", "--timeout", "1", "--out"])
        .args([out.as_os_str(), "--pubkey".as_ref(), setup.pubkey("ours").as_os_str()])
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while silent.asked().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is asked for");
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&pulling), Signal::HUP).unwrap();
    assert_eq!(pulling.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn published_files_are_readable_by_all_with_any_umask() {
    let setup = Setup::new();
    let (snapshot, tree, objects) =
        (Edition::Tiny.snapshot(), setup.tree(), Edition::Tiny.objects());
    for umask in ["077", "000"] {
        let published = Command::new("sh")
            .args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"])
            .arg(program("pinakes-compiler"))
            .args(["publish".as_ref(), snapshot.as_os_str(), "--to".as_ref(), tree.as_os_str()])
            .args(["--objects".as_ref(), objects.as_os_str(), "--quiet".as_ref()])
            .status()
            .unwrap();
        assert!(published.success());
        let mut directories = vec![tree.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
                let metadata = entry.metadata().unwrap();
                let path = entry.path();
                let mode = metadata.permissions().mode() & 0o777;
                match metadata.is_dir() {
                    true => {
                        assert_eq!(mode, 0o755, "{}", path.display());
                        directories.push(path);
                    }
                    // Only the owner may read the lock file.
                    false if entry.file_name() == ".lock" => assert_eq!(mode, 0o600),
                    false => {
                        assert!([0o444, 0o644].contains(&mode), "{}: {mode:o}", path.display());
                    }
                }
            }
        }
        pinakes_tests::server::make_writable(&tree);
        fs::remove_dir_all(&tree).unwrap();
    }
}

#[test]
fn keygen_writes_both_keys_or_none() {
    let setup = Setup::new();
    let at = |name: &str| setup.path().join(name).into_os_string().into_string().unwrap();
    fs::write(at("there"), "another's").unwrap();
    let there = "the file exists, and overwriting it would destroy a key; give another path, or move the file";
    let missing = "No such file or directory (os error 2)";
    for (key, pubkey, refused, reason) in [
        ("new", "there", "there", there),
        ("there", "new", "there", there),
        ("new", "new", "new", "File exists (os error 17)"),
        ("new", "nowhere/new", "nowhere/new", missing),
    ] {
        let made = run(&["keygen", "--key", &at(key), "--pubkey", &at(pubkey)]);
        let error = format!("error: cannot write `{}`: {reason}\n", at(refused));
        assert_eq!((made.code, made.stderr), (Some(6), error));
        assert!(!setup.path().join("new").exists(), "{key} {pubkey}: keygen wrote one key");
        assert_eq!(fs::read_to_string(at("there")).unwrap(), "another's");
    }
    let made = run(&["keygen", "--key", &at("new"), "--pubkey", &at("new.pub")]);
    let public = fs::read_to_string(at("new.pub")).unwrap();
    assert_eq!(Some(made.stdout.trim_end()), public.lines().nth(1));
}
