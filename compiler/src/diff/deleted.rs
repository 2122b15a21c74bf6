//! The ids that lists of deleted ids name, asked in ascending order.

use std::iter::Peekable;
use std::path::PathBuf;

use pinakes_format::entity::Entity;

use crate::error::{Error, Result};
use crate::external_sort::{Sorted, Sorter, spill_numbers};
use crate::frontend::id_lists::each_deleted;

/// A deleted id. Ordered by entity and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DeletedId(u8, u64);

spill_numbers!(DeletedId { 0: u8, 1: u64 });

/// Sorted ids of all lists.
pub(super) struct DeletedIds(Peekable<Sorted<DeletedId>>);

impl DeletedIds {
    /// Reads the lists.
    ///
    /// # Errors
    ///
    /// A list cannot be read, or has a bad row.
    pub(super) fn read(lists: &[PathBuf], memory_bytes: u64) -> Result<DeletedIds> {
        let directory = std::env::temp_dir();
        let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        let mut sorter = Sorter::new(&directory, memory_bytes);
        for list in lists {
            each_deleted(list, |entity, id| {
                sorter.push(DeletedId(entity as u8, id)).map_err(Error::output(&directory))
            })?;
        }
        Ok(DeletedIds(sorter.finish().map_err(Error::output(&directory))?.peekable()))
    }

    /// Whether a list has the id. Each call asks for a greater entity or id than the call before.
    pub(super) fn has(&mut self, entity: Entity, id: u64) -> Result<bool> {
        let asked = DeletedId(entity as u8, id);
        while self
            .0
            .next_if(|next| !matches!(next, Ok(next) if *next >= asked))
            .transpose()
            .map_err(Error::output(std::env::temp_dir()))?
            .is_some()
        {}
        Ok(matches!(self.0.peek(), Some(Ok(next)) if *next == asked))
    }
}
