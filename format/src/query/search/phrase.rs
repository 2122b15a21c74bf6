//! Words side by side, or with a distance: in records that have all words, by the positions of the words.

use crate::index::full_text::NO_ROW;
use crate::query::rows::deadline::{Deadline, PacedDeadline, QueryError};
use crate::query::search::common_rows::{CommonRow, CommonRows};
use crate::query::search::group::{Group, seek_all};
use crate::query::search::terms::Referring;
use crate::schema::texts::Field;
use crate::storage::error::ReadError;

/// Time of a word of a phrase whose positions are read in a record.
const PHRASE_NANOSECONDS: u64 = 20;

/// Words side by side, or with a distance.
pub(super) struct Phrase<'s> {
    /// The words, the rarest first; equal words have a group each.
    words: Vec<Group<'s>>,
    /// The place of each word in the phrase.
    places: Vec<usize>,
    distance: Option<u32>,
    fields: u8,
    /// Rows that the two rarest words have, and the number of rows that are passed.
    common: CommonRows,
    passed: usize,
    /// The places of the two words among the rows that were decoded when the rows were collected.
    taken: [usize; 2],
    /// The row from which on the two words may have others; `None` if their rows are not collected.
    next: Option<u32>,
    /// By place: positions of each word in the current record and field.
    positions: Vec<Vec<u32>>,
    /// Records whose words stand elsewhere without suppressed names; `None` if that makes no difference.
    moved: Option<Referring<'s>>,
    pace: PacedDeadline<'s>,
}

impl<'s> Phrase<'s> {
    /// The groups must count all fields: the phrase selects the fields.
    pub fn new(
        words: Vec<Group<'s>>,
        distance: Option<u32>,
        fields: u8,
        deadline: Deadline<'s>,
    ) -> Phrase<'s> {
        let positions = vec![Vec::new(); words.len()];
        let mut placed: Vec<(usize, Group<'s>)> = words.into_iter().enumerate().collect();
        placed.sort_by_key(|(_, word)| word.count_max());
        let (places, words) = placed.into_iter().unzip();
        Phrase {
            words,
            places,
            distance,
            fields,
            common: CommonRows::default(),
            passed: 0,
            taken: [0; 2],
            next: Some(0),
            positions,
            moved: None,
            pace: deadline.paced(),
        }
    }

    /// Compares the positions without suppressed names.
    pub fn moving(self, moved: Referring<'s>) -> Phrase<'s> {
        Phrase { moved: Some(moved), ..self }
    }

    /// An upper bound of the records.
    pub fn count_max(&self) -> u64 {
        self.words.iter().map(Group::count_max).min().unwrap_or(0)
    }

    /// About how many nanoseconds it takes to find all records.
    pub fn nanoseconds(&self) -> u64 {
        self.count_max() * self.words.len() as u64 * PHRASE_NANOSECONDS
    }

    /// Moves to the first record at or after `row`.
    pub fn seek(&mut self, mut row: u32) -> Result<u32, QueryError> {
        loop {
            row = self.seek_words(row)?;
            if row == NO_ROW || self.stands_in_record()? {
                return Ok(row);
            }
            row += 1;
        }
    }

    /// Moves all words to the first row at or after `row` that all of them have.
    fn seek_words(&mut self, mut row: u32) -> Result<u32, QueryError> {
        while let ([a, b, others @ ..], Some(next)) = (self.words.as_mut_slice(), self.next) {
            while self.common.rows.get(self.passed).is_some_and(|common| common.row < row) {
                self.passed += 1;
            }
            match self.common.rows.get(self.passed) {
                Some(CommonRow { row: common, places }) => {
                    a.pass(places[0] - self.taken[0])?;
                    b.pass(places[1] - self.taken[1])?;
                    self.taken = *places;
                    row = *common;
                    for other in others {
                        row = row.max(other.seek(row)?);
                    }
                    if row == *common {
                        return Ok(row);
                    }
                }
                None if next == NO_ROW => return Ok(NO_ROW),
                None => {
                    self.pace.step()?;
                    (self.passed, self.taken) = (0, [0; 2]);
                    self.next = a.collect_common(b, row.max(next), &mut self.common)?;
                }
            }
        }
        seek_all(&mut self.words, row, &mut self.pace, Group::seek)
    }

    /// Whether the phrase stands in the record at which all words are.
    fn stands_in_record(&mut self) -> Result<bool, ReadError> {
        let Phrase { words, places, distance, fields, positions, moved, .. } = self;
        let rarest = words.first_mut().map_or(Ok(0), Group::fields)?;
        for field in Field::of_set(*fields & rarest) {
            let mut has_all = true;
            for (word, place) in words.iter_mut().zip(&*places) {
                let positions = &mut positions[*place];
                positions.clear();
                word.positions(field, positions)?;
                if let Some(moved) = moved {
                    moved.move_positions(word.row(), field, positions)?;
                }
                has_all = !positions.is_empty();
                if !has_all {
                    break;
                }
            }
            let stands = has_all
                && match distance {
                    None => stand_in_order(positions),
                    Some(distance) => stand_near(positions, *distance),
                };
            if stands {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The positions of the first word from which on words stand side by side, in order.
pub(super) fn places_in_order(positions: &[Vec<u32>]) -> impl Iterator<Item = u32> {
    let (first, others) = positions.split_at(positions.len().min(1));
    first.iter().flatten().copied().filter(move |at| {
        (at + 1..).zip(others).all(|(place, positions)| positions.binary_search(&place).is_ok())
    })
}

/// Whether words stand side by side, in order.
pub(super) fn stand_in_order(positions: &[Vec<u32>]) -> bool {
    places_in_order(positions).next().is_some()
}

/// Whether each word has a position such that all lie within a distance.
///
/// ```text
/// positions of a: 3, 20   of b: 18, 40    distance 5: 20 and 18
/// ```
pub(super) fn stand_near(positions: &[Vec<u32>], distance: u32) -> bool {
    let mut at = vec![0; positions.len()];
    loop {
        let current = || positions.iter().zip(&at).map(|(positions, at)| positions[*at]);
        let greatest = current().max().unwrap_or(0);
        // The word that stands first moves on.
        let Some((word, least)) = current().enumerate().min_by_key(|(_, position)| *position)
        else {
            return false;
        };
        if greatest - least <= distance {
            return true;
        }
        at[word] += 1;
        if at[word] == positions[word].len() {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_near_where_a_choice_of_positions_does() {
        let naive = |positions: &[Vec<u32>], distance: u32| {
            let mut spans = vec![(u32::MAX, 0)];
            for of_word in positions {
                spans = spans
                    .iter()
                    .flat_map(|(low, high)| {
                        of_word.iter().map(move |at| ((*low).min(*at), (*high).max(*at)))
                    })
                    .collect();
            }
            spans.iter().any(|(low, high)| high - low <= distance)
        };
        let mut seed = 7u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        for _ in 0..2_000 {
            let words = 1 + next(4) as usize;
            let positions: Vec<Vec<u32>> = (0..words)
                .map(|_| {
                    let mut of_word: Vec<u32> = (0..1 + next(4)).map(|_| next(30)).collect();
                    of_word.sort_unstable();
                    of_word
                })
                .collect();
            let distance = next(12);
            assert_eq!(
                stand_near(&positions, distance),
                naive(&positions, distance),
                "{positions:?} {distance}"
            );
        }
    }
}
