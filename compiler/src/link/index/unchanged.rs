//! The rows whose index entries are taken over from the previous snapshot: a map from old rows to new ones.
//!
//! Unchanged rows keep their order, because a record's place in the order of rows follows from the record. So behind this
//! map yesterday's file is a sorted run, which a merge need not sort again:
//!
//! ```text
//! previous snapshot: year 2020 → 1 4 9    unchanged: 1→1  9→8    changed: row 5 says 2020
//! this snapshot:     year 2020 → 1 5 8
//! ```

use std::io::{self, BufWriter, Write};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::word_bits;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::{ReadError, unnamed_file};

use crate::link::column::Column;
use crate::link::context::Linker;
use crate::link::previous::Previous;
use crate::link::resolve::changes::{Changes, EntityChanges, NO_ROW};
use crate::link::take_over::TakeOver;

/// The result of a step that reads an index of the previous snapshot.
pub(crate) type Taken<T> = Result<T, TakeOver<io::Error>>;

/// Nothing is taken over if more than one record in this number has changed.
const CHANGED_DIVISOR: u64 = 8;

/// The previous snapshot, and the differences from it.
#[derive(Clone, Copy)]
pub(crate) struct Earlier<'a> {
    pub previous: &'a Previous,
    pub changes: &'a Changes,
}

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

impl<'a> Unchanged<'a> {
    /// Finds the unchanged rows of an entity with `count` records; `None` if so many changed that taking the others over
    /// does not pay.
    pub(crate) fn find(
        linker: &Linker<'_>,
        earlier: Earlier<'a>,
        entity: Entity,
        count: u32,
    ) -> Result<Option<Unchanged<'a>>, TakeOver> {
        let Earlier { previous, changes } = earlier;
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
                // The merges rely on this order.
                if row < next {
                    return Err(TakeOver::contradiction("unchanged records are in another order"));
                }
                next = row + 1;
                kept += 1;
            }
            let row = if is_kept { row } else { NO_ROW };
            linker.scratch_result(file.write_all(&row.to_le_bytes()))?;
        }
        if kept + changed.count() != u64::from(count) {
            return Err(TakeOver::contradiction("a record is neither changed nor unchanged"));
        }
        let rows = linker.scratch_result(Column::map(file, size_of::<u32>()))?;
        Ok(Some(Unchanged { entity, previous, changes, rows, count: kept }))
    }

    /// The error for an index of the previous snapshot that cannot be read.
    pub(super) fn failure(&self) -> impl FnOnce(ReadError) -> TakeOver<io::Error> + use<> {
        TakeOver::at(self.entity, None::<u32>)
    }

    pub(crate) fn old(&self) -> &'a Snapshot {
        &self.previous.snapshot
    }

    /// The rows that records of the previous snapshot have now.
    pub(super) fn row_map(&self) -> RowMap<'_> {
        RowMap(self.rows.chunks())
    }

    /// The row of a record of the previous snapshot, if it is unchanged.
    pub(super) fn row(&self, old: u32) -> Option<u32> {
        self.row_map().get(old)
    }

    /// The row that a row of an entity has now, changed or not.
    pub(super) fn moved(&self, entity: Entity, old: u32) -> Option<u32> {
        self.changes.of(entity).new_row(old)
    }

    /// The changed records, ascending.
    pub(crate) fn changed(&self) -> impl Iterator<Item = u32> + '_ {
        let changed = &self.changes.of(self.entity).changed;
        (0..changed.word_count()).flat_map(|at| word_bits(at, changed.word(at)))
    }

    /// The records of the previous snapshot that are changed or removed, ascending.
    pub(crate) fn dropped(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .zip(self.row_map().0)
            .filter(|(_, row)| **row == NO_ROW.to_le_bytes())
            .map(|(old, _)| old)
    }
}

/// For each record of the previous snapshot, its row if it is unchanged, or [`NO_ROW`].
#[derive(Clone, Copy)]
pub(super) struct RowMap<'r>(&'r [[u8; 4]]);

impl RowMap<'_> {
    /// The row of a record, if it is unchanged.
    #[inline]
    pub(super) fn get(self, old: u32) -> Option<u32> {
        let row = u32::from_le_bytes(*self.0.get(old as usize)?);
        (row != NO_ROW).then_some(row)
    }
}
