//! Several runs that share one directory of objects, also in containers that number processes for themselves.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use pinakes_tests::compiler_run::*;
use pinakes_tests::skip;
use pinakes_tests::{program, write_files};
use rustix::process::{Pid, Signal, kill_process};

/// A dump with one part, which takes the compiler about a second.
fn write_long_part(workspace: &Workspace) {
    let text: String = (1..300_000).map(work).collect();
    write_files(&workspace.input(), [("works.jsonl", &text)]);
}

/// Starts to compile the long part, and returns the run when it has begun to write the object.
fn start_compile(workspace: &Workspace, objects: &Path) -> Child {
    let mut child = Command::new(program("pinakes-compiler"))
        .args(["compile".as_ref(), workspace.input().as_os_str(), "--quiet".as_ref()])
        .args(["--objects".as_ref(), objects.as_os_str()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while names_of_unfinished(objects).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it wrote an object");
        pinakes_tests::pause();
    }
    child
}

fn send(run: &Child, signal: Signal) {
    kill_process(Pid::from_child(run), signal).unwrap();
}

fn names_of_unfinished(objects: &Path) -> Vec<String> {
    let names = fs::read_dir(objects).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".tmp")).collect()
}

#[test]
fn a_run_in_another_container_keeps_what_a_live_run_writes() {
    let workspace = Workspace::new();
    write_long_part(&workspace);
    let other = workspace.0.path().join("other");
    write_files(&other, [("works.jsonl", work(1))]);
    let objects = workspace.0.path().join("objects");
    let first = start_compile(&workspace, &objects);
    send(&first, Signal::STOP);
    // The process ids of the first run's container mean nothing in this one.
    let second = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "--uts"])
        .args([program("pinakes-compiler").as_os_str(), "compile".as_ref(), other.as_os_str()])
        .args(["--quiet".as_ref(), "--objects".as_ref(), objects.as_os_str()])
        .output();
    send(&first, Signal::CONT);
    let first = first.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&first.stderr);
    assert_eq!(first.status.code(), Some(0), "{errors}");
    match second {
        Ok(second) if second.status.success() => {}
        _ => {
            return skip(
                "a_run_in_another_container_keeps_what_a_live_run_writes",
                format!("`unshare` fails: {second:?}"),
            );
        }
    }
    assert_eq!(fs::read_dir(&objects).unwrap().count(), 2);
}

#[test]
fn runs_that_compile_one_part_at_the_same_time_all_succeed() {
    let workspace = Workspace::new();
    write_long_part(&workspace);
    let objects = workspace.0.path().join("objects");
    let runs = [(); 3].map(|()| start_compile(&workspace, &objects));
    for run in runs {
        let run = run.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(0), "{errors}");
    }
    assert_eq!(fs::read_dir(&objects).unwrap().count(), 1);
}

#[test]
fn the_next_run_removes_the_object_that_a_killed_run_was_writing() {
    let workspace = Workspace::new();
    write_long_part(&workspace);
    let objects = workspace.0.path().join("objects");
    let mut killed = start_compile(&workspace, &objects);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = names_of_unfinished(&objects);
    assert_eq!(left.len(), 1);
    start_compile(&workspace, &objects).wait().unwrap();
    let names: Vec<_> = fs::read_dir(&objects).unwrap().flatten().collect();
    assert_eq!((names.len(), names_of_unfinished(&objects).len()), (1, 0), "{names:?}");
}
