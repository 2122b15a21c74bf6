//! Adds to the scores of the best records what the places and the forms of their words are worth.
//!
//! ```text
//! search "deep learning"   title "Deep learning"                     both as typed; neighbours, and the whole title
//!                          title "Learning deep architectures"       both as typed
//!                          abstract "… of deep learned features …"   deep as typed; neighbours
//! ```
//!
//! Only a plain search compares the places of words.

use std::cmp::Reverse;

use crate::index::full_text::{IMPACT_MAX, VALUE_GAP};
use crate::query::rows::deadline::QueryError;
use crate::query::search::matcher::Matcher;
use crate::query::search::phrase::{places_in_order, stand_in_order};
use crate::query::search::score::{PLACE_SCORE_MAX, RankedRow, WINDOW, saturate};
use crate::query::search::scoring::Scoring;
use crate::schema::texts::Field;
use crate::storage::error::ReadError;

/// Of a word's greatest score, the part that the form of the search adds.
const TYPED_SHARE: u64 = 16;

/// The fields whose words are compared with the order of a search. A word alone has no neighbour in an abstract.
fn compared_fields(words: usize) -> &'static [Field] {
    if words == 1 { &[Field::Title] } else { &[Field::Title, Field::Abstract] }
}

/// Bonuses to scores for the places and the forms of a search's words.
pub(super) struct Bonuses {
    /// The weights of all words.
    weights: u64,
    /// The idf of all neighbours.
    neighbours: u64,
    words: u64,
    /// For each word that scores, what a record gets that has the form of the search.
    typed: Vec<u64>,
}

impl Bonuses {
    pub fn new(search: &Scoring<'_>) -> Bonuses {
        let neighbours = search.sequence.array_windows::<2>().map(|[a, b]| a.0.min(b.0)).sum();
        let typed = search.words.iter().map(|word| match word.has_typed {
            // More than what the places of two records among all can differ by.
            true => u64::from(IMPACT_MAX) * word.weight / TYPED_SHARE + u64::from(PLACE_SCORE_MAX),
            false => 0,
        });
        Bonuses {
            typed: typed.collect(),
            weights: search.words.iter().map(|word| word.weight).sum(),
            neighbours,
            words: search.sequence.len() as u64,
        }
    }

    /// Whether no record has a bonus.
    pub fn is_empty(&self) -> bool {
        self.words == 0 && self.typed_max() == 0
    }

    /// The bonus of a record whose title is the search as typed.
    pub fn max(&self) -> u64 {
        self.sum(self.neighbours, 4 * COVERED) + self.typed_max()
    }

    fn typed_max(&self) -> u64 {
        self.typed.iter().sum()
    }

    fn sum(&self, neighbours: u64, coverage: u64) -> u64 {
        u64::from(IMPACT_MAX) * (neighbours / 8 + self.weights * coverage / COVERED / 4)
    }

    /// Adds the bonuses to the scores of the best records, and sorts the records again: so that the first `wanted` are right.
    /// Reads no places of records that cannot be among these.
    ///
    /// ```text
    /// scores 90 80 70 60   at most, with a bonus   120 130 75 110   wanted: 1
    /// the first two are read: 95 and 112           70 and 60 cannot pass 112
    /// ```
    pub fn add_to<'s>(
        &self,
        search: &mut Scoring<'s>,
        matcher: &mut Matcher<'s>,
        best: &mut [RankedRow],
        wanted: usize,
    ) -> Result<(), QueryError> {
        if self.is_empty() {
            return Ok(());
        }
        let window = best.len().min(WINDOW);
        let best = &mut best[..window];
        let mut rest = Vec::with_capacity(best.len());
        // Where all positions are fetched, no titles are: their lengths lie in as many chunks.
        let is_whole = search.fetch_positions(matcher);
        for ranked in &*best {
            let bonus = if is_whole { self.max() } else { self.bonus_max(search, ranked.row)? };
            rest.push((saturate(u64::from(ranked.score) + bonus), *ranked));
        }
        // First come the records with the greatest bounds.
        let first = (2 * wanted).min(rest.len());
        if first < rest.len() {
            rest.select_nth_unstable_by_key(first, |(bound, ranked)| (Reverse(*bound), ranked.row));
        }
        let mut round: Vec<RankedRow> = rest.drain(..first).map(|(_, ranked)| ranked).collect();
        let mut read: Vec<RankedRow> = Vec::with_capacity(best.len());
        let mut positions = vec![Vec::new(); search.sequence.len()];
        // There are one or two rounds: the second has all records that the first one did not rule out.
        while !round.is_empty() {
            // Postings are read in the order of rows.
            round.sort_unstable_by_key(|ranked| ranked.row);
            search.rewind(matcher)?;
            for ranked in &mut round {
                let bonus = self.of(search, matcher, ranked.row, &mut positions)?;
                ranked.score = saturate(u64::from(ranked.score) + bonus);
            }
            read.append(&mut round);
            read.sort_unstable_by_key(|ranked| (Reverse(ranked.score), ranked.row));
            let least = wanted.checked_sub(1).and_then(|last| read.get(last));
            let least = least.map_or(0, |ranked| ranked.score);
            let others = rest.extract_if(.., |(bound, _)| *bound >= least);
            round.extend(others.map(|(_, ranked)| ranked));
        }
        read.extend(rest.into_iter().map(|(_, ranked)| ranked));
        best.copy_from_slice(&read);
        Ok(())
    }

    /// The greatest bonus that a record may have: as if its shortest title had all words, as typed.
    fn bonus_max(&self, search: &Scoring<'_>, row: u32) -> Result<u64, ReadError> {
        let coverage = match self.words {
            0 => 0,
            words => match search.index.titles(row)? {
                titles if u64::from(titles.words) >= words => coverage(words, titles.words.into()),
                // Another title may have all words.
                titles if titles.are_several => coverage(words, words),
                _ => 0,
            },
        };
        Ok(self.sum(self.neighbours, coverage) + self.typed_max())
    }

    /// The bonus of a record. Rows ascend.
    fn of<'s>(
        &self,
        search: &mut Scoring<'s>,
        matcher: &mut Matcher<'s>,
        row: u32,
        positions: &mut [Vec<u32>],
    ) -> Result<u64, QueryError> {
        // The words that the record has, a bit each: a search with an order has at most 31.
        let mut has = 0u32;
        for (number, (_, source)) in search.sequence.iter_mut().enumerate() {
            if let Some(group) = source.group(matcher) {
                has |= u32::from(group.seek(row)? == row) << number;
            }
        }
        let words = search.sequence.len();
        let has_all = has.count_ones() as usize == words;
        // Only words beside another one are read.
        let beside = if words == 1 { has } else { has & (has << 1 | has >> 1) };
        // The pairs of neighbours that stand side by side, a bit each.
        let mut side_by_side = 0u32;
        let mut coverage = 0;
        let fields = if beside == 0 { &[] } else { compared_fields(words) };
        for field in fields {
            let all = search.sequence.iter_mut().zip(&mut *positions).enumerate();
            for (number, ((_, source), positions)) in all {
                positions.clear();
                if beside >> number & 1 == 1
                    && let Some(group) = source.group(matcher)
                {
                    group.positions(*field, positions)?;
                }
            }
            for (number, pair) in positions.array_windows::<2>().enumerate() {
                side_by_side |= u32::from(stand_in_order(pair)) << number;
            }
            if *field == Field::Title && has_all && stand_in_order(positions) {
                coverage = title_coverage(positions, &search.title_ends(row)?);
            }
        }
        let pairs = search.sequence.array_windows::<2>().enumerate();
        let pairs = pairs.filter(|(number, _)| side_by_side >> number & 1 == 1);
        let of_places = self.sum(pairs.map(|(_, [a, b])| a.0.min(b.0)).sum(), coverage);
        Ok(of_places + self.of_forms(search, matcher, row)?)
    }

    /// The bonus of a record for the words that it has as the search has them.
    fn of_forms<'s>(
        &self,
        search: &mut Scoring<'s>,
        matcher: &mut Matcher<'s>,
        row: u32,
    ) -> Result<u64, QueryError> {
        let mut bonus = 0;
        for (word, typed) in search.words.iter_mut().zip(&self.typed) {
            if *typed > 0
                && let Some(group) = word.source.group(matcher)
                && group.seek(row)? == row
                && group.is_typed()?
            {
                bonus += typed;
            }
        }
        Ok(bonus)
    }
}

/// The coverage of a title by a search that stands in it.
fn coverage(words: u64, title_words: u64) -> u64 {
    COVERED + 3 * COVERED * words / title_words.max(1)
}

/// The coverage of a title that is the search, in parts of the weight of all words, times four.
const COVERED: u64 = 64;

/// How much of a title the words of a search are that stand in the title in order: 0 if they do not, 4 × [`COVERED`] if they
/// are the whole title.
fn title_coverage(positions: &[Vec<u32>], ends: &[u32]) -> u64 {
    let words = positions.len() as u32;
    let of_title = |start: u32| {
        // Each name and title of the record ends with a position of its own.
        let number = ends.partition_point(|end| *end <= start);
        let begin = number.checked_sub(1).map_or(0, |before| ends[before] + VALUE_GAP);
        let end = *ends.get(number)?;
        let is_within = begin <= start && words <= end - start;
        is_within.then(|| coverage(words.into(), u64::from(end - begin)))
    };
    places_in_order(positions).filter_map(of_title).max().unwrap_or(0)
}
