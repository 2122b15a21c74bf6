//! The indexes of an entity: what its lists are filtered and sorted by.
//!
//! The records just written are read back in row order, by all threads, and the values that the
//! keys name gathered from each. Postings are inverted a chunk of rows at a time: sorted in memory,
//! written as a run, and the runs of all chunks merged term by term. Values that order are spilled
//! as columns and sorted one order after another. Nothing is held for all rows.

mod extract;
mod invert;
mod rank;
mod words;

use std::{collections::BTreeMap, ops::Range, path::Path};

use pinakes_format::{
    entity::Entity,
    file::{Header, Kind, Written},
    keys::{Keys, keys_of},
    manifest::Counts,
    postings::CHUNK_ROWS,
    snapshot::{Snapshot, archive_path},
    words::WordsWriter,
};
use rayon::prelude::*;

use self::{
    extract::{Extracted, Extractor},
    invert::Inverter,
    rank::Columns,
};
use super::{Linker, broken, records::WrittenFile};
use crate::{
    error::{Error, Result},
    progress::Bar,
};

/// Rows one thread extracts at a time, at most.
const BATCH_ROWS: u32 = 2_048;
/// Bytes of records one thread extracts at a time, but for the last record.
const BATCH_BYTES: usize = 4 << 20;

impl Linker<'_> {
    /// Writes the indexes of every entity, whose records, ids and names lie in the directory.
    pub(super) fn write_indexes(
        &self,
        directory: &Path,
        counts: BTreeMap<String, Counts>,
    ) -> Result<Vec<WrittenFile>> {
        let draft = Snapshot::open_draft(directory, counts)
            .map_err(|error| Error::SelfCheck(error.to_string()))?;
        let rows: u64 = Entity::all().map(|entity| u64::from(draft.count(entity))).sum();
        let bar = self.progress.begin("index", "records", rows, rows);
        let mut files = Vec::new();
        for entity in Entity::all() {
            let keys = keys_of(entity);
            if !keys.keys.is_empty() {
                files.extend(self.write_index(&draft, entity, keys, directory, &bar)?);
            }
        }
        bar.end();
        Ok(files)
    }

    fn write_index(
        &self,
        draft: &Snapshot,
        entity: Entity,
        keys: &'static Keys,
        directory: &Path,
        bar: &Bar,
    ) -> Result<Vec<WrittenFile>> {
        let path = |kind| archive_path(kind, Some(entity));
        let extractor = Extractor::new(draft, entity, keys)?;
        let mut inverter = self.spilled(Inverter::new(keys, &self.scratch))?;
        let mut columns = self.spilled(Columns::new(keys, &self.scratch))?;
        self.extract(&extractor, draft, &mut inverter, &mut columns, bar)?;

        let header =
            |kind, count: u64| Header { kind, entity: Some(entity), published: count, rows: count };
        let writing = rank::Writing {
            draft,
            entity,
            scratch: &self.scratch,
            memory_bytes: self.sorter_bytes(),
        };
        let keep = |kind, write: &mut dyn FnMut(&Path) -> std::io::Result<Written>| {
            let place = path(kind);
            let file = directory.join(&place);
            write(&file).map_err(Error::output(&file)).map(|written| (place, written))
        };
        let lists = || -> Result<Vec<WrittenFile>> {
            let count = keys.lists.len() as u64;
            let words_path = directory.join(path(Kind::Words));
            let records = u64::from(draft.count(entity));
            let words = || WordsWriter::create(&words_path, header(Kind::Words, records));
            let mut words =
                keys.words.map(|_| words()).transpose().map_err(Error::output(&words_path))?;
            let lists = keep(Kind::Lists, &mut |path| {
                inverter.write(path, header(Kind::Lists, count), words.as_mut())
            })?;
            let words = words.map(WordsWriter::finish).transpose();
            let words = words.map_err(Error::output(&words_path))?;
            Ok([lists].into_iter().chain(words.map(|words| (path(Kind::Words), words))).collect())
        };
        let orders = || {
            let header = header(Kind::Orders, u64::from(draft.count(entity)));
            keep(Kind::Orders, &mut |path| columns.write(&writing, path, header))
        };
        let (lists, orders) = rayon::join(
            || (!keys.lists.is_empty()).then(lists).transpose(),
            || (!keys.orders.is_empty()).then(orders).transpose(),
        );
        Ok(lists?.into_iter().flatten().chain(orders?).collect())
    }

    /// Extracts every record, a chunk after another.
    fn extract(
        &self,
        extractor: &Extractor<'_>,
        draft: &Snapshot,
        inverter: &mut Inverter<'_>,
        columns: &mut Columns<'_>,
        bar: &Bar,
    ) -> Result<()> {
        let count = draft.count(extractor.entity());
        let wave_batches = rayon::current_num_threads() * 4;
        let mut from = 0;
        while from < count {
            let chunk_end = (from / CHUNK_ROWS as u32 + 1) * CHUNK_ROWS as u32;
            let ranges =
                batches(draft, extractor.entity(), from..chunk_end.min(count), wave_batches)?;
            let to = ranges.last().map_or(count, |range| range.end);
            let extracted: Result<Vec<Extracted>> =
                ranges.into_par_iter().map(|rows| extractor.rows(rows)).collect();
            for batch in extracted? {
                self.spilled(columns.push(&batch))?;
                inverter.push(batch);
            }
            let ends_chunk = to == chunk_end || to == count;
            if ends_chunk || inverter.bytes() > self.sorter_bytes() / 2 {
                self.spilled(inverter.close_run(from / CHUNK_ROWS as u32))?;
            }
            bar.advance(u64::from(to - from));
            from = to;
        }
        if extractor.keys().stray_names.is_none() {
            return Ok(());
        }
        // The names of strays stand at rows of their own, beyond the records.
        for row in count..draft.rows(extractor.entity()) {
            inverter.push(extractor.stray(row)?);
            let is_last = row + 1 == draft.rows(extractor.entity());
            if is_last || (row + 1).is_multiple_of(CHUNK_ROWS as u32) {
                self.spilled(inverter.close_run(row / CHUNK_ROWS as u32))?;
            }
        }
        Ok(())
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
) -> Result<Vec<Range<u32>>> {
    let mut batches = Vec::with_capacity(batches_max);
    let (mut from, mut bytes) = (rows.start, 0);
    for row in rows.clone() {
        bytes += read(draft.record_bytes(entity, row))?;
        let is_last = row + 1 == rows.end;
        if is_last || row + 1 - from == BATCH_ROWS || bytes >= BATCH_BYTES {
            batches.push(from..row + 1);
            (from, bytes) = (row + 1, 0);
            if batches.len() == batches_max {
                break;
            }
        }
    }
    Ok(batches)
}

/// A value an archive should have had.
fn read<T>(value: std::result::Result<T, pinakes_format::render::RenderError>) -> Result<T> {
    value.map_err(|_| broken())
}
