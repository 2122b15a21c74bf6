//! Finds the rows that match a search, ascending.
//!
//! A [`Matcher`] moves to its first matching row at or after a row. The matcher of all words moves each word to the same row:
//!
//! ```text
//! deep       3  9  17  40          seek(4): deep 9 → learning 12 → deep 17 → learning 17: row 17
//! learning   3  12 17  41
//! ```
//!
//! Cost: of all words, a seek in each list for each row of the rarest; of any word, all rows. Positions are read only for
//! phrases, fields and forms, and only in records that have the words.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::index::full_text::{IMPACT_MAX, NO_ROW, Occurrence, Postings, Term};
use crate::query::deadline::{Deadline, PacedDeadline, QueryError};
use crate::schema::texts::{ANY_FIELD, Field};
use crate::storage::error::ReadError;

/// Time of a posting that is read one after another, and of a word of a phrase whose positions are read.
const POSTING_NANOSECONDS: u64 = 2;
const PHRASE_NANOSECONDS: u64 = 20;
/// Terms up to which the row of a group is the least of all; with more, a heap finds it.
const SCANNED_TERMS_MAX: usize = 8;

/// A word of a search, and the joined form of the compound that it is a part of.
pub(super) type SearchWord = (String, Option<String>);

/// One term of a group, and the forms that count; `None` for all forms.
#[derive(Clone)]
pub(super) struct GroupTerm<'s> {
    pub term: Term<'s>,
    pub forms: Option<Vec<u16>>,
}

/// The postings of a term of a group.
struct OpenTerm<'s> {
    postings: Postings<'s>,
    forms: Option<Vec<u16>>,
}

/// The records that have any of some terms.
pub(super) struct Group<'s> {
    /// The word of a search that has exactly these terms; none if the group may not score it.
    word: Option<SearchWord>,
    terms: Vec<OpenTerm<'s>>,
    /// The fields that count.
    fields: u8,
    /// Whether a record with a term may have none that counts.
    is_checked: bool,
    /// The row of each term but those at the current row, if there are many terms.
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    merged: Merged,
    row: u32,
    pace: PacedDeadline<'s>,
}

/// The next postings of a few terms, merged, so that moving on looks at no term:
///
/// ```text
/// network   3  9  17 |40 …        decoded up to 17
/// netzwerk  5  9 |                                    → 3, 5, 9, 17
/// ```
#[derive(Default)]
struct Merged {
    /// A row in the high half; in the low half [`IMPACT_MAX`] less the greatest impact there.
    postings: Vec<u64>,
    /// The place of the current row.
    at: usize,
}

impl Merged {
    fn row(&self) -> u32 {
        self.postings.get(self.at).map_or(NO_ROW, |posting| (posting >> 32) as u32)
    }

    fn impact(&self) -> u32 {
        self.postings.get(self.at).map_or(0, |posting| u32::from(IMPACT_MAX) - *posting as u32)
    }

    /// Moves to the first row at or after `row`, and tells whether it is among the merged ones.
    #[inline]
    fn seek(&mut self, row: u32) -> bool {
        let least = u64::from(row) << 32;
        match self.postings.last() {
            Some(last) if *last >= least => {
                while self.postings[self.at] < least {
                    self.at += 1;
                }
                true
            }
            _ => false,
        }
    }

    /// Merges the decoded postings of terms that stand at a row or after it.
    fn fill(&mut self, terms: &mut [OpenTerm<'_>]) {
        self.at = 0;
        self.postings.clear();
        let last = terms.iter().map(|term| term.postings.decoded_last()).min().unwrap_or(NO_ROW);
        let mut sources = 0;
        for OpenTerm { postings, .. } in terms {
            let before = self.postings.len();
            let packed =
                |(row, impact)| u64::from(row) << 32 | u64::from(u32::from(IMPACT_MAX) - impact);
            self.postings.extend(postings.decoded_up_to(last).map(packed));
            sources += usize::from(self.postings.len() > before);
        }
        if sources > 1 {
            self.postings.sort_unstable();
            // Of equal rows the greatest impact comes first.
            self.postings.dedup_by_key(|posting| *posting >> 32);
        }
    }
}

impl<'s> Group<'s> {
    pub fn new(
        terms: Vec<GroupTerm<'s>>,
        fields: u8,
        deadline: Deadline<'s>,
    ) -> Result<Group<'s>, QueryError> {
        let is_checked = fields != ANY_FIELD || terms.iter().any(|term| term.forms.is_some());
        let open = |GroupTerm { term, forms }: GroupTerm<'s>| {
            Ok(OpenTerm { postings: term.postings()?, forms })
        };
        let terms = terms.into_iter().map(open).collect::<Result<Vec<_>, ReadError>>()?;
        let (heap, pace) = (BinaryHeap::new(), deadline.paced());
        let merged = Merged::default();
        let mut group = Group { word: None, terms, fields, is_checked, heap, merged, row: 0, pace };
        if group.terms.len() > SCANNED_TERMS_MAX {
            let rows = group.terms.iter().map(|term| term.postings.row());
            group.heap = rows.zip(0..).map(Reverse).collect();
        }
        if group.is_merged() {
            group.merged.fill(&mut group.terms);
        }
        group.row = group.least_row();
        group.settle()?;
        Ok(group)
    }

    /// Whether the postings of the terms are read by way of [`Merged`].
    #[inline]
    fn is_merged(&self) -> bool {
        !self.is_checked && (2..=SCANNED_TERMS_MAX).contains(&self.terms.len())
    }

    /// Names the word of a search that the group may score.
    pub fn of_word(mut self, word: SearchWord) -> Group<'s> {
        self.word = Some(word);
        self
    }

    /// The number of records, if it is known before they are read: of one term that counts everywhere.
    pub fn exact_count(&self) -> Option<u64> {
        match self.terms.as_slice() {
            [only] if !self.is_checked => Some(only.postings.count().into()),
            _ => None,
        }
    }

    /// An upper bound of the records.
    pub fn count_max(&self) -> u64 {
        self.terms.iter().map(|term| u64::from(term.postings.count())).sum()
    }

    /// The current row, or [`NO_ROW`].
    #[inline]
    pub fn row(&self) -> u32 {
        self.row
    }

    fn least_row(&self) -> u32 {
        match self.terms.as_slice() {
            [only] => only.postings.row(),
            _ if self.is_merged() => self.merged.row(),
            terms if terms.len() <= SCANNED_TERMS_MAX => {
                terms.iter().map(|term| term.postings.row()).min().unwrap_or(NO_ROW)
            }
            _ => self.heap.peek().map_or(NO_ROW, |Reverse((row, _))| *row),
        }
    }

    /// Moves to the first record at or after `row`.
    #[inline]
    pub fn seek(&mut self, row: u32) -> Result<u32, QueryError> {
        if self.row < row {
            self.seek_terms(row)?;
            self.settle()?;
        }
        Ok(self.row)
    }

    #[inline]
    fn seek_terms(&mut self, row: u32) -> Result<(), ReadError> {
        if let [only] = self.terms.as_mut_slice() {
            only.postings.seek(row)?;
            self.row = only.postings.row();
            return Ok(());
        }
        if self.is_merged() {
            if !self.merged.seek(row) {
                self.terms.iter_mut().try_for_each(|term| term.postings.seek(row))?;
                self.merged.fill(&mut self.terms);
            }
        } else if self.terms.len() <= SCANNED_TERMS_MAX {
            self.terms.iter_mut().try_for_each(|term| term.postings.seek(row))?;
        } else {
            while let Some(mut top) = self.heap.peek_mut().filter(|top| top.0.0 < row) {
                let postings = &mut self.terms[top.0.1 as usize].postings;
                postings.seek(row)?;
                top.0.0 = postings.row();
            }
        }
        self.row = self.least_row();
        Ok(())
    }

    /// Moves on to a record with a term that counts.
    fn settle(&mut self) -> Result<(), QueryError> {
        while self.is_checked && self.row != NO_ROW && !self.counts()? {
            self.pace.step()?;
            self.seek_terms(self.row + 1)?;
        }
        Ok(())
    }

    /// Whether a term stands in one of the fields of the current record, in a form that counts.
    fn counts(&mut self) -> Result<bool, ReadError> {
        let Group { terms, fields, row, .. } = self;
        for OpenTerm { postings, forms } in terms {
            if postings.row() != *row {
                continue;
            }
            if forms.is_none() && *fields == ANY_FIELD {
                return Ok(true);
            }
            for field in Field::of_set(*fields) {
                let mut all = postings.occurrences(field)?.iter();
                if all.any(|at| counts_form(forms.as_deref(), at)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The greatest impact of the terms in the record at `row`; 0 if it has none. The group stands at `row` or before.
    #[inline]
    pub fn impact(&mut self, row: u32) -> Result<u32, QueryError> {
        if self.seek(row)? != row {
            return Ok(0);
        }
        Ok(self.current_impact())
    }

    /// The greatest impact of the terms at the current row.
    #[inline]
    pub fn current_impact(&mut self) -> u32 {
        if self.is_merged() {
            return self.merged.impact();
        }
        let (row, mut greatest) = (self.row, 0);
        for OpenTerm { postings, .. } in &mut self.terms {
            if postings.row() == row {
                greatest = greatest.max(postings.impact());
            }
        }
        greatest
    }

    /// Calls `visit` with the rows below `end` and the group's impact there, and moves to the first row at or after it.
    pub fn each_below(
        &mut self,
        end: u32,
        mut visit: impl FnMut(u32, u32),
    ) -> Result<(), QueryError> {
        if let ([only], false) = (self.terms.as_mut_slice(), self.is_checked) {
            only.postings.each_below(end, visit)?;
            self.row = only.postings.row();
            return Ok(());
        }
        while self.row < end {
            let row = self.row;
            visit(row, self.current_impact());
            self.seek(row + 1)?;
        }
        Ok(())
    }

    /// The greatest impact of rows from `row` on, and the last row for which it holds.
    #[inline]
    pub fn bound(&mut self, row: u32) -> (u32, u32) {
        let mut bound = (0, NO_ROW);
        for OpenTerm { postings, .. } in &mut self.terms {
            let (impact, last) = postings.bound(row);
            bound = (bound.0.max(impact), bound.1.min(last));
        }
        bound
    }

    /// Appends the positions of the terms in a field of the current record, ascending.
    pub fn positions(&mut self, field: Field, into: &mut Vec<u32>) -> Result<(), ReadError> {
        let Group { terms, row, .. } = self;
        let first = into.len();
        for OpenTerm { postings, forms } in terms {
            // The terms of merged postings may stand before the current row.
            postings.seek(*row)?;
            if postings.row() == *row {
                let counting = postings.occurrences(field)?.iter();
                let counting = counting.filter(|at| counts_form(forms.as_deref(), at));
                into.extend(counting.map(|at| at.position));
            }
        }
        into[first..].sort_unstable();
        Ok(())
    }
}

fn counts_form(forms: Option<&[u16]>, at: &Occurrence) -> bool {
    forms.is_none_or(|forms| forms.binary_search(&at.form).is_ok())
}

/// Words side by side, or with a distance.
pub(super) struct Phrase<'s> {
    /// The words; equal words have a group each.
    words: Vec<Group<'s>>,
    distance: Option<u32>,
    fields: u8,
    /// Positions of each word in the current record and field.
    positions: Vec<Vec<u32>>,
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
        Phrase { words, distance, fields, positions, pace: deadline.paced() }
    }

    fn seek(&mut self, mut row: u32) -> Result<u32, QueryError> {
        loop {
            row = seek_all(&mut self.words, row, &mut self.pace, Group::seek)?;
            if row == NO_ROW || self.stands_in_record()? {
                return Ok(row);
            }
            row += 1;
        }
    }

    /// Whether the phrase stands in the record at which all words are.
    fn stands_in_record(&mut self) -> Result<bool, ReadError> {
        let Phrase { words, distance, fields, positions, .. } = self;
        for field in Field::of_set(*fields) {
            let mut has_all = true;
            for (word, positions) in words.iter_mut().zip(positions.iter_mut()) {
                positions.clear();
                word.positions(field, positions)?;
                has_all &= !positions.is_empty();
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

/// Whether words stand side by side, in order.
pub(super) fn stand_in_order(positions: &[Vec<u32>]) -> bool {
    let Some((first, others)) = positions.split_first() else { return false };
    first.iter().any(|at| {
        (at + 1..).zip(others).all(|(place, positions)| positions.binary_search(&place).is_ok())
    })
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

/// Moves all of some matchers to the first row at or after `row` at which all of them are.
pub(super) fn seek_all<M>(
    matchers: &mut [M],
    mut row: u32,
    pace: &mut PacedDeadline<'_>,
    seek: impl Fn(&mut M, u32) -> Result<u32, QueryError>,
) -> Result<u32, QueryError> {
    let Some((first, others)) = matchers.split_first_mut() else { return Ok(NO_ROW) };
    'rows: loop {
        pace.step()?;
        row = seek(first, row)?;
        if row == NO_ROW {
            return Ok(NO_ROW);
        }
        for other in &mut *others {
            let found = seek(other, row)?;
            if found > row {
                row = found;
                continue 'rows;
            }
        }
        return Ok(row);
    }
}

/// A node of a resolved search.
pub(super) enum Matcher<'s> {
    Group(Box<Group<'s>>),
    Phrase(Box<Phrase<'s>>),
    /// All of these, without any of the negated. Without nodes, all rows below a number.
    And {
        nodes: Vec<Matcher<'s>>,
        negated: Vec<Matcher<'s>>,
        rows: u32,
        pace: PacedDeadline<'s>,
    },
    /// Any of these; with the last row of each.
    Or(Vec<(u32, Matcher<'s>)>),
    /// Records in which words have at least a weight.
    Most(Most<'s>),
}

impl<'s> Matcher<'s> {
    pub fn or(nodes: Vec<Matcher<'s>>) -> Matcher<'s> {
        // A row before the first, so that each node moves at the first seek.
        Matcher::Or(nodes.into_iter().map(|node| (0, node)).collect())
    }

    /// The group that a search consists of, if it is one word.
    pub fn only_group(&self) -> Option<&Group<'s>> {
        match self {
            Matcher::Group(group) => Some(group),
            Matcher::And { nodes, negated, .. } if negated.is_empty() => match nodes.as_slice() {
                [only] => only.only_group(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The groups of all required words, if the search consists of such words alone.
    pub fn groups(&mut self) -> Option<Vec<&mut Group<'s>>> {
        match self {
            Matcher::And { nodes, negated, .. } if negated.is_empty() && !nodes.is_empty() => nodes
                .iter_mut()
                .map(|node| match node {
                    Matcher::Group(group) => Some(&mut **group),
                    _ => None,
                })
                .collect(),
            _ => None,
        }
    }

    /// The place among the required words of the group that may also score a word.
    pub fn place_of(&self, word: &SearchWord) -> Option<usize> {
        let is_of = |group: &Group<'_>| group.word.as_ref() == Some(word);
        match self {
            Matcher::And { nodes, .. } => {
                nodes.iter().position(|node| matches!(node, Matcher::Group(group) if is_of(group)))
            }
            Matcher::Most(most) => most.words.iter().position(|(_, group)| is_of(group)),
            _ => None,
        }
    }

    /// The group at such a place.
    #[inline]
    pub fn at_place(&mut self, place: usize) -> Option<&mut Group<'s>> {
        match self {
            Matcher::And { nodes, .. } => match nodes.get_mut(place) {
                Some(Matcher::Group(group)) => Some(group),
                _ => None,
            },
            Matcher::Most(most) => most.words.get_mut(place).map(|(_, group)| group),
            _ => None,
        }
    }

    /// An upper bound of the matching rows, to begin with the rarest words.
    pub fn count_max(&self) -> u64 {
        match self {
            Matcher::Group(group) => group.count_max(),
            Matcher::Phrase(phrase) => phrase.words.iter().map(Group::count_max).min().unwrap_or(0),
            Matcher::And { nodes, rows, .. } => {
                nodes.iter().map(Matcher::count_max).min().unwrap_or(u64::from(*rows))
            }
            Matcher::Or(nodes) => nodes.iter().map(|(_, node)| node.count_max()).sum(),
            Matcher::Most(most) => most.words.iter().map(|(_, word)| word.count_max()).sum(),
        }
    }

    /// About how many nanoseconds it takes to find all matching rows and to score them: as little as on a fast machine.
    pub fn nanoseconds(&self) -> u64 {
        match self {
            Matcher::Group(group) => group.count_max() * POSTING_NANOSECONDS,
            Matcher::Phrase(phrase) => {
                self.count_max() * phrase.words.len() as u64 * PHRASE_NANOSECONDS
            }
            Matcher::Most(most) => most.words[..most.needed]
                .iter()
                .map(|(_, word)| word.count_max() * POSTING_NANOSECONDS)
                .sum(),
            Matcher::Or(nodes) => nodes.iter().map(|(_, node)| node.nanoseconds()).sum(),
            Matcher::And { nodes, negated, .. } => {
                // Each row of the rarest node is looked up in the others.
                let rows = self.count_max();
                let all = nodes.iter().chain(negated);
                all.map(|node| node.nanoseconds().min(rows * POSTING_NANOSECONDS)).sum()
            }
        }
    }

    /// Moves to the first matching row at or after `row`; [`NO_ROW`] if there is none. `row` never descends.
    pub fn seek(&mut self, row: u32) -> Result<u32, QueryError> {
        match self {
            Matcher::Group(group) => group.seek(row),
            Matcher::Phrase(phrase) => phrase.seek(row),
            Matcher::Most(most) => most.seek(row),
            Matcher::Or(nodes) => {
                let mut least = NO_ROW;
                for (at, node) in nodes {
                    if *at < row || *at == 0 {
                        *at = node.seek(row)?;
                    }
                    least = least.min(*at);
                }
                Ok(least)
            }
            Matcher::And { nodes, negated, rows, pace } => {
                let mut row = row;
                'rows: loop {
                    pace.step()?;
                    row = match nodes.is_empty() {
                        true if row < *rows => row,
                        true => NO_ROW,
                        false => seek_all(nodes, row, pace, Matcher::seek)?,
                    };
                    if row == NO_ROW {
                        return Ok(NO_ROW);
                    }
                    for other in &mut *negated {
                        if other.seek(row)? == row {
                            row += 1;
                            continue 'rows;
                        }
                    }
                    return Ok(row);
                }
            }
        }
    }
}

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
    pub fn new(
        mut words: Vec<(u64, Group<'s>)>,
        weight_min: u64,
        deadline: Deadline<'s>,
    ) -> Most<'s> {
        words.sort_by_key(|(weight, _)| Reverse(*weight));
        let mut rest: u64 = words.iter().map(|(weight, _)| weight).sum();
        let mut needed = 0;
        for (weight, _) in &words {
            if rest < weight_min.max(1) {
                break;
            }
            rest -= weight;
            needed += 1;
        }
        let weight_min = weight_min.max(1);
        Most { words, needed, weight_min, deadline, pace: deadline.paced() }
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
        let (needed, others) = words.split_at_mut(*needed);
        let weight_min = u32::try_from(*weight_min).unwrap_or(u32::MAX);
        let (needed_factors, other_factors) = factors.split_at(needed.len());
        let mut window = vec![(0u32, 0u32); WINDOW_ROWS as usize];
        loop {
            deadline.check()?;
            let first = needed.iter().map(|(_, word)| word.row()).min().unwrap_or(NO_ROW);
            if first == NO_ROW {
                return Ok(());
            }
            let begin = first & !(WINDOW_ROWS - 1);
            let end = begin.saturating_add(WINDOW_ROWS);
            window.fill((0, 0));
            for ((weight, word), factor) in needed.iter_mut().zip(needed_factors) {
                let weight = u32::try_from(*weight).unwrap_or(u32::MAX);
                word.each_below(end, |row, impact| {
                    if let Some((sum, score)) = window.get_mut((row - begin) as usize) {
                        *sum = sum.saturating_add(weight);
                        *score = score.saturating_add(factor.saturating_mul(impact));
                    }
                })?;
            }
            for (row, (sum, score)) in (begin..).zip(&window) {
                if *sum == 0 {
                    continue;
                }
                let (mut sum, mut score) = (*sum, *score);
                for ((weight, word), factor) in others.iter_mut().zip(other_factors) {
                    let impact = word.impact(row)?;
                    if impact > 0 {
                        sum = sum.saturating_add(u32::try_from(*weight).unwrap_or(u32::MAX));
                        score = score.saturating_add(factor.saturating_mul(impact));
                    }
                }
                if sum >= weight_min {
                    visit(row, score);
                }
            }
        }
    }

    fn seek(&mut self, row: u32) -> Result<u32, QueryError> {
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
