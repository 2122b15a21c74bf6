//! Programs that others wrote, over both transports: the Python SDK, and the inspector.
//!
//! `.ci/run` installs the SDK into `target/mcp`, and the inspector into `target/inspector`. A test without its program is
//! skipped.

use std::{path::PathBuf, process::Command};

use pinakes_tests::server::{Server, Snapshots, command};
use pinakes_tests::skip;
use serde_json::Value;

fn installed(path: &str, test: &str) -> Option<PathBuf> {
    let found = pinakes_tests::root().join("target").join(path);
    if !found.exists() {
        skip(test, format!("no target/{path}; .ci/run installs it"));
        return None;
    }
    Some(found)
}

/// Runs a command and returns what it prints.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{printed}{errors}");
    printed.into_owned()
}

#[test]
fn the_python_sdk_calls_the_tools_over_both_transports() {
    let Some(python) = installed("mcp/bin/python", "the_python_sdk_…") else { return };
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let at = snapshots.path().to_str().unwrap();
    let limited = command(&["--snapshots", at, "--daily-list", "5"]);
    let limited = Server::start({ limited }.env_remove("PINAKES_NO_LIMITS"));
    let address = |server: &Server| format!("http://{}/mcp", server.address());
    let printed = run(Command::new(python)
        .arg(pinakes_tests::root().join("tests/tests/mcp/sdk.py"))
        .args([address(&server), address(&limited)])
        .arg(pinakes_tests::program("pinakes-server"))
        .arg(at));
    assert_eq!(printed.lines().last(), Some("limits"), "{printed}");
    server.end(&[]);
    limited.end(&[]);
}

#[test]
fn the_inspector_lists_and_calls_the_tools_over_both_transports() {
    let path = "inspector/node_modules/.bin/mcp-inspector";
    let Some(inspector) = installed(path, "the_inspector_…") else { return };
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let address = format!("http://{}/mcp", server.address());
    let program = pinakes_tests::program("pinakes-server");
    let (program, at) = (program.to_str().unwrap(), snapshots.path().to_str().unwrap());
    let over_http = [address.as_str(), "--transport", "http"];
    for target in [&over_http[..], &[program, "mcp", "--snapshots", at]] {
        let ask = |args: &[&str]| -> Value {
            let printed = run(Command::new(&inspector).arg("--cli").args(target).args(args));
            serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
        };
        let listed = ask(&["--method", "tools/list"]);
        assert_eq!(listed["tools"].as_array().unwrap().len(), 8, "{listed}");
        let call = ["--method", "tools/call", "--tool-name", "search", "--tool-arg"];
        let found = ask(&[&call[..], &["query=structure"]].concat());
        assert!(found["structuredContent"]["result"]["meta"]["count"].as_u64() > Some(0));
        let refused = ask(&[&call[..], &["filter=yaer:2020"]].concat());
        assert_eq!(refused["isError"], true, "{refused}");
    }
    server.end(&[]);
}
