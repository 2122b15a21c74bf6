//! What the build scripts of both programs share: finds the commit that a program is built from, and packs relocations.

#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

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

/// Packs the relocations of the program, a twentieth of its bytes, if this machine can start a program that has packed ones.
///
/// glibc reads packed relocations since version 2.36. An older one refuses to start the program, so a program for
/// another kind of machine has plain relocations.
pub fn pack_relocations() {
    let runs_here = env::var_os("HOST") == env::var_os("TARGET");
    let version = || output("getconf", &["GNU_LIBC_VERSION"]);
    if runs_here && version().is_some_and(|version| reads_packed(&version)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Tests whether a version such as `glibc 2.36` is 2.36 or later.
fn reads_packed(version: &str) -> bool {
    let minor = version.strip_prefix("glibc 2.").and_then(|minor| minor.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= 36)
}

/// Asks git for the commit, if the repository holds this crate's sources. Sources may be unpacked
/// inside a repository of something else.
fn of_repository() -> Option<String> {
    let manifest = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("Cargo.toml");
    output("git", &["ls-files", "--error-unmatch", manifest.to_str()?])?;
    // Git writes `logs/HEAD` with each commit and each change of branch. A file that does not exist
    // would run the build script every time.
    for file in ["HEAD", "logs/HEAD"] {
        let path = PathBuf::from(output(
            "git",
            &["rev-parse", "--path-format=absolute", "--git-path", file],
        )?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    output("git", &["rev-parse", "HEAD"])
}

/// Runs a program in the directory of the crate and returns its output; `None` if the program fails or is missing.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn glibc_reads_packed_relocations_since_2_36() {
        for (version, expected) in [
            ("glibc 2.35", false),
            ("glibc 2.36", true),
            ("glibc 2.41", true),
            ("musl 1.2.5", false),
            ("", false),
        ] {
            assert_eq!(super::reads_packed(version), expected, "{version}");
        }
    }
}
