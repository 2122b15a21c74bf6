//! Safe writing: checks who may write a directory, and writes files atomically.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

use crate::error::{Result, StoreError};

/// Separates the final name of a temporary file from the writing process's id.
const UNFINISHED: &str = ".tmp-";
/// Mode bit of a directory in which only a file's owner may rename or remove the file.
const STICKY: u32 = 0o1000;

/// Refuses a directory that other users may write or replace through its parent: they could exchange
/// verified data before it is used. Checks both a link and its target.
pub fn refuse_writable_by_others(directory: &Path) -> Result<()> {
    let absolute = std::path::absolute(directory).map_err(StoreError::write(directory))?;
    // `components` drops a trailing slash, which would make the system follow a link.
    let absolute: PathBuf = absolute.components().collect();
    let target = fs::canonicalize(&absolute).ok();
    for place in target.iter().chain([&absolute]) {
        refuse_if_writable(place, false)?;
        // For a path that does not exist yet, checks its first existing ancestor.
        if let Some(parent) = place.ancestors().skip(1).find(|parent| parent.exists()) {
            refuse_if_writable(parent, true)?;
        }
    }
    Ok(())
}

/// Refuses the named entries of a directory that are no directories or that other users may write.
pub fn refuse_unsafe_subdirectories(directory: &Path, names: &[&str]) -> Result<()> {
    for place in names.iter().map(|name| directory.join(name)) {
        if fs::symlink_metadata(&place).is_ok_and(|metadata| !metadata.is_dir()) {
            let reason = "is not a directory; remove it and run again";
            return Err(StoreError::Unsafe { path: place, reason });
        }
        refuse_if_writable(&place, false)?;
    }
    Ok(())
}

fn refuse_if_writable(place: &Path, is_parent: bool) -> Result<()> {
    let Ok(metadata) = fs::symlink_metadata(place) else { return Ok(()) };
    let mode = metadata.mode();
    let is_open = metadata.is_dir() && mode & 0o022 != 0;
    if !is_open || is_parent && mode & STICKY != 0 {
        return Ok(());
    }
    let reason = "may be written by other users, who could exchange verified files; give another directory, or protect \
                  it (`chmod go-w`)";
    Err(StoreError::Unsafe { path: place.to_owned(), reason })
}

/// Checks that the directory's disk has `bytes` free, less the space that the files in `filled` already
/// occupy.
pub fn check_free_space(directory: &Path, bytes: u64, filled: &[&Path]) -> Result<()> {
    let taken: u64 = filled
        .iter()
        .filter_map(|path| fs::symlink_metadata(path).ok())
        // `st_blocks` counts units of 512 bytes on every file system.
        .map(|metadata| metadata.blocks().saturating_mul(512))
        .fold(0, u64::saturating_add);
    let free = rustix::fs::statvfs(directory)
        .map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize))
        .map_err(|error| StoreError::write(directory)(error.into()))?;
    let wanted = bytes.saturating_sub(taken);
    if wanted <= free {
        return Ok(());
    }
    let reason = format!("{wanted} more bytes are needed, {free} are free");
    Err(StoreError::write(directory)(io::Error::new(io::ErrorKind::StorageFull, reason)))
}

/// Creates a directory that everybody may read, whatever the umask. Keeps an existing one unchanged.
pub fn make_directory(path: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o755)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(StoreError::write(path))
}

/// Raises the limit of open files of this process to its maximum. Returns the limit.
pub fn raise_open_files() -> (u64, io::Result<()>) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    (getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), raised.map_err(io::Error::from))
}

/// Writes a small file atomically: a reader finds the old or the new file, complete.
pub fn write_atomically(path: &Path, text: &[u8]) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("{UNFINISHED}{}", std::process::id()));
    let fresh = Path::new(&name);
    let write = || -> io::Result<()> {
        // A killed run may have left a file of this name. Removing it does not follow a link.
        let _ = fs::remove_file(fresh);
        let mut file = File::options().write(true).create_new(true).mode(0o644).open(fresh)?;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(fresh, path)?;
        sync_directory(path.parent().unwrap_or(Path::new(".")))
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(fresh);
    }
    written.map_err(StoreError::write(path))
}

/// Whether a name is a temporary name of [`write_atomically`].
pub fn is_temporary_name(name: &str) -> bool {
    let process = name.rsplit_once(UNFINISHED).map_or("", |(_, process)| process);
    !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes the temporary files that killed runs of [`write_atomically`] left in a directory. The caller holds a lock
/// that keeps other runs from writing there.
pub fn remove_temporary_files(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory).map_err(StoreError::write(directory))?.flatten() {
        if is_temporary_name(&entry.file_name().to_string_lossy()) {
            // A file that stays harms nobody.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Makes renames within a directory durable.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Locks a file or directory against other runs while it is open; returns false if another run holds the lock.
///
/// # Errors
///
/// The file system refuses locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Computes the hash of a file, in hex.
///
/// # Errors
///
/// The file cannot be read.
pub fn hash_of(file: &File) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Opens a regular file for reading, without following a link.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    // The C library takes the flags as an `int`.
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_the_system_refuses_is_an_error_and_no_lock_of_another_run() {
        let directory = tempfile::tempdir().unwrap();
        let open = || File::open(directory.path()).unwrap();
        let (held, second) = (open(), open());
        assert!(try_lock(&held).unwrap());
        assert!(!try_lock(&second).unwrap());
        drop(held);
        assert!(try_lock(&second).unwrap());

        // A file that is opened for its name alone cannot be locked.
        let flags = rustix::fs::OFlags::PATH.bits() as i32;
        let name = File::options().read(true).custom_flags(flags).open(directory.path()).unwrap();
        try_lock(&name).unwrap_err();
    }
}
