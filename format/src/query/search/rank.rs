//! Orders the matching records of a search by relevance.
//!
//! ```text
//! score = Σ weight(word) × impact(word, record)      each word of the search that scores
//!       + 4 × (32 - bits of the place + 1)           citations: the place among the rows that are not suppressed
//! the best 128 records by this score also get
//!       + Σ 31 × weight(word) / 16 + 128             each word that the record has as typed
//! and of a plain search
//!       + 31 × Σ min(idf(a), idf(b)) / 8             neighbours a b of the search, side by side in the title or abstract
//!       + 31 × Σ weight × (1/4 + 3/4 × words of the search / words of the title)
//!                                                    the whole search in a title
//! ```
//!
//! In a list of records with most words, those with all words come first: they also get the greatest score that records can
//! have without.
//!
//! All numbers are integers. Ties are in the order of rows. A record outside of the best 128 has no bonus, and no record
//! within has a lower score than one outside; so the order of the others is that of their scores.
//!
//! A search of plain words scores each match, since it counts them all. Of one word the count is known: blocks whose
//! greatest impact cannot reach the best are passed over. With operators, records of such blocks are counted, and not scored.

use std::{cell::Cell, cmp::Reverse};

use crate::index::doc_set::{DocSet, DocSetBuilder};
use crate::index::full_text::NO_ROW;
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::search::bonus::Bonuses;
use crate::query::search::common_rows::CommonRows;
use crate::query::search::group::{Group, seek_all};
use crate::query::search::matcher::{Matcher, WordPlace};
use crate::query::search::plan::Resolver;
use crate::query::search::score::{PLACE_SCORE_MAX, RankedRow, WINDOW, saturate};
use crate::query::search::scoring::{ScoreSource, ScoredWord, Scoring};

/// The most records that are kept while the best are found. A later page costs two passes more.
const BEST_MAX: usize = 1 << 14;
/// Rows of a word that are a step towards the next check of the deadline.
const STRETCH_ROWS: u32 = 1 << 14;
/// The weight of a place: less than the least impact of a word in half of the records.
const PLACE_WEIGHT: u32 = PLACE_SCORE_MAX / u32::BITS;

/// The rows that a list by relevance is made of.
pub(super) struct Ranking<'r> {
    /// Rows of the entity.
    pub rows: u32,
    /// The rows of the other filters; `None` without others.
    pub filter: Option<&'r DocSet>,
    pub suppressed: SuppressedBefore<'r>,
    pub deadline: Deadline<'r>,
    /// The records with all words, in a list of records with most words, and what their scores get.
    first: (Vec<u32>, u32),
}

/// Counts the suppressed rows before a row. Rows that ascend are cheap: the next count begins at the last one.
///
/// ```text
/// suppressed rows 3 4 9     row 5: two before it, so that its place is 3
/// ```
pub(super) struct SuppressedBefore<'r> {
    /// Ascending.
    rows: &'r [u32],
    last: Cell<usize>,
}

/// Suppressed rows that are passed one by one, before the others are halved.
const STEPS_MAX: usize = 8;

impl<'r> SuppressedBefore<'r> {
    pub fn new(rows: &'r [u32]) -> SuppressedBefore<'r> {
        SuppressedBefore { rows, last: Cell::new(0) }
    }

    #[inline]
    fn count(&self, row: u32) -> usize {
        if self.rows.is_empty() { 0 } else { self.count_passed(row) }
    }

    fn count_passed(&self, row: u32) -> usize {
        let mut at = self.last.get();
        if at > 0 && self.rows[at - 1] >= row {
            at = 0;
        }
        let near = self.rows[at..].iter().take(STEPS_MAX);
        let steps = near.take_while(|other| **other < row).count();
        at += steps;
        if steps == STEPS_MAX {
            at += self.rows[at..].partition_point(|other| *other < row);
        }
        self.last.set(at);
        at
    }
}

impl<'r> Ranking<'r> {
    pub fn new(
        rows: u32,
        filter: Option<&'r DocSet>,
        suppressed: SuppressedBefore<'r>,
        deadline: Deadline<'r>,
    ) -> Ranking<'r> {
        Ranking { rows, filter, suppressed, deadline, first: (Vec::new(), 0) }
    }

    /// The score of the place of a record that may match; `None` of any other record.
    #[inline]
    fn place_score(&self, row: u32) -> Option<u32> {
        if self.filter.is_some_and(|filter| !filter.contains(row)) {
            return None;
        }
        let before = self.suppressed.count(row);
        let is_suppressed = self.suppressed.rows.get(before) == Some(&row);
        (!is_suppressed).then(|| place_score(row - before as u32) + self.first_score(row))
    }

    /// The addition to the score of a record with all words, in a list of records with most words.
    #[inline]
    fn first_score(&self, row: u32) -> u32 {
        let (first, score) = &self.first;
        let may_be_first = first.last().is_some_and(|last| *last >= row);
        if may_be_first && first.binary_search(&row).is_ok() { *score } else { 0 }
    }

    /// The greatest score of a place from a row on.
    fn place_score_max(&self, row: u32) -> u32 {
        let (first, score) = &self.first;
        let of_first = if first.last().is_some_and(|last| *last >= row) { *score } else { 0 };
        place_score(row - self.suppressed.count(row) as u32) + of_first
    }

    /// Counts the matching records, and finds those from a position on by descending score.
    pub fn page(
        mut self,
        search: &mut Resolver<'_, '_>,
        (first, count): (u64, usize),
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        let last = first.saturating_add(count as u64);
        let mut begin = || {
            let matcher = search.matcher()?;
            let scoring = search.scoring(&matcher)?;
            Ok((matcher, scoring, search.first().map(<[u32]>::to_vec)))
        };
        let (mut matcher, mut scoring, with_all) = begin()?;
        let bonuses = Bonuses::new(&scoring);
        if let Some(rows) = with_all {
            let max = scoring.words_max() + bonuses.max() + u64::from(PLACE_SCORE_MAX);
            self.first = (rows, saturate(max).min(u32::MAX / 2));
        }
        if last > BEST_MAX as u64 {
            let begin = || begin().map(|(matcher, scoring, _)| (matcher, scoring));
            let (matching, mut page) = self.late_page(begin, (first, count))?;
            // The first batch of a stream begins with the window.
            if first == 0 {
                let wanted = page.len();
                bonuses.add_to(&mut scoring, &mut matcher, &mut page, wanted)?;
            }
            return Ok((matching, page));
        }
        let window = if bonuses.is_empty() { 0 } else { WINDOW };
        let kept = (last as usize).max(window);
        // Bonuses sort the records of the window again.
        let best = Best::new(kept, kept > window);
        let (matching, mut best) = self.best(&mut matcher, &mut scoring.words, best)?;
        bonuses.add_to(&mut scoring, &mut matcher, &mut best, last as usize)?;
        let page = best.into_iter().skip(first as usize).take(count);
        Ok((matching, page.collect()))
    }

    /// Counts the matching records, and finds the best of them.
    fn best<'s>(
        &self,
        matcher: &mut Matcher<'s>,
        words: &mut [ScoredWord<'s>],
        mut best: Best,
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        if let Matcher::Most(most) = matcher
            && most.is_dense(self.rows)
            && let Some(factors) = factors(words, most.words(), |place| place.node)
        {
            let mut matching = 0;
            most.each_scored(&factors, |row, score| {
                if let Some(of_place) = self.place_score(row) {
                    matching += 1;
                    best.add(row, score.saturating_add(of_place));
                }
            })?;
            return Ok((matching, best.finish()));
        }
        if let Matcher::Phrase(phrase) = matcher
            && let Some(factors) = factors(words, phrase.words(), |place| place.word)
        {
            let mut matching = 0;
            let is_scored = phrase.each_scored(&factors, |row, score| {
                if let Some(of_place) = self.place_score(row) {
                    matching += 1;
                    best.add(row, score.saturating_add(of_place));
                }
            })?;
            if is_scored {
                return Ok((matching, best.finish()));
            }
        }
        let required = matcher
            .groups()
            .and_then(|groups| Some((factors(words, groups.len(), |place| place.node)?, groups)));
        if let Some((factors, mut groups)) = required {
            match groups.as_mut_slice() {
                [only] => return self.best_of_one(only, factors[0], best),
                groups => return self.best_of_all(groups, &factors, best),
            }
        }
        let mut bound = Bound { until: None, score: 0 };
        let mut matching = 0;
        let mut pace = self.deadline.paced();
        let mut row = matcher.seek(0)?;
        while row != NO_ROW {
            pace.step()?;
            if bound.until.is_none_or(|until| until < row) {
                bound = Bound::of(matcher, words, row, self.place_score_max(row));
            }
            if let Some(of_place) = self.place_score(row) {
                matching += 1;
                // No record of these blocks has a greater score.
                if best.takes(row, bound.score) {
                    best.add(row, score(matcher, words, row, of_place)?);
                }
            }
            row = matcher.seek(row + 1)?;
        }
        Ok((matching, best.finish()))
    }

    /// The best records with a word. If all records of the word match, their number is known, and blocks whose greatest impact
    /// cannot reach the best are passed over.
    fn best_of_one(
        &self,
        group: &mut Group<'_>,
        factor: u32,
        mut best: Best,
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        let score = |impact, of_place| factor.saturating_mul(impact).saturating_add(of_place);
        let known = group.exact_count().filter(|_| self.filter.is_none());
        let mut matching = 0;
        let mut pace = self.deadline.paced();
        let mut row = group.row();
        while row != NO_ROW {
            pace.step()?;
            let mut end = row.saturating_add(STRETCH_ROWS);
            if known.is_some() {
                // One block after another.
                let (impact, last) = group.bound(row);
                end = last.saturating_add(1);
                if !best.takes(row, score(impact, self.place_score_max(row))) {
                    row = end;
                    continue;
                }
                group.seek(row)?;
            }
            group.each_below(end, |row, impact| {
                if let Some(of_place) = self.place_score(row) {
                    matching += 1;
                    best.add(row, score(impact, of_place));
                }
            })?;
            row = group.row();
        }
        Ok((known.unwrap_or(matching), best.finish()))
    }

    /// The best records with all of some words, the rarest first.
    fn best_of_all(
        &self,
        groups: &mut [&mut Group<'_>],
        factors: &[u32],
        mut best: Best,
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        let (mut matching, mut row) = (0, 0);
        let mut pace = self.deadline.paced();
        let mut add = |row, score: u32| {
            if let Some(of_place) = self.place_score(row) {
                matching += 1;
                best.add(row, score.saturating_add(of_place));
            }
        };
        let mut common = CommonRows::default();
        // The common rows of the two rarest words, one stretch after another. Each row is looked up in the other words.
        while row != NO_ROW {
            pace.step()?;
            let ([a, b, others @ ..], [of_a, of_b, of_others @ ..]) = (&mut *groups, factors)
            else {
                break;
            };
            let Some(next) = a.collect_common(b, row, &mut common)? else { break };
            row = next;
            if common.rows.is_empty() {
                continue;
            }
            let Some(((_, impacts_a), (_, impacts_b))) = a.stretch().zip(b.stretch()) else {
                break;
            };
            'rows: for common in &common.rows {
                let (row, [at_a, at_b]) = (common.row, common.places());
                let mut score = of_a.saturating_mul(impacts_a[at_a]);
                score = score.saturating_add(of_b.saturating_mul(impacts_b[at_b]));
                for (group, factor) in others.iter_mut().zip(of_others) {
                    if group.seek(row)? != row {
                        continue 'rows;
                    }
                    score = score.saturating_add(factor.saturating_mul(group.current_impact()));
                }
                add(row, score);
            }
        }
        // Words of which only some records count move from row to row.
        while row != NO_ROW {
            row = seek_all(groups, row, &mut pace, |group, row| group.seek(row))?;
            if row == NO_ROW {
                break;
            }
            let mut score = 0u32;
            for (group, factor) in groups.iter_mut().zip(factors) {
                score = score.saturating_add(factor.saturating_mul(group.current_impact()));
            }
            add(row, score);
            row += 1;
        }
        Ok((matching, best.finish()))
    }

    /// Finds a page behind the records that memory keeps: counts the records of each score, and then collects those of the
    /// scores on the page.
    ///
    /// ```text
    /// positions 40,000 to 40,099
    /// first pass: high halves of scores  9: 12,000 records   8: 25,000   7: 30,000 → both ends have 7
    /// second pass: low halves under 7    …                   scores 7.4711 to 7.4712 are on the page
    /// third pass: collects these records; ties are in the order of rows
    /// ```
    fn late_page<'s>(
        &self,
        mut begin: impl FnMut() -> Result<(Matcher<'s>, Scoring<'s>), QueryError>,
        (first, count): (u64, usize),
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        let last = first.saturating_add(count as u64);
        let mut high = vec![0u64; 1 << 16];
        self.each_scored(begin()?, |_, score| high[(score >> 16) as usize] += 1)?;
        let matching = high.iter().sum();
        if first >= matching {
            return Ok((matching, Vec::new()));
        }
        // The high half at a position, and the records before it.
        let find = |counts: &[u64], position: u64| {
            let mut before = 0;
            for (half, records) in counts.iter().enumerate().rev() {
                if before + records > position {
                    return (half as u32, before);
                }
                before += records;
            }
            (0, before)
        };
        let (from, to) = (find(&high, first), find(&high, last.min(matching) - 1));
        let (mut of_from, mut of_to) = (vec![0u64; 1 << 16], vec![0u64; 1 << 16]);
        self.each_scored(begin()?, |_, score| {
            let (half, low) = (score >> 16, (score & 0xffff) as usize);
            of_from[low] += u64::from(half == from.0);
            of_to[low] += u64::from(half == to.0);
        })?;
        let low = |(half, before): (u32, u64), counts: &[u64], position: u64| {
            let (low, records) = find(counts, position - before);
            (half << 16 | low, before + records)
        };
        let (greatest, before) = low(from, &of_from, first);
        let (least, before_least) = low(to, &of_to, last.min(matching) - 1);
        // Of the records with the greatest score the first are before the page; of those with the least some are behind.
        let (mut skipped, mut taken) = (first - before, last - before_least);
        let mut page: Vec<RankedRow> = Vec::with_capacity(count);
        self.each_scored(begin()?, |row, score| {
            if score > greatest || score < least {
                return;
            }
            if score == greatest && skipped > 0 {
                skipped -= 1;
                taken -= u64::from(greatest == least);
                return;
            }
            if score == least {
                if taken == 0 {
                    return;
                }
                taken -= 1;
            }
            page.push(RankedRow { row, score });
        })?;
        page.sort_by_key(|ranked| (Reverse(ranked.score), ranked.row));
        Ok((matching, page))
    }

    /// Scores all matching records.
    fn each_scored<'s>(
        &self,
        (mut matcher, mut scoring): (Matcher<'s>, Scoring<'s>),
        mut visit: impl FnMut(u32, u32),
    ) -> Result<(), QueryError> {
        let mut pace = self.deadline.paced();
        let mut row = matcher.seek(0)?;
        while row != NO_ROW {
            pace.step()?;
            if let Some(of_place) = self.place_score(row) {
                visit(row, score(&mut matcher, &mut scoring.words, row, of_place)?);
            }
            row = matcher.seek(row + 1)?;
        }
        Ok(())
    }
}

/// The best records so far.
struct Best {
    count: usize,
    /// Whether the best are sorted in the end; else they are in any order.
    is_sorted: bool,
    /// The best and at most as many others, as numbers that are greater for better records.
    kept: Vec<u64>,
    /// A record is among the best only if its number is greater.
    worst: u64,
}

impl Best {
    fn new(count: usize, is_sorted: bool) -> Best {
        let worst = if count == 0 { u64::MAX } else { 0 };
        Best { count, is_sorted, kept: Vec::with_capacity(2 * count), worst }
    }

    /// The number of a record: the score, and of equal scores the earlier row.
    fn number(row: u32, score: u32) -> u64 {
        u64::from(score) << 32 | u64::from(!row)
    }

    /// Whether a record at or after a row may be among the best with a score.
    #[inline]
    fn takes(&self, row: u32, score: u32) -> bool {
        Best::number(row, score) > self.worst
    }

    /// Adds a record if it is among the best.
    #[inline]
    fn add(&mut self, row: u32, score: u32) {
        let number = Best::number(row, score);
        if number > self.worst {
            self.kept.push(number);
            if self.kept.len() >= 2 * self.count {
                self.drop_others();
            }
        }
    }

    /// Drops all but the best.
    #[cold]
    fn drop_others(&mut self) {
        let (_, worst, _) =
            self.kept.select_nth_unstable_by_key(self.count - 1, |number| Reverse(*number));
        self.worst = *worst;
        self.kept.truncate(self.count);
    }

    fn finish(mut self) -> Vec<RankedRow> {
        if self.is_sorted {
            self.kept.sort_unstable_by_key(|number| Reverse(*number));
            self.kept.truncate(self.count);
        } else if self.kept.len() > self.count {
            self.drop_others();
        }
        let ranked =
            |number: &u64| RankedRow { row: !(*number as u32), score: (*number >> 32) as u32 };
        self.kept.iter().map(ranked).collect()
    }
}

/// The weights of the `count` words of a matcher, in its order; `None` if words score that it does not have.
fn factors(
    words: &[ScoredWord<'_>],
    count: usize,
    number: impl Fn(&WordPlace) -> usize,
) -> Option<Vec<u32>> {
    let mut factors = vec![0; count];
    for ScoredWord { source, weight, .. } in words {
        let ScoreSource::Matcher(place) = source else { return None };
        *factors.get_mut(number(place))? = u32::try_from(*weight).unwrap_or(u32::MAX);
    }
    Some(factors)
}

/// Collects the matching rows.
pub(super) fn matching_rows(
    matcher: &mut Matcher<'_>,
    rows: u32,
    deadline: Deadline<'_>,
) -> Result<DocSet, QueryError> {
    let mut set = DocSetBuilder::new(rows.div_ceil(1 << 16));
    let mut lows: Vec<u16> = Vec::new();
    let mut chunk = 0;
    let mut row = matcher.seek(0)?;
    // A row of a damaged file may lie beyond the entity's rows.
    while row < rows {
        if row >> 16 != chunk {
            deadline.check()?;
            set.push_rows(chunk, &lows);
            lows.clear();
            chunk = row >> 16;
        }
        lows.push(row as u16);
        row = matcher.seek(row + 1)?;
    }
    set.push_rows(chunk, &lows);
    Ok(set.finish())
}

/// The greatest score of some rows.
struct Bound {
    /// The last row for which the bound holds.
    until: Option<u32>,
    score: u32,
}

impl Bound {
    fn of<'s>(
        matcher: &mut Matcher<'s>,
        words: &mut [ScoredWord<'s>],
        row: u32,
        of_place: u32,
    ) -> Bound {
        let (mut score, mut until) = (u64::from(of_place), NO_ROW);
        for ScoredWord { source, weight, .. } in words {
            let Some(group) = source.group(matcher) else { continue };
            let (impact, last) = group.bound(row);
            score += *weight * u64::from(impact);
            until = until.min(last);
        }
        Bound { until: Some(until), score: saturate(score) }
    }
}

/// The score of a place among the rows: rows are in the order of citations, so that the first are the most cited.
fn place_score(place: u32) -> u32 {
    PLACE_WEIGHT * place.saturating_add(1).leading_zeros()
}

/// The score of the record at which the matcher stands, with the score of its place.
fn score<'s>(
    matcher: &mut Matcher<'s>,
    words: &mut [ScoredWord<'s>],
    row: u32,
    of_place: u32,
) -> Result<u32, QueryError> {
    let mut score = u64::from(of_place);
    for ScoredWord { source, weight, .. } in words {
        if let Some(group) = source.group(matcher) {
            score += *weight * u64::from(group.impact(row)?);
        }
    }
    Ok(saturate(score))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suppressed_rows_are_counted_whatever_the_order_of_rows() {
        let rows: Vec<u32> = (0..200).map(|at| at * at / 7 + at).collect();
        let before = SuppressedBefore::new(&rows);
        for row in (0..6_000).step_by(3).chain((0..6_000).rev().step_by(17)).chain([0, 5_900, 1]) {
            let expected = rows.iter().filter(|other| **other < row).count();
            assert_eq!(before.count(row), expected, "{row}");
        }
    }

    #[test]
    fn the_best_records_are_those_of_a_sort() {
        for count in [0, 1, 3, 128] {
            let mut best = Best::new(count, true);
            let mut all = Vec::new();
            let mut seed = 7u32;
            for row in 0..2_000 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Scores often equal each other, and may be 0.
                let score = (seed >> 16) % 50;
                all.push(RankedRow { row, score });
                best.add(row, score);
                all.sort_by_key(|ranked| (Reverse(ranked.score), ranked.row));
                all.truncate(count);
            }
            assert_eq!(best.finish(), all, "{count}");
        }
    }
}
