//! Detects changes to a snapshot's files while the snapshot is open.

use crate::snapshot::Snapshot;
use crate::snapshot::error::OpenError;
use crate::snapshot::lazy::Lazy;
use crate::storage::manifest::HASHES;
use crate::storage::mmap::Map;
use crate::storage::{Archive, FileChange, FileFault, Names, ReadError, mmap};

impl Snapshot {
    /// Every open archive.
    pub fn archives(&self) -> impl Iterator<Item = &Archive> {
        let of_entities = self.mapped.entities.iter().flat_map(|files| {
            let optional = [
                files.names.as_ref().map(Names::archive),
                files.term_lists.as_ref().map(Lazy::archive),
                files.orders.as_ref().map(Lazy::archive),
                files.words.as_ref().map(Lazy::archive),
                files.alternatives.as_ref().map(Lazy::archive),
                files.prefix_stats.as_ref().map(Lazy::archive),
                files.citations.as_ref().map(Lazy::archive),
                files.targets.as_ref().map(Lazy::archive),
                files.full_text.as_ref().map(Lazy::archive),
                files.crossings.as_ref().map(Lazy::archive),
            ];
            [files.records.archive(), files.ids.archive(), files.redirects.archive()]
                .into_iter()
                .chain(optional.into_iter().flatten())
        });
        of_entities.chain([self.mapped.strings.archive()])
    }

    /// Every mapped or copied file, with its path in the manifest.
    fn files(&self) -> impl Iterator<Item = (&str, &Map)> {
        let archives = self.archives().map(|archive| (archive.file(), archive.map()));
        archives.chain([(HASHES, &*self.mapped.opened.hashes)])
    }

    /// The first file that the system failed to read since the snapshot was opened.
    ///
    /// After such a failure the whole file reads as zeros, so the caller must discard every answer
    /// made since. Finds failures only in a process that called [`mmap::survive_faults`].
    ///
    /// Cost: one atomic load while no file of any snapshot has failed, then one for each file.
    pub fn fault(&self) -> Option<FileFault> {
        if mmap::fault_count() == 0 {
            return None;
        }
        self.files().find_map(|(file, map)| {
            let (file, at) = (file.to_owned(), map.fault()? as u64);
            Some(FileFault::Unreadable { file, at })
        })
    }

    /// Returns an error where [`Snapshot::fault`] finds a file.
    ///
    /// # Errors
    ///
    /// Names the file that could not be read.
    pub fn check_readable(&self) -> Result<(), OpenError> {
        let Some(fault) = self.fault() else { return Ok(()) };
        let file = fault.file().to_owned();
        Err(OpenError::new(&self.mapped.opened.path, &file, ReadError::from(fault)))
    }

    /// Finds the files that were written to, or touched, since the last call. Every chunk of such a
    /// file is verified again at its next touch.
    ///
    /// Cost: one `lstat` for each mapped file; reads no file.
    ///
    /// # Errors
    ///
    /// Where a file could not be read, or changed its size; of a mirror, also where a file was replaced.
    pub fn check_files(&self) -> Result<Vec<&str>, FileFault> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let mut written = Vec::new();
        for (file, map) in self.files() {
            match map.check_file(&self.mapped.opened.path.join(file)) {
                FileChange::None => {}
                // A chunk cannot be written to a file that is gone.
                FileChange::Replaced if self.is_fetched() => {
                    return Err(FileFault::Replaced { file: file.to_owned() });
                }
                FileChange::Replaced => {}
                FileChange::Written => written.push(file),
                FileChange::Resized { expected, found } => {
                    return Err(FileFault::Resized { file: file.to_owned(), expected, found });
                }
            }
        }
        let is_written = |file: &str| written.contains(&file);
        // The hashes verify every archive.
        let are_hashes_written = is_written(HASHES);
        self.archives()
            .filter(|archive| are_hashes_written || is_written(archive.file()))
            .for_each(Archive::forget);
        Ok(written)
    }
}
