//! Target rows: for each record the rows of another entity that it refers to, path by path.
//!
//! From scratch they go into the file as they are extracted. With a previous snapshot only those of changed records are
//! extracted, spooled, and merged with the others, whose rows are numbered again.

use std::io;
use std::io::{BufReader, Read, Write};
use std::iter::Peekable;
use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::index::targets::TargetsWriter;
use pinakes_format::schema::{Keys, Terms};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::{Spool, Spooled, Written};

use crate::error::Unreadable;
use crate::link::index::extract::Extracted;
use crate::link::index::sort_key::read_row;
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::link::take_over::TakeOver;

/// The target rows of an entity while its records are extracted.
pub(super) struct Targets {
    writer: TargetsWriter,
    /// For each path, the target rows of changed records: their number and the rows. `None` from scratch.
    changed: Option<Vec<Spool>>,
}

impl Targets {
    /// Target rows of all records.
    pub(super) fn of_all(writer: TargetsWriter) -> Targets {
        Targets { writer, changed: None }
    }

    /// Target rows of changed records.
    pub(super) fn of_changed(writer: TargetsWriter, keys: &Keys, scratch: &Path) -> Targets {
        let spools = keys.targets.iter().map(|_| Spool::new(scratch)).collect();
        Targets { writer, changed: Some(spools) }
    }

    /// Adds the target rows of the next records.
    pub(super) fn push(&mut self, extracted: &Extracted) -> io::Result<()> {
        for (path, (counts, rows)) in extracted.targets.iter().enumerate() {
            let mut rest = &rows[..];
            for count in counts {
                let (rows, others) = rest.split_at(*count as usize);
                rest = others;
                match &mut self.changed {
                    None => self.writer.push(path, rows)?,
                    Some(spools) => {
                        spools[path].write_all(&count.to_le_bytes())?;
                        rows.iter()
                            .try_for_each(|row| spools[path].write_all(&row.to_le_bytes()))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Merges the target rows of unchanged records in, and closes the file.
    pub(super) fn finish(
        self,
        keys: &Keys,
        unchanged: Option<&Unchanged<'_>>,
        draft: &Snapshot,
    ) -> Taken<Written> {
        let Targets { mut writer, changed } = self;
        let Some((spools, unchanged)) = changed.zip(unchanged) else { return Ok(writer.finish()?) };
        for (path, (number, mut spool)) in keys.targets.iter().zip(spools).enumerate() {
            let Terms::Rows(target) = keys.lists[*number].terms else { continue };
            let mut merge = TargetsMerge {
                writer: &mut writer,
                path,
                changed: BufReader::with_capacity(1 << 16, spool.take()?),
                next: unchanged.changed().peekable(),
            };
            merge.write(&MovedTargets { unchanged, draft, target })?;
        }
        Ok(writer.finish()?)
    }
}

/// The rows that the target rows of one path are now.
struct MovedTargets<'m> {
    unchanged: &'m Unchanged<'m>,
    draft: &'m Snapshot,
    target: Entity,
}

impl MovedTargets<'_> {
    /// The first row with the id of an old row.
    fn row(&self, old: u32) -> Taken<u32> {
        let lost = || TakeOver::contradiction("an unchanged record refers to a lost row");
        let snapshot = self.unchanged.old();
        if old < snapshot.count(self.target) {
            return self.unchanged.moved(self.target, old).ok_or_else(lost);
        }
        // Another spelling may be the first with this id now.
        let id = snapshot.row_id(self.target, old).map_err(TakeOver::at(self.target, old))?;
        let rows = self.draft.ids(self.target).unresolved_rows(id);
        let rows = rows.map_err(|fault| {
            TakeOver::Failed(Unreadable::at(self.target, None::<u32>)(fault).into())
        })?;
        if rows.is_empty() { Err(lost()) } else { Ok(rows.start) }
    }
}

/// Merges the target rows of unchanged and changed records of one path.
struct TargetsMerge<'m, C: Iterator<Item = u32>> {
    writer: &'m mut TargetsWriter,
    path: usize,
    changed: BufReader<Spooled>,
    /// The changed records, ascending.
    next: Peekable<C>,
}

impl<C: Iterator<Item = u32>> TargetsMerge<'_, C> {
    /// Writes the target rows of all records.
    fn write(&mut self, moved: &MovedTargets<'_>) -> Taken<()> {
        let unchanged = moved.unchanged;
        let old = unchanged.old().targets(unchanged.entity).map_err(unchanged.failure())?;
        let row_map = unchanged.row_map();
        let (mut record, mut outcome, mut rows) = (0, Ok(()), Vec::new());
        let visited = old.each_record(self.path, |old_rows| {
            if let Some(row) = row_map.get(record) {
                outcome = self.push(row, old_rows, moved, &mut rows);
            }
            record += 1;
            outcome.is_ok()
        });
        visited.map_err(unchanged.failure())?;
        outcome?;
        Ok(self.push_before(u32::MAX)?)
    }

    /// Writes the target rows of an unchanged record, after the changed records before it. `rows` is reused memory.
    fn push(
        &mut self,
        record: u32,
        old_rows: &[u32],
        moved: &MovedTargets<'_>,
        rows: &mut Vec<u32>,
    ) -> Taken<()> {
        self.push_before(record)?;
        rows.clear();
        for old in old_rows {
            rows.push(moved.row(*old)?);
        }
        // The rows referred to may have changed places.
        rows.sort_unstable();
        Ok(self.writer.push(self.path, rows)?)
    }

    /// Writes the target rows of the changed records before a record.
    fn push_before(&mut self, record: u32) -> io::Result<()> {
        while self.next.next_if(|next| *next < record).is_some() {
            let count = read_row(&mut self.changed)?;
            let rows: io::Result<Vec<u32>> =
                (0..count).map(|_| read_row(self.changed.by_ref())).collect();
            self.writer.push(self.path, &rows?)?;
        }
        Ok(())
    }
}
