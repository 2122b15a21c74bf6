//! Compares the previous snapshot with the rows of this link.
//!
//! ```text
//! ids of the previous snapshot   3→row 0        7→row 1         9→row 2
//! ids of this link               3→row 1        7→row 0   8→2                  moved [1, 0, –]
//! hashes of what they say        same           other     new                  changed {0, 2}
//! ```
//!
//! Both lists ascend by id, so a comparison reads each once.

use std::io::{self, BufWriter, Write};

use pinakes_format::entity::Entity;
use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::record::{self, Gather, Gathered, PathTree, Record};
use pinakes_format::schema::keys_of;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::{ReadError, unnamed_file};
use pinakes_format::with_record;

use crate::error::Result;
use crate::external_sort::Sorter;
use crate::link::atomic_bitset::AtomicBitset;
use crate::link::column::{Column, IdRow};
use crate::link::context::{Linker, broken_object, inconsistent_object};
use crate::link::previous::Previous;
use crate::link::record::linker::RecordLinker;
use crate::link::record::old_records::former_ends;
use crate::link::resolve::changes::{Changes, EntityChanges, NO_ROW};
use crate::link::take_over::TakeOver;

/// The result of a step that reads the previous snapshot.
type Compared<T> = std::result::Result<T, TakeOver>;

/// The most ids of an entity that may lead elsewhere than before. They are in memory.
const REDIRECTED_MAX: usize = 1 << 20;

impl Linker<'_> {
    /// Finds the rows that differ from the previous snapshot; `None` if too much differs.
    pub(crate) fn compare(
        &self,
        previous: &Previous,
        records: &RecordLinker<'_, '_>,
    ) -> Compared<Option<Changes>> {
        let mut changes = Vec::with_capacity(Entity::COUNT);
        for entity in Entity::all() {
            let comparison = Comparison { linker: self, previous, records, entity };
            let Some(found) = comparison.changes()? else { return Ok(None) };
            changes.push(found);
        }
        let changes = Changes(changes);
        for entity in Entity::all() {
            for end in &keys_of(entity).ends {
                if let Some((target, path)) = &end.beyond {
                    let comparison =
                        Comparison { linker: self, previous, records, entity: *target };
                    comparison.alter_beyond(path, changes.of(*target))?;
                }
            }
        }
        Ok(Some(changes))
    }
}

/// The comparison of one entity.
struct Comparison<'c, 'a, 'o> {
    linker: &'c Linker<'c>,
    previous: &'c Previous,
    records: &'c RecordLinker<'a, 'o>,
    entity: Entity,
}

impl Comparison<'_, '_, '_> {
    fn changes(&self) -> Compared<Option<EntityChanges>> {
        let Comparison { linker, previous, entity, .. } = *self;
        let inputs = &self.records.inputs;
        let count = inputs.record_count(entity);
        let unresolved = inputs.resolved.unresolved.range(entity as u8).len();
        let facts = entity.facts();
        let changes = EntityChanges {
            moved: linker.scratch_result(empty_column(linker))?,
            old_rows: linker.scratch_result(empty_column(linker))?,
            changed: AtomicBitset::new(count),
            altered: AtomicBitset::new(count + unresolved),
            redirected: Vec::new(),
            former_ends: AtomicBitset::new(count + unresolved),
            is_whole: facts.is_generated
                || facts.taxonomy_level.is_some()
                || inputs.side_tables.has_table_of(entity)
                || previous.state.is_extended(entity),
        };
        // Rows are joined in the order of ids, and looked up by the old row.
        let mut moved = Sorter::new(&linker.scratch, linker.sorter_bytes());
        let mut push = |old: u32, row: u32| {
            linker.scratch_result(moved.push(IdRow { id: u64::from(old), row }))
        };
        self.join_records(&changes, &mut push)?;
        self.join_unresolved(&changes, &mut push)?;
        let redirected = self.redirected(&changes)?;
        let Some(redirected) = redirected else { return Ok(None) };
        let rows = previous.snapshot.rows(entity);
        let moved = linker.scratch_result(write_moved(moved, rows, linker))?;
        let mut changes = EntityChanges { moved, redirected, ..changes };
        self.mark_former_ends(&changes)?;
        if !changes.is_whole {
            let old_rows = self.old_rows(&changes, count);
            changes.old_rows = linker.scratch_result(old_rows)?;
        }
        Ok(Some(changes))
    }

    /// Joins the records by id.
    fn join_records(
        &self,
        changes: &EntityChanges,
        moved: &mut impl FnMut(u32, u32) -> Result<()>,
    ) -> Compared<()> {
        let Comparison { previous, entity, .. } = *self;
        let rows = &self.records.inputs.rows[entity as usize];
        if entity.facts().is_generated {
            // The link makes these records, so that their rows are others.
            (0..rows.order.len()).for_each(|row| _ = changes.altered.insert(row));
            return Ok(());
        }
        let contents = rows.contents.as_ref().ok_or_else(inconsistent_object)?.chunks();
        let (ids, old_contents) = (previous.snapshot.ids(entity), previous.state.contents(entity));
        if old_contents.len() != ids.published() {
            return Err(TakeOver::contradiction("they have different numbers of records"));
        }
        if contents.len() != rows.order.len() {
            return Err(inconsistent_object().into());
        }
        let mut at = 0;
        let old = |at: usize| {
            let pair = (at < ids.published()).then(|| ids.pair(at)).transpose();
            pair.map_err(TakeOver::at(entity, None::<u32>))
        };
        let mut next = old(0)?;
        for (IdRow { id, row }, content) in rows.by_id.iter().zip(contents) {
            while next.is_some_and(|(old_id, _)| old_id < id) {
                at += 1;
                next = old(at)?;
            }
            let Some((_, old_row)) = next.filter(|(old_id, _)| *old_id == id) else {
                changes.changed.insert(row as usize);
                changes.altered.insert(row as usize);
                continue;
            };
            moved(old_row, row)?;
            if old_contents[at] != *content {
                changes.changed.insert(row as usize);
                if self.looks_different(old_row, row)? {
                    changes.altered.insert(row as usize);
                }
            }
        }
        Ok(())
    }

    /// Whether a record looks different to a record that refers to it: by its name, or by the type that
    /// venues repeat.
    fn looks_different(&self, old_row: u32, row: u32) -> Compared<bool> {
        let Comparison { previous, records, entity, .. } = *self;
        if !entity.facts().is_referenced {
            return Ok(false);
        }
        let packed = record::access(records.locate(entity, row as usize)?.blob);
        let packed = packed.map_err(broken_object(entity, row))?.packed;
        let name = with_record!(entity, R => <R as Record>::name(packed));
        let name = name.map_err(broken_object(entity, row))?;
        let old = &previous.snapshot;
        let old_name = old.row_name(entity, old_row).map_err(TakeOver::at(entity, old_row))?;
        Ok(name != old_name || records.has_other_source_type(entity, row, old, old_row)?)
    }

    /// Joins the unresolved references by id and name. Marks those that are new.
    fn join_unresolved(
        &self,
        changes: &EntityChanges,
        moved: &mut impl FnMut(u32, u32) -> Result<()>,
    ) -> Compared<()> {
        let Comparison { previous, entity, .. } = *self;
        let inputs = &self.records.inputs;
        let (old, unresolved) = (&previous.snapshot, &inputs.resolved.unresolved);
        let mut next = old.count(entity);
        // The references of the citation graph follow, which are in no index.
        let is_joined = entity.facts().is_referenced && !keys_of(entity).has_citations();
        let end = if is_joined { old.rows(entity) } else { next };
        let of_entity = unresolved.range(entity as u8);
        for (row, index) in (inputs.record_count(entity)..).zip(of_entity) {
            let symbol = unresolved.get(index).ok_or_else(inconsistent_object)?;
            let mut is_same = false;
            while next < end && !is_same {
                let id = old.row_id(entity, next).map_err(TakeOver::at(entity, next))?;
                let name = old.row_name(entity, next).map_err(TakeOver::at(entity, next))?;
                let known = (id, name);
                if known > (symbol.id, symbol.name) {
                    break;
                }
                is_same = known == (symbol.id, symbol.name);
                if is_same {
                    moved(next, u32::try_from(row).map_err(|_| inconsistent_object())?)?;
                }
                next += 1;
            }
            if !is_same {
                changes.altered.insert(row);
            }
        }
        Ok(())
    }

    /// Lists the ids whose merge differs, and marks the rows that they lead to now. `None` if they are too many.
    fn redirected(&self, changes: &EntityChanges) -> Compared<Option<Vec<u64>>> {
        let Comparison { previous, entity, .. } = *self;
        let inputs = &self.records.inputs;
        let (rows, old) = (&inputs.rows[entity as usize], previous.snapshot.redirects(entity));
        let unresolved = &inputs.resolved.unresolved;
        let (mut all, mut ends) = (Vec::new(), Vec::new());
        // Both lists ascend by the merged id. A merge that one list lacks differs, as does a merge with another end.
        let mut new = rows.redirects.all().peekable();
        let mut at = 0;
        loop {
            let before = (at < old.count()).then(|| old.pair(at)).transpose();
            let before = before.map_err(TakeOver::at(entity, None::<u32>))?;
            let id = match (before, new.peek()) {
                (Some(before), Some(now)) if before == *now => {
                    at += 1;
                    new.next();
                    continue;
                }
                (None, None) => break,
                (before, now) => {
                    before.map_or(u64::MAX, |(id, _)| id).min(now.map_or(u64::MAX, |(id, _)| *id))
                }
            };
            at += usize::from(before.is_some_and(|(from, _)| from == id));
            new.next_if(|(from, _)| *from == id);
            all.push(id);
            if all.len() > REDIRECTED_MAX {
                return Ok(None);
            }
            ends.push(rows.redirects.end(id));
        }
        // Records that refer to these rows now may have referred to other rows.
        ends.sort_unstable();
        ends.dedup();
        for end in ends {
            if let Some(row) = rows.by_id.row_of(end) {
                changes.altered.insert(row as usize);
            }
            let first = unresolved.range(entity as u8).start;
            for index in unresolved.with_id(entity as u8, end) {
                changes.altered.insert(rows.order.len() + index - first);
            }
        }
        Ok(Some(all))
    }

    /// Marks the rows to which merges led that lead elsewhere now.
    fn mark_former_ends(&self, changes: &EntityChanges) -> Compared<()> {
        let rows = former_ends(&self.previous.snapshot, self.entity, &changes.redirected);
        let rows = rows.map_err(TakeOver::at(self.entity, None::<u32>))?;
        for row in rows.into_iter().filter_map(|old| changes.new_row(old)) {
            changes.former_ends.insert(row as usize);
        }
        Ok(())
    }

    /// The old row of each of `count` records with the same content; no rows if such records are in another order
    /// than before.
    fn old_rows(&self, changes: &EntityChanges, count: usize) -> io::Result<Column> {
        let Comparison { linker, previous, entity, .. } = *self;
        let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(&linker.scratch)?);
        let mut next = 0;
        for (old, row) in (0..previous.snapshot.count(entity)).zip(changes.moved.chunks()) {
            let row = u32::from_le_bytes(*row) as usize;
            // A record that is no more has no row below the count.
            if row >= count || changes.changed.contains(row) {
                continue;
            }
            if row < next {
                return empty_column(linker);
            }
            (next..row).try_for_each(|_| file.write_all(&NO_ROW.to_le_bytes()))?;
            file.write_all(&old.to_le_bytes())?;
            next = row + 1;
        }
        Column::map(file, size_of::<u32>())
    }

    /// Marks the records whose references at a path lead to other records than before.
    fn alter_beyond(&self, path: &PathTree, changes: &EntityChanges) -> Compared<()> {
        let Comparison { previous, records, entity, .. } = *self;
        let old = &previous.snapshot;
        for (old_row, row) in (0..old.count(entity)).zip(changes.moved.chunks()) {
            let row = u32::from_le_bytes(*row);
            if row == NO_ROW {
                continue;
            }
            let before = old_references(old, entity, old_row, path);
            let before = before.map_err(TakeOver::at(entity, old_row))?;
            if before != self.references(&records.blob(entity, row as usize)?, row, path)? {
                changes.altered.insert(row as usize);
            }
        }
        Ok(())
    }

    /// The references at the end of a path in the linked record of a row.
    fn references(
        &self,
        blob: &[u8],
        row: u32,
        path: &PathTree,
    ) -> Result<Vec<(Entity, u64, bool)>> {
        let inputs = &self.records.inputs;
        let gather =
            || gathered(self.entity, &mut RecordReader::new(record::access(blob)?.packed)?, path);
        let rows = gather().map_err(broken_object(self.entity, row))?;
        let id_of = |(entity, row): (Entity, u32)| {
            let id = match inputs.locate(entity, row) {
                Some((.., place)) => place.id,
                None => inputs.unresolved(entity, row)?.id,
            };
            Some((entity, id, (row as usize) < inputs.record_count(entity)))
        };
        rows.into_iter().map(|row| id_of(row).ok_or_else(inconsistent_object)).collect()
    }
}

/// The references at the end of a path in a record of a snapshot: entity, id, and whether there is a record.
fn old_references(
    old: &Snapshot,
    entity: Entity,
    row: u32,
    path: &PathTree,
) -> std::result::Result<Vec<(Entity, u64, bool)>, ReadError> {
    let Some(mut reader) = old.reader(entity, row)? else { return Ok(Vec::new()) };
    let rows = gathered(entity, &mut reader, path)?;
    let id_of = |(entity, row)| Ok((entity, old.row_id(entity, row)?, row < old.count(entity)));
    rows.into_iter().map(id_of).collect()
}

/// The rows referred to at the end of a path in a record.
fn gathered(
    entity: Entity,
    reader: &mut RecordReader<'_>,
    path: &PathTree,
) -> std::result::Result<Vec<(Entity, u32)>, ReadError> {
    let mut rows = Vec::new();
    let mut visit = |_: usize, value: Gathered<'_>| {
        if let Gathered::Reference(entity, row) = value {
            rows.push((entity, row));
        }
    };
    with_record!(entity, R => R::gather(reader, path, &mut visit))?;
    Ok(rows)
}

fn empty_column(linker: &Linker<'_>) -> io::Result<Column> {
    Column::map(BufWriter::new(unnamed_file(&linker.scratch)?), size_of::<u32>())
}

/// Writes the new row of each old row.
fn write_moved(moved: Sorter<IdRow>, rows: u32, linker: &Linker<'_>) -> io::Result<Column> {
    let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(&linker.scratch)?);
    let mut at = 0;
    let mut write_until = |old: u32, file: &mut BufWriter<_>| {
        while at < old {
            file.write_all(&NO_ROW.to_le_bytes())?;
            at += 1;
        }
        at += 1;
        Ok::<_, io::Error>(())
    };
    for pair in moved.finish()? {
        let IdRow { id, row } = pair?;
        // The id is a row of the previous snapshot.
        write_until(id as u32, &mut file)?;
        file.write_all(&row.to_le_bytes())?;
    }
    write_until(rows, &mut file)?;
    Column::map(file, size_of::<u32>())
}
