//! Gathers the terms, order values and names of an entity's records into runs and columns.

use std::{io, ops::Range};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::Snapshot;

use crate::link::context::{Linker, unreadable};
use crate::link::index::dictionary::names::NameRuns;
use crate::link::index::directory::EntityDirectory;
use crate::link::index::extract::{Extracted, Extractor, Reads};
use crate::link::index::full_text::TextRuns;
use crate::link::index::orders::Columns;
use crate::link::index::targets::Targets;
use crate::link::index::term_lists::Inverter;
use crate::link::index::unchanged::Unchanged;
use crate::link::take_over::TakeOver;
use crate::parallel;
use crate::terminal::progress::Bar;

/// Extracting reads the previous snapshot, too.
type Result<T> = std::result::Result<T, TakeOver>;

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
        let mut extractor = Extractor::new(out.draft, Reads::New, out.entity)?;
        if self.has_search {
            extractor = extractor.with_texts(self.index_bytes() / rayon::current_num_threads());
        }
        let targets = match (keys.targets.is_empty(), unchanged) {
            (true, _) => None,
            (false, None) => Some(Targets::of_all(out.targets_writer(keys)?)),
            (false, Some(_)) => {
                Some(Targets::of_changed(out.targets_writer(keys)?, keys, &self.scratch))
            }
        };
        let mut indexes = IndexBuilders {
            inverter: Inverter::new(keys, &self.scratch),
            columns: Columns::new(keys, &self.scratch),
            names: NameRuns::new(&self.scratch),
            dropped_names: NameRuns::new(&self.scratch),
            targets,
            texts: TextRuns::new(&self.scratch),
        };
        match unchanged {
            None => self.extract(&extractor, out.draft, &mut indexes, bar)?,
            // The entries of all other records are in the previous snapshot.
            Some(unchanged) => {
                self.extract_rows(&extractor, unchanged.changed(), |batch, end| {
                    self.scratch_result(indexes.push(batch))?;
                    Ok(self.close_full_run(&mut indexes, end)?)
                })?;
                bar.advance(out.draft.count(out.entity).into());
                if keys.has_names() {
                    self.extract_dropped(unchanged, &mut indexes.dropped_names)?;
                }
            }
        }
        let extract_unresolved = || self.extract_unresolved(&extractor, out.draft, &mut indexes);
        parallel::step("unresolved names", extract_unresolved)?;
        Ok(indexes)
    }

    /// Extracts the names, in the previous snapshot, of the records that are changed or no more: their words are subtracted
    /// from the counts that the previous link kept.
    fn extract_dropped(&self, unchanged: &Unchanged<'_>, dropped: &mut NameRuns) -> Result<()> {
        let old = Extractor::new(unchanged.old(), Reads::Previous, unchanged.entity)?;
        self.extract_rows(&old, unchanged.dropped(), |batch, end| {
            dropped.push(&batch.names);
            let is_full = end.ends_chunk || dropped.held_bytes() > self.index_bytes() / 2;
            if is_full {
                self.scratch_result(dropped.close_run(end.chunk))?
            }
            Ok(())
        })
    }

    /// Extracts ascending rows. Calls `add` with each batch.
    fn extract_rows(
        &self,
        extractor: &Extractor<'_>,
        rows: impl Iterator<Item = u32> + Send,
        add: impl FnMut(&Extracted, BatchEnd) -> Result<()> + Send,
    ) -> Result<()> {
        // Twice as many batches as threads: a thread that is done early takes another batch.
        let batches_max = rayon::current_num_threads() * 2;
        let batch_bytes = self.batch_bytes(batches_max);
        let mut rows = rows.peekable();
        let next_wave = || {
            let Some(first) = rows.peek().copied() else { return Ok(None) };
            let chunk = first / CHUNK_ROWS as u32;
            // A wave ends with its chunk, because a run has the rows of one chunk.
            let is_in_chunk = |row: &u32| row / CHUNK_ROWS as u32 == chunk;
            let (mut wave, mut bytes) = (Vec::new(), 0);
            while wave.len() < batches_max * CHANGED_BATCH_ROWS && bytes < batch_bytes * batches_max
            {
                let Some(row) = rows.next_if(is_in_chunk) else { break };
                let of_row = extractor.snapshot().record_bytes(extractor.entity(), row);
                bytes += of_row.map_err(extractor.failure(row))?;
                wave.push(row);
            }
            let ends_chunk = !rows.peek().is_some_and(is_in_chunk);
            let batches = wave.chunks(CHANGED_BATCH_ROWS).collect();
            let batches =
                parallel::try_map(batches, |rows: &[u32]| extractor.rows(rows.iter().copied()))?;
            Ok(Some(Wave { chunk, ends_chunk, batches }))
        };
        add_waves(extractor, next_wave, add)
    }

    fn batch_bytes(&self, wave_batches: usize) -> usize {
        (self.index_bytes() / (wave_batches * 2) / EXTRACTED_PER_BYTE)
            .clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end())
    }

    /// Writes the values in memory as a run if they are many, or the last of their chunk.
    fn close_full_run(
        &self,
        indexes: &mut IndexBuilders<'_>,
        end: BatchEnd,
    ) -> crate::error::Result<()> {
        let is_full = end.ends_chunk || indexes.held_bytes() > self.index_bytes() / 2;
        if is_full { self.scratch_result(indexes.close_run(end.chunk)) } else { Ok(()) }
    }

    /// Extracts every record, chunk by chunk.
    fn extract(
        &self,
        extractor: &Extractor<'_>,
        draft: &Snapshot,
        indexes: &mut IndexBuilders<'_>,
        bar: &Bar,
    ) -> Result<()> {
        let count = draft.count(extractor.entity());
        let wave_batches = rayon::current_num_threads() * 2;
        let batch_bytes = self.batch_bytes(wave_batches);
        let mut from = 0;
        let next_wave = || {
            if from >= count {
                return Ok(None);
            }
            let chunk = from / CHUNK_ROWS as u32;
            // A wave ends with its chunk, because a run has the rows of one chunk.
            let chunk_end = ((chunk + 1) * CHUNK_ROWS as u32).min(count);
            let rows = from..chunk_end;
            let ranges = parallel::step("cut batches", || {
                batches(draft, extractor.entity(), rows, wave_batches, batch_bytes)
            })?;
            let to = ranges.last().map_or(count, |range| range.end);
            let batches = parallel::try_map(ranges, |rows| extractor.rows(rows))?;
            bar.advance((to - from).into());
            from = to;
            Ok(Some(Wave { chunk, ends_chunk: to == chunk_end, batches }))
        };
        // The batches of a wave are added in row order, while the threads extract the next wave.
        add_waves(extractor, next_wave, |batch, end| {
            self.scratch_result(indexes.push(batch))?;
            Ok(self.close_full_run(indexes, end)?)
        })
    }

    /// Extracts the names of unresolved references, which are indexed under their rows after the records.
    fn extract_unresolved(
        &self,
        extractor: &Extractor<'_>,
        draft: &Snapshot,
        indexes: &mut IndexBuilders<'_>,
    ) -> Result<()> {
        let keys = extractor.keys();
        if keys.unresolved_names.is_none() && keys.unresolved_words.is_none() {
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
}

/// The values of rows of one chunk, because a run is of one chunk.
struct Wave {
    chunk: u32,
    /// Whether the rows are the last of the chunk.
    ends_chunk: bool,
    batches: Vec<Extracted>,
}

/// Adds the batches of each wave while other threads extract the next wave. So two waves are in memory.
fn add_waves(
    extractor: &Extractor<'_>,
    mut next_wave: impl FnMut() -> Result<Option<Wave>> + Send,
    mut add: impl FnMut(&Extracted, BatchEnd) -> Result<()> + Send,
) -> Result<()> {
    let mut add_wave = |Wave { chunk, ends_chunk, batches }: Wave| -> Result<()> {
        let count = batches.len();
        for (at, batch) in batches.into_iter().enumerate() {
            add(&batch, BatchEnd { chunk, ends_chunk: ends_chunk && at + 1 == count })?;
            extractor.reuse(batch);
        }
        Ok(())
    };
    let mut next = next_wave()?;
    while let Some(wave) = next {
        let (added, following) = parallel::join(|| add_wave(wave), &mut next_wave);
        added?;
        next = following?;
    }
    Ok(())
}

/// Where a batch ends.
#[derive(Clone, Copy)]
struct BatchEnd {
    /// The chunk of its rows.
    chunk: u32,
    /// Whether its rows are the last of the chunk.
    ends_chunk: bool,
}

/// The indexes of one entity while its records are extracted.
pub(super) struct IndexBuilders<'k> {
    pub inverter: Inverter<'k>,
    pub columns: Columns<'k>,
    pub names: NameRuns,
    /// The names of the records of the previous snapshot whose entries are dropped.
    pub dropped_names: NameRuns,
    /// `None` without paths of target rows.
    pub targets: Option<Targets>,
    /// The texts for the full-text index.
    pub texts: TextRuns,
}

impl IndexBuilders<'_> {
    /// Adds the values of the next records.
    fn push(&mut self, batch: &Extracted) -> io::Result<()> {
        parallel::step("add columns", || self.columns.push(batch))?;
        parallel::step("add terms", || self.inverter.push(batch));
        parallel::step("add names", || self.names.push(&batch.names));
        parallel::step("add texts", || self.texts.push(&batch.encoded_texts));
        parallel::step("add targets", || {
            self.targets.as_mut().map_or(Ok(()), |targets| targets.push(batch))
        })
    }

    fn held_bytes(&self) -> usize {
        self.inverter.bytes() + self.names.held_bytes() + self.texts.held_bytes()
    }

    /// Writes the values in memory, all of one chunk, as runs.
    fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        parallel::step("run of terms", || self.inverter.close_run(chunk))?;
        parallel::step("run of texts", || self.texts.close_run(chunk))?;
        parallel::step("run of names", || self.names.close_run(chunk))
    }
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
        bytes += draft.record_bytes(entity, row).map_err(unreadable(entity, row))?;
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
