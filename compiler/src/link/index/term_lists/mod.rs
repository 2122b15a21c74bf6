//! Inverts rows → terms into terms → rows, with bounded memory.
//!
//! A run holds the terms of one chunk's rows, ascending, each with its rows as a posting-list container.
//! Merging runs concatenates containers:
//!
//! ```text
//! chunk 0: 2019 → {4, 9}   2020 → {1}
//! chunk 1: 2020 → {7}                     merged: 2019 → 0:{4, 9}   2020 → 0:{1} 1:{7}
//! ```
//!
//! Yesterday's file is one more run of the merge: see `old`.

mod old;

use std::io;
use std::io::Write;
use std::path::Path;

use pinakes_format::index::postings::{
    ChunkView, PostingsBuilder, container_bytes, write_container,
};
use pinakes_format::index::term_lists::{
    ListsSpool, PathLists, SpooledLists, Term, TermListsWriter,
};
use pinakes_format::schema::{Keys, TermLists};
use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::{Chunks, Header, Spool, Written};

use crate::link::index::extract::Extracted;
use crate::link::index::runs::merge;
use crate::link::index::term_lists::old::OldLists;
use crate::link::index::unchanged::{Taken, Unchanged};
use crate::link::radix_sort::sort_by_key;
use crate::link::take_over::TakeOver;
use crate::parallel;

/// The position of a run in the spool.
#[derive(Clone, Copy, Debug)]
struct Run {
    lists: usize,
    is_presence: bool,
    chunk: u32,
    from: usize,
    to: usize,
}

/// Inverts the terms of an entity.
pub(crate) struct Inverter<'a> {
    keys: &'a Keys,
    spool: Spool,
    runs: Vec<Run>,
    postings: Vec<Vec<Term>>,
    presence: Vec<Vec<u16>>,
}

impl<'a> Inverter<'a> {
    pub fn new(keys: &'a Keys, scratch: &Path) -> Inverter<'a> {
        let lists = keys.lists.len();
        Inverter {
            keys,
            spool: Spool::new(scratch),
            runs: Vec::new(),
            postings: vec![Vec::new(); lists],
            presence: vec![Vec::new(); lists],
        }
    }

    /// Adds the terms of the next rows.
    pub fn push(&mut self, extracted: &Extracted) {
        for (all, new) in self.postings.iter_mut().zip(&extracted.postings) {
            all.extend(new);
        }
        for (all, new) in self.presence.iter_mut().zip(&extracted.presence) {
            all.extend(new);
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let postings = self.postings.iter().map(|terms| terms.len() * size_of::<Term>());
        let presence = self.presence.iter().map(|rows| rows.len() * size_of::<u16>());
        postings.chain(presence).sum()
    }

    /// Writes the terms in memory, all of one chunk, as a run.
    pub fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        let lists = &self.keys.lists;
        let of_lists = self.postings.iter_mut().zip(&mut self.presence).zip(lists).collect();
        let encode =
            |((postings, presence), lists): ((&mut Vec<Term>, &mut Vec<u16>), &TermLists)| {
                // Rows ascend already.
                sort_by_key(postings, |posting| posting >> 16);
                postings.dedup();
                let run = encode(postings, lists.terms.bytes());
                postings.clear();
                presence.dedup();
                let mut present = Vec::new();
                write_entry(&[], presence, &mut present);
                presence.clear();
                (run, present)
            };
        let encoded: Vec<(Vec<u8>, Vec<u8>)> = parallel::map(of_lists, encode);
        for (lists, (run, present)) in encoded.iter().enumerate() {
            self.write_run(lists, false, chunk, run)?;
            self.write_run(lists, true, chunk, present)?;
        }
        Ok(())
    }

    fn write_run(
        &mut self,
        lists: usize,
        is_presence: bool,
        chunk: u32,
        bytes: &[u8],
    ) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let from = self.spool.position();
        self.spool.write_all(bytes)?;
        self.runs.push(Run { lists, is_presence, chunk, from, to: self.spool.position() });
        Ok(())
    }

    /// Merges the runs into the index file, with the lists of unchanged rows in the previous snapshot. Paths are merged in tasks,
    /// and then copied into the file in their order.
    pub fn write(
        &mut self,
        path: &Path,
        header: Header,
        unchanged: Option<&Unchanged<'_>>,
        sorting: Sorting<'_>,
    ) -> Result<Written, TakeOver<io::Error>> {
        let runs = self.spool.take_map()?;
        let mut tasks = self.tasks(unchanged)?;
        let sorting = Sorting { memory_bytes: sorting.memory_bytes / tasks.len(), ..sorting };
        let merging = ListsMerging { inverter: self, runs, unchanged, sorting };
        let merged = parallel::try_map(tasks.iter_mut().collect(), |paths: &mut Vec<usize>| {
            paths.sort_unstable();
            merging.merge(paths)
        })?;
        drop(merging);
        let paths = tasks.into_iter().flatten().zip(merged.iter().flat_map(SpooledLists::paths));
        let mut paths: Vec<(usize, PathLists<'_>)> = paths.collect();
        paths.sort_unstable_by_key(|(number, _)| *number);
        let mut writer = TermListsWriter::create(path, header)?;
        for (_, lists) in paths {
            writer.append(lists, |chunks| parallel::map(chunks, Chunks::values))?;
        }
        Ok(writer.finish()?)
    }

    /// The numbers of the paths that each task merges: paths with the most bytes first, each to the task with the fewest.
    fn tasks(&self, unchanged: Option<&Unchanged<'_>>) -> Taken<Vec<Vec<usize>>> {
        let mut bytes = vec![0; self.keys.lists.len()];
        self.runs.iter().for_each(|run| bytes[run.lists] += (run.to - run.from) as u64);
        if let Some(unchanged) = unchanged {
            let old = OldLists::file(unchanged)?;
            for (number, bytes) in bytes.iter_mut().enumerate() {
                *bytes += old.bytes(number).map_err(unchanged.failure())?;
            }
        }
        let mut paths: Vec<(u64, usize)> = bytes.into_iter().zip(0..).collect();
        paths.sort_unstable_by(|a, b| b.cmp(a));
        let mut tasks = vec![(0, Vec::new()); MERGED_TOGETHER];
        for (bytes, number) in paths {
            if let Some((of_task, paths)) = tasks.iter_mut().min_by_key(|(bytes, _)| *bytes) {
                *of_task += bytes;
                paths.push(number);
            }
        }
        Ok(tasks.into_iter().map(|(_, paths)| paths).collect())
    }
}

/// Paths that are merged at the same time. Each has a list in memory, and in a night the memory of a sort.
const MERGED_TOGETHER: usize = 8;

/// The runs and the old lists that tasks merge.
struct ListsMerging<'m> {
    inverter: &'m Inverter<'m>,
    runs: Map,
    unchanged: Option<&'m Unchanged<'m>>,
    sorting: Sorting<'m>,
}

impl ListsMerging<'_> {
    /// Merges the lists of some paths.
    fn merge(&self, paths: &[usize]) -> Taken<SpooledLists> {
        let ListsMerging { inverter, unchanged, sorting, .. } = *self;
        let spool = ListsSpool::new(sorting.scratch);
        let mut lists = ListsMerge { list: PostingsBuilder::default(), spool };
        for number in paths.iter().copied() {
            let runs = |is_presence| {
                inverter
                    .runs
                    .iter()
                    .filter(move |run| run.lists == number && run.is_presence == is_presence)
                    .map(|run| (run.chunk, &self.runs[run.from..run.to]))
            };
            let terms = inverter.keys.lists[number].terms;
            let width = terms.bytes();
            lists.spool.begin(width);
            let old = unchanged.map(|of| OldLists::open(of, number, terms, sorting));
            let mut old = old.transpose()?;
            merge(
                runs(false),
                old.as_mut(),
                |bytes| split_term(bytes, width),
                &mut lists,
                |lists, chunk, bytes| push_entry(&mut lists.list, chunk, bytes),
                |lists, term| Ok(lists.end_term(term)?),
            )?;
            // The rows with any term are one more list, which has no term.
            runs(true).try_for_each(|(chunk, bytes)| {
                push_entry(&mut lists.list, chunk, bytes).map(|_| ())
            })?;
            if let Some(old) = &mut old {
                old.add_presence(&mut lists.list)?;
            }
            lists.spool.end(&mut lists.list)?;
        }
        Ok(lists.spool.finish()?)
    }
}

/// Where terms that are rows are sorted again.
#[derive(Clone, Copy)]
pub(crate) struct Sorting<'s> {
    pub scratch: &'s Path,
    pub memory_bytes: usize,
}

/// The list of the current term, and all lists.
struct ListsMerge {
    list: PostingsBuilder,
    spool: ListsSpool,
}

impl ListsMerge {
    /// Writes the list of a term, if a row has the term.
    fn end_term(&mut self, term: Term) -> io::Result<()> {
        if self.list.count() > 0 { self.spool.push(term, &mut self.list) } else { Ok(()) }
    }
}

/// Encodes sorted postings as a run: terms, and the low half of a row in the lowest 16 bits.
fn encode(postings: &[Term], width: usize) -> Vec<u8> {
    let mut run = Vec::with_capacity(postings.len() * (width / 2 + 4));
    let mut lows = Vec::new();
    let term = |posting: &Term| posting >> 16;
    for group in postings.chunk_by(|a, b| term(a) == term(b)) {
        lows.clear();
        lows.extend(group.iter().map(|posting| *posting as u16));
        let term = term(&group[0]).to_be_bytes();
        write_entry(&term[16 - width..], &lows, &mut run);
    }
    run
}

/// Appends an entry: the term, the number of rows minus one (u16), the container. Appends nothing if
/// there are no rows.
fn write_entry(term: &[u8], lows: &[u16], out: &mut Vec<u8>) {
    let Some(count) = lows.len().checked_sub(1) else { return };
    out.extend_from_slice(term);
    // A chunk has at most 65,536 rows.
    out.extend_from_slice(&(count as u16).to_le_bytes());
    write_container(lows, out);
}

/// Adds the container of an entry to a list and returns the bytes after the entry.
fn push_entry<'b>(list: &mut PostingsBuilder, chunk: u32, bytes: &'b [u8]) -> io::Result<&'b [u8]> {
    let cut = || io::Error::other("a run ends within an entry");
    let (count, rest) = bytes.split_first_chunk::<2>().ok_or_else(cut)?;
    let count = u32::from(u16::from_le_bytes(*count)) + 1;
    let (container, rest) = rest.split_at_checked(container_bytes(count)).ok_or_else(cut)?;
    list.push_view(chunk, ChunkView::new(container, count));
    Ok(rest)
}

/// Splits an entry after its term of `width` bytes.
fn split_term(bytes: &[u8], width: usize) -> Option<(Term, &[u8])> {
    let (term, rest) = bytes.split_at_checked(width)?;
    Some((term.iter().fold(0, |term, byte| term << 8 | Term::from(*byte)), rest))
}
