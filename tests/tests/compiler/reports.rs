//! Reports of a run for programs: the JSON report, during the run and at its end, and the
//! Prometheus textfile.

use std::{fs, os::unix::fs::symlink, process::Command};

use pinakes_tests::{TINY_DUMP, program, write_files};
use serde_json::{Value, json};

use pinakes_tests::compiler_run::*;

/// Selects members of a report that do not depend on time or memory.
fn outcome(report: &Value) -> Value {
    let of = |name: &str| (name.to_owned(), report[name].clone());
    let names = ["state", "command", "exit_code", "error", "parts", "parts_parsed", "snapshot_id"];
    names.map(of).into_iter().collect()
}

#[test]
fn a_report_describes_a_published_and_a_failed_run() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), TINY_DUMP);
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    let id = published_path(&run).file_name().unwrap().to_str().unwrap().to_owned();
    let parts = TINY_DUMP.len();
    let expected = json!({
        "state": "done", "command": "build", "exit_code": 0, "error": null,
        "parts": parts, "parts_parsed": parts, "snapshot_id": id,
    });
    assert_eq!(outcome(&run.report), expected);
    assert_eq!(run.report["newest_updated_date"], json!("2026-01-10T08:15:30.123456"));
    let stages: Vec<&str> = run.report["stages"].as_array().unwrap().iter().map(stage).collect();
    assert_eq!(stages, ["compile", "merge", "resolve", "write", "index", "sync", "check"]);
    check_tasks(&run.report);
    assert!(run.report["peak_memory_bytes"].as_u64() > Some(1 << 20), "{}", run.report);
    assert!(run.report["started"].as_str() <= run.report["ended"].as_str(), "{}", run.report);

    // Standard error and the report name the part that changed.
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

    // The report of a failed run has the same members.
    fs::write(&funders, "no JSON\n").unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &["--strict"]);
    let error = run.stderr.lines().find_map(|line| line.strip_prefix("error: ")).unwrap();
    let expected = json!({
        "state": "failed", "command": "build", "exit_code": 4, "error": error,
        "parts": parts, "parts_parsed": 1, "snapshot_id": null,
    });
    assert_eq!(outcome(&run.report), expected);
    let run = build(&[&workspace.0.path().join("nowhere")], &workspace.out(), &[]);
    assert_eq!(run.report["exit_code"], json!(3), "{}", run.report);
}

/// Checks that each stage and both sums have work and span, and times of simulated schedules between span and work.
fn check_tasks(report: &Value) {
    let seconds = |tasks: &Value, name: &str| tasks[name].as_f64().unwrap();
    let stages = report["stages"].as_array().unwrap();
    let sums = report["tasks"].as_object().unwrap();
    assert_eq!(sums.keys().collect::<Vec<_>>(), ["compile", "link"]);
    for tasks in stages.iter().map(|stage| &stage["tasks"]).chain(sums.values()) {
        let (work, span) = (seconds(tasks, "work_seconds"), seconds(tasks, "span_seconds"));
        assert!(0.0 < span && span <= work, "{tasks}");
        let simulated = &tasks["simulated_seconds"];
        let mut slower = work;
        for cores in ["2", "8", "32", "64"] {
            let faster = seconds(simulated, cores);
            // A greedy schedule takes at most as long as both bounds together.
            let bound = work / cores.parse::<f64>().unwrap() + span;
            assert!(span <= faster * 1.000_001 && faster <= bound * 1.000_001, "{tasks}");
            assert!(faster <= slower * 1.5, "{tasks}");
            slower = faster;
        }
        let steps = tasks["steps"].as_object().unwrap();
        let of_steps: f64 = steps.values().map(|step| seconds(step, "work_seconds")).sum();
        assert!((of_steps - work).abs() < 1e-3, "{tasks}");
    }
    let of_stages = |phase: fn(&str) -> bool| -> f64 {
        let stages = stages.iter().filter(|cost| phase(stage(cost)));
        stages.map(|stage| seconds(&stage["tasks"], "work_seconds")).sum()
    };
    let compile = of_stages(|stage| stage == "compile");
    let link = of_stages(|stage| stage != "compile");
    assert!((seconds(&sums["compile"], "work_seconds") - compile).abs() < 1e-6, "{report}");
    assert!((seconds(&sums["link"], "work_seconds") - link).abs() < 1e-6, "{report}");
}

fn stage(cost: &Value) -> &str {
    cost["stage"].as_str().unwrap()
}

#[test]
fn a_report_is_replaced_atomically_and_not_by_a_run_that_waits_for_the_lock() {
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
    // A report in a missing directory, and a report on a full device.
    let refused = run_to(&workspace.0.path().join("nowhere/report.json"));
    assert_eq!(refused.status.code(), Some(6));
    let full = run_to("/dev/full".as_ref());
    assert_eq!(full.status.code(), Some(6));
    let left: Vec<_> =
        fs::read_dir(workspace.0.path()).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}
