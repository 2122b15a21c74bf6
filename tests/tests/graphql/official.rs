//! An independent client, gql for Python, which reads the schema and validates queries against it.
//!
//! `.ci/run` installs it into `target/gql`.

use std::{path::PathBuf, process::Command};

use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::skip;

/// Finds a Python with gql: in `target/gql`, or the system's.
fn python() -> Option<PathBuf> {
    let own = pinakes_tests::root().join("target/gql/bin/python3");
    [own, PathBuf::from("python3")].into_iter().find(|python| {
        let mut command = Command::new(python);
        let found = command.args(["-c", "import gql, requests"]).output();
        found.is_ok_and(|output| output.status.success())
    })
}

#[test]
fn an_independent_client_reads_the_schema_and_validates_its_queries() {
    let Some(python) = python() else {
        skip(
            "an_independent_client_reads_the_schema_and_validates_its_queries",
            "no python3 has gql; .ci/run installs it into target/gql",
        );
        return;
    };
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let script = pinakes_tests::root().join("tests/tests/graphql/official.py");
    let output =
        Command::new(python).arg(script).arg(server.address().to_string()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n", "{errors}");
    server.end(&[]);
}
