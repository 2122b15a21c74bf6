//! The full-text index: texts of records, inverted batch by batch and merged term by term.
//!
//! - `batch` inverts the texts of a batch of records; `vocabulary` numbers the words.
//! - `merge` writes the index from the runs of all chunks, and from the index of the previous snapshot, which `old` reads.
//!
//! A run holds the terms of one chunk's rows. An entry of a run has one part for each batch, as the batch encoded it:
//!
//! ```text
//! batch 1: "graph" → rows 4, 9    "network" → row 3
//! batch 2: "graph" → row 2,050                         run: "graph" → [4, 9] [2,050]   "network" → [3]
//! ```

pub(crate) mod batch;
mod merge;
mod old;
pub(crate) mod vocabulary;

use std::hash::BuildHasher;
use std::io;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hashbrown::HashTable;
use pinakes_format::storage::{Spool, leb128};

use crate::link::index::sort_key::head;
use crate::parallel;

/// The runs of an entity's texts.
pub(crate) struct TermRuns {
    scratch: PathBuf,
    /// The encoded batches of the current chunk.
    batches: Vec<Vec<u8>>,
    held_bytes: usize,
    /// Each holds [`RANGES_TOGETHER`] ranges of all runs: tasks that write into one file would wait for each other.
    spools: Vec<Spool>,
    runs: Vec<Run>,
    /// The terms at which ranges begin, from the first batch on.
    bounds: Vec<Vec<u8>>,
}

/// A run in the spools.
struct Run {
    /// The chunk of its rows.
    chunk: u32,
    /// Where it begins in each spool.
    from: Vec<usize>,
    /// Where each range of terms ends in its spool, from the start of the run on.
    ends: Vec<u32>,
}

impl Run {
    /// The place of a range of terms in its spool.
    fn range(&self, number: usize) -> Range<usize> {
        let from = self.from[spool_of(number)];
        let is_first = number.is_multiple_of(RANGES_TOGETHER);
        let begin = if is_first { 0 } else { self.ends[number - 1] };
        from + begin as usize..from + self.ends[number] as usize
    }
}

/// The spool of a range of terms.
fn spool_of(range: usize) -> usize {
    range / RANGES_TOGETHER
}

impl TermRuns {
    pub fn new(scratch: &Path) -> TermRuns {
        TermRuns {
            scratch: scratch.to_path_buf(),
            batches: Vec::new(),
            held_bytes: 0,
            spools: Vec::new(),
            runs: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// Adds terms of an encoded batch of the next rows.
    pub fn push(&mut self, batch: Vec<u8>) {
        if batch.is_empty() {
            return;
        }
        self.held_bytes += batch.len();
        self.batches.push(batch);
    }

    /// Bytes in memory.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Writes the batches in memory, all of one chunk, as a run. Each task merges the batches in some ranges of terms, and
    /// writes one range after the other.
    pub fn close_run(&mut self, chunk: u32) -> io::Result<()> {
        let batches = std::mem::take(&mut self.batches);
        self.held_bytes = 0;
        let Some(longest) = batches.iter().max_by_key(|batch| batch.len()) else { return Ok(()) };
        if self.spools.is_empty() {
            self.bounds = bounds_of(longest, RANGES)?;
            let count = spool_of(self.bounds.len()) + 1;
            self.spools.resize_with(count, || Spool::new(&self.scratch));
        }
        let bounds = &self.bounds;
        let divided =
            parallel::try_map(batches.iter().collect(), |batch: &Vec<u8>| divide(batch, bounds))?;
        let ranges: Vec<usize> = (0..=bounds.len()).collect();
        let from = self.spools.iter().map(Spool::position).collect();
        let tasks = self.spools.iter_mut().zip(ranges.chunks(RANGES_TOGETHER)).collect();
        let ends = parallel::try_map(tasks, |(spool, ranges): (&mut Spool, &[usize])| {
            let from = spool.position();
            let write = |range: &usize| {
                spool.write_all(&merge_batches(divided.iter().map(|of| of[*range]))?)?;
                u32::try_from(spool.position() - from).map_err(io::Error::other)
            };
            ranges.iter().map(write).collect::<io::Result<Vec<u32>>>()
        })?;
        self.runs.push(Run { chunk, from, ends: ends.concat() });
        Ok(())
    }
}

/// Ranges of terms that are merged apart.
const RANGES: usize = 512;
/// Ranges that a task merges and writes, one after the other.
const RANGES_TOGETHER: usize = 16;

/// The terms at which ranges begin, after the first: each range has about the same share of the bytes of entries.
fn bounds_of(mut batch: &[u8], ranges: usize) -> io::Result<Vec<Vec<u8>>> {
    let of_range = batch.len() / ranges + 1;
    let (all, mut bounds) = (batch.len(), Vec::new());
    while let Some((stem, _)) = take_entry(&mut batch)? {
        if all - batch.len() > of_range * (bounds.len() + 1) && bounds.len() + 1 < ranges {
            bounds.push(stem.to_vec());
        }
    }
    Ok(bounds)
}

/// Divides the entries of a batch, or of a run, by ranges of terms.
fn divide<'b>(batch: &'b [u8], bounds: &[Vec<u8>]) -> io::Result<Vec<&'b [u8]>> {
    let mut divided = Vec::with_capacity(bounds.len() + 1);
    let (mut rest, mut from) = (batch, 0);
    let mut bounds = bounds.iter().peekable();
    loop {
        let at = batch.len() - rest.len();
        let stem = take_entry(&mut rest)?.map(|(stem, _)| stem);
        while bounds.next_if(|bound| stem.is_none_or(|stem| stem >= bound.as_slice())).is_some() {
            divided.push(&batch[from..at]);
            from = at;
        }
        if stem.is_none() {
            divided.push(&batch[from..]);
            return Ok(divided);
        }
    }
}

/// A term of several batches, with the number of its parts, and where the next of them goes.
struct TermGroup<'b> {
    /// The first bytes of the stem as a number that is fast to compare.
    first: u64,
    stem: &'b [u8],
    parts: usize,
    next: usize,
}

/// Merges the entries of batches. Groups the parts by hash and sorts the terms: costs one lookup for each part, where a heap
/// would compare each with many others. Batches have most of their terms in common.
fn merge_batches<'b>(batches: impl Iterator<Item = &'b [u8]>) -> io::Result<Vec<u8>> {
    let hasher = foldhash::fast::RandomState::default();
    let mut known: HashTable<(u64, u32)> = HashTable::new();
    let mut groups: Vec<TermGroup<'_>> = Vec::new();
    // Each part with its group, batch by batch.
    let mut parts: Vec<(&[u8], u32)> = Vec::new();
    let mut bytes = 0;
    for mut rest in batches {
        bytes += rest.len();
        while let Some((stem, part)) = take_entry(&mut rest)? {
            let hash = hasher.hash_one(stem);
            let is_same = |(_, at): &(u64, u32)| groups[*at as usize].stem == stem;
            let group = known.find(hash, is_same).map(|(_, at)| *at).unwrap_or_else(|| {
                // A run has fewer terms than bytes, of which it has less than 4 GiB.
                let at = groups.len() as u32;
                groups.push(TermGroup { first: head(stem), stem, parts: 0, next: 0 });
                known.insert_unique(hash, (hash, at), |(hash, _)| *hash);
                at
            });
            groups[group as usize].parts += 1;
            parts.push((part, group));
        }
    }
    let mut order: Vec<u32> = (0..groups.len() as u32).collect();
    order.sort_unstable_by(|a, b| {
        let [a, b] = [a, b].map(|at| &groups[*at as usize]);
        a.first.cmp(&b.first).then_with(|| a.stem.cmp(b.stem))
    });
    let mut from = 0;
    for at in &order {
        let group = &mut groups[*at as usize];
        group.next = from;
        from += group.parts;
    }
    let mut sorted: Vec<&[u8]> = vec![&[]; parts.len()];
    for (part, group) in parts {
        let next = &mut groups[group as usize].next;
        sorted[*next] = part;
        *next += 1;
    }
    let mut merged = Vec::with_capacity(bytes);
    for group in order.iter().map(|at| &groups[*at as usize]) {
        push_entry(&mut merged, group.stem, &sorted[group.next - group.parts..group.next]);
    }
    Ok(merged)
}

/// Appends the entry of a term.
fn push_entry(out: &mut Vec<u8>, stem: &[u8], parts: &[&[u8]]) {
    leb128::push(stem.len() as u64, out);
    out.extend_from_slice(stem);
    // A run has less than 4 GiB: its batches were in memory.
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&(length as u32).to_le_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

/// Takes an entry off the front of a batch: the term and its part.
fn take_entry<'b>(bytes: &mut &'b [u8]) -> io::Result<Option<(&'b [u8], &'b [u8])>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let stem = take_text(bytes)?;
    let part = *bytes;
    let length = take_sized(bytes)?.len();
    Ok(Some((stem, &part[..4 + length])))
}

/// Takes bytes off the front of a run, behind their length as a u32.
fn take_sized<'b>(bytes: &mut &'b [u8]) -> io::Result<&'b [u8]> {
    let cut = || io::Error::other("a run ends within an entry");
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let (sized, rest) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
    *bytes = rest;
    Ok(sized)
}

/// Takes a number off the front of a run.
fn take_number(bytes: &mut &[u8]) -> io::Result<u64> {
    leb128::take(bytes).ok_or_else(|| io::Error::other("a run ends within a number"))
}

/// Takes a text off the front of a run.
fn take_text<'b>(bytes: &mut &'b [u8]) -> io::Result<&'b [u8]> {
    let length = take_number(bytes)? as usize;
    let cut = || io::Error::other("a run ends within a text");
    let (text, rest) = bytes.split_at_checked(length).ok_or_else(cut)?;
    *bytes = rest;
    Ok(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::entity::Entity;
    use pinakes_format::schema::layout::schema_hash;
    use pinakes_format::schema::texts::Field;
    use pinakes_format::storage::header::{FileKind, Header};

    use super::*;
    use crate::link::index::full_text::batch::TextBatch;
    use crate::link::index::full_text::vocabulary::SharedWords;
    use crate::link::index::term_lists::Sorting;

    /// Indexes rows of three chunks in batches. A word is in every row, one in every other row, others in few rows.
    fn index(scratch: &Path, batch_rows: u32, memory_bytes: usize) -> blake3::Hash {
        const ROWS: u32 = 140_000;
        let mut runs = TermRuns::new(scratch);
        let (shared, mut batch) = (SharedWords::new(1 << 20), TextBatch::default());
        for chunk in 0..ROWS.div_ceil(1 << 16) {
            let end = ((chunk + 1) << 16).min(ROWS);
            for from in (chunk << 16..end).step_by(batch_rows as usize) {
                batch.begin(&shared);
                for row in from..(from + batch_rows).min(end) {
                    batch.begin_row(row as u16, Some("en"));
                    batch.text(Field::Title, if row % 2 == 0 { "networks" } else { "a network" });
                    batch.text(
                        Field::Abstract,
                        &format!("graph {} x{} graphs graph", row % 97, row / 5),
                    );
                    batch.end_row();
                }
                let mut encoded = <[Vec<u8>; 2]>::default();
                batch.encode(&mut encoded);
                encoded.into_iter().for_each(|encoded| runs.push(encoded));
                shared.freeze();
            }
            runs.close_run(chunk).unwrap();
        }
        let header = Header {
            kind: FileKind::FullText,
            entity: Some(Entity::Output),
            published: ROWS.into(),
            rows: ROWS.into(),
            schema_hash: schema_hash(),
        };
        let path = scratch.join(format!("{batch_rows} {memory_bytes}"));
        let written = runs.write(&path, header, None, Sorting { scratch, memory_bytes }).unwrap();
        written.root
    }

    #[test]
    fn an_index_has_the_same_bytes_however_its_terms_are_divided() {
        let directory = tempfile::tempdir().unwrap();
        // With much memory no term is divided; with little, frequent ones are, and each wave has few terms.
        let whole = index(directory.path(), 2_000, 1 << 30);
        for (batch_rows, memory_bytes) in [(2_000, 1 << 20), (2_000, 1 << 12), (333, 1 << 24)] {
            let divided = index(directory.path(), batch_rows, memory_bytes);
            assert_eq!(divided, whole, "{batch_rows} rows, {memory_bytes} bytes");
        }
    }
}
