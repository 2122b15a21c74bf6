//! Resolves the references of every record to rows.
//!
//! Two waves of batches are in memory: one thread appends a wave to the file of lists while the others resolve the next.

use std::io;
use std::io::{BufWriter, Write};
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::index::citations::CitationsFile;
use pinakes_format::schema::{Direction, keys_of};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::{ReadError, unnamed_file};

use crate::error::Result;
use crate::external_sort::{Sorter, Spill, spill_numbers};
use crate::link::citations::graph::ReferenceLists;
use crate::link::citations::{ResolvedReferences, UNRESOLVED};
use crate::link::column::{IdRows, KeyColumn};
use crate::link::context::{Linker, check_rows, inconsistent_object};
use crate::link::radix_sort::sort_by_key;
use crate::link::record::inputs::LinkInputs;
use crate::link::record::old_records::OldRecords;
use crate::link::resolve::changes::EntityChanges;
use crate::link::take_over::{NotTakenOverList, TakeOver, TakenPart};
use crate::parallel;

/// The most records of a batch, which one thread resolves.
const BATCH_ROWS: usize = 4_096;
/// Limits of the bytes of encoded references after which a batch ends.
const BATCH_BYTES: RangeInclusive<usize> = 64 << 10..=1 << 20;
const WAVE_BATCHES: usize = 64;
/// Memory of a batch by the bytes of its encoded references, about.
const BATCH_MEMORY: usize = 16;

/// An id without a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UnresolvedId(u64);

spill_numbers!(UnresolvedId { 0: u64 });

/// The references of consecutive records.
struct Batch {
    records: usize,
    lists: Vec<u8>,
    /// Ascending, each once.
    unresolved: Vec<UnresolvedId>,
    dangling: u64,
}

impl Linker<'_> {
    /// Resolves the references of every record of an entity; `None` if its records do not refer to each
    /// other.
    pub(crate) fn resolve_references(
        &self,
        inputs: &LinkInputs<'_>,
        entity: Entity,
        old: Option<&OldRecords<'_>>,
    ) -> Result<Option<ResolvedReferences>> {
        if !keys_of(entity).has_citations() {
            return Ok(None);
        }
        let records = inputs.record_count(entity);
        let old = old.map(|old| OldReferences::open(old, entity)).transpose();
        let old = self.not_taken_over.or_note(TakenPart::References, entity, old)?.flatten();
        let reader = ReferenceReader { inputs, entity, old, not_taken_over: &self.not_taken_over };
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        let file = self.scratch_result(unnamed_file(&self.scratch))?;
        let mut lists = BufWriter::with_capacity(1 << 18, file);
        let (mut dangling, mut batches) = (0, Vec::new());
        let mut add = |resolved: Vec<Batch>| {
            resolved.into_iter().try_for_each(|batch| {
                dangling += batch.dangling;
                batches.push((batch.records, batch.lists.len()));
                lists.write_all(&batch.lists)?;
                batch.unresolved.into_iter().try_for_each(|id| sorter.push(id))
            })
        };
        let batch_bytes = (self.sorter_bytes() / WAVE_BATCHES / BATCH_MEMORY)
            .clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end());
        let (mut from, mut resolved) = (0, Vec::new());
        while from < records || !resolved.is_empty() {
            // One thread adds the batches while the others resolve the next.
            let (added, next) = parallel::join(
                || parallel::step("add references", || add(std::mem::take(&mut resolved))),
                || resolve_batches(&reader, from..records, batch_bytes),
            );
            self.scratch_result(added)?;
            (from, resolved) = next?;
        }
        let mapped = || Map::open(&lists.into_inner().map_err(io::IntoInnerError::into_error)?);
        let lists = self.scratch_result(mapped())?;
        // Ids without a record get rows after the records, in the order of the ids.
        let distinct =
            parallel::step("unresolved references", || write_distinct(sorter, &self.scratch));
        let unresolved = self.scratch_result(distinct)?;
        check_rows(entity, (records + unresolved.len()) as u64)?;
        let lists = ReferenceLists { entity, records, lists, batches };
        Ok(Some(ResolvedReferences { lists, unresolved, dangling }))
    }
}

/// The first records of `rows` that make a batch.
fn batch(
    inputs: &LinkInputs<'_>,
    entity: Entity,
    rows: Range<usize>,
    bytes_max: usize,
) -> Result<Range<usize>> {
    let mut bytes = 0;
    for row in rows.clone() {
        let located = u32::try_from(row).ok().and_then(|row| inputs.locate(entity, row));
        let (_, _, place) = located.ok_or_else(inconsistent_object)?;
        bytes += u64::from(place.references_bytes);
        if row + 1 - rows.start == BATCH_ROWS || bytes >= bytes_max as u64 {
            return Ok(rows.start..row + 1);
        }
    }
    Ok(rows)
}

/// Resolves the first batches of `rows`, in parallel. Returns the row after them.
fn resolve_batches(
    reader: &ReferenceReader<'_, '_>,
    mut rows: Range<usize>,
    batch_bytes: usize,
) -> Result<(usize, Vec<Batch>)> {
    let mut ranges = Vec::new();
    // Two waves are in memory.
    while ranges.len() < WAVE_BATCHES && !rows.is_empty() {
        let range = batch(reader.inputs, reader.entity, rows.clone(), batch_bytes)?;
        rows.start = range.end;
        ranges.push(range);
    }
    Ok((rows.start, parallel::try_map(ranges, |rows| resolve_batch(reader, rows))?))
}

fn resolve_batch(reader: &ReferenceReader<'_, '_>, rows: Range<usize>) -> Result<Batch> {
    let mut targets = BatchTargets::default();
    let mut ends = Vec::with_capacity(rows.len());
    for row in rows {
        let row = u32::try_from(row).map_err(|_| inconsistent_object())?;
        reader.add_targets(row, &mut targets)?;
        ends.push(targets.ids.len());
    }
    targets.find_rows(&reader.inputs.rows[reader.entity as usize].by_id);
    let BatchTargets { ids, rows } = targets;
    let (records, lists, unresolved) = (ends.len(), Vec::new(), Vec::new());
    let mut batch = Batch { records, lists, unresolved, dangling: 0 };
    let mut from = 0;
    for end in ends {
        // A list has fewer ids than its line has bytes.
        batch.lists.extend_from_slice(&((end - from) as u32).to_le_bytes());
        rows[from..end].iter().for_each(|row| batch.lists.extend_from_slice(&row.to_le_bytes()));
        for (id, _) in
            ids[from..end].iter().zip(&rows[from..end]).filter(|(_, row)| **row == UNRESOLVED)
        {
            batch.lists.extend_from_slice(&id.to_le_bytes());
            batch.unresolved.push(UnresolvedId(*id));
        }
        from = end;
    }
    batch.dangling = batch.unresolved.len() as u64;
    batch.unresolved.sort_unstable();
    batch.unresolved.dedup();
    Ok(batch)
}

/// The targets of the references of consecutive records.
#[derive(Default)]
struct BatchTargets {
    /// The ids, or [`NO_ID`] of targets whose row was taken over.
    ids: Vec<u64>,
    /// The row of each target, or [`UNRESOLVED`].
    rows: Vec<u32>,
}

impl BatchTargets {
    /// Looks the rows of ids up in ascending order of the ids, which reads neighbouring parts of the table.
    fn find_rows(&mut self, by_id: &IdRows) {
        let BatchTargets { ids, rows } = self;
        let unresolved = rows.iter().zip(&*ids).zip(0u32..);
        let mut order: Vec<(u64, u32)> = unresolved
            .filter(|((row, _), _)| **row == UNRESOLVED)
            .map(|((_, id), index)| (*id, index))
            .collect();
        sort_by_key(&mut order, |(id, _)| (*id).into());
        by_id.each_row(&order, |index, row| rows[index as usize] = row);
    }
}

/// Reads the references of an entity's records, from the objects or the previous snapshot.
struct ReferenceReader<'a, 'o> {
    inputs: &'a LinkInputs<'o>,
    entity: Entity,
    old: Option<OldReferences<'a>>,
    not_taken_over: &'a NotTakenOverList,
}

/// The references of an entity's records in the previous snapshot.
struct OldReferences<'a> {
    snapshot: &'a Snapshot,
    entity: Entity,
    citations: &'a CitationsFile,
    changes: &'a EntityChanges,
}

impl ReferenceReader<'_, '_> {
    /// Adds the targets of a record: those of the previous snapshot, if the record is unchanged and they can be read.
    fn add_targets(&self, row: u32, targets: &mut BatchTargets) -> Result<()> {
        let from = targets.ids.len();
        if let Some(old) = &self.old
            && let Some(old_row) = old.changes.old_row(row)
        {
            let taken = old.add_targets(old_row, targets);
            let taken = taken.map_err(TakeOver::at(self.entity, old_row));
            let taken = self.not_taken_over.or_note(TakenPart::References, self.entity, taken)?;
            if taken == Some(true) {
                return Ok(());
            }
            // Some targets may have been added.
            targets.ids.truncate(from);
            targets.rows.truncate(from);
        }
        let BatchTargets { ids, rows } = targets;
        self.inputs.references(self.entity, row, ids).ok_or_else(inconsistent_object)?;
        rows.resize(ids.len(), UNRESOLVED);
        Ok(())
    }
}

impl<'a> OldReferences<'a> {
    fn open(
        old: &'a OldRecords<'_>,
        entity: Entity,
    ) -> std::result::Result<OldReferences<'a>, TakeOver> {
        let snapshot = old.snapshot;
        let citations = snapshot.citations(entity).map_err(TakeOver::at(entity, None::<u32>))?;
        Ok(OldReferences { snapshot, entity, citations, changes: old.changes.of(entity) })
    }

    /// Adds the targets of a row, as they are now. False if one of them is no more; then some may be added.
    fn add_targets(
        &self,
        old_row: u32,
        targets: &mut BatchTargets,
    ) -> std::result::Result<bool, ReadError> {
        let OldReferences { snapshot, entity, citations, changes } = *self;
        let records = snapshot.count(entity);
        let (mut is_whole, mut outcome) = (true, Ok(()));
        citations.rows(Direction::References, old_row)?.each(|old| {
            let target = if old < records {
                changes.new_row(old).map(|row| (NO_ID, row))
            } else {
                // The row of an id without a record is known when all such ids are.
                snapshot
                    .row_id(entity, old)
                    .map_err(|error| outcome = Err(error))
                    .ok()
                    .map(|id| (id, UNRESOLVED))
            };
            is_whole = target.is_some();
            let (id, row) = target.unwrap_or((NO_ID, UNRESOLVED));
            targets.ids.push(id);
            targets.rows.push(row);
            is_whole
        })?;
        outcome.map(|()| is_whole)
    }
}

/// Writes each id once, ascending.
fn write_distinct(sorter: Sorter<UnresolvedId>, scratch: &Path) -> io::Result<KeyColumn> {
    let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
    let mut last = None;
    for id in sorter.finish()? {
        let id = id?;
        if last != Some(id) {
            id.write(&mut file)?;
        }
        last = Some(id);
    }
    KeyColumn::map(file, size_of::<u64>(), scratch)
}
