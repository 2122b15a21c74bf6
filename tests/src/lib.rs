//! What the end-to-end tests share: the programs, inputs, and snapshots made of them.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A built program of this workspace.
///
/// # Panics
///
/// Where it is not built: `make test` builds it first.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.ancestors().nth(2).expect("tests lie in target/<profile>/deps");
    let program = profile.join(name);
    assert!(program.is_file(), "{} is not built; run `make test`", program.display());
    program
}

/// The project's own sample dump.
pub fn sample() -> PathBuf {
    root().join("data/sample")
}

/// Real records beside the project; `None`, said by name, where they are not there.
pub fn shared(path: &str, test: &str) -> Option<PathBuf> {
    let place = root().join("../shared/data").join(path);
    if place.exists() {
        return Some(place);
    }
    eprintln!("skipped: {test}: {} is not there", place.display());
    None
}

/// Runs the compiler.
///
/// # Panics
///
/// Where it cannot be started.
pub fn compiler(args: &[&std::ffi::OsStr]) -> Output {
    Command::new(program("pinakes-compiler"))
        .args(args)
        .output()
        .expect("the compiler can be started")
}

/// Builds a snapshot of inputs, which must succeed; its path.
///
/// # Panics
///
/// Where the build fails, with what it printed.
pub fn build(inputs: &[PathBuf], out: &Path, more: &[&str]) -> PathBuf {
    let mut args: Vec<&std::ffi::OsStr> = vec!["build".as_ref()];
    args.extend(inputs.iter().map(|input| input.as_os_str()));
    args.extend(["--out".as_ref(), out.as_os_str()]);
    args.extend(more.iter().map(|arg| std::ffi::OsStr::new(*arg)));
    let output = compiler(&args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "build failed: {errors}");
    let printed = String::from_utf8_lossy(&output.stdout);
    PathBuf::from(printed.lines().last().expect("build prints the snapshot's path"))
}
