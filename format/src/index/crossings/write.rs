//! Counts the rows of frequent terms, and writes `crossings` files.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{cmp::Reverse, io};

use crate::index::bitset::{CHUNK_ROWS, EMPTY_CHUNK, count_set_bits};
use crate::index::crossings::{BLOCK_RANKS, FrequentTerm, STRETCH_BLOCKS, TERMS_MAX, is_frequent};
use crate::index::orders::Order;
use crate::index::postings::Postings;
use crate::index::term_lists::TermListsFile;
use crate::schema::Keys;
use crate::storage::mmap::Map;
use crate::storage::{FileWriter, Header, ReadError, Spool, Written};

/// The frequent terms of an entity with their rows.
pub struct FrequentTerms<'s> {
    terms: Vec<FrequentTerm>,
    postings: Vec<Postings<'s>>,
    rows: usize,
}

/// The rows of a counted order.
pub struct CountedRows {
    /// The rows by rank; `None` where `orders` has them.
    rows: Option<Map>,
    /// The rank of each row.
    ranks: Map,
}

/// The rows of a term along an order.
pub struct TermCounts {
    /// The rows before each stretch.
    sums: Vec<u32>,
    /// The rows in each block.
    counts: Vec<u8>,
}

/// Writes a `crossings` file: the pairs, then each counted order by [`CrossingsWriter::begin_order`],
/// [`CrossingsWriter::push_counts`] for each term and [`CrossingsWriter::end_order`].
pub struct CrossingsWriter {
    file: FileWriter,
    directory: PathBuf,
    terms: Vec<FrequentTerm>,
    /// The sums of the order that is written.
    sums: Vec<u32>,
}

impl<'s> FrequentTerms<'s> {
    /// Finds the frequent terms of an entity with `rows` records. Cost: the offsets of all terms of the crossed lists.
    ///
    /// # Errors
    ///
    /// Fails if the lists are damaged.
    pub fn find(
        lists: &'s TermListsFile,
        keys: &Keys,
        rows: usize,
    ) -> Result<FrequentTerms<'s>, ReadError> {
        let mut found = Vec::new();
        for number in &keys.crossed {
            lists.each_long(*number, |postings| {
                if is_frequent(postings.count() as usize, rows) {
                    let place = postings.byte_range().start as u64;
                    found.push((FrequentTerm { place, lists: *number as u32 }, postings));
                }
            })?;
        }
        found.sort_by_key(|(term, postings)| (Reverse(postings.count()), term.place));
        found.truncate(TERMS_MAX);
        found.sort_by_key(|(term, _)| term.place);
        let (terms, postings) = found.into_iter().unzip();
        Ok(FrequentTerms { terms, postings, rows })
    }

    /// The terms, in the order of their postings.
    pub fn terms(&self) -> &[FrequentTerm] {
        &self.terms
    }

    pub(super) fn postings(&self) -> &[Postings<'s>] {
        &self.postings
    }

    /// Counts the common rows of each pair whose first term is one of `firsts`: pair after pair, chunk by chunk.
    ///
    /// # Errors
    ///
    /// Fails if the postings are damaged.
    pub fn pairs_of(&self, firsts: Range<usize>) -> Result<Vec<u32>, ReadError> {
        let chunks = self.rows.div_ceil(CHUNK_ROWS);
        let seconds = |first: usize| first + 1..self.terms.len();
        let pairs: usize = firsts.clone().map(|first| seconds(first).len()).sum();
        let mut counts = vec![0; pairs * chunks];
        let mut sets = vec![EMPTY_CHUNK; self.terms.len() - firsts.start];
        for chunk in 0..chunks {
            for (set, postings) in sets.iter_mut().zip(&self.postings[firsts.start..]) {
                set.fill(0);
                postings.view(chunk as u32)?.add_to(set);
            }
            let words = (self.rows - chunk * CHUNK_ROWS).min(CHUNK_ROWS).div_ceil(64);
            let all = firsts.clone().flat_map(|first| seconds(first).map(move |of| (first, of)));
            for (pair, (first, second)) in all.enumerate() {
                let (one, other) = (&sets[first - firsts.start], &sets[second - firsts.start]);
                // A chunk has 65,536 rows.
                counts[pair * chunks + chunk] =
                    count_set_bits(words, |at| one[at] & other[at]) as u32;
            }
        }
        Ok(counts)
    }

    /// Counts the rows of a term along an order.
    ///
    /// # Errors
    ///
    /// Fails if the postings are damaged, or have a row that the order lacks.
    pub fn count_along(&self, term: usize, order: &CountedRows) -> Result<TermCounts, ReadError> {
        let ranks = numbers(&order.ranks);
        let mut counts = vec![0u8; self.rows.div_ceil(BLOCK_RANKS)];
        let mut is_known = true;
        self.postings[term].each(|row| {
            let rank = ranks.get(row as usize).map(|rank| u32::from_le_bytes(*rank) as usize);
            let count = rank.and_then(|rank| counts.get_mut(rank / BLOCK_RANKS));
            // A block has 64 ranks, each of another row.
            match count {
                Some(count) => *count = count.wrapping_add(1),
                None => is_known = false,
            }
            is_known
        })?;
        if !is_known {
            return Err(ReadError::corrupt("orders", "a row has no rank"));
        }
        let mut before = 0;
        let sums = counts.chunks(STRETCH_BLOCKS).map(|counts| {
            let here: u32 = counts.iter().map(|count| u32::from(*count)).sum();
            before += here;
            before - here
        });
        Ok(TermCounts { sums: sums.collect(), counts })
    }
}

impl CountedRows {
    /// Ranks the rows by `order`, or by `first` and then by `order`. Memory: `memory_bytes`, and a number for each value of
    /// `first`.
    ///
    /// # Errors
    ///
    /// Fails if an order is damaged, or `directory` takes no files.
    pub fn new(
        first: Option<Order<'_>>,
        order: Order<'_>,
        memory_bytes: usize,
        directory: &Path,
    ) -> io::Result<CountedRows> {
        let rows = order.rows();
        let window = (memory_bytes / 4).max(CHUNK_ROWS);
        let Some(first) = first else {
            let ranks = placed(rows, window, directory, |place| {
                let mut ranks = 0..;
                order.each_row(0..rows, |row| ranks.next().is_some_and(|rank| place(row, rank)))
            })?;
            return Ok(CountedRows { rows: None, ranks });
        };
        let starts = starts_of(first)?;
        // The rows of one value of `first` keep the order of the second key.
        let by_rank = placed(rows, window, directory, |place| {
            let (mut next, mut failed) = (starts.clone(), Ok(()));
            order.each_row(0..rows, |row| {
                let rank = first.code_of(row).map(|code| {
                    let next = &mut next[code as usize];
                    std::mem::replace(next, *next + 1)
                });
                match rank {
                    Ok(rank) => place(rank, row),
                    Err(error) => {
                        failed = Err(error);
                        false
                    }
                }
            })?;
            failed
        })?;
        let ranks = placed(rows, window, directory, |place| {
            for (rank, row) in (0..).zip(numbers(&by_rank)) {
                place(u32::from_le_bytes(*row), rank);
            }
            Ok(())
        })?;
        Ok(CountedRows { rows: Some(by_rank), ranks })
    }
}

/// The first rank of each code of an order. The last is that of the rows without a value.
fn starts_of(order: Order<'_>) -> io::Result<Vec<u32>> {
    let codes = usize::try_from(order.no_code()).ok().and_then(|codes| codes.checked_add(1));
    let codes = codes.ok_or_else(|| io::Error::other("rows are not counted by ids"))?;
    let mut starts = vec![0u32; codes];
    for row in 0..order.rows() {
        let code = order.code_of(row).map_err(io::Error::other)?;
        let of_code = starts.get_mut(code as usize);
        *of_code.ok_or_else(|| io::Error::other("a row has a code without a value"))? += 1;
    }
    let mut before = 0;
    for start in &mut starts {
        before += std::mem::replace(start, before);
    }
    Ok(starts)
}

/// Collects the numbers that `pass` places at indexes below `count`. Each pass fills a window of them.
fn placed(
    count: u32,
    window: usize,
    directory: &Path,
    pass: impl Fn(&mut dyn FnMut(u32, u32) -> bool) -> Result<(), ReadError>,
) -> io::Result<Map> {
    let mut all = Spool::new(directory);
    for from in (0..count as usize).step_by(window) {
        let mut numbers = vec![0u32; window.min(count as usize - from)];
        let mut place = |index: u32, number: u32| {
            if let Some(slot) = numbers.get_mut((index as usize).wrapping_sub(from)) {
                *slot = number;
            }
            true
        };
        pass(&mut place).map_err(io::Error::other)?;
        numbers.iter().try_for_each(|number| all.write_all(&number.to_le_bytes()))?;
    }
    all.take_map()
}

/// The numbers that [`placed`] has collected.
fn numbers(map: &Map) -> &[[u8; 4]] {
    map.bytes(0..map.len()).as_chunks().0
}

impl CrossingsWriter {
    /// Creates `path` and writes the header.
    ///
    /// # Errors
    ///
    /// Fails if the file exists or cannot be written.
    pub fn create(
        path: &Path,
        header: Header,
        terms: &FrequentTerms<'_>,
    ) -> io::Result<CrossingsWriter> {
        let (file, directory) = FileWriter::create_archive(path, header)?;
        let (directory, terms) = (directory.to_path_buf(), terms.terms.clone());
        Ok(CrossingsWriter { file, directory, terms, sums: Vec::new() })
    }

    /// The directory of the file, for scratch files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends the counts of the next pairs.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn push_pairs(&mut self, counts: &[u32]) -> io::Result<()> {
        counts.iter().try_for_each(|count| self.file.write_all(&count.to_le_bytes()))
    }

    /// Appends the rows of a counted order.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn begin_order(&mut self, order: &CountedRows) -> io::Result<()> {
        let Some(rows) = &order.rows else { return Ok(()) };
        self.file.write_all(rows.bytes(0..rows.len()))
    }

    /// Appends the counts of the next term along the order.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn push_counts(&mut self, term: TermCounts) -> io::Result<()> {
        self.sums.extend(term.sums);
        self.file.write_all(&term.counts)
    }

    /// Appends the sums of all terms.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn end_order(&mut self) -> io::Result<()> {
        let mut sums = self.sums.drain(..);
        sums.try_for_each(|sum| self.file.write_all(&sum.to_le_bytes()))
    }

    /// Writes the terms and the directory, and closes the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn finish(mut self) -> io::Result<Written> {
        for FrequentTerm { place, lists } in &self.terms {
            self.file.write_all(&place.to_le_bytes())?;
            self.file.write_all(&lists.to_le_bytes())?;
        }
        let count = self.terms.len() as u64;
        self.file.finish_archive([count])
    }
}
