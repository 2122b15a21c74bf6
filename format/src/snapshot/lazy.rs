//! An index that is opened when it is first used.
//!
//! A snapshot that is whole opens every index at once, and so finds what is wrong with it. Of a snapshot whose chunks
//! are fetched, each index is opened by the first request that needs it: opening all would fetch a megabyte.

use std::sync::{Arc, OnceLock};

use crate::storage::{Archive, ArchiveError, InArchive, ReadError, Reading};

/// Opens an index in its archive.
type Open<T> = dyn Fn(Archive) -> Result<T, ArchiveError> + Send + Sync;

/// An index that is opened when it is first used.
#[derive(Clone)]
pub(super) struct Lazy<T> {
    archive: Archive,
    open: Arc<Open<T>>,
    opened: OnceLock<T>,
}

impl<T> Lazy<T> {
    pub fn new(archive: Archive, open: Arc<Open<T>>) -> Lazy<T> {
        Lazy { archive, open, opened: OnceLock::new() }
    }

    /// Opens the index unless it is open.
    ///
    /// # Errors
    ///
    /// Where the bytes that describe the index cannot be read, or make no sense.
    pub fn open(&self) -> Result<&T, ArchiveError> {
        match self.opened.get() {
            Some(opened) => Ok(opened),
            None => {
                let opened = (self.open)(self.archive.clone())?;
                Ok(self.opened.get_or_init(|| opened))
            }
        }
    }

    /// The open index, for a reader.
    #[inline]
    pub fn get(&self) -> Result<&T, ReadError> {
        self.open().map_err(|error| match error {
            ArchiveError::Read(error) => error,
            ArchiveError::Header(_) | ArchiveError::Length { .. } => {
                let file = self.archive.header().kind.file_name();
                ReadError::corrupt(file, "its directory does not describe its contents")
            }
        })
    }

    /// The archive of the index.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }
}

impl<T: InArchive> InArchive for Lazy<T> {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }

    fn reading(&self, reading: &Reading) -> Self {
        let mut twin = self.clone();
        twin.archive.reading_by(reading);
        if let Some(opened) = twin.opened.get_mut() {
            opened.archive_mut().reading_by(reading);
        }
        twin
    }
}
