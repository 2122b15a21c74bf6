//! Words side by side, or with a distance: in records that have all words, by the positions of the words.

use crate::index::full_text::{NO_ROW, Positions};
use crate::query::rows::deadline::{Deadline, PacedDeadline, QueryError};
use crate::query::search::common_rows::CommonRows;
use crate::query::search::group::{Group, SearchWord, seek_all};
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
    /// Whether the phrase stands in these rows.
    is_tested: bool,
    /// The row from which on the two words may have others; `None` if their rows are not collected.
    next: Option<u32>,
    /// Positions of the words in the current record and field, the rarest word first.
    positions: Vec<Vec<u32>>,
    /// For each tested row of a phrase of more than two words, what the words but the two rarest add to its score.
    scores: Vec<u32>,
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
            is_tested: false,
            next: Some(0),
            positions,
            scores: Vec::new(),
            moved: None,
            pace: deadline.paced(),
        }
    }

    /// Compares the positions without suppressed names.
    pub fn moving(self, moved: Referring<'s>) -> Phrase<'s> {
        Phrase { moved: Some(moved), ..self }
    }

    /// The number of the word that may also score a word of the search.
    pub fn place_of(&self, word: &SearchWord) -> Option<usize> {
        self.words.iter().position(|group| group.is_of(word))
    }

    /// The word of a number. In a record that has the phrase, each word stands there. Once a word was moved back, the phrase finds
    /// no further records.
    #[inline]
    pub fn at_place(&mut self, number: usize) -> Option<&mut Group<'s>> {
        self.words.get_mut(number)
    }

    /// The number of words.
    pub fn words(&self) -> usize {
        self.words.len()
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
            if row == NO_ROW || self.is_tested || self.stands_in_record()? {
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
                Some(common) => {
                    let places = common.places();
                    a.pass(places[0] - self.taken[0])?;
                    b.pass(places[1] - self.taken[1])?;
                    self.taken = places;
                    let common = common.row;
                    row = common;
                    for other in others {
                        row = row.max(other.seek(row)?);
                    }
                    if row == common {
                        return Ok(row);
                    }
                }
                None if next == NO_ROW => return Ok(NO_ROW),
                None => {
                    self.pace.step()?;
                    (self.passed, self.taken) = (0, [0; 2]);
                    self.next = a.collect_common(b, row.max(next), &mut self.common)?;
                    self.is_tested = self.next.is_some()
                        && self.words.len() == 2
                        && self.is_tested_together()
                        && self.test_rows(&[])?;
                }
            }
        }
        seek_all(&mut self.words, row, &mut self.pace, Group::seek)
    }

    /// Whether the rows of the two rarest words are tested together: each word has one term that counts everywhere, and no position
    /// moves.
    fn is_tested_together(&mut self) -> bool {
        self.moved.is_none() && self.words.iter_mut().all(|word| word.only_postings().is_some())
    }

    /// Calls `visit` with the rows of all records, ascending, and with the sum of the words' impacts there, each times the factor of its
    /// word. Returns whether it did: `false` of words with several terms. The words are at their first records.
    pub fn each_scored(
        &mut self,
        factors: &[u32],
        mut visit: impl FnMut(u32, u32),
    ) -> Result<bool, QueryError> {
        let ([of_a, of_b, of_others @ ..], true) = (factors, self.is_tested_together()) else {
            return Ok(false);
        };
        let mut row = 0;
        while row != NO_ROW {
            self.pace.step()?;
            let [a, b, ..] = self.words.as_mut_slice() else { return Ok(false) };
            let Some(next) = a.collect_common(b, row, &mut self.common)? else { return Ok(false) };
            row = next;
            self.test_rows(of_others)?;
            if self.common.rows.is_empty() {
                continue;
            }
            let [a, b, ..] = self.words.as_mut_slice() else { return Ok(false) };
            let Some(((_, impacts_a), (_, impacts_b))) = a.stretch().zip(b.stretch()) else {
                return Ok(false);
            };
            let others = self.scores.iter().copied().chain(std::iter::repeat(0));
            for (common, others) in self.common.rows.iter().zip(others) {
                let [at_a, at_b] = common.places();
                let of_a = of_a.saturating_mul(impacts_a[at_a]);
                let of_b = of_b.saturating_mul(impacts_b[at_b]);
                visit(common.row, of_a.saturating_add(of_b).saturating_add(others));
            }
        }
        Ok(true)
    }

    /// Drops the common rows without the phrase, and returns whether it tested the rows. For each row of a phrase of more than two
    /// words, [`Phrase::scores`] gets the impacts of the other words times their factors.
    fn test_rows(&mut self, factors: &[u32]) -> Result<bool, QueryError> {
        let Phrase { words, places, distance, fields, common, scores, positions, .. } = self;
        scores.clear();
        let ([a, b, others @ ..], [place_a, place_b, other_places @ ..]) =
            (words.as_mut_slice(), places.as_slice())
        else {
            return Ok(false);
        };
        let Some((a, b)) = a.only_postings().zip(b.only_postings()) else { return Ok(false) };
        if common.rows.is_empty() {
            return Ok(true);
        }
        let ((first_a, a), (first_b, b)) = (a.block_positions()?, b.block_positions()?);
        // An attempt on a mirror that lacks positions also notes what it lacks of the other words.
        if a.all_fields() == 0 || b.all_fields() == 0 {
            for common in &common.rows {
                for word in &mut *others {
                    word.seek(common.row)?;
                    word.fields()?;
                }
            }
            return Ok(false);
        }
        let fields = *fields & a.all_fields() & b.all_fields();
        let (place_a, place_b) = (*place_a as u32, *place_b as u32);
        let mut others = Others { words: others, places: other_places, positions };
        let mut outcome = Ok(());
        common.rows.retain(|common| {
            let [of_a, of_b] = common.places();
            let (of_a, of_b) = (first_a + of_a, first_b + of_b);
            let stands = Field::of_set(fields).any(|field| {
                if !(a.has(of_a, field) && b.has(of_b, field)) {
                    return false;
                }
                let (in_a, in_b) = (a.positions(of_a, field), b.positions(of_b, field));
                // Words side by side have one position less those of all words before them.
                let (in_a, in_b) = match *distance {
                    None => (in_a.moved(place_b), in_b.moved(place_a)),
                    Some(_) => (in_a, in_b),
                };
                if others.words.is_empty() {
                    return meet(in_a, in_b, distance.unwrap_or(0));
                }
                if !meet(in_a.clone(), in_b.clone(), distance.unwrap_or(0)) {
                    return false;
                }
                let (row, moved) = (common.row, place_a + place_b);
                let stand = others.stand(row, field, (in_a, in_b), moved, *distance);
                stand.unwrap_or_else(|error| {
                    outcome = Err(error);
                    false
                })
            });
            if stands && !factors.is_empty() {
                let words = others.words.iter_mut().zip(factors);
                let of_word = |(word, factor): (&mut Group<'_>, &u32)| {
                    factor.saturating_mul(word.current_impact())
                };
                scores.push(words.map(of_word).fold(0, u32::saturating_add));
            }
            stands
        });
        outcome.map(|()| true)
    }

    /// Whether the phrase stands in the record at which all words are.
    fn stands_in_record(&mut self) -> Result<bool, ReadError> {
        let mut fields = self.fields;
        for word in &mut self.words {
            fields &= word.fields()?;
        }
        for field in Field::of_set(fields) {
            let stands = match self.distance {
                None => self.stands_in_order(field)?,
                Some(distance) => {
                    let Phrase { words, positions, moved, .. } = self;
                    for (word, positions) in words.iter_mut().zip(&mut *positions) {
                        read_positions(word, field, moved, positions)?;
                    }
                    stand_near(positions, distance)
                }
            };
            if stands {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the words stand side by side in a field of the record. Reads a word only while the words before leave a place.
    ///
    /// ```text
    /// "deep neural network"    neural 4, 19 → the phrase begins at 3 or 18    network 20 → at 18    deep 18 → stands
    /// ```
    fn stands_in_order(&mut self, field: Field) -> Result<bool, ReadError> {
        let Phrase { words, places, positions, moved, .. } = self;
        let Some((begins, others)) = positions.split_first_mut() else { return Ok(false) };
        let mut words = words.iter_mut().zip(places.iter().map(|place| *place as u32));
        let Some((rarest, place)) = words.next() else { return Ok(false) };
        read_positions(rarest, field, moved, begins)?;
        begins.retain_mut(|at| at.checked_sub(place).map(|begin| *at = begin).is_some());
        for ((word, place), of_word) in words.zip(others) {
            if begins.is_empty() {
                return Ok(false);
            }
            read_positions(word, field, moved, of_word)?;
            keep_before(begins, place, of_word.iter().copied());
        }
        Ok(!begins.is_empty())
    }
}

/// The words of a phrase but the two rarest.
struct Others<'p, 's> {
    words: &'p mut [Group<'s>],
    /// Their places in the phrase.
    places: &'p [usize],
    /// Room for the positions of all words of the phrase, the rarest first.
    positions: &'p mut [Vec<u32>],
}

impl<'s> Others<'_, 's> {
    /// Whether the phrase stands in a field of a row. Of words side by side the positions of the two rarest are moved by `moved` less
    /// their place. Rows ascend. Moves the words to the row only where the two rarest stand together.
    fn stand(
        &mut self,
        row: u32,
        field: Field,
        (in_a, in_b): (Positions<'s>, Positions<'s>),
        moved: u32,
        distance: Option<u32>,
    ) -> Result<bool, QueryError> {
        let Others { words, places, positions } = self;
        let [of_a, of_b, of_words @ ..] = &mut **positions else { return Ok(false) };
        of_a.clear();
        of_a.extend(in_a);
        match distance {
            None => keep_before(of_a, 0, in_b),
            Some(_) => {
                of_b.clear();
                of_b.extend(in_b);
            }
        }
        for ((word, place), of_word) in words.iter_mut().zip(*places).zip(of_words) {
            if of_a.is_empty() || word.seek(row)? != row {
                return Ok(false);
            }
            let Some(postings) = word.only_postings() else { return Ok(false) };
            let (at, block) = postings.block_positions()?;
            if !block.has(at, field) {
                return Ok(false);
            }
            let in_word = block.positions(at, field);
            match distance {
                None => keep_before(of_a, *place as u32, in_word.moved(moved)),
                Some(_) => {
                    of_word.clear();
                    of_word.extend(in_word);
                }
            }
        }
        Ok(!of_a.is_empty() && distance.is_none_or(|distance| stand_near(positions, distance)))
    }
}

/// Keeps the positions behind which another word stands at a distance. Both ascend.
///
/// ```text
/// 3 18    distance 1, other word at 4, 9    → 3
/// ```
fn keep_before(positions: &mut Vec<u32>, distance: u32, other: impl Iterator<Item = u32>) {
    let mut other = other.peekable();
    positions.retain(|at| {
        while other.next_if(|other| *other < at + distance).is_some() {}
        other.peek().is_some_and(|other| *other == at + distance)
    });
}

/// Reads the positions of a word in a field of its current record, without suppressed names.
fn read_positions(
    word: &mut Group<'_>,
    field: Field,
    moved: &mut Option<Referring<'_>>,
    into: &mut Vec<u32>,
) -> Result<(), ReadError> {
    into.clear();
    word.positions(field, into)?;
    match moved {
        Some(moved) => moved.move_positions(word.row(), field, into),
        None => Ok(()),
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

/// Whether two ascending lists have numbers that differ by a distance at most.
#[inline]
fn meet(
    mut list: impl Iterator<Item = u32>,
    mut other: impl Iterator<Item = u32>,
    distance: u32,
) -> bool {
    let (mut a, mut b) = (list.next(), other.next());
    while let (Some(at), Some(other_at)) = (a, b) {
        if at.abs_diff(other_at) <= distance {
            return true;
        }
        // The lesser one moves on.
        match at < other_at {
            true => a = list.next(),
            false => b = other.next(),
        }
    }
    false
}

/// Whether each word has a position such that all lie within a distance.
///
/// ```text
/// positions of a: 3, 20   of b: 18, 40    distance 5: 20 and 18
/// ```
pub(super) fn stand_near(positions: &[Vec<u32>], distance: u32) -> bool {
    if positions.iter().any(Vec::is_empty) {
        return false;
    }
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
