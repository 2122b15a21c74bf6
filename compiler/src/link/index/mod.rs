//! The indexes of an entity: what its lists are filtered and sorted by.
//!
//! The records just written are read back in row order, by all threads, and the values that the
//! keys name gathered from each. Postings are inverted a chunk of rows at a time: sorted in memory,
//! written as a run, and the runs of all chunks merged term by term. Values that order are spilled
//! as columns and sorted one order after another. Names go the way of postings, into dictionaries; what
//! the beginnings of their words have in common is gathered on the way. Nothing is held for all rows,
//! but a bit.

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
use pinakes_format::schema::keys::{Keys, keys_of};
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
use crate::link::index::prefix_stats::Beginnings;
use crate::link::index::rank::Columns;
use crate::terminal::progress::Bar;

/// Rows one thread extracts at a time, at most.
const BATCH_ROWS: u32 = 2_048;
/// Bytes of records one thread extracts at a time, but for the last record.
const BATCH_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=4 << 20;
/// Bytes that may be extracted from one of a record: of a name in a script without spaces, each
/// character begins a word, and two words one after another may begin alike.
const EXTRACTED_PER_BYTE: usize = 16;

impl Linker<'_> {
    /// Writes the indexes of every entity, whose records, ids and names lie in the directory.
    pub(crate) fn write_indexes(
        &self,
        directory: &Path,
        counts: BTreeMap<String, Counts>,
    ) -> Result<Vec<WrittenFile>> {
        let draft = Snapshot::open_draft(directory, counts).map_err(Error::self_check)?;
        let rows: u64 = Entity::all().map(|entity| u64::from(draft.count(entity))).sum();
        let bar = self.progress.begin("index", "records", rows, rows);
        let out = |entity| Directory { draft: &draft, entity, path: directory };
        let indexed = Entity::all().filter(|entity| !keys_of(*entity).keys.is_empty());
        let mut entities: Vec<Entity> = indexed.collect();
        entities.sort_by_key(|entity| draft.rows(*entity));
        let Some(largest) = entities.pop().map(out) else { return Ok(Vec::new()) };
        let gathered = self.gather(&largest, &bar)?;
        // One thread merges its words, and few its lists and orders: meanwhile the others are indexed.
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

    /// What one sorter may hold, where two entities are indexed at a time.
    fn index_bytes(&self) -> usize {
        self.sorter_bytes() / 2
    }

    /// Gathers what an entity's records are found and ordered by.
    fn gather(&self, out: &Directory<'_>, bar: &Bar) -> Result<Indexes<'static>> {
        let keys = keys_of(out.entity);
        let extractor = Extractor::new(out.draft, out.entity, keys)?;
        let mut indexes = Indexes {
            inverter: Inverter::new(keys, &self.scratch),
            columns: Columns::new(keys, &self.scratch),
            names: NameRuns::new(&self.scratch),
        };
        self.extract(&extractor, out.draft, &mut indexes, bar)?;
        Ok(indexes)
    }

    /// Writes what was gathered.
    fn write_index(&self, out: &Directory<'_>, indexes: Indexes<'_>) -> Result<Vec<WrittenFile>> {
        let Directory { draft, entity, .. } = *out;
        let keys = keys_of(entity);
        let Indexes { mut inverter, mut columns, names } = indexes;
        let writing = rank::Writing {
            draft,
            entity,
            scratch: &self.scratch,
            memory_bytes: self.index_bytes(),
        };
        let lists = || {
            let header = out.header_counting(FileKind::TermLists, keys.lists.len() as u64);
            out.keep(FileKind::TermLists, |path| inverter.write(path, header))
        };
        let orders = || {
            out.keep(FileKind::Orders, |path| {
                columns.write(&writing, path, out.header(FileKind::Orders))
            })
        };
        let (lists, orders) = rayon::join(
            || (!keys.lists.is_empty()).then(lists).transpose(),
            || (!keys.orders.is_empty()).then(orders).transpose(),
        );
        let mut files: Vec<WrittenFile> = lists?.into_iter().chain(orders?).collect();
        if keys.has_names() {
            files.extend(self.write_names(out, keys, names)?);
        }
        Ok(files)
    }

    /// Writes what autocomplete and searches ask; the entity's orders are there.
    fn write_names(
        &self,
        out: &Directory<'_>,
        keys: &Keys,
        names: NameRuns,
    ) -> Result<Vec<WrittenFile>> {
        let (rows, ids) = (out.draft.count(out.entity), out.draft.ids(out.entity));
        let orders = OrdersFile::open(out.open(FileKind::Orders)?, &keys.orders, rows as usize);
        let orders = orders.map_err(Error::self_check)?;
        let number = keys.order("cited_by_count").ok_or_else(inconsistent_object)?;
        let cited = readable(orders.order(number, &keys.orders[number], ids))?;
        let NameRuns { words, alternatives, .. } = names;
        let write_words = || {
            let ranking = Ranking { cited, ids };
            let mut beginnings = Beginnings::new(ranking, rows, &self.scratch, self.index_bytes());
            let words = out.keep(FileKind::Words, |path| {
                names::write_words(words, path, out.header(FileKind::Words), &mut beginnings)
            })?;
            let dictionary =
                Dictionary::open(out.open(FileKind::Words)?).map_err(Error::self_check)?;
            let prefixes = out.keep(FileKind::PrefixStats, |path| {
                beginnings.write(&dictionary, rows, path, out.header(FileKind::PrefixStats))
            })?;
            Ok::<_, Error>([words, prefixes])
        };
        let write_alternatives = || {
            out.keep(FileKind::Alternatives, |path| {
                names::write_alternatives(alternatives, path, out.header(FileKind::Alternatives))
            })
        };
        let (words, alternatives) = rayon::join(write_words, || {
            keys.has_alternatives().then(write_alternatives).transpose()
        });
        Ok(words?.into_iter().chain(alternatives?).collect())
    }

    /// Extracts every record, a chunk after another.
    fn extract(
        &self,
        extractor: &Extractor<'_>,
        draft: &Snapshot,
        indexes: &mut Indexes<'_>,
        bar: &Bar,
    ) -> Result<()> {
        let count = draft.count(extractor.entity());
        let wave_batches = rayon::current_num_threads() * 4;
        let batch_bytes = (self.index_bytes() / wave_batches / EXTRACTED_PER_BYTE)
            .clamp(*BATCH_BYTES.start(), *BATCH_BYTES.end());
        let mut from = 0;
        while from < count {
            let chunk_end = (from / CHUNK_ROWS as u32 + 1) * CHUNK_ROWS as u32;
            let rows = from..chunk_end.min(count);
            let ranges = batches(draft, extractor.entity(), rows, wave_batches, batch_bytes)?;
            let to = ranges.last().map_or(count, |range| range.end);
            let extracted: Result<Vec<Extracted>> =
                ranges.into_par_iter().map(|rows| extractor.rows(rows)).collect();
            for batch in extracted? {
                self.scratch_result(indexes.columns.push(&batch))?;
                indexes.inverter.push(&batch);
                indexes.names.push(&batch.names);
                if indexes.held_bytes() > self.index_bytes() / 2 {
                    self.scratch_result(indexes.close_run(from / CHUNK_ROWS as u32))?;
                }
            }
            if to == chunk_end || to == count {
                self.scratch_result(indexes.close_run(from / CHUNK_ROWS as u32))?;
            }
            bar.advance(u64::from(to - from));
            from = to;
        }
        if extractor.keys().unresolved_names.is_none() {
            return Ok(());
        }
        // The names of strays stand at rows of their own, beyond the records.
        for row in count..draft.rows(extractor.entity()) {
            indexes.inverter.push(&extractor.stray(row)?);
            let is_last = row + 1 == draft.rows(extractor.entity());
            if is_last || (row + 1).is_multiple_of(CHUNK_ROWS as u32) {
                self.scratch_result(indexes.inverter.close_run(row / CHUNK_ROWS as u32))?;
            }
        }
        Ok(())
    }
}

/// Where an entity's indexes are written.
struct Directory<'a> {
    draft: &'a Snapshot,
    entity: Entity,
    path: &'a Path,
}

impl Directory<'_> {
    fn path_of(&self, kind: FileKind) -> PathBuf {
        self.path.join(archive_path(kind, Some(self.entity)))
    }

    /// The header of a file that counts the entity's records.
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

    /// Writes a file.
    fn keep(
        &self,
        kind: FileKind,
        write: impl FnOnce(&Path) -> io::Result<Written>,
    ) -> Result<WrittenFile> {
        let path = self.path_of(kind);
        let written = write(&path).map_err(Error::output(&path))?;
        Ok((archive_path(kind, Some(self.entity)), written))
    }

    /// Opens a file that was written.
    fn open(&self, kind: FileKind) -> Result<Archive> {
        open_draft_archive(&self.path_of(kind), kind, Some(self.entity)).map_err(|cause| {
            let file = archive_path(kind, Some(self.entity));
            Error::self_check(OpenError { path: self.path.into(), file, cause })
        })
    }
}

/// What the values of rows go to.
struct Indexes<'k> {
    inverter: Inverter<'k>,
    columns: Columns<'k>,
    names: NameRuns,
}

impl Indexes<'_> {
    fn held_bytes(&self) -> usize {
        self.inverter.bytes() + self.names.held_bytes()
    }

    /// Writes what is held, all of one chunk, as runs.
    fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        self.inverter.close_run(chunk)?;
        self.names.close_run(chunk)
    }
}

/// Consecutive rows, cut into batches of so many bytes or rows, whichever comes first.
///
/// Records of many authors stand together, so that rows alone would not bound what a wave holds.
fn batches(
    draft: &Snapshot,
    entity: Entity,
    rows: Range<u32>,
    batches_max: usize,
    batch_bytes: usize,
) -> Result<Vec<Range<u32>>> {
    let mut batches = Vec::with_capacity(batches_max);
    let (mut from, mut bytes) = (rows.start, 0);
    for row in rows.clone() {
        bytes += readable(draft.record_bytes(entity, row))?;
        let is_last = row + 1 == rows.end;
        if is_last || row + 1 - from == BATCH_ROWS || bytes >= batch_bytes {
            batches.push(from..row + 1);
            (from, bytes) = (row + 1, 0);
            if batches.len() == batches_max {
                break;
            }
        }
    }
    Ok(batches)
}
