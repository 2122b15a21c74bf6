//! Records in which the words of a search have at least a weight together: by windows of rows if the words are frequent, else
//! from row to row.

use std::cmp::Reverse;

use crate::index::full_text::NO_ROW;
use crate::query::rows::deadline::{Deadline, PacedDeadline, QueryError};
use crate::query::search::group::Group;

/// Records in which the words of a search have at least a weight together.
///
/// The frequent words, whose weights together do not suffice, are only looked up in records that have another word:
///
/// ```text
/// weights  retribution 9, wildlife 7, people 2, of 1      at least 9.5
/// people and of have 3 together: every record has retribution or wildlife
/// ```
pub(super) struct Most<'s> {
    /// The words and their weights, the greatest weight first.
    words: Vec<(u64, Group<'s>)>,
    /// The words of which a record has at least one.
    needed: usize,
    weight_min: u64,
    deadline: Deadline<'s>,
    pace: PacedDeadline<'s>,
}

/// Rows that are looked at together.
const WINDOW_ROWS: u32 = 1 << 12;
/// Windows pay where words have at least one record in this many.
const WINDOW_SHARE: u64 = 64;

impl<'s> Most<'s> {
    /// Records with half of the weight of all words.
    pub fn new(mut words: Vec<(u64, Group<'s>)>, deadline: Deadline<'s>) -> Most<'s> {
        words.sort_by_key(|(weight, _)| Reverse(*weight));
        let mut most = Most { words, needed: 0, weight_min: 1, deadline, pace: deadline.paced() };
        most.require(most.weight().div_ceil(2));
        most
    }

    /// The weight of all words.
    fn weight(&self) -> u64 {
        self.words.iter().map(|(weight, _)| weight).sum()
    }

    fn require(&mut self, weight_min: u64) {
        self.weight_min = weight_min.max(1);
        let mut rest = self.weight();
        self.needed = 0;
        for (weight, _) in &self.words {
            if rest < self.weight_min {
                break;
            }
            rest -= weight;
            self.needed += 1;
        }
    }

    /// Takes records with any of the words from here on.
    pub fn require_any(&mut self) {
        self.require(1);
    }

    /// Moves back to the first record.
    pub fn rewind(&mut self) -> Result<(), QueryError> {
        self.words.iter_mut().try_for_each(|(_, word)| word.rewind())
    }

    /// The words, by descending weight.
    pub fn groups(&self) -> impl Iterator<Item = &Group<'s>> {
        self.words.iter().map(|(_, group)| group)
    }

    /// The word at a place among these.
    pub fn at_place(&mut self, place: usize) -> Option<&mut Group<'s>> {
        self.words.get_mut(place).map(|(_, group)| group)
    }

    /// About how many nanoseconds it takes to find all records.
    pub fn nanoseconds(&self) -> u64 {
        self.groups().take(self.needed).map(Group::nanoseconds).sum()
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Whether the words are so frequent among this many rows that [`Most::each_scored`] is faster than moving from row to row.
    pub fn is_dense(&self, rows: u32) -> bool {
        let postings: u64 =
            self.words[..self.needed].iter().map(|(_, word)| word.count_max()).sum();
        postings * WINDOW_SHARE >= u64::from(rows)
    }

    /// Calls `visit` with the matching rows from the beginning, ascending, and with the sum of the impacts there, each
    /// times the factor of its word.
    ///
    /// Takes the rows by windows, and in a window one word after another:
    ///
    /// ```text
    /// rows 4,096 to 8,191   retribution: 9 at 5,002, 9 at 7,118   wildlife: 7 at 5,002   → weights 16 at 5,002, 9 at 7,118
    /// ```
    pub fn each_scored(
        &mut self,
        factors: &[u32],
        mut visit: impl FnMut(u32, u32),
    ) -> Result<(), QueryError> {
        let Most { words, needed, weight_min, deadline, .. } = self;
        let mut scored: Vec<_> = words
            .iter_mut()
            .zip(factors)
            .map(|((weight, word), factor)| (*weight, *factor, word))
            .collect();
        let (needed, others) = scored.split_at_mut(*needed);
        // For each row of the window the sum of the weights in the upper half, in the lower half the score: words that fit into a
        // search never reach 2^32.
        let mut window = vec![0u64; WINDOW_ROWS as usize];
        // A bit for each row of the window that has a needed word.
        let mut found = [0u64; WINDOW_ROWS as usize / 64];
        // For each of the other words, the least weight of the words before with which a record may still match.
        let mut rest = *weight_min;
        let mut least: Vec<u64> = others
            .iter()
            .rev()
            .map(|(weight, ..)| {
                rest = rest.saturating_sub(*weight);
                rest
            })
            .collect();
        least.reverse();
        loop {
            deadline.check()?;
            // A record without a needed word lacks weight, so windows without needed words are passed over.
            let first = needed.iter().map(|(.., word)| word.row()).min().unwrap_or(NO_ROW);
            if first == NO_ROW {
                return Ok(());
            }
            // The length of a window is a power of two, so this is a multiple of it: windows do not overlap.
            let begin = first & !(WINDOW_ROWS - 1);
            let end = begin.saturating_add(WINDOW_ROWS);
            for (weight, factor, word) in &mut *needed {
                word.each_below(end, |row, impact| {
                    let at = (row % WINDOW_ROWS) as usize;
                    found[at / 64] |= 1 << (at % 64);
                    window[at] += *weight << 32 | u64::from(*factor * impact);
                })?;
            }
            for at in ones_of(&mut found) {
                let row = begin + at as u32;
                let mut sum = std::mem::take(&mut window[at]);
                // The frequent words have long lists. A row asks them only while the weights that are left may suffice.
                for ((weight, factor, word), least) in others.iter_mut().zip(&least) {
                    if sum >> 32 < *least {
                        break;
                    }
                    let impact = word.impact(row)?;
                    if impact > 0 {
                        sum += *weight << 32 | u64::from(*factor * impact);
                    }
                }
                if sum >> 32 >= *weight_min {
                    visit(row, sum as u32);
                }
            }
        }
    }

    /// Moves to the first record at or after `row`.
    pub fn seek(&mut self, row: u32) -> Result<u32, QueryError> {
        let Most { words, needed, weight_min, pace, .. } = self;
        let (needed, others) = words.split_at_mut(*needed);
        let mut row = row;
        loop {
            pace.step()?;
            let mut least = NO_ROW;
            for (_, word) in &mut *needed {
                least = least.min(word.seek(row)?);
            }
            if least == NO_ROW {
                return Ok(NO_ROW);
            }
            row = least;
            let has = needed.iter().filter(|(_, word)| word.row() == row);
            let mut weight: u64 = has.map(|(weight, _)| weight).sum();
            // The frequent words are looked up until the weight suffices.
            for (of_word, word) in &mut *others {
                if weight >= *weight_min {
                    break;
                }
                if word.seek(row)? == row {
                    weight += *of_word;
                }
            }
            if weight >= *weight_min {
                return Ok(row);
            }
            row += 1;
        }
    }
}

/// The places of the set bits, ascending. Clears the bits.
fn ones_of(words: &mut [u64]) -> impl Iterator<Item = usize> {
    words.iter_mut().zip((0..).step_by(64)).flat_map(|(word, first)| {
        std::iter::from_fn(move || {
            let at = (*word != 0).then(|| first + word.trailing_zeros() as usize);
            *word &= word.wrapping_sub(1);
            at
        })
    })
}
