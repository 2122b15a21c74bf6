//! Where an export goes: a directory that has all of its files or none.

use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use crate::error::{Error, Result};
use crate::store::directory::remove_tree;
use crate::store::interrupt;

/// What names of unfinished exports begin with.
const UNFINISHED: &str = ".tmp-";

/// A directory held against other runs, and one inside it where files lie until all are whole.
pub(crate) struct ExportDirectory {
    lock: File,
    path: PathBuf,
    scratch: PathBuf,
    is_new: bool,
    is_finished: bool,
}

impl ExportDirectory {
    /// Takes a directory, made if it is not there. What a run that died left in it is removed.
    ///
    /// # Errors
    ///
    /// Where it is not empty, cannot be written, or another run holds it.
    pub(crate) fn begin(path: &Path, said_if_interrupted: &'static str) -> Result<ExportDirectory> {
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(Error::output(path))?;
        let lock = File::open(path).map_err(Error::output(path))?;
        let flock = rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        let names = names_in(path)?;
        if flock.is_err() {
            let pid = names.iter().find_map(|name| name.strip_prefix(UNFINISHED));
            let pid = pid.unwrap_or("unknown").to_owned();
            return Err(Error::Locked { path: path.to_path_buf(), pid });
        }
        let (unfinished, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name.starts_with(UNFINISHED));
        if let Some(other) = others.first() {
            return Err(Error::Usage(format!(
                "`{}` is not empty (it holds `{other}`); export into a new or an empty directory",
                path.display()
            )));
        }
        unfinished.iter().for_each(|name| remove_tree(&path.join(name)));
        let scratch = path.join(format!("{UNFINISHED}{}", std::process::id()));
        interrupt::begin(&scratch, said_if_interrupted);
        fs::create_dir(&scratch).map_err(Error::output(&scratch))?;
        let path = path.to_path_buf();
        Ok(ExportDirectory { lock, path, scratch, is_new, is_finished: false })
    }

    /// Where a file lies until all are whole.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Creates a file, and the folder it is in.
    pub(crate) fn create(&self, name: &str) -> Result<File> {
        let path = self.path_of(name);
        let folder = path.parent().unwrap_or(&self.scratch);
        // Not with what is above it: a signal may just have removed that, and is not to find it again.
        match fs::create_dir(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::output(folder)(error));
            }
            _ => {}
        }
        File::create_new(&path).map_err(Error::output(&path))
    }

    /// Gives every file its name, now that each is whole and on the disk.
    pub(crate) fn finish<'n>(mut self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        // A folder takes its files along.
        let mut tops: Vec<&str> = names.filter_map(|name| name.split('/').next()).collect();
        tops.dedup();
        interrupt::publishing(|| {
            for top in tops {
                let path = self.path_of(top);
                if path.is_dir() {
                    File::open(&path).and_then(|it| it.sync_all()).map_err(Error::output(&path))?;
                }
                fs::rename(&path, self.path.join(top)).map_err(Error::output(&path))?;
            }
            fs::remove_dir(&self.scratch).map_err(Error::output(&self.scratch))?;
            self.lock.sync_all().map_err(Error::output(&self.path))
        })?;
        interrupt::end();
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for ExportDirectory {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        remove_tree(&self.scratch);
        if self.is_new {
            // Where something was put into it meanwhile, it stays.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn names_in(path: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(path).map_err(Error::output(path))?;
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(Error::output(path))?;
    names.sort();
    Ok(names)
}
