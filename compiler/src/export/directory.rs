//! The output directory of an export, which gets all files or none.

use std::fs;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pinakes_store::directory::remove_tree;
use pinakes_store::files::try_lock;

use crate::error::{Error, Result};
use crate::store::{interrupt, refuse_standard_output};

/// Prefix of the scratch directory of an unfinished export.
const UNFINISHED: &str = ".tmp-";

/// A locked output directory, with a scratch directory for files until all are complete.
pub(crate) struct ExportDirectory {
    lock: File,
    path: PathBuf,
    scratch: PathBuf,
    is_new: bool,
    is_finished: bool,
}

impl ExportDirectory {
    /// Creates and locks the directory, and removes what a killed run left in it.
    ///
    /// # Errors
    ///
    /// The directory is standard output, is not empty, cannot be written, or another run holds it.
    pub(crate) fn begin(path: &Path, interrupt_message: &'static str) -> Result<ExportDirectory> {
        refuse_standard_output(path)?;
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(Error::output(path))?;
        let lock = File::open(path).map_err(Error::output(path))?;
        let is_locked = try_lock(&lock).map_err(Error::output(path))?;
        let names = names_in(path)?;
        if !is_locked {
            let pid = names.iter().find_map(|name| name.strip_prefix(UNFINISHED));
            let pid = pid.unwrap_or("unknown").to_owned();
            return Err(Error::Locked { path: path.to_path_buf(), pid });
        }
        let (unfinished, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| name.starts_with(UNFINISHED));
        if let Some(other) = others.first() {
            return Err(Error::Usage(format!(
                "`{}` is not empty (it contains `{other}`); export into a new or empty directory",
                path.display()
            )));
        }
        unfinished.iter().for_each(|name| remove_tree(&path.join(name)));
        let scratch = path.join(format!("{UNFINISHED}{}", std::process::id()));
        interrupt::remove_on_signal(&scratch, interrupt_message);
        fs::create_dir(&scratch).map_err(Error::output(&scratch))?;
        let path = path.to_path_buf();
        Ok(ExportDirectory { lock, path, scratch, is_new, is_finished: false })
    }

    /// Returns the path of a file in the scratch directory.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Creates a file, and its folder, in the scratch directory.
    pub(crate) fn create(&self, name: &str) -> Result<File> {
        let path = self.path_of(name);
        let folder = path.parent().unwrap_or(&self.scratch);
        // Not `create_dir_all`: it would create the scratch directory again after a signal removed it.
        match fs::create_dir(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::output(folder)(error));
            }
            _ => {}
        }
        File::create_new(&path).map_err(Error::output(&path))
    }

    /// Moves the complete and synced files to their final names.
    pub(crate) fn finish<'n>(mut self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        // Renaming a folder moves its files.
        let mut tops: Vec<&str> = names.filter_map(|name| name.split('/').next()).collect();
        tops.dedup();
        interrupt::publish_uninterrupted(|| {
            for top in tops {
                let path = self.path_of(top);
                if path.is_dir() {
                    File::open(&path)
                        .and_then(|folder| folder.sync_all())
                        .map_err(Error::output(&path))?;
                }
                fs::rename(&path, self.path.join(top)).map_err(Error::output(&path))?;
            }
            fs::remove_dir(&self.scratch).map_err(Error::output(&self.scratch))?;
            self.lock.sync_all().map_err(Error::output(&self.path))
        })?;
        interrupt::keep_on_signal();
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
            // Fails, and keeps the directory, if somebody else put a file into it.
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
