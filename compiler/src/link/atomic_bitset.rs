//! A bitset that all threads fill, and the ranks of its rows once it is full.
//!
//! ```text
//! rows set: 2 5 6       rank(2) = 0  rank(5) = 1  rank(6) = 2  rank(3) = None
//! count_before(6) = 2
//! ```

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pinakes_format::index::bitset::{count_bits, has_bit, word_bits};

const WORD_BITS: usize = 64;

/// One bit for each row. Bits are only ever set, so the result does not depend on thread order.
pub(crate) struct AtomicBitset(Vec<AtomicU64>);

impl AtomicBitset {
    /// An empty set of rows below `count`.
    pub fn new(count: usize) -> AtomicBitset {
        AtomicBitset((0..count.div_ceil(WORD_BITS)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Sets a row's bit; returns false if the row is out of range.
    pub fn insert(&self, row: usize) -> bool {
        let word = self.0.get(row / WORD_BITS);
        word.inspect(|word| _ = word.fetch_or(1 << (row % WORD_BITS), Relaxed)).is_some()
    }

    /// Sets the rows of another set of the same size.
    pub fn insert_all(&mut self, other: &AtomicBitset) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word.get_mut() |= other.load(Relaxed);
        }
    }

    pub fn contains(&self, row: usize) -> bool {
        has_bit(&[self.word(row / WORD_BITS)], (row % WORD_BITS) as u32)
    }

    /// Counts the set rows.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }

    pub fn word_count(&self) -> usize {
        self.0.len()
    }

    /// The bits of 64 rows, the first row in the lowest bit.
    pub fn word(&self, at: usize) -> u64 {
        self.0.get(at).map_or(0, |word| word.load(Relaxed))
    }

    /// Counts the bits before each word.
    pub fn into_rank_bitset(self) -> RankBitset {
        let words: Vec<u64> = self.0.into_iter().map(AtomicU64::into_inner).collect();
        let mut count = 0;
        let before = words
            .iter()
            .map(|word| {
                let before = count;
                count += word.count_ones();
                before
            })
            .collect();
        RankBitset { words, before }
    }
}

/// A bitset that ranks its rows in constant time. Takes 1.5 bits for each row.
pub(crate) struct RankBitset {
    words: Vec<u64>,
    /// For each word, the number of bits set before it.
    before: Vec<u32>,
}

impl RankBitset {
    /// The rank of a row among the set rows; `None` if the row is not set.
    pub fn rank(&self, row: u32) -> Option<u32> {
        has_bit(&self.words, row).then(|| self.count_before(row))
    }

    /// Counts the set rows before a row.
    pub fn count_before(&self, row: u32) -> u32 {
        let (at, bit) = (row as usize / WORD_BITS, row as usize % WORD_BITS);
        match (self.words.get(at), self.before.get(at)) {
            (Some(word), Some(before)) => before + (word & ((1 << bit) - 1)).count_ones(),
            // Rows are u32, and so is their number.
            _ => count_bits(&self.words) as u32,
        }
    }

    /// Lists the set rows, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| word_bits(at, *word))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn set_rows_are_ranked_in_ascending_order() {
        let check = |count: usize, rows: &[u32]| {
            let set = AtomicBitset::new(count);
            rows.iter().for_each(|row| assert!(set.insert(*row as usize)));
            assert!(!set.insert(count.next_multiple_of(WORD_BITS)));
            assert_eq!(set.count(), rows.len() as u64);
            let ranked = set.into_rank_bitset();
            assert_eq!(ranked.iter().collect::<Vec<_>>(), rows);
            for row in 0..count as u32 {
                let expected = rows.iter().position(|known| *known == row);
                assert_eq!(ranked.rank(row), expected.map(|at| at as u32), "{row} of {rows:?}");
                let before = rows.iter().filter(|known| **known < row).count();
                assert_eq!(ranked.count_before(row), before as u32, "{row} of {rows:?}");
            }
            assert_eq!(ranked.count_before(u32::MAX), rows.len() as u32);
        };
        check(0, &[]);
        check(1, &[0]);
        check(64, &[0, 63]);
        check(65, &[64]);
        check(300, &[1, 2, 62, 63, 64, 127, 128, 255, 299]);
    }
}
