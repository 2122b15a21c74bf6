//! Reference managers' own libraries read the files back: bibtexparser, rispy, pandoc, biber, citation-js, extruct.
//!
//! `.ci/run` installs Python packages into `target/citations`, npm packages into `target/citations-node`, and pandoc
//! and biber. A test whose tool is missing is skipped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::{real_sample, running_test, skip};
use serde_json::Value;

use crate::references::{hostile_snapshots, records};

/// Runs a command and returns what it prints; `None` if the program is missing.
#[track_caller]
fn run(command: &mut Command) -> Option<String> {
    let output = match command.output() {
        Ok(output) => output,
        Err(_) => {
            let program = command.get_program();
            skip(&running_test(), format!("no {program:?}; .ci/run installs it"));
            return None;
        }
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{printed:.4000}{errors:.4000}");
    Some(printed)
}

fn root(path: &str) -> PathBuf {
    pinakes_tests::root().join(path)
}

/// A Python that has the packages.
fn python() -> Option<PathBuf> {
    let python = root("target/citations/bin/python3");
    let is_installed = Command::new(&python)
        .args(["-c", "import bibtexparser, rispy, extruct"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !is_installed {
        skip(
            &running_test(),
            "target/citations has no bibtexparser, rispy, extruct; .ci/run installs them",
        );
    }
    is_installed.then_some(python)
}

/// The files of a list in all formats, and its records as JSON lines.
fn download(snapshots: &Snapshots, folder: &Path) -> usize {
    let server = Server::serve(snapshots);
    let mut connection = server.connect();
    for format in ["ndjson", "bibtex", "ris", "csl-json"] {
        let reply = connection.get(&format!("/outputs?format={format}"));
        assert_eq!(reply.status, 200);
        fs::write(folder.join(format), &reply.body).unwrap();
    }
    let count = records(&mut connection, "/outputs").len();
    server.end(&[]);
    count
}

/// Compares a file, as a tool reads it, with the records.
#[track_caller]
fn compare(python: &Path, tool: &str, folder: &Path, file: &str) {
    let mut command = Command::new(python);
    command.arg(root("tests/tests/references/read_back.py")).arg(tool).arg(folder.join(file));
    let printed = run(command.arg(folder.join("ndjson")));
    assert!(printed.is_some_and(|printed| printed.ends_with(" 0 differences\n")));
}

fn check(snapshots: &Snapshots) {
    let Some(python) = python() else { return };
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let count = download(snapshots, folder);
    compare(&python, "bibtexparser", folder, "bibtex");
    compare(&python, "rispy", folder, "ris");
    compare(&python, "csl-json", folder, "csl-json");
    let pandoc = ["-f", "bibtex", "-t", "csljson", "-o"];
    let mut command = Command::new("pandoc");
    command.args(pandoc).arg(folder.join("pandoc")).arg(folder.join("bibtex"));
    if run(&mut command).is_some() {
        compare(&python, "bibtex-as-csl", folder, "pandoc");
    }
    let mut command = Command::new("biber");
    command.args(["--tool", "--nolog", "--output-file"]).arg(folder.join("biber.bib"));
    if run(command.arg(folder.join("bibtex"))).is_some() {
        let written = fs::read_to_string(folder.join("biber.bib")).unwrap();
        assert_eq!(written.lines().filter(|line| line.starts_with('@')).count(), count);
    }
}

#[test]
fn tools_read_the_references_of_the_sample() {
    check(&Snapshots::from_sample());
}

#[test]
fn tools_read_the_references_of_real_records() {
    if let Some(inputs) = real_sample("tools_read_the_references_of_real_records") {
        check(&Snapshots::from_inputs(&inputs));
    }
}

#[test]
fn tools_read_hostile_references() {
    check(&hostile_snapshots());
}

#[test]
fn citation_js_reads_the_references_of_the_sample() {
    let (Some(python), modules) = (python(), root("target/citations-node")) else { return };
    if !modules.join("node_modules/@citation-js/core").exists() {
        return skip(
            &running_test(),
            "target/citations-node has no citation-js; .ci/run installs it",
        );
    }
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    download(&Snapshots::from_sample(), folder);
    for (file, tool) in [("bibtex", "bibtex-as-csl"), ("csl-json", "csl-json")] {
        let mut command = Command::new("node");
        command.arg(root("tests/tests/references/read_back.mjs")).arg(&modules);
        let Some(printed) = run(command.arg(folder.join(file))) else { return };
        fs::write(folder.join("citation-js"), printed).unwrap();
        compare(&python, tool, folder, "citation-js");
    }
}

#[test]
fn a_processor_formats_the_references_of_the_sample() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let count = download(&Snapshots::from_sample(), folder);
    let text = "---\nnocite: '@*'\n---\n";
    fs::write(folder.join("text.md"), text).unwrap();
    for file in ["csl-json", "bibtex"] {
        let named = folder.join(if file == "bibtex" { "all.bib" } else { "all.json" });
        fs::copy(folder.join(file), &named).unwrap();
        let mut command = Command::new("pandoc");
        command.args(["--citeproc", "-t", "html"]).arg("--bibliography").arg(&named);
        let Some(html) = run(command.arg(folder.join("text.md"))) else { return };
        assert_eq!(html.matches("class=\"csl-entry\"").count(), count, "{file}");
    }
}

#[test]
fn extruct_reads_the_tags_of_a_page() {
    let Some(python) = python() else { return };
    let snapshots = hostile_snapshots();
    let server = Server::serve(&snapshots);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page.html");
    let url = format!("http://{}/browse/outputs/HX_W1", server.address());
    fs::write(&path, server.get("/browse/outputs/HX_W1").body).unwrap();
    let mut command = Command::new(python);
    command.arg(root("tests/tests/references/read_tags.py")).arg(&path).arg(&url);
    let found: Value = serde_json::from_str(&run(&mut command).unwrap()).unwrap();
    let work = &found["json-ld"][0];
    assert_eq!(work["@type"], "ScholarlyArticle");
    assert_eq!(work["author"][1]["name"], "Nemo Missing");
    let tags = found["tags"].as_array().unwrap();
    let title = serde_json::json!(["citation_title", "On testing"]);
    assert!(tags.contains(&title), "{tags:?}");
    server.end(&[]);
}
