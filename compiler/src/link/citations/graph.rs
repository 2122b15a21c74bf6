//! Writes the citation graph: the references of each record, and inverted, the citations of each row.

use std::{
    fs::File,
    io::{self, BufReader, Read, Write},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::index::bitset::CHUNK_ROWS;
use pinakes_format::index::citations::CitationsWriter;
use pinakes_format::index::postings::PostingsBuilder;
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::blobs::Spool;
use pinakes_format::storage::header::{FileKind, Header};

use crate::error::{Error, Result};
use crate::external_sort::read_array;
use crate::link::citations::UNRESOLVED;
use crate::link::column::Column;
use crate::link::context::{Linker, WrittenFile};
use crate::link::index::runs::{NoRun, merge};
use crate::link::index::term_lists::{encode, push_entry};
use crate::link::radix_sort::sort_by_key;

/// The size of a row as a term.
const ROW_BYTES: usize = 4;

/// A list of references for each record, resolved to rows.
pub(crate) struct ReferenceLists {
    pub(super) entity: Entity,
    pub(super) records: usize,
    /// The number of a record's references, their rows, and the id of each row that is [`UNRESOLVED`].
    pub(super) lists: BufReader<File>,
}

impl Linker<'_> {
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
        let old = None::<&mut NoRun>;
        merge(runs, old, split_row, &mut list, push_entry, |list, row| push_until(row, list))?;
        push_until(rows, &mut list)
    }
}

/// Splits an entry after the target.
fn split_row(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (row, rest) = bytes.split_first_chunk::<ROW_BYTES>()?;
    Some((u32::from_be_bytes(*row), rest))
}
