//! Unfinished files in a directory that several runs share, also from several containers or hosts.
//!
//! A file gets its final name when it is complete. Until then its name is
//! `<name>.<host>.<boot id>.<random>.tmp`, and the run that writes the file holds a lock on it. A killed run
//! leaves its files, and later runs remove them:
//!
//! - The boot id names a running kernel. All containers of a host share the kernel and its locks, so an
//!   unlocked file with the own boot id has no writer. Process ids would prove nothing, because each
//!   container counts its own.
//! - A file of another kernel may have a writer whose lock is not visible here. The file is removed once
//!   it was not written for [`ABANDONED_AFTER`]; its host may be gone.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;
use std::{fs, io};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Ending of an unfinished file's name.
const ENDING: &str = "tmp";
/// How long a file of another kernel stays after its last write. A live run writes much more often.
const ABANDONED_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Id of the running kernel; `None` if `/proc` does not show it.
static BOOT_ID: LazyLock<Option<String>> = LazyLock::new(|| kernel_text("random/boot_id"));

/// A locked file that gets its final name when it is complete. Dropping an unfinished file removes it.
#[derive(Debug)]
pub(crate) struct UnfinishedFile {
    file: NamedTempFile,
    place: PathBuf,
}

impl UnfinishedFile {
    /// Creates the unfinished file of `place`, in the same directory. The umask applies.
    pub(crate) fn create(place: &Path) -> Result<UnfinishedFile> {
        UnfinishedFile::create_with_mode(place, 0o666)
    }

    /// Creates the unfinished file of a file that only its owner may read.
    pub(crate) fn create_private(place: &Path) -> Result<UnfinishedFile> {
        UnfinishedFile::create_with_mode(place, 0o600)
    }

    fn create_with_mode(place: &Path, mode: u32) -> Result<UnfinishedFile> {
        let name = place.file_stem().unwrap_or_default().to_string_lossy();
        let host = kernel_text("hostname").unwrap_or_else(|| "unknown".into());
        let boot_id = BOOT_ID.as_deref().unwrap_or("unknown");
        let prefix = format!("{name}.{host}.{boot_id}.");
        let directory = place.parent().unwrap_or(Path::new("."));
        let create = || -> io::Result<NamedTempFile> {
            loop {
                let file = tempfile::Builder::new()
                    .prefix(&prefix)
                    .suffix(&format!(".{ENDING}"))
                    .permissions(Permissions::from_mode(mode))
                    .tempfile_in(directory)?;
                // Without locks in the file system, other runs go by the time of the last write.
                let _ = flock(&file, FlockOperation::LockExclusive);
                // Another run may have removed the file before it was locked.
                if file.as_file().metadata()?.nlink() > 0 {
                    return Ok(file);
                }
            }
        };
        let file = create().map_err(Error::output(place))?;
        Ok(UnfinishedFile { file, place: place.to_path_buf() })
    }

    /// Path of the unfinished file.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Changes the final name, within the same directory.
    pub(crate) fn set_place(&mut self, place: &Path) {
        self.place = place.to_path_buf();
    }

    /// Gives the complete file its final name.
    pub(crate) fn finish(self) -> Result<()> {
        let persisted = self.file.persist(&self.place);
        persisted.map(drop).map_err(|failed| Error::output(self.place)(failed.error))
    }
}

impl Write for UnfinishedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

/// Removes the unfinished files in a directory that no run writes any more.
pub(crate) fn remove_abandoned(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory).map_err(Error::output(directory))? {
        let path = entry.map_err(Error::output(directory))?.path();
        if path.extension().is_some_and(|extension| extension == ENDING) {
            match remove_if_abandoned(&path) {
                // Another run removed or finished the file.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(Error::output(path))?,
            }
        }
    }
    Ok(())
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    // The C library takes the flags as an `int`.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    // A file that this user may not write belongs to the run of another.
    let Ok(file) = File::options().write(true).custom_flags(flags).open(path) else {
        return Ok(());
    };
    // The lock stays until the file is removed: its writer may be about to lock it.
    let is_abandoned = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => false,
        Ok(()) if is_of_this_kernel(path) => true,
        _ => file.metadata()?.modified()?.elapsed().is_ok_and(|age| age > ABANDONED_AFTER),
    };
    if is_abandoned { fs::remove_file(path) } else { Ok(()) }
}

/// Whether the name of an unfinished file contains the id of the running kernel.
fn is_of_this_kernel(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let boot_id = name.rsplit('.').nth(2);
    boot_id.is_some() && boot_id == BOOT_ID.as_deref()
}

/// Reads a text that the kernel states about itself, in characters that file names may have.
fn kernel_text(name: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).ok()?;
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-';
    Some(text.trim().replace(|char: char| !is_plain(char), "_")).filter(|text| !text.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// Plants an unfinished file of an ended run and returns whether [`remove_abandoned`] removes it.
    fn is_removed(name: &str, age: Duration) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        let file = File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        drop(file);
        remove_abandoned(directory.path()).unwrap();
        !path.exists()
    }

    #[test]
    fn a_file_of_an_ended_run_is_removed_at_once_on_its_host_and_after_a_week_elsewhere() {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let boot_id = BOOT_ID.as_deref().unwrap();
        let other = "00000000-0000-4000-8000-000000000000";
        assert!(is_removed(&format!("a.host.{boot_id}.x.tmp"), Duration::ZERO));
        // A container has a host name of its own.
        assert!(is_removed(&format!("a.other.host.{boot_id}.x.tmp"), Duration::ZERO));
        for name in [&format!("a.host.{other}.x.tmp"), "a.host.unknown.x.tmp", "a.1.tmp"] {
            assert!(!is_removed(name, 6 * DAY), "{name}");
            assert!(is_removed(name, 8 * DAY), "{name}");
        }
        assert!(!is_removed(&format!("a.host.{boot_id}.x.object"), 8 * DAY));
    }

    #[test]
    fn a_file_that_a_run_writes_is_kept_whatever_its_name_and_age() {
        let directory = tempfile::tempdir().unwrap();
        let file = UnfinishedFile::create(&directory.path().join("a.object")).unwrap();
        let old = directory.path().join("a.1.tmp");
        let locked = File::create(&old).unwrap();
        locked.lock().unwrap();
        for file in [file.file.as_file(), &locked] {
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        remove_abandoned(directory.path()).unwrap();
        assert!(file.path().exists() && old.exists());
        file.finish().unwrap();
        drop(locked);
        remove_abandoned(directory.path()).unwrap();
        let names = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["a.object"]);
    }

    #[test]
    fn files_of_one_place_do_not_meet_and_go_with_their_writer() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("a.object");
        let mut files = [(); 2].map(|()| UnfinishedFile::create(&place).unwrap());
        for (file, text) in files.iter_mut().zip([b"one", b"two"]) {
            file.write_all(text).unwrap();
        }
        let [one, two] = files;
        drop(one);
        two.finish().unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"two");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }
}
