//! The records that have any of some terms, and the impact of the greatest in each.
//!
//! One term is read as it is decoded. A few terms are merged stretch by stretch, many by a heap. Positions are read only where
//! fields or forms count, and for phrases.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use crate::index::full_text::{Amended, AmendedPosting, NO_ROW, Postings};
use crate::query::rows::deadline::{Deadline, PacedDeadline, QueryError};
use crate::query::search::common_rows::CommonRows;
use crate::query::search::terms::TrueTerm;
use crate::query::search::word_terms::{GroupTerm, WordTerms};
use crate::schema::texts::{ANY_FIELD, Field};
use crate::storage::error::ReadError;

/// Time of a posting that is read one after another.
pub(super) const POSTING_NANOSECONDS: u64 = 2;
/// Terms up to which the row of a group is the least of all; with more, a heap finds it. A word has a term for each language.
const SCANNED_TERMS_MAX: usize = 32;

/// A word of a search, and the joined form of the compound that it is a part of.
pub(super) type SearchWord = (String, Option<String>);

/// The postings of a term of a group.
struct OpenTerm<'s> {
    postings: Postings<'s>,
    forms: Option<Vec<u16>>,
    /// The number of the form that the search has.
    typed: Option<u16>,
    /// The number of forms.
    form_count: usize,
    /// The postings that change, because suppressed names are left out.
    amended: Option<Arc<Amended>>,
}

impl OpenTerm<'_> {
    /// Finds the changed posting of a row, as [`Amended::of`] does.
    #[inline]
    fn amended(&self, row: u32) -> Option<Option<&AmendedPosting>> {
        self.amended.as_ref()?.of(row)
    }

    /// Calls `visit` with the position of each occurrence that counts in a field of the current record.
    fn each_position(&mut self, field: Field, mut visit: impl FnMut(u32)) -> Result<(), ReadError> {
        let OpenTerm { postings, forms, amended, .. } = self;
        let counts = |form| forms.as_ref().is_none_or(|forms| forms.binary_search(&form).is_ok());
        if let Some(posting) = amended.as_ref().and_then(|amended| amended.of(postings.row())) {
            let places = posting.iter().flat_map(|posting| &posting.places);
            let of_field = places.filter(|(of, _, form)| *of == field && counts(*form));
            of_field.for_each(|(_, position, _)| visit(*position));
            return Ok(());
        }
        postings.each_occurrence(field, |position, form| {
            if counts(form) {
                visit(position);
            }
        })
    }
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
    exact_count: Option<u64>,
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
    rows: Vec<u32>,
    /// The greatest impact at each row.
    impacts: Vec<u32>,
    /// The place of the current row.
    at: usize,
    /// Rows and impacts while they are sorted: the row in the upper half, in the lower the complement of the impact.
    unsorted: Vec<u64>,
}

impl Merged {
    fn row(&self) -> u32 {
        self.rows.get(self.at).copied().unwrap_or(NO_ROW)
    }

    /// Moves to the first row at or after `row`, and tells whether it is among the merged ones.
    #[inline]
    fn seek(&mut self, row: u32) -> bool {
        match self.rows.last() {
            Some(last) if *last >= row => {
                while self.rows[self.at] < row {
                    self.at += 1;
                }
                true
            }
            _ => false,
        }
    }

    /// Merges the decoded postings of terms that stand at a row or after it.
    fn fill(&mut self, terms: &mut [OpenTerm<'_>]) {
        let Merged { rows, impacts, at, unsorted } = self;
        *at = 0;
        unsorted.clear();
        let last = terms.iter().map(|term| term.postings.decoded_last()).min().unwrap_or(NO_ROW);
        let mut sources = 0;
        for OpenTerm { postings, .. } in terms {
            let before = unsorted.len();
            let (rows, impacts) = postings.decoded();
            let count = rows.partition_point(|row| *row <= last);
            let decoded = rows[..count].iter().zip(impacts);
            unsorted
                .extend(decoded.map(|(row, impact)| u64::from(*row) << 32 | u64::from(!impact)));
            sources += usize::from(unsorted.len() > before);
        }
        if sources > 1 {
            // Merges the rows of the terms, which ascend.
            unsorted.sort();
            // Of equal rows the greatest impact comes first.
            unsorted.dedup_by_key(|posting| *posting >> 32);
        }
        rows.clear();
        rows.extend(unsorted.iter().map(|posting| (posting >> 32) as u32));
        impacts.clear();
        impacts.extend(unsorted.iter().map(|posting| !(*posting as u32)));
    }
}

impl<'s> Group<'s> {
    pub fn new(
        WordTerms { terms, are_disjoint, .. }: WordTerms<'s>,
        fields: u8,
        deadline: Deadline<'s>,
    ) -> Result<Group<'s>, QueryError> {
        let is_partial = |term: &GroupTerm<'_>| term.forms.is_some() || term.of.amended.is_some();
        let is_checked = fields != ANY_FIELD || terms.iter().any(is_partial);
        let is_known = !is_checked && (are_disjoint || terms.len() == 1);
        let exact_count = is_known.then(|| terms.iter().map(|term| term.of.records).sum());
        let open =
            |GroupTerm { of: TrueTerm { term, amended, .. }, forms, typed }: GroupTerm<'s>| {
                let (postings, form_count) = (term.postings()?, term.form_count());
                Ok(OpenTerm { postings, forms, typed, form_count, amended })
            };
        let terms = terms.into_iter().map(open).collect::<Result<Vec<_>, ReadError>>()?;
        let (heap, pace) = (BinaryHeap::new(), deadline.paced());
        let merged = Merged::default();
        let word = None;
        let mut group =
            Group { word, terms, fields, is_checked, exact_count, heap, merged, row: 0, pace };
        group.begin()?;
        Ok(group)
    }

    /// Moves to the first record; the terms are at their first postings.
    fn begin(&mut self) -> Result<(), QueryError> {
        if self.terms.len() > SCANNED_TERMS_MAX {
            let rows = self.terms.iter().map(|term| term.postings.row());
            self.heap = rows.zip(0..).map(Reverse).collect();
        }
        if self.is_merged() {
            self.merged.fill(&mut self.terms);
        }
        self.row = self.least_row();
        self.settle()
    }

    /// Moves back to the first record.
    pub fn rewind(&mut self) -> Result<(), QueryError> {
        self.terms.iter_mut().try_for_each(|term| term.postings.rewind())?;
        self.begin()
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

    /// Whether the group may score a word.
    pub fn is_of(&self, word: &SearchWord) -> bool {
        self.word.as_ref() == Some(word)
    }

    /// The number of records that are not suppressed, if it is known before they are read: of terms that count everywhere,
    /// of which no record has two.
    pub fn exact_count(&self) -> Option<u64> {
        self.exact_count
    }

    /// An upper bound of the records.
    pub fn count_max(&self) -> u64 {
        self.terms.iter().map(|term| u64::from(term.postings.count())).sum()
    }

    /// The bytes of the positions of all records.
    pub fn positions_bytes(&self) -> usize {
        self.terms.iter().map(|term| term.postings.positions_bytes()).sum()
    }

    /// Asks for the positions of all records at once.
    pub fn fetch_positions(&self) {
        self.terms.iter().for_each(|term| term.postings.fetch_positions());
    }

    /// About how many nanoseconds it takes to read all records.
    pub fn nanoseconds(&self) -> u64 {
        self.count_max() * POSTING_NANOSECONDS
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
    fn seek_terms(&mut self, row: u32) -> Result<(), QueryError> {
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
                self.pace.step()?;
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
        for term in terms {
            if term.postings.row() != *row {
                continue;
            }
            if term.forms.is_none() && *fields == ANY_FIELD {
                match term.amended(*row) {
                    Some(None) => continue,
                    _ => return Ok(true),
                }
            }
            for field in Field::of_set(*fields) {
                let mut counts = false;
                term.each_position(field, |_| counts = true)?;
                if counts {
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
            return self.merged.impacts.get(self.merged.at).copied().unwrap_or(0);
        }
        let (row, mut greatest) = (self.row, 0);
        for term in &mut self.terms {
            if term.postings.row() == row {
                let left = term.amended(row);
                let left = left.map(|left| left.map_or(0, |posting| posting.impact));
                greatest = greatest.max(left.unwrap_or_else(|| term.postings.impact()));
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
        while self.row < end {
            if let Some((rows, impacts)) = self.stretch() {
                let count = rows.partition_point(|row| *row < end);
                for (row, impact) in rows[..count].iter().zip(impacts) {
                    visit(*row, *impact);
                }
                self.pass(count)?;
                continue;
            }
            let row = self.row;
            visit(row, self.current_impact());
            self.seek(row + 1)?;
        }
        Ok(())
    }

    /// The rows from the current one on that are decoded, if all of them count.
    #[inline]
    fn rows(&self) -> Option<&[u32]> {
        match self.terms.as_slice() {
            _ if self.is_merged() => Some(&self.merged.rows[self.merged.at..]),
            [only] if !self.is_checked => Some(only.postings.decoded_rows()),
            _ => None,
        }
    }

    /// The same rows, and their impacts.
    #[inline]
    pub fn stretch(&mut self) -> Option<(&[u32], &[u32])> {
        if self.is_merged() {
            let Merged { rows, impacts, at, .. } = &self.merged;
            return Some((&rows[*at..], &impacts[*at..]));
        }
        match self.terms.as_mut_slice() {
            [only] if !self.is_checked => Some(only.postings.decoded()),
            _ => None,
        }
    }

    /// The postings of the group, if it has one term that counts everywhere.
    #[inline]
    pub fn only_postings(&mut self) -> Option<&mut Postings<'s>> {
        match self.terms.as_mut_slice() {
            [only] if !self.is_checked => Some(&mut only.postings),
            _ => None,
        }
    }

    /// Passes over some rows of the stretch.
    #[inline]
    pub fn pass(&mut self, count: usize) -> Result<(), QueryError> {
        if self.is_merged() {
            self.merged.at += count;
            if self.merged.row() == NO_ROW {
                let after = self.merged.rows.last().map_or(self.row, |last| last + 1);
                return self.seek_terms(after);
            }
            self.row = self.merged.row();
        } else if let [only] = self.terms.as_mut_slice() {
            only.postings.pass(count)?;
            self.row = only.postings.row();
        }
        Ok(())
    }

    /// Collects the rows from `row` on that two groups have, as far as the postings of both are decoded. Returns the row from
    /// which on others may follow; `None` of groups of which only some rows count.
    ///
    /// ```text
    /// deep      3  9  17 |40        17 ends the stretch of deep: others may follow from 18 on
    /// learning  3  12 17  41 |      3 and 17 are common
    /// ```
    ///
    /// The other group should be the more frequent one.
    pub fn collect_common(
        &mut self,
        other: &mut Group<'s>,
        row: u32,
        into: &mut CommonRows,
    ) -> Result<Option<u32>, QueryError> {
        into.rows.clear();
        let row = self.seek(row)?;
        let row = other.seek(row)?;
        if self.seek(row)? == NO_ROW {
            return Ok(Some(NO_ROW));
        }
        let Some((rows, others)) = self.rows().zip(other.rows()) else { return Ok(None) };
        let last = rows[rows.len() - 1].min(others[others.len() - 1]);
        let rows = &rows[..rows.partition_point(|row| *row <= last)];
        into.collect(rows, others);
        Ok(Some(last.saturating_add(1)))
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

    /// The fields of the current record that have a term, in any form; a bit each.
    pub fn fields(&mut self) -> Result<u8, ReadError> {
        let mut fields = 0;
        for term in &mut self.terms {
            // The terms of merged postings may stand before the current row.
            term.postings.seek(self.row)?;
            if term.postings.row() == self.row {
                fields |= match term.amended(self.row) {
                    Some(left) => left.map_or(0, AmendedPosting::fields),
                    None => term.postings.fields()?,
                };
            }
        }
        Ok(fields)
    }

    /// Whether the current record has the form of the search.
    pub fn is_typed(&mut self) -> Result<bool, ReadError> {
        for term in &mut self.terms {
            let Some(typed) = term.typed else { continue };
            // The terms of merged postings may stand before the current row.
            term.postings.seek(self.row)?;
            if term.postings.row() != self.row {
                continue;
            }
            if let Some(left) = term.amended(self.row) {
                let mut places = left.iter().flat_map(|posting| &posting.places);
                if places.any(|(_, _, form)| *form == typed) {
                    return Ok(true);
                }
                continue;
            }
            if term.form_count == 1 || term.postings.has_form(typed)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Appends the positions of the terms in a field of the current record, ascending.
    pub fn positions(&mut self, field: Field, into: &mut Vec<u32>) -> Result<(), ReadError> {
        let Group { terms, row, .. } = self;
        let first = into.len();
        for term in terms {
            // The terms of merged postings may stand before the current row.
            term.postings.seek(*row)?;
            if term.postings.row() == *row {
                term.each_position(field, |position| into.push(position))?;
            }
        }
        if self.terms.len() > 1 {
            into[first..].sort_unstable();
        }
        Ok(())
    }
}

/// Moves all of some groups or matchers to the first row at or after `row` at which all of them are.
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
