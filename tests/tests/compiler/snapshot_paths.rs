//! The paths of snapshots that commands read, and the paths that they refuse.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use pinakes_tests::compiler_run::*;
use pinakes_tests::{compiler, make_writable, write_files};

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
