//! Gathers the terms, order values and names of an entity's records into runs and columns.

use std::{io, ops::Range};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::index::targets::TargetsWriter;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::Snapshot;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::link::context::{Linker, readable};
use crate::link::index::EntityDirectory;
use crate::link::index::extract::{Extracted, Extractor};
use crate::link::index::invert::Inverter;
use crate::link::index::names::NameRuns;
use crate::link::index::rank::Columns;
use crate::link::index::renumber::Unchanged;
use crate::link::index::renumber::targets::ChangedTargets;
use crate::terminal::progress::Bar;

/// The most rows of a batch. One thread extracts a batch.
const BATCH_ROWS: u32 = 2_048;
/// Limits of the bytes of records in a batch, without the last record.
const BATCH_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=4 << 20;
/// An upper bound of the bytes extracted from one byte of a record. In a script without spaces each
/// character begins a word, and neighbouring words may share a prefix.
const EXTRACTED_PER_BYTE: usize = 16;

/// The rows of a batch of changed records.
const CHANGED_BATCH_ROWS: usize = 256;

impl Linker<'_> {
    /// Extracts the records of an entity, or the changed records.
    pub(super) fn gather(
        &self,
        out: &EntityDirectory<'_>,
        unchanged: Option<&Unchanged<'_>>,
        bar: &Bar,
    ) -> Result<IndexBuilders<'static>> {
        let keys = keys_of(out.entity);
        let extractor = Extractor::new(out.draft, out.entity, keys)?;
        let targets = match unchanged {
            _ if keys.targets.is_empty() => TargetsBuilder::None,
            Some(_) => TargetsBuilder::Changed(ChangedTargets::new(keys, &self.scratch)),
            None => TargetsBuilder::All(out.targets_writer(keys)?),
        };
        let mut indexes = IndexBuilders {
            inverter: Inverter::new(keys, &self.scratch),
            columns: Columns::new(keys, &self.scratch),
            names: NameRuns::new(&self.scratch),
            dropped_names: NameRuns::new(&self.scratch),
            targets,
        };
        match unchanged {
            None => self.extract(&extractor, out.draft, &mut indexes, bar)?,
            Some(unchanged) => {
                let mut add = |batch: &Extracted, chunk| {
                    self.scratch_result(indexes.push(batch))?;
                    self.close_full_run(&mut indexes, chunk)
                };
                self.extract_rows(&extractor, unchanged.changed(), &mut add)?;
                bar.advance(out.draft.count(out.entity).into());
                let old = unchanged.old();
                let old_extractor = Extractor::new(old, out.entity, keys)?;
                let dropped = &mut indexes.dropped_names;
                let rows = unchanged.dropped().filter(|_| keys.has_names());
                self.extract_rows(&old_extractor, rows, &mut |batch, chunk| {
                    dropped.push(&batch.names);
                    let is_full = chunk.1 || dropped.held_bytes() > self.index_bytes() / 2;
                    if is_full { self.scratch_result(dropped.close_run(chunk.0)) } else { Ok(()) }
                })?;
            }
        }
        self.extract_unresolved(&extractor, out.draft, &mut indexes)?;
        Ok(indexes)
    }

    /// Extracts ascending rows. Calls `add` with each batch, its chunk, and whether it ends the chunk.
    fn extract_rows(
        &self,
        extractor: &Extractor<'_>,
        rows: impl Iterator<Item = u32>,
        add: &mut impl FnMut(&Extracted, (u32, bool)) -> Result<()>,
    ) -> Result<()> {
        let batches_max = rayon::current_num_threads() * 2;
        let batch_bytes = self.batch_bytes(batches_max);
        let mut rows = rows.peekable();
        while let Some(first) = rows.peek().copied() {
            let chunk = first / CHUNK_ROWS as u32;
            let is_in_chunk = |row: &u32| row / CHUNK_ROWS as u32 == chunk;
            let (mut wave, mut bytes) = (Vec::new(), 0);
            while wave.len() < batches_max * CHANGED_BATCH_ROWS && bytes < batch_bytes * batches_max
            {
                let Some(row) = rows.next_if(is_in_chunk) else { break };
                bytes += readable(extractor.snapshot().record_bytes(extractor.entity(), row))?;
                wave.push(row);
            }
            let ends_chunk = !rows.peek().is_some_and(is_in_chunk);
            let batches: Result<Vec<Extracted>> = wave
                .par_chunks(CHANGED_BATCH_ROWS)
                .map(|rows| extractor.rows(rows.iter().copied()))
                .collect();
            let batches = batches?;
            let last = batches.len() - 1;
            for (at, batch) in batches.into_iter().enumerate() {
                add(&batch, (chunk, ends_chunk && at == last))?;
                extractor.reuse(batch);
            }
        }
        Ok(())
    }

    fn batch_bytes(&self, wave_batches: usize) -> usize {
        (self.index_bytes() / (wave_batches * 2) / EXTRACTED_PER_BYTE)
            .clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end())
    }

    /// Writes the values in memory as a run if they are many, or the last of their chunk.
    fn close_full_run(
        &self,
        indexes: &mut IndexBuilders<'_>,
        (chunk, ends_chunk): (u32, bool),
    ) -> Result<()> {
        let is_full = ends_chunk || indexes.held_bytes() > self.index_bytes() / 2;
        if is_full { self.scratch_result(indexes.close_run(chunk)) } else { Ok(()) }
    }

    /// Extracts every record, chunk by chunk.
    fn extract(
        &self,
        extractor: &Extractor<'_>,
        draft: &Snapshot,
        indexes: &mut IndexBuilders<'_>,
        bar: &Bar,
    ) -> Result<()> {
        let mut next = self.extract_wave(extractor, draft, 0)?;
        while let Some(wave) = next {
            // Adds one wave while the other threads extract the next.
            let (to, length) = (wave.rows.end, wave.rows.len() as u64);
            let (added, following) = rayon::join(
                || self.add_wave(extractor, wave, draft, indexes),
                || self.extract_wave(extractor, draft, to),
            );
            added?;
            bar.advance(length);
            next = following?;
        }
        Ok(())
    }

    /// Extracts the names of unresolved references, which are indexed under their rows after the records.
    fn extract_unresolved(
        &self,
        extractor: &Extractor<'_>,
        draft: &Snapshot,
        indexes: &mut IndexBuilders<'_>,
    ) -> Result<()> {
        if extractor.keys().unresolved_names.is_none() {
            return Ok(());
        }
        let count = draft.count(extractor.entity());
        for row in count..draft.rows(extractor.entity()) {
            indexes.inverter.push(&extractor.unresolved_name(row)?);
            let is_last = row + 1 == draft.rows(extractor.entity());
            if is_last || (row + 1).is_multiple_of(CHUNK_ROWS as u32) {
                self.scratch_result(indexes.inverter.close_run(row / CHUNK_ROWS as u32))?;
            }
        }
        Ok(())
    }

    /// Extracts the next rows of a chunk, from `from` on; `None` after the last row.
    fn extract_wave(
        &self,
        extractor: &Extractor<'_>,
        draft: &Snapshot,
        from: u32,
    ) -> Result<Option<Wave>> {
        let count = draft.count(extractor.entity());
        if from >= count {
            return Ok(None);
        }
        // Two waves are in memory.
        let wave_batches = rayon::current_num_threads() * 2;
        let batch_bytes = self.batch_bytes(wave_batches);
        let chunk = from / CHUNK_ROWS as u32;
        let chunk_end = ((chunk + 1) * CHUNK_ROWS as u32).min(count);
        let rows = from..chunk_end;
        let ranges = batches(draft, extractor.entity(), rows, wave_batches, batch_bytes)?;
        let to = ranges.last().map_or(count, |range| range.end);
        let batches: Result<Vec<Extracted>> =
            ranges.into_par_iter().map(|rows| extractor.rows(rows)).collect();
        Ok(Some(Wave { rows: from..to, chunk, ends_chunk: to == chunk_end, batches: batches? }))
    }

    /// Adds the values of a wave to the indexes.
    fn add_wave(
        &self,
        extractor: &Extractor<'_>,
        wave: Wave,
        draft: &Snapshot,
        indexes: &mut IndexBuilders<'_>,
    ) -> Result<()> {
        let count = wave.batches.len();
        for (at, batch) in wave.batches.into_iter().enumerate() {
            indexes.push(&batch).map_err(Error::output(draft.path()))?;
            extractor.reuse(batch);
            self.close_full_run(indexes, (wave.chunk, wave.ends_chunk && at + 1 == count))?;
        }
        Ok(())
    }
}

/// The values of consecutive rows of one chunk.
struct Wave {
    rows: Range<u32>,
    chunk: u32,
    /// Whether the rows are the last of the chunk.
    ends_chunk: bool,
    batches: Vec<Extracted>,
}

/// The indexes of one entity while its records are extracted.
pub(super) struct IndexBuilders<'k> {
    pub inverter: Inverter<'k>,
    pub columns: Columns<'k>,
    pub names: NameRuns,
    /// The names of the records of the previous snapshot whose entries are dropped.
    pub dropped_names: NameRuns,
    pub targets: TargetsBuilder,
}

/// The target rows of all records, or of changed records.
pub(super) enum TargetsBuilder {
    None,
    All(TargetsWriter),
    Changed(ChangedTargets),
}

impl IndexBuilders<'_> {
    /// Adds the values of the next records.
    fn push(&mut self, batch: &Extracted) -> io::Result<()> {
        self.columns.push(batch)?;
        self.inverter.push(batch);
        self.names.push(&batch.names);
        match &mut self.targets {
            TargetsBuilder::None => Ok(()),
            TargetsBuilder::All(writer) => push_targets(writer, batch),
            TargetsBuilder::Changed(changed) => changed.push(batch),
        }
    }

    fn held_bytes(&self) -> usize {
        self.inverter.bytes() + self.names.held_bytes()
    }

    /// Writes the values in memory, all of one chunk, as runs.
    fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        self.inverter.close_run(chunk)?;
        self.names.close_run(chunk)
    }
}

fn push_targets(writer: &mut TargetsWriter, extracted: &Extracted) -> io::Result<()> {
    for (path, (counts, rows)) in extracted.targets.iter().enumerate() {
        let mut rest = &rows[..];
        for count in counts {
            let (rows, others) = rest.split_at(*count as usize);
            writer.push(path, rows)?;
            rest = others;
        }
    }
    Ok(())
}

/// Cuts rows into at most `batches_max` batches, each of [`BATCH_ROWS`] rows or of `batch_bytes` bytes,
/// whichever comes first. Longer records make fewer batches.
///
/// A limit of rows alone would not bound memory: the longest records are often neighbours.
fn batches(
    draft: &Snapshot,
    entity: Entity,
    rows: Range<u32>,
    batches_max: usize,
    batch_bytes: usize,
) -> Result<Vec<Range<u32>>> {
    let mut batches = Vec::with_capacity(batches_max);
    let (mut from, mut bytes, mut all_bytes) = (rows.start, 0, 0);
    for row in rows.clone() {
        bytes += readable(draft.record_bytes(entity, row))?;
        let is_last = row + 1 == rows.end;
        if is_last || row + 1 - from == BATCH_ROWS || bytes >= batch_bytes {
            batches.push(from..row + 1);
            all_bytes += bytes;
            (from, bytes) = (row + 1, 0);
            if batches.len() == batches_max || all_bytes >= batch_bytes * batches_max {
                break;
            }
        }
    }
    Ok(batches)
}
