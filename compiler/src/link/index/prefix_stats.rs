//! Collects prefix statistics while words are merged in ascending order.
//!
//! The prefixes of the current word are open. A prefix closes when a word without it follows: its counts
//! go to the next shorter prefix, and its statistics are kept if it has many rows.
//!
//! ```text
//! words: grape, graph, green      open after "graph": g, gr, gra, grap, graph
//! "green" closes graph, grap, gra
//! ```
//!
//! Cost: one step for each posting and for each byte of a word.

use std::io;
use std::io::{Read, Write};
use std::path::Path;

use pinakes_format::autocomplete::{NamePart, Ranking, TopRows};
use pinakes_format::index::bitset::word_bits;
use pinakes_format::index::dictionary::{BLOCK_ROWS_MAX, Dictionary};
use pinakes_format::index::postings::PostingsBuilder;
use pinakes_format::index::prefix_stats::{PrefixStatsWriter, PrefixSummary, SUMMARY_BYTES};
use pinakes_format::storage::{Header, Written};
use pinakes_format::text::fold::shared_bytes;

use crate::external_sort::{Sorter, Spill, read_array};

/// A server reads a prefix without a set by visiting single rows and by uniting lists and sets. These
/// constants bound both.
///
/// The most single rows: this number, or this fraction of all rows if that is more.
const SINGLE_ROWS_MAX: u64 = 1 << 15;
const SINGLE_ROWS_DIVISOR: u64 = 128;
/// The most lists and sets.
const UNITED_MAX: u32 = 2;
/// The fewest rows of a list that counts as one list instead of single rows: this number, or this
/// fraction of all rows if that is more.
const UNITED_ROWS_MIN: u64 = 1 << 12;
const UNITED_ROWS_DIVISOR: u64 = 512;

/// Collects the statistics of all prefixes.
pub(crate) struct PrefixStats<'a> {
    ranking: Ranking<'a>,
    single_rows_max: u64,
    united_rows_min: u64,
    word: String,
    /// The prefixes of the word, shortest first, and behind them closed prefixes, whose memory is used again.
    prefixes: Vec<OpenPrefix>,
    /// The number of open prefixes.
    open: usize,
    /// The rows of the current word.
    word_rows: WordRows,
    entries: Sorter<PrefixEntry>,
    /// The prefixes whose rows are stored as a set.
    sets: Vec<String>,
}

/// A prefix of the current word.
#[derive(Default)]
struct OpenPrefix {
    /// Its length in bytes.
    length: usize,
    /// Postings of all words with the prefix.
    postings: u64,
    /// Postings of rows that another word with the prefix counts already.
    repeated: u64,
    /// Single rows, and lists and sets, that a reader of the prefix visits.
    single_rows: u64,
    united: u32,
    best: TopRows,
    /// The best records whose whole name is the prefix.
    equals: TopRows,
}

#[derive(Default)]
struct WordRows {
    rows: u64,
    best: TopRows,
    equals: TopRows,
}

/// A prefix and its statistics.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PrefixEntry {
    prefix: String,
    summary: PrefixSummary,
}

impl Spill for PrefixEntry {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // A word has at most 256 bytes.
        out.write_all(&(self.prefix.len() as u16).to_le_bytes())?;
        out.write_all(self.prefix.as_bytes())?;
        out.write_all(&self.summary.encode())
    }

    fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(length) = read_array(input)? else { return Ok(None) };
        let mut prefix = vec![0; usize::from(u16::from_le_bytes(length))];
        input.read_exact(&mut prefix)?;
        let prefix = String::from_utf8(prefix).map_err(io::Error::other)?;
        let mut summary = [0; SUMMARY_BYTES];
        input.read_exact(&mut summary)?;
        let summary = PrefixSummary::decode(&summary);
        let summary =
            summary.ok_or_else(|| io::Error::other("a run has an invalid prefix entry"))?;
        Ok(Some(PrefixEntry { prefix, summary }))
    }

    fn heap_bytes(&self) -> usize {
        self.prefix.capacity() + self.summary.best.capacity() * size_of::<(u8, u32)>()
    }
}

impl<'a> PrefixStats<'a> {
    pub fn new(
        ranking: Ranking<'a>,
        rows: u32,
        scratch: &Path,
        memory_bytes: usize,
    ) -> PrefixStats<'a> {
        PrefixStats {
            ranking,
            single_rows_max: SINGLE_ROWS_MAX.max(u64::from(rows) / SINGLE_ROWS_DIVISOR),
            united_rows_min: UNITED_ROWS_MIN.max(u64::from(rows) / UNITED_ROWS_DIVISOR),
            word: String::new(),
            prefixes: Vec::new(),
            open: 0,
            word_rows: WordRows::default(),
            entries: Sorter::new(scratch, memory_bytes),
            sets: Vec::new(),
        }
    }

    /// Adds a row of the current word.
    pub fn row(&mut self, row: u32, part: NamePart) -> io::Result<()> {
        let WordRows { rows, best, equals } = &mut self.word_rows;
        *rows += 1;
        best.offer(&self.ranking, part.tier(false), row).map_err(io::Error::other)?;
        if part == NamePart::Whole {
            equals.offer(&self.ranking, part.tier(true), row).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Ends the current word or shared prefix. Texts come ascending. `repeated` counts the pairs of
    /// neighbouring words of a row whose common prefix is the text.
    pub fn end_word(&mut self, word: &[u8], repeated: u64) -> io::Result<()> {
        let word = std::str::from_utf8(word).map_err(io::Error::other)?;
        let shared = shared_bytes(&self.word, word);
        self.close(shared)?;
        for (at, c) in word[shared..].char_indices() {
            if self.open == self.prefixes.len() {
                self.prefixes.push(OpenPrefix::default());
            }
            self.prefixes[self.open].begin(shared + at + c.len_utf8());
            self.open += 1;
        }
        self.word.truncate(shared);
        self.word.push_str(&word[shared..]);
        let WordRows { rows, best, equals } = &mut self.word_rows;
        let rows = std::mem::take(rows);
        let Some(node) = self.prefixes[..self.open].last_mut() else {
            return Err(io::Error::other("a word is empty"));
        };
        node.postings += rows;
        node.repeated += repeated;
        if rows > self.united_rows_min {
            node.united += 1;
        } else {
            node.single_rows += rows;
        }
        node.best.merge(best);
        node.equals.merge(equals);
        best.clear();
        equals.clear();
        Ok(())
    }

    /// Closes the prefixes that are longer than `length`.
    fn close(&mut self, length: usize) -> io::Result<()> {
        while let Some((node, shorter)) = self.prefixes[..self.open].split_last_mut()
            && node.length > length
        {
            let prefix = &self.word[..node.length];
            if node.postings > BLOCK_ROWS_MAX as u64 {
                let best = &mut node.equals;
                best.merge(&node.best);
                let count =
                    u32::try_from(node.postings - node.repeated).map_err(io::Error::other)?;
                let summary = PrefixSummary { count, best: best.rows() };
                self.entries.push(PrefixEntry { prefix: prefix.to_owned(), summary })?;
            }
            let (mut single_rows, mut united) = (node.single_rows, node.united);
            if single_rows > self.single_rows_max || united > UNITED_MAX {
                self.sets.push(prefix.to_owned());
                (single_rows, united) = (0, 1);
            }
            if let Some(shorter) = shorter.last_mut() {
                // Most prefixes are the first of a shorter one, which has no rows yet.
                match shorter.postings {
                    0 => std::mem::swap(&mut shorter.best, &mut node.best),
                    _ => shorter.best.merge(&node.best),
                }
                shorter.postings += node.postings;
                shorter.repeated += node.repeated;
                shorter.single_rows += single_rows;
                shorter.united += united;
            }
            self.open -= 1;
        }
        Ok(())
    }

    /// Writes the statistics, and the sets from the finished dictionary of words.
    pub fn write(
        mut self,
        words: &Dictionary,
        rows: u32,
        path: &Path,
        header: Header,
    ) -> io::Result<Written> {
        self.close(0)?;
        let mut writer = PrefixStatsWriter::create(path, header)?;
        for entry in self.entries.finish()? {
            let PrefixEntry { prefix, summary } = entry?;
            writer.push_summary(prefix.as_bytes(), &summary)?;
        }
        self.sets.sort_unstable();
        let mut list = PostingsBuilder::default();
        let mut bits = vec![0u64; (rows as usize).div_ceil(64)];
        for prefix in &self.sets {
            gather(words, prefix.as_bytes(), &mut bits).map_err(io::Error::other)?;
            for (at, word) in bits.iter_mut().enumerate() {
                for row in word_bits(at, std::mem::take(word)) {
                    list.push(row >> 16, &[row as u16]);
                }
            }
            writer.push_set(prefix.as_bytes(), &mut list)?;
        }
        writer.finish()
    }
}

impl OpenPrefix {
    /// Begins a prefix of a length without rows.
    fn begin(&mut self, length: usize) {
        self.length = length;
        self.postings = 0;
        self.repeated = 0;
        self.single_rows = 0;
        self.united = 0;
        self.best.clear();
        self.equals.clear();
    }
}

/// Sets the bits of the rows of all words with a prefix.
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
