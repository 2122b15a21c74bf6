//! The lock on the directory of snapshots: one process at a time writes there.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::directory::{JUST_PLACED, UNFINISHED, current, is_id, remove_tree};
use crate::error::{Result, StoreError};
use crate::files::try_lock;
use crate::{next, publish};

/// How often, and with which pauses, a refused run looks for the id of the run that holds the lock.
const PID_LOOKS_MAX: u32 = 20;
const PID_PAUSE: Duration = Duration::from_millis(10);

/// The locked directory of snapshots, with a scratch directory of this process.
pub struct LockedDirectory {
    _file: File,
    directory: PathBuf,
    scratch: PathBuf,
}

/// Reads the process id of the run that holds a lock. A run writes its id a moment after it has the lock.
fn read_pid(path: &Path) -> String {
    for _ in 0..PID_LOOKS_MAX {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        thread::sleep(PID_PAUSE);
    }
    "unknown".to_owned()
}

/// Refuses a symbolic link and a directory that everybody may write: somebody could redirect it
/// between two steps of a run.
pub fn refuse_shared(directory: &Path) -> Result<()> {
    // `components` drops a trailing slash, which would make the system follow a link.
    let directory: &Path = &directory.components().collect::<PathBuf>();
    let Ok(metadata) = fs::symlink_metadata(directory) else { return Ok(()) };
    let reason = match () {
        () if metadata.is_symlink() => "is a symbolic link; give the directory it points to",
        () if metadata.is_dir() && metadata.mode() & 0o002 != 0 => {
            "may be written by everybody; give another directory, or protect it (`chmod o-w`)"
        }
        () => return Ok(()),
    };
    Err(StoreError::Unsafe { path: directory.to_path_buf(), reason })
}

/// Removes what killed runs left behind. The lock proves that no such run is alive.
fn remove_leftovers(directory: &Path) -> Result<()> {
    let current = current(directory);
    for entry in fs::read_dir(directory).map_err(StoreError::write(directory))? {
        let entry = entry.map_err(StoreError::write(directory))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(UNFINISHED) {
            continue;
        }
        // The link's snapshot has its final name but never became current.
        if name.starts_with(JUST_PLACED)
            && let Ok(target) = fs::read_link(entry.path())
            && let Some(id) = target.to_str().filter(|id| is_id(id))
            && current.as_deref() != Some(id)
        {
            // A snapshot that cannot be removed is complete; a later prune removes it.
            let _ = publish::remove_snapshot(directory, id);
        }
        remove_tree(&entry.path());
    }
    Ok(())
}

impl LockedDirectory {
    /// Locks a directory of snapshots. Creates a missing directory, removes what killed runs left, and makes a
    /// scheduled snapshot current if its time has come.
    ///
    /// # Errors
    ///
    /// The directory cannot be written, another process holds it, or other users could exchange its content.
    pub fn lock(directory: &Path) -> Result<LockedDirectory> {
        refuse_shared(directory)?;
        // Independent of the umask: other users may read snapshots but not write them.
        let is_new = !directory.exists();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(directory)
            .and_then(|()| match is_new {
                true => fs::set_permissions(directory, fs::Permissions::from_mode(0o755)),
                false => Ok(()),
            })
            .map_err(StoreError::write(directory))?;
        let path = directory.join(".lock");
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(StoreError::write(&path))?;
        if !try_lock(&file).map_err(StoreError::write(&path))? {
            let pid = read_pid(&path);
            return Err(StoreError::Locked { path, pid });
        }
        let id = format!("{}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.write_all(id.as_bytes()))
            .map_err(StoreError::write(&path))?;
        remove_leftovers(directory)?;
        next::settle(directory)?;
        let scratch = directory.join(format!("{UNFINISHED}{}", std::process::id()));
        fs::create_dir(&scratch).map_err(StoreError::write(&scratch))?;
        Ok(LockedDirectory { _file: file, directory: directory.to_path_buf(), scratch })
    }

    /// The directory of snapshots.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// This process's scratch directory; dropping the lock removes it.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }
}

impl Drop for LockedDirectory {
    fn drop(&mut self) {
        remove_tree(&self.scratch);
    }
}
