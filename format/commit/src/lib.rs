//! Finds the commit that a program is built from, for the build scripts of the programs.

#![forbid(unsafe_code)]

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Variable that names the commit where git cannot, such as in an archive of the sources.
const VARIABLE: &str = "PINAKES_COMMIT";

/// Hexadecimal digits of a commit that `--version` shows.
const DIGITS: usize = 12;

/// Sets `PINAKES_COMMIT` for the crate whose build script calls this function.
///
/// The commit is the variable `PINAKES_COMMIT`, else what git says, else `unknown`. Builds without
/// optimization do not ask git, so that a commit does not compile the crate again.
pub fn emit() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let given = env::var(VARIABLE).ok().filter(|commit| !commit.is_empty());
    let found = || if is_release { of_repository() } else { None };
    let commit = given.or_else(found);
    let commit = commit.as_deref().unwrap_or("unknown");
    let commit = commit.get(..DIGITS).unwrap_or(commit);
    println!("cargo::rustc-env={VARIABLE}={commit}");
}

/// Asks git for the commit, if the repository holds this crate's sources. Sources may be unpacked
/// inside a repository of something else.
fn of_repository() -> Option<String> {
    let manifest = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("Cargo.toml");
    git(&["ls-files", "--error-unmatch", manifest.to_str()?])?;
    // Git writes `logs/HEAD` with each commit and each change of branch. A file that does not exist
    // would run the build script every time.
    for file in ["HEAD", "logs/HEAD"] {
        let path =
            PathBuf::from(git(&["rev-parse", "--path-format=absolute", "--git-path", file])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    git(&["rev-parse", "HEAD"])
}

/// Runs git in the directory of the crate and returns its output; `None` if git fails or is missing.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
