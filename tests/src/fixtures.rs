//! What tests share and none of them changes: snapshots of the dumps beside them, and the oracle's reading
//! of those. A snapshot is built once for all test programs and kept below the target directory, until the
//! programs or the dumps change; a reading is kept as long as the test program runs.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use pinakes_oracle::Library;

/// A directory that is made once for all tests that ask for the same; none may write to it.
///
/// `name` is its own among all that tests share; it is made anew where one of `made_of`, files and
/// directories, is no longer what it was, or the last attempt did not come to its end.
///
/// # Panics
///
/// Where `make` does, and where the target directory cannot be written to.
pub fn shared_directory(name: &str, made_of: &[PathBuf], make: impl FnOnce(&Path)) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test.ancestors().nth(3).expect("tests lie in target/<profile>/deps");
    let place = target.join("tmp/shared");
    fs::create_dir_all(&place).expect("the target directory is writable");
    let name = blake3::hash(name.as_bytes()).to_hex().to_string();
    let [directory, lock, made] = ["", ".lock", ".made"].map(|end| {
        let mut path = place.join(&name).into_os_string();
        path.push(end);
        PathBuf::from(path)
    });
    let lock = File::create(lock).expect("the target directory is writable");
    lock.lock().expect("the target directory is locked");
    let wanted = made_of.iter().map(|path| stamps(path)).collect::<String>();
    if fs::read_to_string(&made).is_ok_and(|made| made == wanted) {
        return directory;
    }
    let _ = fs::remove_file(&made);
    if directory.exists() {
        make_writable(&directory);
        fs::remove_dir_all(&directory).expect("what tests share can be removed");
    }
    fs::create_dir(&directory).expect("the target directory is writable");
    make(&directory);
    fs::write(&made, wanted).expect("the target directory is writable");
    directory
}

/// The lengths and times of every file that a path leads to.
fn stamps(path: &Path) -> String {
    let metadata = fs::metadata(path).expect("what a snapshot is made of is there");
    if !metadata.is_dir() {
        let (bytes, seconds) = (metadata.len(), metadata.mtime());
        let nanoseconds = metadata.mtime_nsec();
        return format!("{} {bytes} {seconds}.{nanoseconds:09}\n", path.display());
    }
    let entries = fs::read_dir(path).expect("what a snapshot is made of is there");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a directory is read").path()).collect();
    paths.sort_unstable();
    paths.iter().map(|path| stamps(path)).collect()
}

/// Publishes a snapshot of inputs in a directory where nothing is, as [`build`](crate::build) does, or
/// copies what an earlier call did; its path. Inputs of a test's own are built every time.
///
/// # Panics
///
/// Where the build fails, with what it printed.
pub fn publish(inputs: &[PathBuf], out: &Path, more: &[&str]) -> PathBuf {
    if inputs.iter().any(|input| input.starts_with(std::env::temp_dir())) {
        return crate::build(inputs, out, more);
    }
    let built = |directory: &Path| {
        crate::build(inputs, directory, more);
    };
    copy_published(&format!("snapshot of {inputs:?} by {more:?}"), inputs, out, built)
}

/// Publishes a snapshot of inputs in a directory where nothing is, and then another of what that one
/// exports, or copies what an earlier call did.
///
/// # Panics
///
/// Where either build or the export fails, with what it printed.
pub fn republish(inputs: &[PathBuf], out: &Path) {
    let rebuilt = |directory: &Path| crate::rebuild(inputs, directory);
    if inputs.iter().any(|input| input.starts_with(std::env::temp_dir())) {
        return rebuilt(out);
    }
    copy_published(&format!("export of {inputs:?}"), inputs, out, rebuilt);
}

/// Copies what is published in a directory that is made once; the snapshot that is current.
fn copy_published(name: &str, inputs: &[PathBuf], out: &Path, make: impl FnOnce(&Path)) -> PathBuf {
    let program = crate::program("pinakes-compiler");
    let name = format!("{name} with {}", program.display());
    copy(&shared_directory(&name, &[inputs, &[program]].concat(), make), out);
    out.join(fs::read_link(out.join("current")).expect("a snapshot is current"))
}

/// Copies a directory and all beneath it, with their modes; links stay links.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a test makes its directories");
    for entry in fs::read_dir(from).expect("what tests share is read") {
        let entry = entry.expect("what tests share is read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata().expect("an entry has a type");
        if metadata.is_dir() {
            copy(&from, &to);
            fs::set_permissions(&to, metadata.permissions()).expect("a test owns what it makes");
        } else if metadata.is_symlink() {
            let target = fs::read_link(&from).expect("what tests share is read");
            std::os::unix::fs::symlink(target, &to).expect("a test makes its links");
        } else {
            fs::copy(&from, &to).expect("a test writes its files");
        }
    }
}

/// Lets the owner change everything beneath a directory: snapshots are published read-only.
pub fn make_writable(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if metadata.is_symlink() {
        return;
    }
    let mode = if metadata.is_dir() { 0o755 } else { 0o644 };
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        make_writable(&entry.path());
    }
}

/// What the oracle reads in inputs, which it does once for all tests of a program.
///
/// # Panics
///
/// Where the oracle cannot read them.
pub fn library(inputs: &[PathBuf]) -> &'static Library {
    static READ: Mutex<BTreeMap<Vec<PathBuf>, &'static OnceLock<Library>>> =
        Mutex::new(BTreeMap::new());
    let library = {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        *read.entry(inputs.to_vec()).or_insert_with(|| Box::leak(Box::new(OnceLock::new())))
    };
    library.get_or_init(|| pinakes_oracle::read(inputs).expect("the oracle reads the inputs"))
}
