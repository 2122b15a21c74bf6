//! Renumbers target rows.

use std::{
    io::{self, BufReader, Read, Write},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::targets::TargetsWriter;
use pinakes_format::schema::keys::{Keys, Terms};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::blobs::{Spool, Spooled};

use crate::link::index::extract::Extracted;
use crate::link::index::renumber::{Unchanged, mismatch};
use crate::link::index::value::read_row;

/// The target rows of changed records, path by path: for each record their number, and the rows.
pub(crate) struct ChangedTargets(Vec<Spool>);

impl ChangedTargets {
    pub(crate) fn new(keys: &Keys, scratch: &Path) -> ChangedTargets {
        ChangedTargets(keys.targets.iter().map(|_| Spool::new(scratch)).collect())
    }

    /// Adds the target rows of the next changed records.
    pub(crate) fn push(&mut self, extracted: &Extracted) -> io::Result<()> {
        for (spool, (counts, rows)) in self.0.iter_mut().zip(&extracted.targets) {
            let mut rest = &rows[..];
            for count in counts {
                let (rows, others) = rest.split_at(*count as usize);
                rest = others;
                spool.write_all(&count.to_le_bytes())?;
                rows.iter().try_for_each(|row| spool.write_all(&row.to_le_bytes()))?;
            }
        }
        Ok(())
    }

    /// Writes the target rows of all records.
    pub(crate) fn write(
        mut self,
        keys: &Keys,
        unchanged: &Unchanged<'_>,
        draft: &Snapshot,
        writer: &mut TargetsWriter,
    ) -> io::Result<()> {
        let old = unchanged.old().targets(unchanged.entity).map_err(io::Error::other)?;
        for (path, (number, spool)) in keys.targets.iter().zip(&mut self.0).enumerate() {
            let Terms::Rows(target) = keys.lists[*number].terms else { return Err(mismatch()) };
            let moving = Moving { unchanged, draft, target };
            let changed = BufReader::with_capacity(1 << 16, spool.take()?);
            let mut merging =
                Merging { writer, path, changed, next: unchanged.changed().peekable() };
            let (mut record, mut outcome, mut rows) = (0, Ok(()), Vec::new());
            let visited = old.each_record(path, |old_rows| {
                if let Some(row) = unchanged.row(record) {
                    rows.clear();
                    let moved = old_rows.iter().try_for_each(|old| {
                        rows.push(moving.row(*old)?);
                        Ok(())
                    });
                    // The rows referred to may have changed places.
                    rows.sort_unstable();
                    outcome = moved.and_then(|()| merging.push(row, &rows));
                }
                record += 1;
                outcome.is_ok()
            });
            visited.map_err(io::Error::other)?;
            outcome?;
            merging.push_before(u32::MAX)?;
        }
        Ok(())
    }
}

/// The rows that the target rows of one path are now.
struct Moving<'m> {
    unchanged: &'m Unchanged<'m>,
    draft: &'m Snapshot,
    target: Entity,
}

impl Moving<'_> {
    /// The first row with the id of an old row.
    fn row(&self, old: u32) -> io::Result<u32> {
        let snapshot = self.unchanged.old();
        if old < snapshot.count(self.target) {
            return self.unchanged.moved(self.target, old).ok_or_else(mismatch);
        }
        // Another spelling may be the first with this id now.
        let id = snapshot.row_id(self.target, old).map_err(io::Error::other)?;
        let rows = self.draft.ids(self.target).unresolved_rows(id).map_err(io::Error::other)?;
        if rows.is_empty() { Err(mismatch()) } else { Ok(rows.start) }
    }
}

/// Merges the target rows of unchanged and changed records.
struct Merging<'m, C: Iterator<Item = u32>> {
    writer: &'m mut TargetsWriter,
    path: usize,
    changed: BufReader<Spooled>,
    next: std::iter::Peekable<C>,
}

impl<C: Iterator<Item = u32>> Merging<'_, C> {
    fn push(&mut self, record: u32, rows: &[u32]) -> io::Result<()> {
        self.push_before(record)?;
        self.writer.push(self.path, rows)
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
