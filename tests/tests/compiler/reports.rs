//! What a run says of itself to programs: its report, while it runs and at its end, and the text for
//! Prometheus.

use std::{fs, os::unix::fs::symlink, process::Command};

use pinakes_tests::{TINY_DUMP, program, write_files};
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

/// What a report says of how its run went, but for what differs from run to run.
fn course(report: &Value) -> Value {
    let of = |name: &str| (name.to_owned(), report[name].clone());
    let names = ["state", "command", "exit_code", "error", "parts", "parts_parsed", "snapshot_id"];
    names.map(of).into_iter().collect()
}

#[test]
fn a_report_says_how_a_run_went_whether_it_published_or_not() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    let id = published_path(&run).file_name().unwrap().to_str().unwrap().to_owned();
    let parts = TINY_DUMP.len();
    let expected = json!({
        "state": "done", "command": "build", "exit_code": 0, "error": null,
        "parts": parts, "parts_parsed": parts, "snapshot_id": id,
    });
    assert_eq!(course(&run.report), expected);
    assert_eq!(run.report["newest_updated_date"], json!("2026-01-10T08:15:30.123456"));
    let stages: Vec<&str> = run.report["stages"].as_array().unwrap().iter().map(stage).collect();
    assert_eq!(stages, ["compile", "merge", "resolve", "write", "index"]);
    assert!(run.report["peak_memory_bytes"].as_u64() > Some(1 << 20), "{}", run.report);
    assert!(run.report["started"].as_str() <= run.report["ended"].as_str(), "{}", run.report);

    // The part that changed is named, to people and to programs.
    let funders = workspace.input().join("funders.jsonl");
    fs::write(&funders, TINY_DUMP[5].1.replace("Fund", "Pound")).unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &["--keep", "1"]);
    let id = published_path(&run);
    assert_eq!(run.report["parsed"], json!([funders]));
    let bytes = fs::metadata(&funders).unwrap().len();
    let named = format!("parsed 1 of {parts} parts, {bytes} bytes: {}\n", funders.display());
    assert!(run.stderr.contains(&named), "{}", run.stderr);
    let end: Vec<&str> = run.stderr.lines().rev().take(2).collect();
    assert!(end[0].starts_with("   removed snapshots: "), "{}", run.stderr);
    assert!(end[1].starts_with(&format!(" published {}: ", id.display())), "{}", run.stderr);

    // One that fails says so where the one before said that it did not.
    fs::write(&funders, "no JSON\n").unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let error = run.stderr.lines().find_map(|line| line.strip_prefix("error: ")).unwrap();
    let expected = json!({
        "state": "failed", "command": "build", "exit_code": 4, "error": error,
        "parts": parts, "parts_parsed": 1, "snapshot_id": null,
    });
    assert_eq!(course(&run.report), expected);
    let run = build(&[&workspace.0.path().join("nowhere")], &workspace.out(), &[]);
    assert_eq!(run.report["exit_code"], json!(3), "{}", run.report);
}

fn stage(cost: &Value) -> &str {
    cost["stage"].as_str().unwrap()
}

#[test]
fn a_report_is_replaced_in_one_step_and_not_by_a_run_that_another_holds_up() {
    let workspace = Workspace::with_tiny_snapshot();
    let (tiny, out) = (workspace.0.path().join("tiny"), workspace.out());
    let (report, link) = (workspace.0.path().join("report.json"), workspace.0.path().join("link"));
    fs::write(&report, "of before").unwrap();
    symlink(&report, &link).unwrap();
    let textfile = workspace.0.path().join("pinakes.prom");
    let run_to = |to: &std::path::Path| {
        Command::new(program("pinakes-compiler"))
            .args(["build".as_ref(), tiny.as_os_str(), "--quiet".as_ref(), "--out".as_ref()])
            .args([out.as_os_str(), "--report".as_ref(), to.as_os_str()])
            .args(["--textfile".as_ref(), textfile.as_os_str()])
            .output()
            .unwrap()
    };
    assert!(run_to(&link).status.success());
    assert!(link.is_symlink());
    let before = fs::read(&report).unwrap();
    let read: Value = serde_json::from_slice(&before).unwrap();
    assert_eq!(read["state"], json!("done"));
    let text = fs::read_to_string(&textfile).unwrap();
    let id = format!("pinakes_build_parts {}\n", TINY_DUMP.len());
    for line in
        ["pinakes_build_exit_code 0\n", &id, "pinakes_build_records{entity=\"outputs\"} 2\n"]
    {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let lock = fs::File::options().write(true).open(out.join(".lock")).unwrap();
    lock.try_lock().unwrap();
    assert_eq!(run_to(&link).status.code(), Some(7));
    drop(lock);
    assert!(fs::read(&report).unwrap() == before && fs::read_to_string(&textfile).unwrap() == text);
    // A report that cannot be written stops a run before its work, and none that has published.
    let refused = run_to(&workspace.0.path().join("nowhere/report.json"));
    assert_eq!(refused.status.code(), Some(6));
    let full = run_to("/dev/full".as_ref());
    assert_eq!(full.status.code(), Some(6));
    let left: Vec<_> =
        fs::read_dir(workspace.0.path()).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}
