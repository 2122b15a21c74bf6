//! Tests of `export`: the records it chooses, their members, its formats, and where it writes.

mod engines;
mod outputs;
mod parquet;
mod selection;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

/// A published snapshot, in a temporary directory.
struct Setup {
    directory: tempfile::TempDir,
    snapshot: PathBuf,
}

impl Setup {
    fn from_sample() -> Setup {
        Setup::from_inputs(&[pinakes_tests::sample()])
    }

    fn from_inputs(inputs: &[PathBuf]) -> Setup {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = directory.path().join("snapshots");
        let snapshot = pinakes_tests::publish(inputs, &snapshots, &["--quiet"]);
        Setup { directory, snapshot }
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs `export` with more arguments, given as one text with a space between two.
    fn run(&self, out: &Path, more: &str) -> Output {
        let mut args: Vec<&OsStr> = vec!["export".as_ref(), self.snapshot.as_os_str()];
        args.extend(more.split_whitespace().map(OsStr::new));
        args.extend(["--out".as_ref(), out.as_os_str(), "--quiet".as_ref()]);
        pinakes_tests::compiler(&args)
    }

    /// Exports to a file or directory beside the snapshot.
    fn export(&self, name: &str, more: &str) -> PathBuf {
        let output = self.run(&self.beside(name), more);
        assert!(output.status.success(), "{more}: {}", String::from_utf8_lossy(&output.stderr));
        self.beside(name)
    }

    /// Exports to standard output.
    fn text(&self, more: &str) -> String {
        let output = self.run(Path::new("-"), more);
        assert!(output.status.success(), "{more}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exports JSON lines to standard output.
    fn lines(&self, more: &str) -> Vec<Value> {
        self.text(more).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
