//! Read-only fixtures that tests share.
//!
//! Snapshots of the repository's dumps are built once for all test programs. The target directory
//! keeps them until the programs or the dumps change. The oracle reads a dump once in each program.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use pinakes_oracle::{Autocomplete, Library, Lists};

/// Makes a directory once for all tests that ask for the same `name`; no test may write to it.
///
/// The next call makes the directory again after a file or directory of `sources` changes, or if the
/// last call of `make` did not finish.
///
/// # Panics
///
/// If `make` panics, or the target directory is not writable.
pub fn shared_directory(name: &str, sources: &[PathBuf], make: impl FnOnce(&Path)) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test.ancestors().nth(3).expect("tests lie in target/<profile>/deps");
    let folder = target.join("tmp/shared");
    fs::create_dir_all(&folder).expect("the target directory is writable");
    let name = blake3::hash(name.as_bytes()).to_hex().to_string();
    let [directory, lock, made] = ["", ".lock", ".made"].map(|end| {
        let mut path = folder.join(&name).into_os_string();
        path.push(end);
        PathBuf::from(path)
    });
    let lock = File::create(lock).expect("the target directory is writable");
    lock.lock().expect("the target directory supports locks");
    let wanted = sources.iter().map(|path| stamps(path)).collect::<String>();
    if fs::read_to_string(&made).is_ok_and(|made| made == wanted) {
        return directory;
    }
    let _ = fs::remove_file(&made);
    if directory.exists() {
        make_writable(&directory);
        fs::remove_dir_all(&directory).expect("an outdated fixture can be removed");
    }
    fs::create_dir(&directory).expect("the target directory is writable");
    make(&directory);
    fs::write(&made, wanted).expect("the target directory is writable");
    directory
}

/// Lists the length and modification time of every file below a path.
fn stamps(path: &Path) -> String {
    let metadata = fs::metadata(path).expect("a source of the fixture exists");
    if !metadata.is_dir() {
        let (bytes, seconds) = (metadata.len(), metadata.mtime());
        let nanoseconds = metadata.mtime_nsec();
        return format!("{} {bytes} {seconds}.{nanoseconds:09}\n", path.display());
    }
    let entries = fs::read_dir(path).expect("a source of the fixture exists");
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the directory is readable").path()).collect();
    paths.sort_unstable();
    paths.iter().map(|path| stamps(path)).collect()
}

/// Publishes a snapshot of inputs in an empty directory and returns its path.
///
/// Copies the snapshot that an earlier call built. Inputs in the temporary directory belong to one
/// test and are built each time.
///
/// # Panics
///
/// If the build fails; the message contains its standard error.
pub fn publish(inputs: &[PathBuf], out: &Path, more: &[&str]) -> PathBuf {
    if inputs.iter().any(|input| input.starts_with(std::env::temp_dir())) {
        return crate::build(inputs, out, more);
    }
    let built = |directory: &Path| {
        crate::build(inputs, directory, more);
    };
    copy_published(&format!("snapshot of {inputs:?} by {more:?}"), inputs, out, built)
}

/// Publishes a snapshot of inputs, exports it, and publishes a second snapshot of the export.
///
/// Copies the snapshots that an earlier call built.
///
/// # Panics
///
/// If a build or the export fails; the message contains its standard error.
pub fn republish(inputs: &[PathBuf], out: &Path) {
    let rebuilt = |directory: &Path| crate::rebuild(inputs, directory);
    if inputs.iter().any(|input| input.starts_with(std::env::temp_dir())) {
        return rebuilt(out);
    }
    copy_published(&format!("export of {inputs:?}"), inputs, out, rebuilt);
}

/// Copies a published fixture and returns the path of its current snapshot.
fn copy_published(name: &str, inputs: &[PathBuf], out: &Path, make: impl FnOnce(&Path)) -> PathBuf {
    let program = crate::program("pinakes-compiler");
    let name = format!("{name} with {}", program.display());
    copy(&shared_directory(&name, &[inputs, &[program]].concat(), make), out);
    out.join(fs::read_link(out.join("current")).expect("`current` is a link"))
}

/// Copies a directory with its contents and modes; symbolic links stay links.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the directory can be created");
    for entry in fs::read_dir(from).expect("the fixture is readable") {
        let entry = entry.expect("the fixture is readable");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let metadata = entry.metadata().expect("an entry has metadata");
        if metadata.is_dir() {
            copy(&from, &to);
            fs::set_permissions(&to, metadata.permissions()).expect("the test owns the directory");
        } else if metadata.is_symlink() {
            let target = fs::read_link(&from).expect("the fixture is readable");
            std::os::unix::fs::symlink(target, &to).expect("the link can be created");
        } else {
            fs::copy(&from, &to).expect("the file can be copied");
        }
    }
}

/// Lets the owner change everything below a directory, since snapshots are published read-only.
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

/// Reads inputs with the oracle, once for all tests of a program.
///
/// # Panics
///
/// If the oracle cannot read the inputs.
pub fn library(inputs: &[PathBuf]) -> &'static Library {
    static READ: Shared<Library> = Mutex::new(BTreeMap::new());
    shared(&READ, inputs, || pinakes_oracle::read(inputs).expect("the oracle reads the inputs"))
}

/// The lists of [`library`], with the texts that its searches look at.
///
/// # Panics
///
/// If the oracle cannot read the inputs.
pub fn lists(inputs: &[PathBuf]) -> &'static Lists<'static> {
    static LISTS: Shared<Lists<'_>> = Mutex::new(BTreeMap::new());
    shared(&LISTS, inputs, || Lists::new(library(inputs)))
}

/// The candidates of [`library`].
///
/// # Panics
///
/// If the oracle cannot read the inputs.
pub fn autocomplete(inputs: &[PathBuf]) -> &'static Autocomplete<'static> {
    static CANDIDATES: Shared<Autocomplete<'_>> = Mutex::new(BTreeMap::new());
    shared(&CANDIDATES, inputs, || Autocomplete::new(library(inputs)))
}

/// Values that the tests of a program share, by their inputs.
type Shared<T> = Mutex<BTreeMap<Vec<PathBuf>, &'static OnceLock<T>>>;

fn shared<T>(made: &Shared<T>, inputs: &[PathBuf], make: impl FnOnce() -> T) -> &'static T {
    let of_inputs = {
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        *made.entry(inputs.to_vec()).or_insert_with(|| Box::leak(Box::new(OnceLock::new())))
    };
    of_inputs.get_or_init(make)
}
