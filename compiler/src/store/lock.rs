//! The lock on the directory of snapshots: one run at a time writes there.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::error::{Error, Result};
use crate::store::directory::{JUST_PLACED, UNFINISHED, current, is_id, remove_tree};
use crate::store::publish;
use crate::terminal::escape::shown;

/// The output directory, held against other runs.
pub struct OutputLock {
    _file: File,
    directory: PathBuf,
    scratch: PathBuf,
}

/// Takes the output directory: made if it is not there, locked, cleared of dead runs' remains.
///
/// # Errors
///
/// Where it cannot be written, another run holds it, or others could swap what is in it.
pub fn check_out(directory: &Path) -> Result<OutputLock> {
    refuse_shared(directory)?;
    // Whatever the umask: others may read snapshots and nobody else may write them.
    let is_new = !directory.exists();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(directory)
        .and_then(|()| match is_new {
            true => fs::set_permissions(directory, fs::Permissions::from_mode(0o755)),
            false => Ok(()),
        })
        .map_err(Error::output(directory))?;
    let path = directory.join(".lock");
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(Error::output(&path))?;
    let flock = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    if flock.is_err() {
        let pid = fs::read_to_string(&path).unwrap_or_default().trim().to_string();
        return Err(Error::Locked { path, pid });
    }
    let id = format!("{}\n", std::process::id());
    file.set_len(0).and_then(|()| file.write_all(id.as_bytes())).map_err(Error::output(&path))?;
    remove_remains(directory)?;
    let scratch = directory.join(format!("{UNFINISHED}{}", std::process::id()));
    fs::create_dir(&scratch).map_err(Error::output(&scratch))?;
    Ok(OutputLock { _file: file, directory: directory.to_path_buf(), scratch })
}

/// Refuses a directory that is a symbolic link or that everybody may write: between two steps of a
/// run somebody could lead it elsewhere.
pub(crate) fn refuse_shared(directory: &Path) -> Result<()> {
    // Without a slash at its end, which would have a link followed.
    let directory: &Path = &directory.components().collect::<PathBuf>();
    let Ok(metadata) = fs::symlink_metadata(directory) else { return Ok(()) };
    let reason = match () {
        () if metadata.is_symlink() => "is a symbolic link; give the directory it leads to",
        () if metadata.is_dir() && metadata.mode() & 0o002 != 0 => {
            "may be written by everybody; give another, or make it yours (`chmod o-w`)"
        }
        () => return Ok(()),
    };
    Err(Error::Usage(format!("the output `{}` {reason}", shown(directory))))
}

/// Removes what runs that died left behind; the lock says none of them is alive.
fn remove_remains(directory: &Path) -> Result<()> {
    let current = current(directory);
    for entry in fs::read_dir(directory).map_err(Error::output(directory))? {
        let entry = entry.map_err(Error::output(directory))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(UNFINISHED) {
            continue;
        }
        // The snapshot such a link leads to was to be the current one, and never was.
        if name.starts_with(JUST_PLACED)
            && let Ok(target) = fs::read_link(entry.path())
            && let Some(id) = target.to_str().filter(|id| is_id(id))
            && current.as_deref() != Some(id)
        {
            // One that cannot be removed is whole, and pruned in its turn.
            let _ = publish::discard(directory, id);
        }
        remove_tree(&entry.path());
    }
    Ok(())
}

impl OutputLock {
    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the run may put what it will not keep.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }
}

impl Drop for OutputLock {
    fn drop(&mut self) {
        remove_tree(&self.scratch);
    }
}
