//! The citation graph: which record refers to which, in both directions.
//!
//! ```text
//! references of segments: ids ─merges followed, looked up→ rows, or ids without a record
//! references of unchanged records in the previous snapshot ─renumbered→ the same
//!   ids without a record  ─sorted→ unresolved references, which get the rows after the records
//!   rows of each record   ─────→ lists of references
//!                         ─inverted chunk by chunk, merged→ lists of citations
//! ```
//!
//! References do not select: a subset keeps its records' references, and those that lead out of it are
//! unresolved.
//!
//! Memory: batches of references, and the links of one chunk of 65,536 records. Imports `link/{column,
//! context, radix_sort, record, resolve}` and the runs of `link/index`.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    ops::Range,
    path::Path,
};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::index::citations::{CitationsFile, CitationsWriter};
use pinakes_format::index::postings::PostingsBuilder;
use pinakes_format::schema::keys::{Direction, keys_of};
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::{Snapshot, archive_path};
use pinakes_format::storage::blobs::{Spool, unnamed_file};
use pinakes_format::storage::header::{FileKind, Header};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::external_sort::{Sorter, Spill, read_array};
use crate::link::atomic_bitset::AtomicBitset;
use crate::link::column::{Column, IdRows};
use crate::link::context::{Linker, WrittenFile, check_rows, inconsistent_object};
use crate::link::index::invert::{encode, push_entry};
use crate::link::index::runs::merge;
use crate::link::radix_sort::sort_by_key;
use crate::link::record::inputs::LinkInputs;
use crate::link::record::old_records::{OldRecords, former_ends};
use crate::link::resolve::changes::EntityChanges;

/// The most records of a batch, which one thread resolves.
const BATCH_ROWS: usize = 4_096;
/// Bytes of encoded references after which a batch ends.
const BATCH_BYTES: u64 = 1 << 20;
/// In a resolved list, the row of a reference whose id has no record.
const UNRESOLVED: u32 = u32::MAX;
/// The size of a row as a term.
const ROW_BYTES: usize = 4;

/// The references of one entity's records.
pub(crate) struct ResolvedReferences {
    pub lists: ReferenceLists,
    /// Ids without a record, ascending.
    pub unresolved: Column,
    /// References that lead to no record.
    pub dangling: u64,
}

/// A list of references for each record, resolved to rows.
pub(crate) struct ReferenceLists {
    entity: Entity,
    records: usize,
    /// The number of a record's references, their rows, and the id of each row that is [`UNRESOLVED`].
    lists: BufReader<File>,
}

/// An id without a record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UnresolvedId(u64);

impl Spill for UnresolvedId {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.0.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<UnresolvedId>> {
        Ok(read_array(input)?.map(|bytes| UnresolvedId(u64::from_le_bytes(bytes))))
    }
}

/// The references of consecutive records.
struct Batch {
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
        inputs: &LinkInputs<'_, '_>,
        entity: Entity,
        old: Option<&OldRecords<'_>>,
    ) -> Result<Option<ResolvedReferences>> {
        if !keys_of(entity).has_citations() {
            return Ok(None);
        }
        let records = inputs.record_count(entity);
        if let Some(old) = old {
            add_redirected(inputs, entity, old)?;
        }
        // Without a readable file, all references come from the objects.
        let old = old.and_then(|OldRecords { snapshot, changes, .. }| {
            Some((*snapshot, snapshot.citations(entity).ok()?, changes.of(entity)))
        });
        let reader = ReferenceReader { inputs: *inputs, entity, old };
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        let file = self.scratch_result(unnamed_file(&self.scratch))?;
        let mut lists = BufWriter::with_capacity(1 << 18, file);
        let mut dangling = 0;
        let mut add = |batches: Vec<Batch>| {
            batches.into_iter().try_for_each(|batch| {
                dangling += batch.dangling;
                lists.write_all(&batch.lists)?;
                batch.unresolved.into_iter().try_for_each(|id| sorter.push(id))
            })
        };
        let (mut from, mut resolved) = (0, Vec::new());
        while from < records || !resolved.is_empty() {
            // One thread adds the batches while the others resolve the next.
            let (added, next) = rayon::join(
                || add(std::mem::take(&mut resolved)),
                || resolve_batches(&reader, from..records),
            );
            self.scratch_result(added)?;
            (from, resolved) = next?;
        }
        let rewound = || {
            let mut file = lists.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.rewind()?;
            Ok(BufReader::with_capacity(1 << 18, file))
        };
        let lists = self.scratch_result(rewound())?;
        let unresolved = self.scratch_result(write_distinct(sorter, &self.scratch))?;
        check_rows(entity, (records + unresolved.len()) as u64)?;
        let lists = ReferenceLists { entity, records, lists };
        Ok(Some(ResolvedReferences { lists, unresolved, dangling }))
    }

    /// Writes the citation graph. `unresolved` are the ids without a record.
    pub(crate) fn write_citations(
        &self,
        lists: ReferenceLists,
        unresolved: &Column,
        directory: &Path,
    ) -> Result<WrittenFile> {
        let name = archive_path(FileKind::Citations, Some(lists.entity));
        let path = directory.join(&name);
        let rows = lists.records + unresolved.len();
        let header = Header {
            kind: FileKind::Citations,
            entity: Some(lists.entity),
            published: lists.records as u64,
            rows: rows as u64,
            schema_hash: schema_hash(),
        };
        let write = || {
            let mut writer = CitationsWriter::create(&path, header)?;
            let mut runs = Runs::new(&self.scratch, self.sorter_bytes() / 2);
            lists.write(unresolved, &mut writer, &mut runs)?;
            runs.write_citations(&mut writer, rows)?;
            writer.finish()
        };
        Ok((name, write().map_err(Error::output(&path))?))
    }
}

/// Marks the records as changed of whose references one was merged, or is no longer: the number of references of
/// a record is an order.
fn add_redirected(inputs: &LinkInputs<'_, '_>, entity: Entity, old: &OldRecords<'_>) -> Result<()> {
    let changes = old.changes.of(entity);
    if changes.redirected.is_empty() {
        return Ok(());
    }
    let rows = 0..inputs.record_count(entity) as u32;
    let citing = citing_rows(old, entity, rows.len());
    let may_refer = |row: &u32| citing.as_ref().is_none_or(|rows| rows.contains(*row as usize));
    rows.into_par_iter().filter(may_refer).try_for_each(|row| {
        let (_, segment, place) = inputs.locate(entity, row).ok_or_else(inconsistent_object)?;
        let mut ids = Vec::new();
        segment.references(&place, &mut ids).ok_or_else(inconsistent_object)?;
        if changes.has_redirected(&ids) {
            changes.changed.insert(row as usize);
        }
        Ok(())
    })
}

/// The records, of `count`, that referred to an id that leads elsewhere now; `None` if the previous snapshot cannot be
/// read. A record with other references than before has changed anyway.
fn citing_rows(old: &OldRecords<'_>, entity: Entity, count: usize) -> Option<AtomicBitset> {
    let changes = old.changes.of(entity);
    let citations = old.snapshot.citations(entity).ok()?;
    let citing = AtomicBitset::new(count);
    for row in former_ends(old.snapshot, entity, &changes.redirected).ok()? {
        let list = citations.rows(Direction::Citations, row).ok()?;
        let visited = list.each(|old| {
            changes.new_row(old).inspect(|row| _ = citing.insert(*row as usize));
            true
        });
        visited.ok()?;
    }
    Some(citing)
}

/// The first records of `rows` that make a batch.
fn batch(inputs: &LinkInputs<'_, '_>, entity: Entity, rows: Range<usize>) -> Result<Range<usize>> {
    let mut bytes = 0;
    for row in rows.clone() {
        let located = u32::try_from(row).ok().and_then(|row| inputs.locate(entity, row));
        let (_, _, place) = located.ok_or_else(inconsistent_object)?;
        bytes += u64::from(place.references_bytes);
        if row + 1 - rows.start == BATCH_ROWS || bytes >= BATCH_BYTES {
            return Ok(rows.start..row + 1);
        }
    }
    Ok(rows)
}

/// Resolves the first batches of `rows`, in parallel. Returns the row after them.
fn resolve_batches(
    reader: &ReferenceReader<'_, '_>,
    mut rows: Range<usize>,
) -> Result<(usize, Vec<Batch>)> {
    let mut ranges = Vec::new();
    // Two waves are in memory.
    while ranges.len() < rayon::current_num_threads() && !rows.is_empty() {
        let range = batch(&reader.inputs, reader.entity, rows.clone())?;
        rows.start = range.end;
        ranges.push(range);
    }
    let batches = ranges.into_par_iter().map(|rows| resolve_batch(reader, rows));
    Ok((rows.start, batches.collect::<Result<_>>()?))
}

fn resolve_batch(reader: &ReferenceReader<'_, '_>, rows: Range<usize>) -> Result<Batch> {
    let mut targets = Targets::default();
    let mut ends = Vec::with_capacity(rows.len());
    for row in rows {
        let row = u32::try_from(row).map_err(|_| inconsistent_object())?;
        reader.add_targets(row, &mut targets)?;
        ends.push(targets.ids.len());
    }
    targets.find_rows(&reader.inputs.rows[reader.entity as usize].by_id);
    let Targets { ids, rows } = targets;
    let mut batch = Batch { lists: Vec::new(), unresolved: Vec::new(), dangling: 0 };
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
struct Targets {
    /// The ids, or [`NO_ID`] of targets whose row was taken over.
    ids: Vec<u64>,
    /// The row of each target, or [`UNRESOLVED`].
    rows: Vec<u32>,
}

impl Targets {
    /// Looks the rows of ids up in ascending order of the ids, which reads neighbouring parts of the table.
    fn find_rows(&mut self, by_id: &IdRows) {
        let Targets { ids, rows } = self;
        let unresolved = rows.iter().zip(&*ids).zip(0u32..);
        let mut order: Vec<(u64, u32)> = unresolved
            .filter(|((row, _), _)| **row == UNRESOLVED)
            .map(|((_, id), index)| (*id, index))
            .collect();
        sort_by_key(&mut order, |(id, _)| (*id).into());
        let mut cursor = by_id.cursor();
        for (id, index) in order {
            if let Some(row) = cursor.row_of(id) {
                rows[index as usize] = row;
            }
        }
    }
}

/// Reads the references of an entity's records, from the objects or the previous snapshot.
struct ReferenceReader<'a, 'o> {
    inputs: LinkInputs<'a, 'o>,
    entity: Entity,
    /// The references of the previous snapshot.
    old: Option<(&'a Snapshot, &'a CitationsFile, &'a EntityChanges)>,
}

impl ReferenceReader<'_, '_> {
    /// Adds the targets of a record.
    fn add_targets(&self, row: u32, targets: &mut Targets) -> Result<()> {
        let from = targets.ids.len();
        if self.take_over(row, targets).is_some() {
            return Ok(());
        }
        let Targets { ids, rows } = targets;
        ids.truncate(from);
        rows.truncate(from);
        self.inputs.references(self.entity, row, ids).ok_or_else(inconsistent_object)?;
        rows.resize(ids.len(), UNRESOLVED);
        Ok(())
    }

    /// Adds the targets that an unchanged record had in the previous snapshot. `None` if it has changed, one of its
    /// targets is no more, or the previous snapshot is damaged; then some targets may be added.
    fn take_over(&self, row: u32, targets: &mut Targets) -> Option<()> {
        let (snapshot, citations, changes) = self.old?;
        let records = snapshot.count(self.entity);
        let list = citations.rows(Direction::References, changes.old_row(row)?).ok()?;
        let mut is_whole = true;
        let visited = list.each(|old| {
            let target = if old < records {
                changes.new_row(old).map(|row| (NO_ID, row))
            } else {
                snapshot.row_id(self.entity, old).ok().map(|id| (id, UNRESOLVED))
            };
            is_whole = target.is_some();
            let (id, row) = target.unwrap_or((NO_ID, UNRESOLVED));
            targets.ids.push(id);
            targets.rows.push(row);
            is_whole
        });
        visited.ok().filter(|()| is_whole)
    }
}

/// Writes each id once, ascending.
fn write_distinct(sorter: Sorter<UnresolvedId>, scratch: &Path) -> io::Result<Column> {
    let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(scratch)?);
    let mut last = None;
    for id in sorter.finish()? {
        let id = id?;
        if last != Some(id) {
            id.write(&mut file)?;
        }
        last = Some(id);
    }
    Column::map(file, size_of::<u64>())
}

impl ReferenceLists {
    /// Writes the list of each record, and gives its links to `runs`.
    fn write(
        mut self,
        unresolved: &Column,
        writer: &mut CitationsWriter,
        runs: &mut Runs,
    ) -> io::Result<()> {
        let (mut bytes, mut targets) = (Vec::new(), Vec::new());
        for record in 0..self.records {
            self.next(unresolved, &mut bytes, &mut targets)?;
            // The merge refuses entities with more records than u32 has numbers.
            runs.add(record as u32, &targets)?;
            writer.push_references(&targets)?;
        }
        runs.close()
    }

    /// Reads the rows of the next record's references, ascending. `bytes` is reused memory.
    fn next(
        &mut self,
        unresolved: &Column,
        bytes: &mut Vec<u8>,
        targets: &mut Vec<u32>,
    ) -> io::Result<()> {
        let cut = || io::Error::other("a list of references is cut");
        let count = read_array(&mut self.lists)?.map(u32::from_le_bytes).ok_or_else(cut)?;
        bytes.resize(count as usize * ROW_BYTES, 0);
        self.lists.read_exact(bytes)?;
        targets.clear();
        targets.extend(bytes.as_chunks().0.iter().map(|row| u32::from_le_bytes(*row)));
        for row in targets.iter_mut().filter(|row| **row == UNRESOLVED) {
            let id = read_array(&mut self.lists)?.map(u64::from_le_bytes).ok_or_else(cut)?;
            let at = unresolved.find(id).ok_or_else(cut)?;
            *row = u32::try_from(self.records + at).map_err(io::Error::other)?;
        }
        targets.sort_unstable();
        Ok(())
    }
}

/// The links of the graph by target, as sorted runs of one chunk of records each.
struct Runs {
    spool: Spool,
    bytes: usize,
    bytes_max: usize,
    /// The chunk and the end of each run.
    runs: Vec<(u32, usize)>,
    chunk: u32,
    /// The target in the upper bits, and the lower half of the record in the lowest 16.
    links: Vec<u64>,
}

impl Runs {
    fn new(scratch: &Path, bytes_max: usize) -> Runs {
        let spool = Spool::new(scratch);
        Runs { spool, bytes: 0, bytes_max, runs: Vec::new(), chunk: 0, links: Vec::new() }
    }

    /// Adds the links of a record; records ascend.
    fn add(&mut self, record: u32, targets: &[u32]) -> io::Result<()> {
        let chunk = record / CHUNK_ROWS as u32;
        // Three times the size: a growing vector has its old and its new buffer for a moment, and the sort
        // copies the links.
        if chunk != self.chunk || self.links.len() * size_of::<u64>() * 3 >= self.bytes_max {
            self.close()?;
            self.chunk = chunk;
        }
        let low = u64::from(record as u16);
        self.links.extend(targets.iter().map(|target| u64::from(*target) << 16 | low));
        Ok(())
    }

    /// Writes the links in memory as a run.
    fn close(&mut self) -> io::Result<()> {
        // Records ascend already.
        sort_by_key(&mut self.links, |link| (link >> 16).into());
        let run = encode(&self.links, ROW_BYTES);
        self.links.clear();
        if !run.is_empty() {
            self.spool.write_all(&run)?;
            self.bytes += run.len();
            self.runs.push((self.chunk, self.bytes));
        }
        Ok(())
    }

    /// Merges the runs into one list for each of `rows` targets.
    fn write_citations(mut self, writer: &mut CitationsWriter, rows: usize) -> io::Result<()> {
        let rows = u32::try_from(rows).map_err(io::Error::other)?;
        let spool = self.spool.take_map()?;
        let mut from = 0;
        let runs = self.runs.iter().map(|(chunk, to)| {
            let run = &spool[from..*to];
            from = *to;
            (*chunk, run)
        });
        let (mut next, mut list) = (0, PostingsBuilder::default());
        let mut push_until = |row: u32, list: &mut PostingsBuilder| {
            let mut none = PostingsBuilder::default();
            while next < row {
                writer.push_citations(&mut none)?;
                next += 1;
            }
            if next < rows {
                writer.push_citations(list)?;
                next += 1;
            }
            Ok(())
        };
        merge(runs, split_row, &mut list, push_entry, |list, row| push_until(row, list))?;
        push_until(rows, &mut list)
    }
}

/// Splits an entry after the target.
fn split_row(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (row, rest) = bytes.split_first_chunk::<ROW_BYTES>()?;
    Some((u32::from_be_bytes(*row), rest))
}
