//! What is to be known of the beginnings of words before anybody asks: gathered while the words are
//! merged, one after another as they sort.
//!
//! The prefixes of the word under way are open. One that no further word has is closed: what it
//! gathered goes to the next shorter one, and its answer is kept where it has many rows.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use pinakes_format::autocomplete::{Best, NamePart, Ranking};
use pinakes_format::index::dictionary::{BLOCK_ROWS_MAX, Dictionary};
use pinakes_format::index::postings::PostingsBuilder;
use pinakes_format::index::prefix_stats::{PrefixStatsWriter, PrefixSummary, SUMMARY_BYTES};
use pinakes_format::storage::file_writer::Written;
use pinakes_format::storage::header::Header;
use pinakes_format::text::fold::shared_bytes;

use crate::link::external_sort::{Sorter, Spill, read_array};

/// Rows gathered one by one for a prefix without a set, at most, or this part of all rows.
const LOOSE_ROWS_MAX: u64 = 1 << 15;
const LOOSE_PART: u64 = 128;
/// Lists and sets met with others for a prefix without a set, at most.
const PIECES_MAX: u32 = 2;
/// Rows of a list that is not gathered row by row, at the least, or this part of all rows.
const PIECE_ROWS_MIN: u64 = 1 << 12;
const PIECE_PART: u64 = 512;

/// Prefixes under way.
pub(crate) struct Beginnings<'a> {
    ranking: Ranking<'a>,
    loose_max: u64,
    piece_min: u64,
    /// The last word.
    path: String,
    /// Its prefixes, shortest first.
    open: Vec<Node>,
    /// The rows of the word under way.
    here: Here,
    answers: Sorter<Answered>,
    /// The prefixes that get a set.
    sets: Vec<String>,
}

/// A prefix under way.
struct Node {
    /// Where it ends in the path.
    to: usize,
    /// Rows of all words that begin so.
    postings: u64,
    /// Those that are counted again, since their record has another such word before.
    again: u64,
    /// Rows to be gathered one by one, and lists and sets.
    loose: u64,
    pieces: u32,
    best: Best,
    /// The records whose name it is.
    equals: Best,
}

/// The rows of a word.
#[derive(Default)]
struct Here {
    rows: u64,
    best: Best,
    equals: Best,
}

/// A prefix and its answer.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Answered {
    prefix: String,
    answer: PrefixSummary,
}

impl Spill for Answered {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // A word has at most 256 bytes.
        out.write_all(&(self.prefix.len() as u16).to_le_bytes())?;
        out.write_all(self.prefix.as_bytes())?;
        out.write_all(&self.answer.encode())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(length) = read_array(input)? else { return Ok(None) };
        let mut prefix = vec![0; usize::from(u16::from_le_bytes(length))];
        input.read_exact(&mut prefix)?;
        let prefix = String::from_utf8(prefix).map_err(io::Error::other)?;
        let mut answer = [0; SUMMARY_BYTES];
        input.read_exact(&mut answer)?;
        let answer = PrefixSummary::decode(&answer);
        let answer = answer.ok_or_else(|| io::Error::other("a run holds no answer"))?;
        Ok(Some(Answered { prefix, answer }))
    }

    fn heap_bytes(&self) -> usize {
        self.prefix.capacity() + self.answer.best.capacity() * size_of::<(u8, u32)>()
    }
}

impl<'a> Beginnings<'a> {
    pub fn new(
        ranking: Ranking<'a>,
        rows: u32,
        scratch: &Path,
        memory_bytes: usize,
    ) -> Beginnings<'a> {
        Beginnings {
            ranking,
            loose_max: LOOSE_ROWS_MAX.max(u64::from(rows) / LOOSE_PART),
            piece_min: PIECE_ROWS_MIN.max(u64::from(rows) / PIECE_PART),
            path: String::new(),
            open: Vec::new(),
            here: Here::default(),
            answers: Sorter::new(scratch, memory_bytes),
            sets: Vec::new(),
        }
    }

    /// Takes a row of the word under way.
    pub fn row(&mut self, row: u32, part: NamePart) -> io::Result<()> {
        let Here { rows, best, equals } = &mut self.here;
        *rows += 1;
        best.offer(&self.ranking, part.tier(false), row).map_err(io::Error::other)?;
        if part == NamePart::Whole {
            equals.offer(&self.ranking, part.tier(true), row).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Ends the word under way, which comes after those before. So many records have two words that
    /// begin so one after another.
    pub fn end_word(&mut self, word: &[u8], again: u64) -> io::Result<()> {
        let word = std::str::from_utf8(word).map_err(io::Error::other)?;
        let shared = shared_bytes(&self.path, word);
        self.close(shared)?;
        for (at, c) in word[shared..].char_indices() {
            self.open.push(Node::new(shared + at + c.len_utf8()));
        }
        self.path.truncate(shared);
        self.path.push_str(&word[shared..]);
        let Here { rows, best, equals } = std::mem::take(&mut self.here);
        let Some(node) = self.open.last_mut() else {
            return Err(io::Error::other("a word is empty"));
        };
        node.postings += rows;
        node.again += again;
        if rows > self.piece_min {
            node.pieces += 1;
        } else {
            node.loose += rows;
        }
        node.best.merge(&best);
        node.equals.merge(&equals);
        Ok(())
    }

    /// Closes the prefixes that end beyond a place.
    fn close(&mut self, place: usize) -> io::Result<()> {
        while let Some(node) = self.open.pop_if(|node| node.to > place) {
            let prefix = &self.path[..node.to];
            if node.postings > BLOCK_ROWS_MAX as u64 {
                let mut best = node.equals;
                best.merge(&node.best);
                let count = u32::try_from(node.postings - node.again).map_err(io::Error::other)?;
                let answer = PrefixSummary { count, best: best.rows() };
                self.answers.push(Answered { prefix: prefix.to_owned(), answer })?;
            }
            let (mut loose, mut pieces) = (node.loose, node.pieces);
            if loose > self.loose_max || pieces > PIECES_MAX {
                self.sets.push(prefix.to_owned());
                (loose, pieces) = (0, 1);
            }
            if let Some(shorter) = self.open.last_mut() {
                shorter.postings += node.postings;
                shorter.again += node.again;
                shorter.loose += loose;
                shorter.pieces += pieces;
                shorter.best.merge(&node.best);
            }
        }
        Ok(())
    }

    /// Writes the answers, and the sets out of the finished words.
    pub fn write(
        mut self,
        words: &Dictionary,
        rows: u32,
        path: &Path,
        header: Header,
    ) -> io::Result<Written> {
        self.close(0)?;
        let mut writer = PrefixStatsWriter::create(path, header)?;
        for answered in self.answers.finish()? {
            let Answered { prefix, answer } = answered?;
            writer.push_summary(prefix.as_bytes(), &answer)?;
        }
        self.sets.sort_unstable();
        let mut list = PostingsBuilder::default();
        let mut bits = vec![0u64; (rows as usize).div_ceil(64)];
        for prefix in &self.sets {
            gather(words, prefix.as_bytes(), &mut bits).map_err(io::Error::other)?;
            for (at, word) in bits.iter_mut().enumerate() {
                let mut left = std::mem::take(word);
                while left != 0 {
                    let row = at as u32 * 64 + left.trailing_zeros();
                    list.push(row >> 16, &[row as u16]);
                    left &= left - 1;
                }
            }
            writer.push_set(prefix.as_bytes(), &mut list)?;
        }
        writer.finish()
    }
}

impl Node {
    fn new(to: usize) -> Node {
        Node {
            to,
            postings: 0,
            again: 0,
            loose: 0,
            pieces: 0,
            best: Best::default(),
            equals: Best::default(),
        }
    }
}

/// Sets the bits of the rows of all words that begin so.
fn gather(
    words: &Dictionary,
    prefix: &[u8],
    bits: &mut [u64],
) -> Result<(), pinakes_format::storage::error::ReadError> {
    let mut texts = words.seek(prefix)?;
    while let Some((_, rows)) = texts.current_with_prefix(prefix) {
        rows.each(|row| {
            if let Some(word) = bits.get_mut(row as usize / 64) {
                *word |= 1 << (row % 64);
            }
        })?;
        texts.advance()?;
    }
    Ok(())
}
