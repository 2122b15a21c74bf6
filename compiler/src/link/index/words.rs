//! The words of names, inverted as terms are: sorted runs, one a chunk, merged word by word.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    io::{self, Write},
    path::Path,
};

use pinakes_format::{
    blobs::Spool,
    lists::{ListsWriter, Term},
    map::Map,
    postings::PostingsBuilder,
    words::WordsWriter,
};
use rayon::slice::ParallelSliceMut;

use super::{
    extract::WordRows,
    invert::{push_entry, write_entry},
};

/// Runs of words: each word with its length before it, and its container after.
pub(super) struct WordRuns {
    spool: Spool,
    position: usize,
    /// The chunk of each run, and where it lies.
    runs: Vec<(u32, usize, usize)>,
}

impl WordRuns {
    pub fn new(scratch: &Path) -> io::Result<WordRuns> {
        Ok(WordRuns { spool: Spool::new(scratch)?, position: 0, runs: Vec::new() })
    }

    /// Writes the words of rows of one chunk as a run.
    pub fn push(&mut self, mut words: WordRows, chunk: u32) -> io::Result<()> {
        if words.places.is_empty() {
            return Ok(());
        }
        let mut places = std::mem::take(&mut words.places);
        places.par_sort_unstable_by(|a, b| (words.word(*a), a.2).cmp(&(words.word(*b), b.2)));
        places.dedup_by(|a, b| a.2 == b.2 && words.word(*a) == words.word(*b));
        let from = self.position;
        let (mut lows, mut entry) = (Vec::new(), Vec::new());
        for group in places.chunk_by(|a, b| words.word(*a) == words.word(*b)) {
            let word = words.word(group[0]);
            lows.clear();
            lows.extend(group.iter().map(|(.., low)| *low));
            entry.clear();
            entry.extend_from_slice(&(word.len() as u16).to_le_bytes());
            write_entry(word, &lows, &mut entry);
            self.spool.write_all(&entry)?;
            self.position += entry.len();
        }
        self.runs.push((chunk, from, self.position));
        Ok(())
    }

    /// Merges the runs into the words and their lists.
    pub fn merge(
        &mut self,
        words: &mut WordsWriter,
        writer: &mut ListsWriter,
        list: &mut PostingsBuilder,
    ) -> io::Result<()> {
        let spool = Map::open(&self.spool.take_file()?)?;
        let mut heap: BinaryHeap<Reverse<Cursor<'_>>> = self
            .runs
            .iter()
            .enumerate()
            .filter_map(|(run, (chunk, from, to))| Cursor::new(run, *chunk, &spool[*from..*to]))
            .map(Reverse)
            .collect();
        let mut last: Option<&[u8]> = None;
        let mut finish = |word: &[u8], list: &mut PostingsBuilder| {
            // A term of words has four bytes.
            let place = u32::try_from(words.push(word)?).map_err(io::Error::other)?;
            writer.push(Term::from(place), list)
        };
        while let Some(mut top) = heap.peek_mut() {
            let Reverse(Cursor { word, run, chunk, rest }) = *top;
            if let Some(last) = last.filter(|last| *last != word) {
                finish(last, list)?;
            }
            last = Some(word);
            let rest = push_entry(list, chunk, rest)?;
            match Cursor::new(run, chunk, rest) {
                Some(next) => *top = Reverse(next),
                None => drop(PeekMut::pop(top)),
            }
        }
        last.map_or(Ok(()), |last| finish(last, list))
    }
}

/// The next word of a run, ordered by word and then by run, which is by row.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cursor<'b> {
    word: &'b [u8],
    run: usize,
    chunk: u32,
    rest: &'b [u8],
}

impl<'b> Cursor<'b> {
    fn new(run: usize, chunk: u32, bytes: &'b [u8]) -> Option<Cursor<'b>> {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (word, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        Some(Cursor { word, run, chunk, rest })
    }
}
