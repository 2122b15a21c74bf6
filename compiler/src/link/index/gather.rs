//! Gathers the terms, order values and names of an entity's records into runs and columns.

use std::{io, ops::Range};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::schema::keys_of;
use pinakes_format::snapshot::Snapshot;

use crate::link::context::{Linker, unreadable};
use crate::link::index::dictionary::names::NameRuns;
use crate::link::index::directory::EntityDirectory;
use crate::link::index::extract::{Extracted, Extractor, Reads};
use crate::link::index::full_text::TermRuns;
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
/// Bytes extracted from one byte of a record, about. In a script without spaces there may be [`LONG_RECORD`] times as many: then a
/// batch ends early.
const EXTRACTED_PER_BYTE: usize = 5;
/// How many times as many bytes a record may give.
const LONG_RECORD: usize = 4;
/// The batches of a wave. Their number does not depend on that of the threads, so that a link has the same tasks everywhere.
const WAVE_BATCHES: usize = 64;

/// The first wave has as many times fewer bytes.
const FIRST_WAVE: usize = 8;

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
            extractor = extractor.with_texts(self.index_bytes());
        }
        extractor = extractor.with_batches_of(self.wave_bytes() / WAVE_BATCHES / 2);
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
            texts: TermRuns::new(&self.scratch),
        };
        match unchanged {
            None => self.extract(&extractor, out.draft, &mut indexes, bar)?,
            // The entries of all other records are in the previous snapshot.
            Some(unchanged) => {
                self.extract_rows(&extractor, unchanged.changed(), |chunk, added| {
                    Ok(self.scratch_result(self.add(&mut indexes, chunk, added))?)
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
        let old = Extractor::new(unchanged.old(), Reads::Previous, unchanged.entity)?
            .with_batches_of(self.wave_bytes() / WAVE_BATCHES / 2);
        self.extract_rows(&old, unchanged.dropped(), |chunk, added| {
            if let Added::Values(values) = &added {
                dropped.push(&values.names);
            }
            if added.ends_chunk() || dropped.held_bytes() > self.index_bytes() / 2 {
                self.scratch_result(dropped.close_run(chunk))?;
            }
            Ok(())
        })
    }

    /// Extracts ascending rows. Calls `add` as [`add_waves`] does.
    fn extract_rows(
        &self,
        extractor: &Extractor<'_>,
        mut rows: impl Iterator<Item = u32> + Send,
        add: impl FnMut(u32, Added<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let batch_bytes = self.batch_bytes();
        let next_wave = || {
            let (mut wave, mut bytes) = (Vec::new(), 0);
            while wave.len() < WAVE_BATCHES * CHANGED_BATCH_ROWS
                && bytes < batch_bytes * WAVE_BATCHES
                && let Some(row) = rows.next()
            {
                let of_row = extractor.snapshot().record_bytes(extractor.entity(), row);
                let of_row = of_row.map_err(extractor.failure(row))?;
                bytes += bytes_in_wave(of_row, batch_bytes);
                wave.push(row);
            }
            let of_chunks = wave.chunk_by(|a, b| chunk_of(*a) == chunk_of(*b));
            let batches = of_chunks.flat_map(|rows| rows.chunks(CHANGED_BATCH_ROWS));
            let batches: Vec<_> = batches.map(<[u32]>::to_vec).map(Vec::into_iter).collect();
            (!batches.is_empty()).then(|| Wave::extract(extractor, batches)).transpose()
        };
        add_waves(extractor, next_wave, add)
    }

    /// The bytes extracted in a wave. Two waves are in memory.
    fn wave_bytes(&self) -> usize {
        self.index_bytes() * 3 / 2
    }

    /// The bytes of records of a batch.
    fn batch_bytes(&self) -> usize {
        (self.wave_bytes() / WAVE_BATCHES / EXTRACTED_PER_BYTE)
            .clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end())
    }

    /// Adds values or texts. Writes all that is in memory as a run if that is much, or the last of its chunk.
    fn add(&self, indexes: &mut IndexBuilders<'_>, chunk: u32, added: Added<'_>) -> io::Result<()> {
        let ends_chunk = added.ends_chunk();
        match added {
            Added::Values(values) => indexes.push(values)?,
            Added::Texts(texts) => texts.into_iter().for_each(|texts| indexes.texts.push(texts)),
            Added::ChunkEnd => {}
        }
        let is_full = ends_chunk || indexes.held_bytes() > self.index_bytes() / 2;
        if is_full { indexes.close_run(chunk) } else { Ok(()) }
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
        let batch_bytes = self.batch_bytes();
        let mut from = 0;
        let next_wave = || {
            if from >= count {
                return Ok(None);
            }
            // A short first wave finds the frequent words, which later waves read without locks.
            let batch_bytes = if from == 0 { batch_bytes / FIRST_WAVE } else { batch_bytes };
            let ranges = parallel::step("cut batches", || {
                batches(draft, extractor.entity(), from..count, WAVE_BATCHES, batch_bytes)
            })?;
            let to = ranges.last().map_or(count, |range| range.end);
            let wave = Wave::extract(extractor, ranges)?;
            bar.advance((to - from).into());
            from = to;
            Ok(Some(wave))
        };
        add_waves(extractor, next_wave, |chunk, added| {
            Ok(self.scratch_result(self.add(indexes, chunk, added))?)
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

/// The chunk of a row.
fn chunk_of(row: u32) -> u32 {
    row / CHUNK_ROWS as u32
}

/// The values and texts of consecutive rows.
struct Wave<R> {
    values: Vec<Batch<Extracted, R>>,
    /// The texts of the same rows; empty without a full-text index.
    texts: Vec<Batch<[Vec<u8>; 2], R>>,
}

/// Values or texts of consecutive rows of a wave. The rows are of one chunk, because a run is of one chunk.
struct Batch<T, R> {
    chunk: u32,
    extracted: T,
    /// The rows that are left, if the first rows take much memory.
    left: R,
}

/// A part of a wave that the indexes take.
enum Added<'e> {
    Values(&'e Extracted),
    Texts([Vec<u8>; 2]),
    /// No more rows of the chunk follow.
    ChunkEnd,
}

impl Added<'_> {
    fn ends_chunk(&self) -> bool {
        matches!(self, Added::ChunkEnd)
    }
}

impl<R: ExactSizeIterator<Item = u32> + Clone + Send> Wave<R> {
    /// Extracts the rows of each batch, values and texts in tasks of their own. One thread freezes the words of earlier waves
    /// before the first texts, while the others extract half of the values. The other half fills the cores that the last texts
    /// leave idle.
    fn extract(extractor: &Extractor<'_>, mut rows: Vec<R>) -> Result<Wave<R>> {
        let of_texts = if extractor.has_texts() { rows.clone() } else { Vec::new() };
        let later = rows.split_off(rows.len().div_ceil(2));
        let values = |rows: Vec<R>| {
            parallel::try_map(rows, |rows| Batch::extract(rows, |of| extractor.values(of)))
        };
        let texts = || {
            parallel::step("texts of batches", || {
                parallel::try_map(of_texts, |rows| Batch::extract(rows, |of| extractor.texts(of)))
            })
        };
        let ((texts, later), values) = parallel::join(
            || {
                parallel::step("freeze words", || extractor.freeze_words());
                parallel::join(texts, || values(later))
            },
            || values(rows),
        );
        let (mut values, texts) = (values?, texts?);
        values.extend(later?);
        Ok(Wave { values, texts })
    }
}

impl<T, R: ExactSizeIterator<Item = u32> + Clone> Batch<T, R> {
    fn extract(mut rows: R, extract: impl Fn(&mut R) -> Result<T>) -> Result<Batch<T, R>> {
        let chunk = rows.clone().next().map_or(0, chunk_of);
        Ok(Batch { chunk, extracted: extract(&mut rows)?, left: rows })
    }

    /// Adds what is extracted, and then extracts and adds the rows that are left.
    fn add(
        self,
        extract: impl Fn(&mut R) -> Result<T>,
        mut add: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let Batch { extracted, mut left, .. } = self;
        add(extracted)?;
        while left.len() > 0 {
            add(extract(&mut left)?)?;
        }
        Ok(())
    }
}

/// Calls `add` for each wave, with its chunk, while other threads extract the next wave. So two waves are in memory. Values
/// come in row order, and so do texts.
fn add_waves<R: ExactSizeIterator<Item = u32> + Clone + Send>(
    extractor: &Extractor<'_>,
    mut next_wave: impl FnMut() -> Result<Option<Wave<R>>> + Send,
    mut add: impl FnMut(u32, Added<'_>) -> Result<()> + Send,
) -> Result<()> {
    let mut last = None;
    let mut add_wave = |Wave { values, texts }: Wave<R>| -> Result<()> {
        let mut texts = texts.into_iter();
        for batch in values {
            let chunk = batch.chunk;
            if let Some(before) = last.replace(chunk).filter(|before| *before != chunk) {
                add(before, Added::ChunkEnd)?;
            }
            let mut add_values = |values| {
                add(chunk, Added::Values(&values))?;
                extractor.reuse(values);
                Ok(())
            };
            batch.add(|of| extractor.values(of), &mut add_values)?;
            if let Some(batch) = texts.next() {
                let add_texts = |texts| add(chunk, Added::Texts(texts));
                batch.add(|of| extractor.texts(of), add_texts)?;
            }
        }
        Ok(())
    };
    let mut next = next_wave()?;
    while let Some(wave) = next {
        let (added, following) = parallel::join(|| add_wave(wave), &mut next_wave);
        added?;
        next = following?;
    }
    last.map_or(Ok(()), |chunk| add(chunk, Added::ChunkEnd))
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
    pub texts: TermRuns,
}

impl IndexBuilders<'_> {
    /// Adds the values of the next records.
    fn push(&mut self, batch: &Extracted) -> io::Result<()> {
        let IndexBuilders { inverter, columns, names, targets, .. } = self;
        let (columns, (targets, ())) = parallel::join(
            || parallel::step("add columns", || columns.push(batch)),
            || {
                parallel::join(
                    || {
                        names.push(&batch.names);
                        targets.as_mut().map_or(Ok(()), |targets| targets.push(batch))
                    },
                    || parallel::step("add terms", || inverter.push(batch)),
                )
            },
        );
        columns.and(targets)
    }

    fn held_bytes(&self) -> usize {
        self.inverter.bytes() + self.names.held_bytes() + self.texts.held_bytes()
    }

    /// Writes the values in memory, all of one chunk, as runs.
    fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        let IndexBuilders { inverter, names, texts, .. } = self;
        let (texts, (terms, names)) = parallel::join(
            || parallel::step("run of texts", || texts.close_run(chunk)),
            || {
                parallel::join(
                    || parallel::step("run of terms", || inverter.close_run(chunk)),
                    || parallel::step("run of names", || names.close_run(chunk)),
                )
            },
        );
        texts.and(terms).and(names)
    }
}

/// The bytes that records of a batch count in a wave. A batch ends early if its records give more than expected, but not within a
/// long record: that one counts with the most that a record gives.
fn bytes_in_wave(bytes: usize, batch_bytes: usize) -> usize {
    if bytes > batch_bytes * 2 { bytes * LONG_RECORD } else { bytes }
}

/// Cuts rows into at most `batches_max` batches, each of [`BATCH_ROWS`] rows, of `batch_bytes` bytes or to the end of a chunk,
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
        let is_last = row + 1 == rows.end || chunk_of(row + 1) > chunk_of(row);
        if is_last || row + 1 - from == BATCH_ROWS || bytes >= batch_bytes {
            batches.push(from..row + 1);
            all_bytes += bytes_in_wave(bytes, batch_bytes);
            (from, bytes) = (row + 1, 0);
            if batches.len() == batches_max || all_bytes >= batch_bytes * batches_max {
                break;
            }
        }
    }
    Ok(batches)
}
