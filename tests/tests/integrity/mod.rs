//! Damaged snapshots: no damage to the files ever changes an answer.

mod baseline;
mod files;
mod flips;
mod forged;
mod invariants;
mod since;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
};

use pinakes_format::snapshot::{OpenError, Snapshot};
use pinakes_format::storage::integrity::HASHES;
use pinakes_tests::{TINY_DUMP, build, files_below, publish, sample, write_files};

const THREADS: usize = 2;

type Files = BTreeMap<String, Vec<u8>>;

/// Builds the tiny dump and reads the snapshot's files.
fn tiny_files() -> Files {
    files_of(&TINY_DUMP)
}

fn files_of(dump: &[(&str, &str)]) -> Files {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("dump");
    write_files(&input, dump.iter().copied());
    files_below(&build(&[input], &dir.path().join("out"), &["--quiet"]))
}

/// Builds the sample and reads the snapshot's files.
fn sample_files() -> Files {
    let out = tempfile::tempdir().unwrap();
    files_below(&publish(&[sample()], out.path(), &["--quiet"]))
}

/// A writable copy of a snapshot; a test damages one file at a time.
struct Copy<'f> {
    dir: tempfile::TempDir,
    files: &'f Files,
}

impl<'f> Copy<'f> {
    fn new(files: &'f Files) -> Copy<'f> {
        let dir = tempfile::tempdir().unwrap();
        write_files(dir.path(), files);
        Copy { dir, files }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn open(&self) -> Result<Snapshot, OpenError> {
        Snapshot::open(self.dir.path())
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Undoes a change of a file and of the hash trees.
    fn restore(&self, name: &str) {
        self.write(name, &self.files[name]);
        self.write(HASHES, &self.files[HASHES]);
    }

    fn flip(&self, name: &str, at: usize, mask: u8) {
        let file = File::options().write(true).open(self.path(name)).unwrap();
        file.write_all_at(&[self.files[name][at] ^ mask], at as u64).unwrap();
    }

    /// Asserts that opening fails and that the error names the file.
    fn assert_refused(&self, name: &str, what: &str) -> String {
        let Err(error) = self.open() else { panic!("`{name}` {what}: the snapshot opened") };
        assert_eq!(error.file, name, "`{name}` {what}: {error}");
        let message = error.to_string();
        assert!(message.contains(&format!("`{name}`")), "`{name}` {what}: {message}");
        message
    }
}
