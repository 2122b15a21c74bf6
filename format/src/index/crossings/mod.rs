//! Frequent terms, counted: the rows that two of them share, and their rows along orders.
//!
//! ```text
//! header | pairs | counted orders… | terms | directory: the number of terms
//! pairs:          of the terms 0 and 1, 0 and 2, …, 1 and 2, …: the common rows in each chunk, u32 each
//! counted order:  rows by rank: u32 each, if the order has two keys
//!                 | of each term, its rows in each block of 64 ranks: one byte each
//!                 | of each term, its rows before each stretch of 8,192 ranks: u32 each
//! terms:          where its postings begin in `term_lists`, ascending: u64 | the number of its lists: u32
//! ```
//!
//! With them, a page at any position reads a bounded number of rows:
//!
//! ```text
//! filter type:article, sort=year:desc,fwci:desc, position 900,000
//! order by year and fwci     rows before stretch 170: 899,310     before its block 82: 899,981
//! ranks 1,397,888 onwards    each row is looked up in the postings of `article`, until the page is full
//! ```
//!
//! A term of the crossed lists is *frequent* if at least 64 rows and one row in 256 have it; of more than 128 such terms, those
//! with most rows are.
//!
//! Cost: log2(ranks / 8,192) reads to find a stretch, two to find a block; of a pair, one read.

mod verify;
mod write;

use std::{ops::Range, sync::Arc};

use crate::index::bitset::CHUNK_ROWS;
use crate::index::orders::{Order, each_ranked};
use crate::index::postings::Postings;
use crate::schema;
use crate::storage::{
    Archive, ArchiveError, HEADER_BYTES, InArchive, ReadError, SHORT_SEARCH_BYTES,
};

pub use crate::index::crossings::write::{CountedRows, CrossingsWriter, FrequentTerms, TermCounts};

/// The ranks of a block.
pub const BLOCK_RANKS: usize = 64;
/// The ranks of a stretch.
pub const STRETCH_RANKS: usize = 8_192;
/// The blocks of a stretch.
pub const STRETCH_BLOCKS: usize = STRETCH_RANKS / BLOCK_RANKS;
/// The most terms of a file.
pub const TERMS_MAX: usize = 128;
/// The least rows of a frequent term.
pub const TERM_ROWS_MIN: usize = 64;
/// A frequent term has at least one row in so many.
pub const RARITY_MAX: usize = 256;
/// Size of a term, in bytes.
const TERM_BYTES: usize = 12;

/// A term whose rows are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrequentTerm {
    /// Where its postings begin in `term_lists`.
    pub place: u64,
    /// The number of its lists.
    pub lists: u32,
}

/// A mapped `crossings` file.
#[derive(Clone)]
pub struct CrossingsFile {
    archive: Archive,
    rows: usize,
    terms: Arc<[FrequentTerm]>,
    orders: Arc<[CountedLayout]>,
}

/// Where the parts of a counted order begin.
#[derive(Clone, Copy, Debug)]
struct CountedLayout {
    /// The rows by rank; `None` where `orders` has them.
    rows_from: Option<usize>,
    counts_from: usize,
    sums_from: usize,
}

impl InArchive for CrossingsFile {
    fn archive_mut(&mut self) -> &mut Archive {
        &mut self.archive
    }
}

impl CrossingsFile {
    /// Opens a file that must hold these counted orders of `rows` rows.
    ///
    /// # Errors
    ///
    /// Fails if the terms do not ascend, or if the file has another length than follows from their number.
    pub fn open(
        archive: Archive,
        counted: &[schema::CountedOrder],
        rows: usize,
    ) -> Result<CrossingsFile, ArchiveError> {
        let (end, [count]) = archive.directory()?;
        let refused = |expected: usize| ArchiveError::Length {
            expected: expected as u64,
            found: archive.len() as u64,
        };
        let count = Some(count).filter(|count| *count <= TERMS_MAX);
        let count = count.ok_or_else(|| refused(usize::MAX))?;
        let mut at = HEADER_BYTES + pairs(count) * rows.div_ceil(CHUNK_ROWS) * 4;
        let mut take = |bytes: usize| {
            at += bytes;
            at - bytes
        };
        let layout = |order: &schema::CountedOrder| CountedLayout {
            rows_from: order.first.map(|_| take(rows * 4)),
            counts_from: take(count * rows.div_ceil(BLOCK_RANKS)),
            sums_from: take(count * rows.div_ceil(STRETCH_RANKS) * 4),
        };
        let orders = counted.iter().map(layout).collect();
        let terms_from = take(count * TERM_BYTES);
        if at != end {
            return Err(refused(at + 8));
        }
        let term = |number: usize| {
            let from = terms_from + number * TERM_BYTES;
            Ok(FrequentTerm { place: archive.u64_at(from)?, lists: archive.u32_at(from + 8)? })
        };
        archive.fetch(terms_from, end);
        let terms: Arc<[FrequentTerm]> =
            (0..count).map(term).collect::<Result<_, ReadError>>().map_err(ArchiveError::from)?;
        if !terms.is_sorted_by(|one, next| one.place < next.place) {
            let broken = ReadError::corrupt("crossings", "the frequent terms do not ascend");
            return Err(broken.into());
        }
        Ok(CrossingsFile { archive, rows, terms, orders })
    }

    /// The mapped file and its integrity checks.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The frequent terms, in the order of their postings.
    pub fn terms(&self) -> &[FrequentTerm] {
        &self.terms
    }

    /// The number of the frequent term that has these postings; `None` if it is not frequent.
    pub fn find(&self, postings: &Postings<'_>) -> Option<usize> {
        let place = postings.byte_range().start as u64;
        self.terms.binary_search_by_key(&place, |term| term.place).ok()
    }

    /// Counts the rows that two different terms have in common in each chunk. Cost: one read.
    ///
    /// # Errors
    ///
    /// Fails if there are no such terms or the bytes are damaged.
    pub fn common(&self, one: usize, other: usize) -> Result<Vec<u32>, ReadError> {
        let (first, second) = (one.min(other), one.max(other));
        if first == second || second >= self.terms.len() {
            return Err(ReadError::Internal("a pair of terms is not counted"));
        }
        let number = pair_number(first, second, self.terms.len());
        let bytes = self.rows.div_ceil(CHUNK_ROWS) * 4;
        let from = HEADER_BYTES + number * bytes;
        let counts = self.archive.bytes(from, from + bytes)?.as_chunks::<4>().0;
        Ok(counts.iter().map(|count| u32::from_le_bytes(*count)).collect())
    }

    /// A counted order by its number. `order` and `first` are the orders of its keys.
    ///
    /// # Errors
    ///
    /// Fails if the file has no such order.
    pub fn counted<'s>(
        &'s self,
        number: usize,
        first: Option<Order<'s>>,
        order: Order<'s>,
    ) -> Result<CountedOrder<'s>, ReadError> {
        let layout = self.orders.get(number).copied();
        let layout = layout.filter(|layout| layout.rows_from.is_some() == first.is_some());
        let layout = layout.ok_or(ReadError::Internal("an order is not counted"))?;
        Ok(CountedOrder { file: self, layout, first, order })
    }
}

/// An order along which the rows of frequent terms are counted.
#[derive(Clone, Copy)]
pub struct CountedOrder<'s> {
    file: &'s CrossingsFile,
    layout: CountedLayout,
    /// The order of the first of two keys.
    pub first: Option<Order<'s>>,
    /// The order of the only key, or of the second.
    pub order: Order<'s>,
}

impl<'s> CountedOrder<'s> {
    /// The number of rows.
    pub fn rows(&self) -> u32 {
        self.file.rows as u32
    }

    /// Calls `visit` with the row of each rank, in order, until `visit` returns false.
    ///
    /// # Errors
    ///
    /// Fails if the ranks do not exist or the bytes are damaged.
    pub fn each_row(
        &self,
        ranks: Range<u32>,
        visit: impl FnMut(u32) -> bool,
    ) -> Result<(), ReadError> {
        match self.layout.rows_from {
            Some(from) => each_ranked(&self.file.archive, from, self.file.rows, ranks, visit),
            None => self.order.each_row(ranks, visit),
        }
    }

    /// The row at a rank. Cost: one read.
    ///
    /// # Errors
    ///
    /// Fails if the rank does not exist or the bytes are damaged.
    pub fn row_at(&self, rank: u32) -> Result<u32, ReadError> {
        let mut found = None;
        self.each_row(rank..rank.saturating_add(1), |row| {
            found = Some(row);
            true
        })?;
        found.ok_or(ReadError::Internal("a rank has no row"))
    }

    /// Asks for all sums of a term at once, where chunks are fetched and they are few.
    pub(crate) fn note_sums(&self, term: usize) {
        let bytes = self.file.rows.div_ceil(STRETCH_RANKS) * 4;
        if self.file.archive.is_collecting() && bytes <= SHORT_SEARCH_BYTES {
            let from = self.layout.sums_from + term * bytes;
            self.file.archive.fetch(from, from + bytes);
        }
    }

    /// Counts the rows of a term whose ranks lie before a block. Cost: two reads.
    ///
    /// # Errors
    ///
    /// Fails if the block does not exist or the bytes are damaged.
    pub fn rows_before(&self, term: usize, block: usize) -> Result<u64, ReadError> {
        let stretches = self.file.rows.div_ceil(STRETCH_RANKS);
        let stretch = block / STRETCH_BLOCKS;
        if term >= self.file.terms.len() || stretch >= stretches {
            return Err(ReadError::Internal("a block of ranks lies beyond the last"));
        }
        let sum = self.layout.sums_from + (term * stretches + stretch) * 4;
        let sum = self.file.archive.u32_at(sum);
        let counts = self.layout.counts_from + term * self.file.rows.div_ceil(BLOCK_RANKS);
        let (from, to) = (counts + stretch * STRETCH_BLOCKS, counts + block);
        // A search by stretches reads no counts.
        let counts = if from == to { &[][..] } else { self.file.archive.bytes(from, to)? };
        Ok(u64::from(sum?) + counts.iter().map(|count| u64::from(*count)).sum::<u64>())
    }

    /// Counts the rows of a term in a block of ranks. Cost: one read.
    ///
    /// # Errors
    ///
    /// Fails if the block does not exist or the bytes are damaged.
    fn rows_in(&self, term: usize, block: usize) -> Result<u8, ReadError> {
        let blocks = self.file.rows.div_ceil(BLOCK_RANKS);
        let at = self.layout.counts_from + term * blocks + block;
        Ok(self.file.archive.bytes(at, at + 1)?[0])
    }

    /// Whether reads that fail note the chunks that they lack.
    pub(crate) fn notes_failures(&self) -> bool {
        self.file.archive.notes_failures()
    }
}

/// The pairs of so many terms.
fn pairs(terms: usize) -> usize {
    terms * terms.saturating_sub(1) / 2
}

/// The place of the pair `first < second` among those of `terms` terms.
fn pair_number(first: usize, second: usize, terms: usize) -> usize {
    first * (2 * terms - first - 1) / 2 + (second - first - 1)
}

/// Whether a term with `count` of an entity's `rows` rows is frequent.
fn is_frequent(count: usize, rows: usize) -> bool {
    count >= TERM_ROWS_MIN && count * RARITY_MAX >= rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_numbered_without_gaps() {
        for terms in 0..10 {
            let all =
                (0..terms).flat_map(|first| (first + 1..terms).map(move |second| (first, second)));
            let numbers: Vec<usize> =
                all.map(|(first, second)| pair_number(first, second, terms)).collect();
            assert_eq!(numbers, (0..pairs(terms)).collect::<Vec<_>>());
        }
    }
}
