//! Every type of page in Chromium, by `browser.cjs`, and a site of plain files in Firefox, by `firefox.cjs`. `PINAKES_PICTURES` names
//! a directory for a picture of each page.
//!
//! `.ci/run` installs Debian's browsers, and playwright-core, puppeteer-core and axe-core into `target/browser`.

use std::{path::Path, process::Command};

use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::skip;

#[test]
fn every_page_works_in_chromium() {
    let test = "every_page_works_in_chromium";
    let Some(mut script) = script(test, "chromium", "playwright-core", "browser.cjs") else {
        return;
    };
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    script.arg(format!("http://{}", server.address())).args(std::env::var_os("PINAKES_PICTURES"));
    assert_eq!(printed(&mut script), "all is well\n");
    server.end(&[]);
}

#[test]
fn a_site_of_plain_files_answers_in_firefox() {
    let test = "a_site_of_plain_files_answers_in_firefox";
    let Some(files) = pinakes_tests::site::files(test) else { return };
    let Some(mut script) = script(test, "firefox-esr", "puppeteer-core", "firefox.cjs") else {
        return;
    };
    let (snapshots, tree) = (Snapshots::from_sample(), tempfile::tempdir().unwrap());
    let mut publish = Command::new(pinakes_tests::program("pinakes-compiler"));
    publish.args(["publish", "--quiet", "--to"]).arg(tree.path()).arg(snapshots.path());
    printed(publish.arg("--site").arg(files));
    let found = printed(script.arg(tree.path()));
    let server = Server::serve(&snapshots);
    let articles =
        server.connect().get("/outputs?filter=type:article").json()["meta"]["count"].clone();
    let lines = ["articles", "counted", "offline"].map(|name| format!("{name} {articles}"));
    for line in lines.into_iter().chain(["cited @article{".to_owned()]) {
        assert!(found.lines().any(|printed| printed.starts_with(&line)), "{line}: {found}");
    }
    assert_eq!(found.matches("restarted 200").count(), 3, "{found}");
    server.end(&[]);
}

/// A script with the folder of its modules; `None`, with the name of the skipped test, without its browser or its driver.
fn script(test: &str, browser: &str, driver: &str, script: &str) -> Option<Command> {
    let root = pinakes_tests::root().canonicalize().unwrap();
    let modules = root.join("target/browser/node_modules");
    let mut probe = Command::new("node");
    probe.arg("-e").arg("require(process.argv[1])").arg(modules.join(driver));
    let has_modules = probe.output().is_ok_and(|output| output.status.success());
    if !has_modules || !Path::new("/usr/bin").join(browser).exists() {
        skip(test, format!("{browser}, node or {driver} is missing; .ci/run installs them"));
        return None;
    }
    let mut command = Command::new("node");
    command.arg(root.join("tests/tests/browse").join(script)).arg(modules);
    Some(command)
}

/// The output of a command, which must succeed.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{found}{errors}");
    found
}
