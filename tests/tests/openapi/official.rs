//! Runs external tools: openapi-spec-validator checks the document against the meta-schema of OpenAPI 3.1,
//! and Schemathesis checks the server against the document.
//!
//! `.ci/run` installs both into `target/openapi`. A longer run of Schemathesis is in `make soak`.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::skip;

/// Time limit of Schemathesis in seconds, besides its fixed requests to every operation.
const SECONDS: &str = "12";
/// Maximum number of requests for each operation and kind of data.
const EXAMPLES: &str = "5";

/// The tool in `target/openapi` or on the path; prints a skip message and returns `None` if it is missing.
fn tool(name: &str, test: &str) -> Option<PathBuf> {
    let own = pinakes_tests::root().join("target/openapi/bin").join(name);
    let found = [own, PathBuf::from(name)].into_iter().find(|tool| {
        let asked = Command::new(tool).arg("--version").output();
        asked.is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        skip(test, format!("no {name}; .ci/run installs it into target/openapi"));
    }
    found
}

#[track_caller]
fn check(output: &Output) {
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}{errors}");
}

#[test]
fn the_document_is_valid_by_the_openapi_meta_schema() {
    let test = "the_document_is_valid_by_the_openapi_meta_schema";
    let Some(validator) = tool("openapi-spec-validator", test) else { return };
    let document = pinakes_tests::root().join("tests/tests/openapi/openapi.json");
    let check_file = |path: &std::path::Path| {
        Command::new(&validator).args(["--schema", "3.1"]).arg(path).output().unwrap()
    };
    check(&check_file(&document));
    // The tool detects a broken document.
    let text = std::fs::read_to_string(&document).unwrap();
    let broken = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    std::fs::write(broken.path(), text.replace("\"type\": \"array\"", "\"type\": \"list\""))
        .unwrap();
    assert!(!check_file(broken.path()).status.success());
}

#[test]
fn schemathesis_finds_nothing() {
    let Some(schemathesis) = tool("schemathesis", "schemathesis_finds_nothing") else { return };
    let given =
        |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(schemathesis)
        .current_dir(directory.path())
        // A module with the rules that the document cannot state.
        .env("SCHEMATHESIS_HOOKS", "together")
        .env("PYTHONPATH", pinakes_tests::root().join("tests/tests/openapi"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(["run", &format!("http://{}/openapi.json", server.address())])
        // One worker: the parser of Python 3.11 sometimes fails if several threads use it.
        .args(["--checks", "all", "--no-color", "--continue-on-failure", "--workers", "1"])
        .args(["--seed", &given("PINAKES_SCHEMATHESIS_SEED", "1")])
        .args(["--max-time", &given("PINAKES_SCHEMATHESIS_SECONDS", SECONDS)])
        .args(["--max-examples", &given("PINAKES_SCHEMATHESIS_EXAMPLES", EXAMPLES)])
        .args(["--generation-database", "none"])
        .output()
        .unwrap();
    check(&output);
    server.end(&[]);
}
