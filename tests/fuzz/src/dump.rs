//! Compiles small dumps. The accounting must include every line, whatever the dump holds.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use pinakes_compiler::Error;
use pinakes_compiler::stages::{
    Check, ManifestPolicy, ObjectStore, Progress, ReadLimits, UnchangedSource,
    compile as compile_parts, find, link, lock_output, publish, remove_tree,
};
use tempfile::TempDir;

/// One dump in 32 is also linked. Linking takes a hundred times as long as compiling.
const LINKED_ONE_IN: u8 = 32;
/// The most uncompressed bytes of a part. The limit keeps a decompression bomb short.
const INFLATED_BYTES_MAX: u64 = 1 << 20;
/// Memory limit of the linker.
const MEMORY_BYTES: usize = 256 << 20;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    folder.expect("a directory can be made")
});

/// Compiles a dump of these files, given by their paths below the dump.
///
/// # Panics
///
/// Panics if compiling fails for a reason other than the input, or if a line is lost.
pub fn compile(files: &[(&str, &[u8])]) {
    let folder = FOLDER.path().join("run");
    let dump = folder.join("dump");
    for (path, bytes) in files {
        let path = dump.join(path);
        fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .and_then(|()| fs::write(&path, bytes))
            .expect("the directory is there");
    }
    match attempt(&dump, &folder, is_linked(files)) {
        Ok(()) => {}
        // Exit codes of a refused, empty or damaged input.
        Err(error) if (3..=5).contains(&error.exit_code()) => {}
        Err(error) => panic!("exit {}: {error}", error.exit_code()),
    }
    remove_tree(&folder);
}

fn is_linked(files: &[(&str, &[u8])]) -> bool {
    let mut hasher = blake3::Hasher::new();
    files.iter().for_each(|(_, bytes)| {
        hasher.update(bytes);
    });
    hasher.finalize().as_bytes()[0].is_multiple_of(LINKED_ONE_IN)
}

fn attempt(dump: &Path, folder: &Path, is_linked: bool) -> Result<(), Error> {
    let inputs = find(&[dump], ManifestPolicy::default())?;
    let limits = ReadLimits { inflated_bytes_max: INFLATED_BYTES_MAX, ..ReadLimits::default() };
    let stage = compile_parts(
        inputs.parts,
        &ObjectStore::local(&folder.join("objects")),
        &limits,
        Check::Whole,
        Progress::Quiet,
    )?;
    for part in &stage.parts {
        let report = part.object.report();
        let [read, quarantined] =
            [&report.read, &report.quarantined].map(|of| of.values().sum::<u64>());
        assert!(quarantined <= read, "{quarantined} of {read} lines are bad");
        assert!(report.bad_lines.len() as u64 <= quarantined);
    }
    if !is_linked {
        return Ok(());
    }
    let lock = lock_output(&folder.join("snapshots"))?;
    let objects: Vec<_> = stage.parts.iter().map(|part| &part.object).collect();
    // `link` checks the accounting and opens the finished snapshot.
    let mut finished =
        link(&objects, &lock, None, UnchangedSource::Objects, MEMORY_BYTES, Progress::Quiet)?;
    publish(&mut finished, &lock)
}
