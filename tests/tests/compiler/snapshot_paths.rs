//! The paths of snapshots that commands read and write, and the paths that they refuse.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use pinakes_tests::compiler_run::*;
use pinakes_tests::{compiler, make_writable, program, write_files};
use serde_json::Value;

/// Runs `verify`, `inspect` and `export` on a path.
fn read_snapshot(path: &Path) -> [(&'static str, Output); 3] {
    let exported = tempfile::tempdir().unwrap();
    let export = ["--out".as_ref(), exported.path().as_os_str(), "--quiet".as_ref()];
    [("verify", &[][..]), ("inspect", &[]), ("export", &export)].map(|(command, more)| {
        let args = [&[command.as_ref(), path.as_os_str()], more].concat();
        (command, compiler(&args))
    })
}

#[test]
fn commands_that_read_a_snapshot_take_a_directory_of_snapshots_for_its_current_one() {
    let workspace = Workspace::with_tiny_snapshot();
    let id = fs::read_link(workspace.out().join("current")).unwrap();
    let id = id.to_str().unwrap();
    let link = workspace.0.path().join("link");
    std::os::unix::fs::symlink("out", &link).unwrap();
    for path in [workspace.out(), link, workspace.out().join("current"), workspace.out().join(id)] {
        for (command, output) in read_snapshot(&path) {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{command} {}: {errors}", path.display());
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(command == "export" || printed.contains(id), "{command}: {printed}");
        }
    }
}

#[test]
fn inspect_shows_what_every_byte_of_the_records_is_spent_on() {
    let workspace = Workspace::with_tiny_snapshot();
    let inspect = |more: &[&str]| {
        let more = [&["--layout"], more].concat();
        let more = more.iter().map(|argument| OsStr::new(*argument));
        let path = workspace.out();
        let arguments = ["inspect".as_ref(), path.as_os_str()].into_iter().chain(more);
        String::from_utf8(compiler(&arguments.collect::<Vec<_>>()).stdout).unwrap()
    };
    let table: Value = serde_json::from_str(&inspect(&["--json"])).unwrap();
    let whole: Value = {
        let path = workspace.out();
        let output = compiler(&["inspect".as_ref(), path.as_os_str(), "--json".as_ref()]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    for (entity, sizes) in table.as_object().unwrap() {
        let members = sizes["members"].as_array().unwrap().iter();
        let own = members.filter(|member| !member["member"].as_str().unwrap().contains('.'));
        let bytes = |member: &Value, name: &str| member[name].as_u64().unwrap();
        let sum: u64 =
            own.map(|member| bytes(member, "members_bytes") + bytes(member, "texts_bytes")).sum();
        let records = sizes["records"].as_u64().unwrap();
        // The file also has its header, an offset for each record, and the end.
        let file = whole["entities"][entity]["files_bytes"]["records"].as_u64().unwrap();
        assert_eq!(sum, file - 64 - 8 * (records + 1), "{entity}");
        assert_eq!(sum, sizes["stored_bytes"].as_u64().unwrap(), "{entity}");
    }
    let outputs = table["outputs"]["members"].as_array().unwrap();
    assert!(outputs.iter().any(|member| member["member"] == "authors.author_position"));
    let text = inspect(&[]);
    assert!(text.contains("outputs: 2 records, "), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("author_position ")), "{text}");
}

#[test]
fn a_path_without_a_snapshot_ends_the_commands_that_read_one_with_3() {
    let workspace = Workspace::with_tiny_snapshot();
    let files = [
        ("file", "text"),
        ("dump/works/part_0.jsonl", "{}"),
        ("dump/manifest.json", r#"{"entries":[]}"#),
    ];
    write_files(workspace.0.path(), files);
    fs::create_dir(workspace.0.path().join("empty")).unwrap();
    fs::create_dir(workspace.0.path().join("unbuilt")).unwrap();
    std::os::unix::fs::symlink("0123456789abcdef", workspace.0.path().join("unbuilt/current"))
        .unwrap();
    let objects = workspace.out().join("objects");
    let names = ["absent", "file", "empty", "dump", "unbuilt"].map(PathBuf::from);
    for path in names.map(|name| workspace.0.path().join(name)).into_iter().chain([objects]) {
        for (command, output) in read_snapshot(&path) {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{command} {}: {errors}", path.display());
            assert!(errors.contains(path.to_str().unwrap()), "{command}: {errors}");
        }
    }
}

#[test]
fn a_snapshot_that_lost_a_file_or_its_manifest_is_damaged() {
    for lost in ["manifest.json", "hashes", "report.json", "outputs/ids"] {
        let workspace = Workspace::with_tiny_snapshot();
        let snapshot = fs::canonicalize(workspace.out().join("current")).unwrap();
        make_writable(&snapshot);
        fs::remove_file(snapshot.join(lost)).unwrap();
        for (command, output) in read_snapshot(&workspace.out()) {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(8), "{command} without {lost}: {errors}");
            assert!(errors.contains(lost), "{command} without {lost}: {errors}");
        }
    }
}

#[test]
fn an_output_that_is_standard_output_ends_the_run_with_2() {
    let workspace = Workspace::with_tiny_snapshot();
    let tiny = workspace.0.path().join("tiny");
    let objects = workspace.out().join("objects");
    let (tiny, objects, out) = (tiny.as_os_str(), objects.as_os_str(), workspace.out());
    let commands: [&[&OsStr]; 5] = [
        &["build".as_ref(), tiny, "--out".as_ref()],
        &["link".as_ref(), "--objects".as_ref(), objects, "--out".as_ref()],
        &["export".as_ref(), out.as_ref(), "--out".as_ref()],
        &["publish".as_ref(), out.as_ref(), "--to".as_ref()],
        &["pull".as_ref(), "http://127.0.0.1:9".as_ref(), "--out".as_ref()],
    ];
    for command in commands {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/dev/null"] {
            let run = Command::new(program("pinakes-compiler"))
                .args(command)
                .arg(name)
                .current_dir(&workspace.0)
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(2), "{command:?} {name}: {errors}");
            assert!(errors.contains("give a directory"), "{command:?} {name}: {errors}");
        }
    }
    assert!(!workspace.0.path().join("-").exists());
    // Another path to a directory of that name means the directory.
    let run = build(&[tiny.as_ref()], &workspace.0.path().join("-"), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_run_that_linked_nothing_prints_no_table() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.jsonl", format!("{}{{\n", work(1)))]);
    let objects = workspace.out();
    let compile = |more: &[&str]| {
        let (input, objects) = (workspace.input(), objects.to_str().unwrap());
        run(&[&["compile", input.to_str().unwrap(), "--objects", objects], more].concat())
    };
    let failed = [compile(&[]), build(&[&workspace.input()], &workspace.out(), &[])];
    for run in &failed {
        assert_eq!(run.code, 4, "{}", run.stderr);
        assert!(run.stderr.contains("not_json"), "{}", run.stderr);
    }
    let compiled = compile(&["--max-bad", "50%"]);
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    for run in failed.iter().chain([&compiled]) {
        assert!(!run.stderr.contains("published  "), "{}", run.stderr);
    }
    let built = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "50%"]);
    assert!(built.stderr.contains("published  "), "{}", built.stderr);
}
