//! Every type of page in Chromium, by `browser.cjs`. `PINAKES_PICTURES` names a directory for a picture of each page.
//!
//! `.ci/run` installs Debian's Chromium, and playwright-core and axe-core into `target/browser`.

use std::{path::Path, process::Command};

use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::skip;

#[test]
fn every_page_works_in_chromium() {
    let root = pinakes_tests::root().canonicalize().unwrap();
    let modules = root.join("target/browser/node_modules");
    let mut probe = Command::new("node");
    probe.arg("-e").arg("require(process.argv[1] + '/playwright-core')").arg(&modules);
    let has_modules = probe.output().is_ok_and(|output| output.status.success());
    if !has_modules || !Path::new("/usr/bin/chromium").exists() {
        skip(
            "every_page_works_in_chromium",
            "chromium, node or playwright-core is missing; .ci/run installs them",
        );
        return;
    }
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let output = Command::new("node")
        .arg(root.join("tests/tests/browse/browser.cjs"))
        .arg(&modules)
        .arg(format!("http://{}", server.address()))
        .args(std::env::var_os("PINAKES_PICTURES"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all is well\n", "{errors}");
    server.end(&[]);
}
