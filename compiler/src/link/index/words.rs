//! The words of names, inverted as terms are: sorted runs, one a chunk, merged word by word.

use std::{
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
    invert::{merge, write_entry},
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
        let runs = self.runs.iter().map(|(chunk, from, to)| (*chunk, &spool[*from..*to]));
        merge(runs, split_word, list, |word, list| {
            // A term of words has four bytes.
            let place = u32::try_from(words.push(word)?).map_err(io::Error::other)?;
            writer.push(Term::from(place), list)
        })
    }
}

/// Takes a word off an entry.
fn split_word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}
