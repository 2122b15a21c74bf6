//! What becomes of a snapshot's files while it is open: what of them is verified, and whether they are
//! still what they were.

use crate::index::dictionary::Dictionary;
use crate::index::orders::OrdersFile;
use crate::index::prefix_stats::PrefixStats;
use crate::index::term_lists::TermListsFile;
use crate::snapshot::{Cause, OpenError, Snapshot};
use crate::storage::archive::Archive;
use crate::storage::blobs::Blobs;
use crate::storage::error::FileFault;
use crate::storage::manifest::HASHES;
use crate::storage::mmap;
use crate::storage::mmap::{Change, Map};

impl Snapshot {
    /// Every archive it has open.
    pub fn archives(&self) -> impl Iterator<Item = &Archive> {
        let of_stores = self.mapped.stores.iter().flat_map(|store| {
            let optional = [
                store.names.as_ref().map(Blobs::archive),
                store.lists.as_ref().map(TermListsFile::archive),
                store.orders.as_ref().map(OrdersFile::archive),
                store.words.as_ref().map(Dictionary::archive),
                store.alternatives.as_ref().map(Dictionary::archive),
                store.prefixes.as_ref().map(PrefixStats::archive),
            ];
            [store.records.archive(), store.ids.archive(), store.redirects.archive()]
                .into_iter()
                .chain(optional.into_iter().flatten())
        });
        of_stores.chain([self.mapped.strings.archive()])
    }

    /// Its files, as the manifest names them, each mapped or held.
    fn files(&self) -> impl Iterator<Item = (&str, &Map)> {
        let archives = self.archives().map(|archive| (archive.file(), archive.map()));
        archives.chain([(HASHES, &*self.mapped.hashes)])
    }

    /// The first of its files that could not be read since it was opened; `None` where all could. Nothing
    /// that was read of it since then means anything.
    ///
    /// It is so only in a process that [outlives faults](mmap::survive_faults). Cost: a look at one number
    /// for as long as there was none in any file of any snapshot, then at one for each file.
    pub fn fault(&self) -> Option<FileFault> {
        if mmap::faults() == 0 {
            return None;
        }
        self.files().find_map(|(file, map)| {
            let (file, at) = (file.to_owned(), map.fault()? as u64);
            Some(FileFault::Unreadable { file, at })
        })
    }

    /// The same snapshot, if all that was read of it could be.
    pub(super) fn unfaulted(self) -> Result<Snapshot, OpenError> {
        self.demand_unfaulted().map(|()| self)
    }

    /// Demands that all that was read of it could be, as [`Snapshot::fault`] knows.
    ///
    /// # Errors
    ///
    /// Naming the file that could not.
    pub fn demand_unfaulted(&self) -> Result<(), OpenError> {
        let Some(fault) = self.fault() else { return Ok(()) };
        let file = fault.file().to_owned();
        Err(OpenError { path: self.mapped.path.clone(), file, cause: Cause::Content(fault.into()) })
    }

    /// Looks whether its files are still what they were; those that were written to since the last look,
    /// or touched. What was verified of them is then verified again when it is next touched.
    ///
    /// Cost: a system call for each file that is mapped; nothing is read.
    ///
    /// # Errors
    ///
    /// Where one could not be read, or has another size.
    pub fn look(&self) -> Result<Vec<&str>, FileFault> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let mut written = Vec::new();
        for (file, map) in self.files() {
            match map.look(&self.mapped.path.join(file)) {
                Change::None => {}
                Change::Written => written.push(file),
                Change::Resized { expected, found } => {
                    return Err(FileFault::Resized { file: file.to_owned(), expected, found });
                }
            }
        }
        let is_written = |file: &str| written.contains(&file);
        // All are held against the values.
        let of_all = is_written(HASHES);
        self.archives()
            .filter(|archive| of_all || is_written(archive.file()))
            .for_each(Archive::forget);
        Ok(written)
    }
}
