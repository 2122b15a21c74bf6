//! Takes the index entries of unchanged rows over from the previous snapshot.
//!
//! Unchanged rows keep their order, because a record's place in the order of rows follows from the record. So the
//! linker renumbers a list of rows and merges the changed rows in. It never sorts the list again:
//!
//! ```text
//! previous snapshot: year 2020 → 1 4 9    unchanged: 1→1  9→8    changed: row 5 says 2020
//! this snapshot:     year 2020 → 1 5 8
//! ```
//!
//! Where a renumbered file cannot be made, the caller makes all indexes of the entity from scratch.
//! Imports `link/{column, context, previous, resolve}` and the rest of `link/index`.

pub(crate) mod lists;
pub(crate) mod orders;
pub(crate) mod targets;
pub(crate) mod text_order;
pub(crate) mod words;

use std::io::{self, BufWriter, Write};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::word_bits;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::blobs::unnamed_file;

use crate::error::Result;
use crate::link::column::Column;
use crate::link::context::Linker;
use crate::link::previous::Previous;
use crate::link::resolve::changes::{Changes, EntityChanges, NO_ROW};

/// All indexes are made from scratch if more than one record in this number has changed.
const CHANGED_DIVISOR: u64 = 8;

/// The unchanged rows of an entity.
pub(crate) struct Unchanged<'a> {
    pub entity: Entity,
    pub previous: &'a Previous,
    pub changes: &'a Changes,
    /// For each record of the previous snapshot, its row if it is unchanged, or [`NO_ROW`].
    rows: Column,
    /// The number of unchanged records.
    pub count: u64,
}

/// The error for two snapshots that do not fit together.
pub(super) fn mismatch() -> io::Error {
    io::Error::other("the previous snapshot does not fit its state")
}

impl<'a> Unchanged<'a> {
    /// Finds the unchanged rows of an entity with `count` records; `None` if renumbering does not pay.
    pub(crate) fn find(
        linker: &Linker<'_>,
        previous: &'a Previous,
        changes: &'a Changes,
        (entity, count): (Entity, u32),
    ) -> Result<Option<Unchanged<'a>>> {
        let EntityChanges { moved, changed, is_whole, .. } = changes.of(entity);
        if *is_whole || changed.count() * CHANGED_DIVISOR > u64::from(count) {
            return Ok(None);
        }
        let old_count = previous.snapshot.count(entity) as usize;
        let file = linker.scratch_result(unnamed_file(&linker.scratch))?;
        let mut file = BufWriter::with_capacity(1 << 18, file);
        let (mut kept, mut next) = (0, 0);
        for row in moved.chunks().iter().take(old_count).map(|row| u32::from_le_bytes(*row)) {
            let is_kept = row < count && !changed.contains(row as usize);
            if is_kept {
                if row < next {
                    return Ok(None);
                }
                next = row + 1;
                kept += 1;
            }
            let row = if is_kept { row } else { NO_ROW };
            linker.scratch_result(file.write_all(&row.to_le_bytes()))?;
        }
        if kept + changed.count() != u64::from(count) {
            return Ok(None);
        }
        let rows = linker.scratch_result(Column::map(file, size_of::<u32>()))?;
        Ok(Some(Unchanged { entity, previous, changes, rows, count: kept }))
    }

    pub(crate) fn old(&self) -> &'a Snapshot {
        &self.previous.snapshot
    }

    /// For each record of the previous snapshot, its row if it is unchanged, or [`NO_ROW`].
    fn rows(&self) -> &[[u8; 4]] {
        self.rows.chunks()
    }

    /// The row of a record of the previous snapshot, if it is unchanged.
    #[inline]
    fn row(&self, old: u32) -> Option<u32> {
        let row = u32::from_le_bytes(*self.rows().get(old as usize)?);
        (row != NO_ROW).then_some(row)
    }

    /// The row that a row of an entity has now, changed or not.
    fn moved(&self, entity: Entity, old: u32) -> Option<u32> {
        self.changes.of(entity).new_row(old)
    }

    /// The changed records, ascending.
    pub(crate) fn changed(&self) -> impl Iterator<Item = u32> + '_ {
        let changed = &self.changes.of(self.entity).changed;
        (0..changed.word_count()).flat_map(|at| word_bits(at, changed.word(at)))
    }

    /// The records of the previous snapshot that are changed or removed, ascending.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(self.rows()).filter(|(_, row)| **row == NO_ROW.to_le_bytes()).map(|(old, _)| old)
    }
}
