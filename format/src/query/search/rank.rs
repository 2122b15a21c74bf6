//! Orders the matching records of a search by relevance.
//!
//! ```text
//! score = Σ weight(word) × impact(word, record)      each word of the search that scores
//!       + 4 × (32 - bits of the row + 1)             citations: rows are in their order
//! of a plain search, the best 128 records by this score also get
//!       + 31 × Σ min(idf(a), idf(b)) / 8             neighbours a b of the search, side by side in the title or abstract
//!       + 31 × Σ weight × (1/4 + 3/4 × words of the search / words of the title)
//!                                                    the whole search in a title
//! ```
//!
//! All numbers are integers. Ties are in the order of rows. A record outside of the best 128 has no bonus, and no record
//! within has a lower score than one outside; so the order of the others is that of their scores.
//!
//! A search of plain words scores each match, since it counts them all. Of one frequent word the count is known: blocks whose
//! greatest impact cannot reach the best are passed over. With operators, records of such blocks are counted, and not scored.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::index::doc_set::{DocSet, DocSetBuilder};
use crate::index::full_text::{IDF_STEPS, IMPACT_MAX, NO_ROW, VALUE_GAP};
use crate::query::deadline::{Deadline, QueryError};
use crate::query::search::group::{Group, seek_all};
use crate::query::search::matcher::Matcher;
use crate::query::search::phrase::stand_in_order;
use crate::query::search::plan::{Resolver, ScoreSource, ScoredWord, Scoring};
use crate::schema::texts::Field;
use crate::storage::error::ReadError;

/// The records whose words are compared with the order of a plain search.
const WINDOW: usize = 128;
/// The most records that are kept while the best are found. A later page costs two passes more.
const BEST_MAX: usize = 1 << 14;
/// Rows of a word that are looked at between two checks of the deadline.
const STRETCH_ROWS: u32 = 1 << 20;
/// Of two words, how many times as many records one may have as the other, so that their records are compared one by one.
const COMPARED_SHARE: u64 = 12;
/// Records of a word from which on whole blocks of them are passed over.
const PASSED_OVER_MIN: u64 = 1 << 18;
/// The steps of a score that stand for 1 of `relevance_score`.
const SCORE_STEPS: u64 = IDF_STEPS * IMPACT_MAX as u64;
/// The weight of a row's place: less than the least impact of a word in half of the records.
const ROW_WEIGHT: u32 = 4;

/// The member of records in lists by relevance that has their score.
pub const RELEVANCE_SCORE: &str = "relevance_score";

/// A record of a list by relevance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedRow {
    /// A row of the list's entity.
    pub row: u32,
    /// In steps of 1/7,936.
    pub score: u32,
}

impl RankedRow {
    /// The score as a decimal number with at most six digits, three of them after the point if the number is below 1,000.
    pub fn relevance_score(&self) -> String {
        let thousandths = u64::from(self.score) * 1_000 / SCORE_STEPS;
        match thousandths {
            0..1_000_000 => {
                let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            _ => (thousandths / 1_000).min(999_999).to_string(),
        }
    }
}

/// The rows that a list by relevance is made of.
pub(super) struct Ranking<'r> {
    /// Rows of the entity.
    pub rows: u32,
    /// The rows of the other filters; `None` without others.
    pub filter: Option<&'r DocSet>,
    /// Ascending.
    pub suppressed: &'r [u32],
    pub deadline: Deadline<'r>,
}

impl Ranking<'_> {
    fn has(&self, row: u32) -> bool {
        self.filter.is_none_or(|filter| filter.contains(row))
            && (self.suppressed.is_empty() || self.suppressed.binary_search(&row).is_err())
    }

    /// Counts the matching records, and finds those from a position on by descending score.
    pub fn page(
        &self,
        search: &mut Resolver<'_, '_>,
        (first, count): (u64, usize),
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        let last = first.saturating_add(count as u64);
        let mut begin = || {
            let matcher = search.matcher()?;
            let scoring = search.scoring(&matcher)?;
            Ok((matcher, scoring))
        };
        if last > BEST_MAX as u64 {
            let (matching, mut page) = self.late_page(&mut begin, (first, count))?;
            // The first batch of a stream begins with the window.
            if first == 0 {
                let wanted = page.len();
                add_bonuses(&mut begin()?.1, &mut page, wanted)?;
            }
            return Ok((matching, page));
        }
        let (mut matcher, mut scoring) = begin()?;
        let window = if scoring.sequence.is_empty() { 0 } else { WINDOW };
        let kept = (last as usize).max(window);
        let (matching, mut best) = self.best(&mut matcher, &mut scoring.words, kept)?;
        add_bonuses(&mut scoring, &mut best, last as usize)?;
        let page = best.into_iter().skip(first as usize).take(count);
        Ok((matching, page.collect()))
    }

    /// Counts the matching records, and finds the best of them, the best first.
    fn best<'s>(
        &self,
        matcher: &mut Matcher<'s>,
        words: &mut [ScoredWord<'s>],
        count: usize,
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        let mut best = Best::new(count);
        if let Matcher::Most(most) = matcher
            && most.is_dense(self.rows)
            && let Some(factors) = factors(words, most.words())
        {
            let mut matching = 0;
            most.each_scored(&factors, |row, score| {
                if self.has(row) {
                    matching += 1;
                    best.add(row, score.saturating_add(row_score(row)));
                }
            })?;
            return Ok((matching, best.finish()));
        }
        let required =
            matcher.groups().and_then(|groups| Some((factors(words, groups.len())?, groups)));
        if let Some((factors, mut groups)) = required {
            match groups.as_mut_slice() {
                [only] if self.is_known_and_long(only) => {}
                [only] => return self.best_of_one(only, factors[0], best),
                groups => return self.best_of_all(groups, &factors, best),
            }
        }
        // If every posting matches, their number is known, and blocks are passed over.
        let known = match (matcher.only_group(), self.filter, self.suppressed) {
            (Some(group), None, []) => group.exact_count(),
            _ => None,
        };
        let mut bound = Bound { until: None, score: 0 };
        let mut matching = 0;
        let mut pace = self.deadline.paced();
        let mut row = matcher.seek(0)?;
        while row != NO_ROW {
            pace.step()?;
            let mut next = row + 1;
            let mut can_be_best = count > 0;
            if let Some(least) = best.least {
                if bound.until.is_none_or(|until| until < row) {
                    bound = Bound::of(matcher, words, row);
                }
                // No record of these blocks is better than the worst of the best.
                can_be_best = bound.score > least;
                if let (false, Some(_), Some(until)) = (can_be_best, known, bound.until) {
                    next = until.saturating_add(1);
                }
            }
            if self.has(row) {
                matching += 1;
                if can_be_best {
                    best.add(row, score(matcher, words, row)?);
                }
            }
            row = matcher.seek(next)?;
        }
        Ok((known.unwrap_or(matching), best.finish()))
    }

    /// Whether the number of a group's records is known, and blocks are worth passing over.
    fn is_known_and_long(&self, group: &Group<'_>) -> bool {
        let known = group.exact_count().unwrap_or(0);
        self.filter.is_none() && self.suppressed.is_empty() && known > PASSED_OVER_MIN
    }

    /// The best records with a word.
    fn best_of_one(
        &self,
        group: &mut Group<'_>,
        factor: u32,
        mut best: Best,
    ) -> Result<(u64, Vec<RankedRow>), QueryError> {
        let mut matching = 0;
        while group.row() != NO_ROW {
            self.deadline.check()?;
            let end = group.row().saturating_add(STRETCH_ROWS);
            group.each_below(end, |row, impact| {
                if self.has(row) {
                    matching += 1;
                    best.add(row, factor.saturating_mul(impact).saturating_add(row_score(row)));
                }
            })?;
        }
        Ok((matching, best.finish()))
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
        if let ([a, b, others @ ..], [of_a, of_b, of_others @ ..]) = (&mut *groups, factors)
            && b.count_max() < COMPARED_SHARE * a.count_max()
        {
            let was_compared = a.each_common(b, &mut pace, |row, impact_a, impact_b| {
                let mut score = row_score(row);
                score = score.saturating_add(of_a.saturating_mul(impact_a));
                score = score.saturating_add(of_b.saturating_mul(impact_b));
                for (group, factor) in others.iter_mut().zip(of_others) {
                    if group.seek(row)? != row {
                        return Ok(());
                    }
                    score = score.saturating_add(factor.saturating_mul(group.current_impact()));
                }
                if self.has(row) {
                    matching += 1;
                    best.add(row, score);
                }
                Ok(())
            })?;
            if was_compared {
                return Ok((matching, best.finish()));
            }
        }
        loop {
            pace.step()?;
            row = seek_all(groups, row, &mut pace, |group, row| group.seek(row))?;
            if row == NO_ROW {
                return Ok((matching, best.finish()));
            }
            if self.has(row) {
                matching += 1;
                let mut score = row_score(row);
                for (group, factor) in groups.iter_mut().zip(factors) {
                    score = score.saturating_add(factor.saturating_mul(group.current_impact()));
                }
                best.add(row, score);
            }
            row += 1;
        }
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
            if self.has(row) {
                visit(row, score(&mut matcher, &mut scoring.words, row)?);
            }
            row = matcher.seek(row + 1)?;
        }
        Ok(())
    }
}

/// The best records so far.
struct Best {
    count: usize,
    /// The worst of them first.
    heap: BinaryHeap<Reverse<(u32, Reverse<u32>)>>,
    /// The score of the worst, once there are enough.
    least: Option<u32>,
}

impl Best {
    fn new(count: usize) -> Best {
        Best { count, heap: BinaryHeap::with_capacity(count + 1), least: None }
    }

    /// Adds a record if it is among the best. Rows ascend, so that of equal scores the earlier record is better.
    #[inline]
    fn add(&mut self, row: u32, score: u32) {
        if self.least.is_none_or(|least| score > least) {
            self.replace_worst(row, score);
        }
    }

    fn replace_worst(&mut self, row: u32, score: u32) {
        let entry = Reverse((score, Reverse(row)));
        if self.heap.len() < self.count {
            self.heap.push(entry);
        } else if let Some(mut worst) = self.heap.peek_mut() {
            *worst = entry;
        }
        if self.heap.len() == self.count {
            self.least = self.heap.peek().map(|worst| worst.0.0);
        }
    }

    fn finish(self) -> Vec<RankedRow> {
        let sorted = self.heap.into_sorted_vec().into_iter();
        sorted.map(|Reverse((score, Reverse(row)))| RankedRow { row, score }).collect()
    }
}

/// The weights of the `count` words of a matcher, in its order; `None` if words score that it does not have.
fn factors(words: &[ScoredWord<'_>], count: usize) -> Option<Vec<u32>> {
    let mut factors = vec![0; count];
    for ScoredWord { source, weight } in words {
        let ScoreSource::Matcher(place) = source else { return None };
        *factors.get_mut(*place)? = u32::try_from(*weight).unwrap_or(u32::MAX);
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
    fn of<'s>(matcher: &mut Matcher<'s>, words: &mut [ScoredWord<'s>], row: u32) -> Bound {
        let (mut score, mut until) = (u64::from(row_score(row)), NO_ROW);
        for ScoredWord { source, weight } in words {
            let Some(group) = source.group(matcher) else { continue };
            let (impact, last) = group.bound(row);
            score += *weight * u64::from(impact);
            until = until.min(last);
        }
        Bound { until: Some(until), score: saturate(score) }
    }
}

/// The score of a row's place: rows are in the order of citations, so that the first are the most cited.
fn row_score(row: u32) -> u32 {
    ROW_WEIGHT * row.saturating_add(1).leading_zeros()
}

fn saturate(score: u64) -> u32 {
    u32::try_from(score).unwrap_or(u32::MAX)
}

/// The score of the record at which the matcher stands.
fn score<'s>(
    matcher: &mut Matcher<'s>,
    words: &mut [ScoredWord<'s>],
    row: u32,
) -> Result<u32, QueryError> {
    let mut score = u64::from(row_score(row));
    for ScoredWord { source, weight } in words {
        if let Some(group) = source.group(matcher) {
            score += *weight * u64::from(group.impact(row)?);
        }
    }
    Ok(saturate(score))
}

/// Adds to the scores of the best records what the places of their words are worth, and sorts them again: so that the first
/// `wanted` are right. Reads no places of records that cannot be among these.
///
/// ```text
/// scores 90 80 70 60   at most, with a bonus   120 130 75 110   wanted: 1
/// the first two are read: 95 and 112           70 and 60 cannot pass 112
/// ```
fn add_bonuses(
    search: &mut Scoring<'_>,
    best: &mut [RankedRow],
    wanted: usize,
) -> Result<(), QueryError> {
    if search.sequence.is_empty() {
        return Ok(());
    }
    let window = best.len().min(WINDOW);
    let best = &mut best[..window];
    let bonuses = Bonuses::new(search);
    let mut rest = Vec::with_capacity(best.len());
    for ranked in &*best {
        rest.push((bonuses.bound(search, ranked)?, *ranked));
    }
    rest.sort_by_key(|(bound, ranked)| (Reverse(*bound), ranked.row));
    let mut read: Vec<RankedRow> = Vec::with_capacity(best.len());
    let mut next = (2 * wanted).min(rest.len());
    let mut positions = vec![Vec::new(); search.sequence.len()];
    // Mostly there are one or two rounds: the second has all records that the first one did not rule out.
    while next > 0 {
        let mut round: Vec<RankedRow> = rest.drain(..next).map(|(_, ranked)| ranked).collect();
        // Postings are read in the order of rows.
        round.sort_by_key(|ranked| ranked.row);
        search.rewind()?;
        for ranked in &mut round {
            let bonus = bonuses.of(search, ranked.row, &mut positions)?;
            ranked.score = saturate(u64::from(ranked.score) + bonus);
        }
        read.append(&mut round);
        read.sort_by_key(|ranked| (Reverse(ranked.score), ranked.row));
        let least = wanted.checked_sub(1).and_then(|last| read.get(last));
        let least = least.map_or(0, |ranked| ranked.score);
        next = rest.partition_point(|(bound, _)| *bound >= least);
    }
    read.extend(rest.into_iter().map(|(_, ranked)| ranked));
    best.copy_from_slice(&read);
    Ok(())
}

/// The fields whose words are compared with the order of a search. A word alone has no neighbour in an abstract.
fn compared_fields(words: usize) -> &'static [Field] {
    if words == 1 { &[Field::Title] } else { &[Field::Title, Field::Abstract] }
}

/// Bonuses to scores for the places of a search's words.
struct Bonuses {
    /// The weights of all words.
    weights: u64,
    /// The idf of all neighbours.
    neighbours: u64,
    words: u64,
}

impl Bonuses {
    fn new(search: &Scoring<'_>) -> Bonuses {
        let neighbours = search.sequence.array_windows::<2>().map(|[a, b]| a.0.min(b.0));
        Bonuses {
            weights: search.words.iter().map(|word| word.weight).sum(),
            neighbours: neighbours.sum(),
            words: search.sequence.len() as u64,
        }
    }

    fn sum(&self, neighbours: u64, coverage: u64) -> u64 {
        u64::from(IMPACT_MAX) * (neighbours / 8 + self.weights * coverage / COVERED / 4)
    }

    /// The greatest score that a record may have with its bonus: as if its shortest title had all words.
    fn bound(&self, search: &Scoring<'_>, ranked: &RankedRow) -> Result<u32, ReadError> {
        let coverage = match u64::from(search.index.title_words(ranked.row)?) {
            title_words if title_words < self.words => 0,
            title_words => coverage(self.words, title_words),
        };
        Ok(saturate(u64::from(ranked.score) + self.sum(self.neighbours, coverage)))
    }

    /// The bonus of a record. Rows ascend.
    fn of(
        &self,
        search: &mut Scoring<'_>,
        row: u32,
        positions: &mut [Vec<u32>],
    ) -> Result<u64, QueryError> {
        let mut side_by_side = vec![false; search.sequence.len().saturating_sub(1)];
        let mut coverage = 0;
        for field in compared_fields(search.sequence.len()) {
            for ((_, group), positions) in search.sequence.iter_mut().zip(&mut *positions) {
                positions.clear();
                if group.seek(row)? == row {
                    group.positions(*field, positions)?;
                }
            }
            for (pair, is_found) in positions.array_windows::<2>().zip(&mut side_by_side) {
                *is_found = *is_found || stand_in_order(pair);
            }
            if *field == Field::Title && stand_in_order(positions) {
                coverage = title_coverage(positions, &search.title_ends(row)?);
            }
        }
        let pairs = search.sequence.array_windows::<2>().zip(&side_by_side);
        let pairs = pairs.filter(|(_, is_found)| **is_found).map(|([a, b], _)| a.0.min(b.0));
        Ok(self.sum(pairs.sum(), coverage))
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
    let words = positions.len() as u64;
    let mut begin = 0;
    let mut greatest = 0;
    for end in ends {
        // Each name and title of the record ends with a position of its own.
        let within: Vec<Vec<u32>> = positions
            .iter()
            .map(|all| all.iter().copied().filter(|at| (begin..*end).contains(at)).collect())
            .collect();
        if stand_in_order(&within) {
            greatest = greatest.max(coverage(words, u64::from(end - begin)));
        }
        begin = end + VALUE_GAP;
    }
    greatest
}
