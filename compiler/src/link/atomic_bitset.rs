//! Which rows are kept, a bit each, and the numbers they have when the others are gone.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pinakes_format::index::bitset::{count_bits, word_bits};

const WORD_BITS: usize = 64;

/// A bit for each of many rows, set by any thread. Bits are only ever added, so that the order in
/// which threads set them does not show.
pub(crate) struct Marks(Vec<AtomicU64>);

impl Marks {
    /// No row of `count`.
    pub fn none(count: usize) -> Marks {
        Marks((0..count.div_ceil(WORD_BITS)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Marks a row; false where there is no such row.
    pub fn mark(&self, row: u32) -> bool {
        let word = self.0.get(row as usize / WORD_BITS);
        word.inspect(|word| _ = word.fetch_or(1 << (row as usize % WORD_BITS), Relaxed)).is_some()
    }

    /// Words of bits there are.
    pub fn words(&self) -> usize {
        self.0.len()
    }

    /// The marks of 64 rows, the first in the lowest bit.
    pub fn word(&self, at: usize) -> u64 {
        self.0.get(at).map_or(0, |word| word.load(Relaxed))
    }

    /// Numbers the marked rows in their order.
    pub fn numbered(self) -> Numbered {
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
        Numbered { words, before }
    }
}

/// Marked rows and their new numbers, which ascend as the old ones do.
pub(crate) struct Numbered {
    words: Vec<u64>,
    /// For each word, how many rows are marked before it.
    before: Vec<u32>,
}

impl Numbered {
    /// The new number of a row; `None` where it is not marked.
    pub fn of(&self, row: u32) -> Option<u32> {
        let (at, bit) = (row as usize / WORD_BITS, row as usize % WORD_BITS);
        let word = *self.words.get(at)?;
        let below = word & ((1 << bit) - 1);
        (word >> bit & 1 == 1).then(|| self.before[at] + below.count_ones())
    }

    /// How many rows are marked before one.
    pub fn before(&self, row: u32) -> u32 {
        let (at, bit) = (row as usize / WORD_BITS, row as usize % WORD_BITS);
        match (self.words.get(at), self.before.get(at)) {
            (Some(word), Some(before)) => before + (word & ((1 << bit) - 1)).count_ones(),
            _ => count_bits(&self.words) as u32,
        }
    }

    /// The old numbers, ascending.
    pub fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| word_bits(at, *word))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn marked_rows_are_numbered_in_their_order() {
        let check = |count: usize, rows: &[u32]| {
            let marks = Marks::none(count);
            rows.iter().for_each(|row| assert!(marks.mark(*row)));
            assert!(!marks.mark(count.next_multiple_of(WORD_BITS) as u32));
            let numbered = marks.numbered();
            assert_eq!(numbered.rows().collect::<Vec<_>>(), rows);
            for row in 0..count as u32 {
                let expected = rows.iter().position(|known| *known == row);
                assert_eq!(numbered.of(row), expected.map(|at| at as u32), "{row} of {rows:?}");
                let before = rows.iter().filter(|known| **known < row).count();
                assert_eq!(numbered.before(row), before as u32, "{row} of {rows:?}");
            }
            assert_eq!(numbered.before(u32::MAX), rows.len() as u32);
        };
        check(0, &[]);
        check(1, &[0]);
        check(64, &[0, 63]);
        check(65, &[64]);
        check(300, &[1, 2, 62, 63, 64, 127, 128, 255, 299]);
    }
}
