//! Indexing: the term lists, orders and dictionaries by which lists are filtered, sorted and searched.
//!
//! Takes the written records, ids, names and citations of a snapshot. Gives the index files of every entity.
//!
//! ```text
//! records ─extract→ terms       ─invert→ runs, one per chunk of 65,536 rows ─merge→ term lists
//!                   target rows ──────────────────────────────────────────────────→ targets
//!                   order values ────────────────────────────────────────────rank→ orders
//!                   words, names ─────→ runs, one per chunk ──────────────────merge→ dictionaries,
//!                                                                                  prefix statistics
//! ```
//!
//! All threads read records in row order, batch by batch. Terms and words are sorted in memory, written
//! as one run per chunk, and merged term by term. Order values are written as columns, and then sorted
//! one order at a time. Memory does not grow with the number of rows, except for bitmaps of rows.
//! Imports `link/{context, radix_sort}`.

pub(crate) mod extract;
pub(crate) mod invert;
pub(crate) mod names;
pub(crate) mod prefix_stats;
pub(crate) mod rank;
pub(crate) mod runs;
pub(crate) mod value;

use std::{
    collections::BTreeMap,
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use pinakes_format::autocomplete::Ranking;
use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::index::dictionary::Dictionary;
use pinakes_format::index::orders::OrdersFile;
use pinakes_format::index::targets::TargetsWriter;
use pinakes_format::schema::keys::{Keys, Terms, keys_of};
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::{OpenError, Snapshot, archive_path, open_draft_archive};
use pinakes_format::storage::archive::Archive;
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::{FileKind, Header};
use pinakes_format::storage::manifest::Counts;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::link::context::{Linker, WrittenFile, inconsistent_object, readable};
use crate::link::index::extract::{Extracted, Extractor};
use crate::link::index::invert::Inverter;
use crate::link::index::names::NameRuns;
use crate::link::index::prefix_stats::PrefixStats;
use crate::link::index::rank::Columns;
use crate::terminal::progress::Bar;

/// The most rows of a batch. One thread extracts a batch.
const BATCH_ROWS: u32 = 2_048;
/// Limits of the bytes of records in a batch, without the last record.
const BATCH_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=4 << 20;
/// An upper bound of the bytes extracted from one byte of a record. In a script without spaces each
/// character begins a word, and neighbouring words may share a prefix.
const EXTRACTED_PER_BYTE: usize = 16;

/// The path by which names are ranked.
const CITED: &str = "cited_by_count";

impl Linker<'_> {
    /// Writes the indexes of every entity. Records, ids and names are in the directory.
    pub(crate) fn write_indexes(
        &self,
        directory: &Path,
        counts: BTreeMap<String, Counts>,
    ) -> Result<Vec<WrittenFile>> {
        let draft = Snapshot::open_draft(directory, counts).map_err(Error::self_check)?;
        let rows: u64 = Entity::all().map(|entity| u64::from(draft.count(entity))).sum();
        let bar = self.progress.begin("index", "records", rows, rows);
        let out = |entity| EntityDirectory { draft: &draft, entity, path: directory };
        let indexed = Entity::all().filter(|entity| !keys_of(*entity).keys.is_empty());
        let mut entities: Vec<Entity> = indexed.collect();
        entities.sort_by_key(|entity| draft.rows(*entity));
        let Some(largest) = entities.pop().map(out) else { return Ok(Vec::new()) };
        let gathered = self.gather(&largest, &bar)?;
        // Merging the largest entity uses few threads; the others index the other entities meanwhile.
        let index = |entity| {
            let out = out(entity);
            self.write_index(&out, self.gather(&out, &bar)?)
        };
        let (files, others) = rayon::join(
            || self.write_index(&largest, gathered),
            || entities.into_iter().map(index).collect::<Result<Vec<_>>>(),
        );
        bar.end();
        let mut files = files?;
        files.extend(others?.into_iter().flatten());
        Ok(files)
    }

    /// Bytes one sorter may hold while two entities are indexed concurrently.
    fn index_bytes(&self) -> usize {
        self.sorter_bytes() / 2
    }

    /// Extracts the terms, order values and names of an entity's records into runs and columns.
    fn gather(&self, out: &EntityDirectory<'_>, bar: &Bar) -> Result<IndexBuilders<'static>> {
        let keys = keys_of(out.entity);
        let extractor = Extractor::new(out.draft, out.entity, keys)?;
        let mut indexes = IndexBuilders {
            inverter: Inverter::new(keys, &self.scratch),
            columns: Columns::new(keys, &self.scratch),
            names: NameRuns::new(&self.scratch),
            targets: (!keys.targets.is_empty()).then(|| out.targets_writer(keys)).transpose()?,
        };
        self.extract(&extractor, out.draft, &mut indexes, bar)?;
        Ok(indexes)
    }

    /// Merges and sorts the runs and columns of an entity into its index files.
    fn write_index(
        &self,
        out: &EntityDirectory<'_>,
        indexes: IndexBuilders<'_>,
    ) -> Result<Vec<WrittenFile>> {
        let EntityDirectory { draft, entity, .. } = *out;
        let keys = keys_of(entity);
        let IndexBuilders { mut inverter, mut columns, names, targets } = indexes;
        let order_writer = rank::OrderWriter {
            draft,
            entity,
            scratch: &self.scratch,
            memory_bytes: self.index_bytes(),
        };
        let lists = || {
            let header = out.header_counting(FileKind::TermLists, keys.lists.len() as u64);
            out.write(FileKind::TermLists, |path| inverter.write(path, header))
        };
        let orders = || {
            out.write(FileKind::Orders, |path| {
                columns.write(&order_writer, path, out.header(FileKind::Orders))
            })
        };
        let orders = || (!keys.orders.is_empty()).then(orders).transpose();
        let names = || match keys.has_names() {
            true => self.write_names(out, keys, names),
            false => Ok(Vec::new()),
        };
        let (lists, (orders, names)) = rayon::join(
            || (!keys.lists.is_empty()).then(lists).transpose(),
            || match is_ranked_by_rows(keys) {
                true => rayon::join(orders, names),
                false => (orders(), names()),
            },
        );
        let targets = targets.map(|targets| out.write(FileKind::Targets, |_| targets.finish()));
        let mut files: Vec<WrittenFile> =
            lists?.into_iter().chain(orders?).chain(targets.transpose()?).collect();
        files.extend(names?);
        Ok(files)
    }

    /// Writes the dictionaries and prefix statistics. Needs the entity's orders, unless the rows are ranked by
    /// citations.
    fn write_names(
        &self,
        out: &EntityDirectory<'_>,
        keys: &Keys,
        names: NameRuns,
    ) -> Result<Vec<WrittenFile>> {
        let (rows, ids) = (out.draft.count(out.entity), out.draft.ids(out.entity));
        let orders = match is_ranked_by_rows(keys) {
            true => None,
            false => {
                let file = out.open(FileKind::Orders)?;
                let orders = OrdersFile::open(file, &keys.orders, rows as usize);
                Some(orders.map_err(Error::self_check)?)
            }
        };
        let ranking = match &orders {
            None => Ranking::Rows,
            Some(orders) => {
                let number = keys.order(CITED).ok_or_else(inconsistent_object)?;
                Ranking::new(readable(orders.order(number, &keys.orders[number], ids))?, ids)
            }
        };
        let NameRuns { words, alternatives, .. } = names;
        let write_words = || {
            let mut prefixes = PrefixStats::new(ranking, rows, &self.scratch, self.index_bytes());
            let words = out.write(FileKind::Words, |path| {
                names::write_words(words, path, out.header(FileKind::Words), &mut prefixes)
            })?;
            let dictionary =
                Dictionary::open(out.open(FileKind::Words)?).map_err(Error::self_check)?;
            let prefix_stats = out.write(FileKind::PrefixStats, |path| {
                prefixes.write(&dictionary, rows, path, out.header(FileKind::PrefixStats))
            })?;
            Ok::<_, Error>([words, prefix_stats])
        };
        let write_alternatives = || {
            out.write(FileKind::Alternatives, |path| {
                names::write_alternatives(alternatives, path, out.header(FileKind::Alternatives))
            })
        };
        let (words, alternatives) = rayon::join(write_words, || {
            keys.has_alternatives().then(write_alternatives).transpose()
        });
        Ok(words?.into_iter().chain(alternatives?).collect())
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
        if extractor.keys().unresolved_names.is_none() {
            return Ok(());
        }
        // Names of unresolved references are indexed under their rows, which follow the records.
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
        let batch_bytes = (self.index_bytes() / (wave_batches * 2) / EXTRACTED_PER_BYTE)
            .clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end());
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
        for batch in wave.batches {
            self.scratch_result(indexes.columns.push(&batch))?;
            indexes.inverter.push(&batch);
            indexes.names.push(&batch.names);
            if let Some(targets) = &mut indexes.targets {
                push_targets(targets, &batch).map_err(Error::output(draft.path()))?;
            }
            extractor.reuse(batch);
            if indexes.held_bytes() > self.index_bytes() / 2 {
                self.scratch_result(indexes.close_run(wave.chunk))?;
            }
        }
        if wave.ends_chunk { self.scratch_result(indexes.close_run(wave.chunk)) } else { Ok(()) }
    }
}

/// Whether the rows are in the order of citations.
fn is_ranked_by_rows(keys: &Keys) -> bool {
    keys.order(CITED).is_some_and(|number| keys.orders[number].is_row_order)
}

/// The values of consecutive rows of one chunk.
struct Wave {
    rows: Range<u32>,
    chunk: u32,
    /// Whether the rows are the last of the chunk.
    ends_chunk: bool,
    batches: Vec<Extracted>,
}

/// The directory of the snapshot, for the index files of one entity.
struct EntityDirectory<'a> {
    draft: &'a Snapshot,
    entity: Entity,
    path: &'a Path,
}

impl EntityDirectory<'_> {
    fn path_of(&self, kind: FileKind) -> PathBuf {
        self.path.join(archive_path(kind, Some(self.entity)))
    }

    /// The header of a file with one item for each record.
    fn header(&self, kind: FileKind) -> Header {
        self.header_counting(kind, self.draft.count(self.entity).into())
    }

    fn header_counting(&self, kind: FileKind, count: u64) -> Header {
        Header {
            kind,
            entity: Some(self.entity),
            published: count,
            rows: count,
            schema_hash: schema_hash(),
        }
    }

    /// Creates the file of target rows.
    fn targets_writer(&self, keys: &Keys) -> Result<TargetsWriter> {
        let path = self.path_of(FileKind::Targets);
        let rows = keys.targets.iter().map(|number| match keys.lists[*number].terms {
            Terms::Rows(target) => self.draft.rows(target),
            _ => 0,
        });
        let writer = TargetsWriter::create(&path, self.header(FileKind::Targets), rows);
        writer.map_err(Error::output(&path))
    }

    /// Writes an index file and returns it with its path in the snapshot.
    fn write(
        &self,
        kind: FileKind,
        write: impl FnOnce(&Path) -> io::Result<Written>,
    ) -> Result<WrittenFile> {
        let path = self.path_of(kind);
        let written = write(&path).map_err(Error::output(&path))?;
        Ok((archive_path(kind, Some(self.entity)), written))
    }

    /// Opens a written file.
    fn open(&self, kind: FileKind) -> Result<Archive> {
        open_draft_archive(&self.path_of(kind), kind, Some(self.entity)).map_err(|cause| {
            let file = archive_path(kind, Some(self.entity));
            Error::self_check(OpenError { path: self.path.into(), file, cause })
        })
    }
}

/// The indexes of one entity while its records are extracted.
struct IndexBuilders<'k> {
    inverter: Inverter<'k>,
    columns: Columns<'k>,
    names: NameRuns,
    targets: Option<TargetsWriter>,
}

impl IndexBuilders<'_> {
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
