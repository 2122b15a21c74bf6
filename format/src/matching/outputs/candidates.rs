//! The outputs that share the rarest words of a citation.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::entity::Entity;
use crate::index::full_text::{IDF_STEPS, NO_ROW, idf};
use crate::matching::citation::Citation;
use crate::query::{Deadline, QueryError, TrueTerm, TrueTerms};
use crate::snapshot::Snapshot;
use crate::storage::ReadError;
use crate::text::analyzer::Languages;

/// Records that are read.
pub(super) const READ_MAX: usize = 20;
/// Postings of the rarest words that are read whole; the lists of other words are looked into at the rows found.
const POSTINGS_MAX: u64 = 4_000;
/// Rows found by the rarest words for which the lists of other words are looked into.
const ROWS_MAX: usize = 200;
/// Words of a citation that are looked up, the rarest first.
const RARE_WORDS_MAX: usize = 24;
/// Languages of a word whose lists are looked into: the word is most frequent there.
const TERMS_LOOKED_UP: usize = 2;

/// A citation whose words are looked up.
pub(super) struct Cited<'q, 's> {
    pub(super) citation: &'q Citation,
    /// By word: the terms, and the bits that the word tells.
    pub(super) terms: Vec<Vec<TrueTerm<'s>>>,
    pub(super) bits: Vec<f32>,
    pub(super) places: HashMap<&'q str, Vec<usize>>,
    /// The binary logarithm of the records.
    pub(super) records_bits: f32,
}

impl<'q, 's> Cited<'q, 's> {
    pub(super) fn new(
        citation: &'q Citation,
        index: TrueTerms<'s>,
        snapshot: &Snapshot,
    ) -> Result<Cited<'q, 's>, QueryError> {
        let records = u64::from(snapshot.visible_count(Entity::Output)).max(1);
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        let (mut terms, mut bits) = (Vec::new(), Vec::new());
        for (at, word) in citation.words.iter().enumerate() {
            let known = places.entry(&word.text).or_default();
            known.push(at);
            let mut of_word: Vec<TrueTerm<'s>> = Vec::new();
            let mut with_word = 0;
            if known.len() == 1 && !word.is_stop {
                let forms = index.forms(&word.text);
                if forms.is_err() && snapshot.is_lacking() {
                    // The stems of the languages are most of the terms that the form will name.
                    let _ = index.terms(&Languages::ALL.terms(&word.text));
                }
                for form in snapshot.or_noted(forms)? {
                    of_word.extend(snapshot.or_noted(index.term(&form.stem))?);
                }
                with_word = of_word.iter().map(|term| term.records).max().unwrap_or(0);
            }
            terms.push(of_word);
            bits.push(match with_word {
                0 => 0.0,
                with_word => idf(records, with_word.min(records)) as f32 / IDF_STEPS as f32,
            });
        }
        Ok(Cited { citation, terms, bits, places, records_bits: (records as f32).log2() })
    }

    /// The rows with most of the rare words, the best first.
    pub(super) fn rows(
        &self,
        snapshot: &Snapshot,
        deadline: Deadline<'_>,
    ) -> Result<Vec<u32>, QueryError> {
        let words = self.rarest_words();
        let suppressed = snapshot.suppressed();
        let has = |term: &TrueTerm<'_>, row| {
            !suppressed.has(Entity::Output, row) && !term.is_removed(row)
        };
        let mut found: HashMap<u32, f32> = HashMap::new();
        let mut left = POSTINGS_MAX;
        let mut others = words.as_slice();
        while let Some((word, rest)) = others.split_first()
            && word.terms.iter().map(|term| term.records).sum::<u64>() <= left
        {
            for term in &word.terms {
                left -= term.records;
                let mut add = || -> Result<(), ReadError> {
                    let mut postings = term.term.postings()?;
                    postings.each_below(NO_ROW, |row, _| {
                        if has(term, row) {
                            *found.entry(row).or_default() += word.bits;
                        }
                    })
                };
                snapshot.or_noted(add())?;
            }
            others = rest;
        }
        if found.is_empty() {
            rows_of_frequent(others, &mut found, has, deadline)?;
        }
        let mut rows: Vec<(u32, f32)> = found.into_iter().collect();
        best_first(&mut rows, ROWS_MAX);
        // Ascending, since postings are read in the order of rows.
        rows.sort_unstable_by_key(|(row, _)| *row);
        for word in others {
            for term in word.terms.iter().take(TERMS_LOOKED_UP) {
                deadline.check()?;
                let mut look_up = || -> Result<(), ReadError> {
                    let mut postings = term.term.postings()?;
                    for (row, sum) in &mut rows {
                        postings.seek(*row)?;
                        if postings.row() == *row && has(term, *row) {
                            *sum += word.bits;
                        }
                    }
                    Ok(())
                };
                snapshot.or_noted(look_up())?;
            }
        }
        best_first(&mut rows, READ_MAX);
        Ok(rows.into_iter().map(|(row, _)| row).collect())
    }

    /// The rarest words, the rarest first. A word is as frequent as it is in the language that has it most: what it is in
    /// other languages of the snapshot changes nothing.
    fn rarest_words(&self) -> Vec<RareWord<'_, 's>> {
        let mut words: Vec<RareWord<'_, 's>> = Vec::with_capacity(self.terms.len());
        for (of_word, bits) in self.terms.iter().zip(&self.bits).filter(|(of, _)| !of.is_empty()) {
            let mut terms: Vec<&TrueTerm<'s>> = of_word.iter().collect();
            terms.sort_by_key(|term| Reverse(term.records));
            words.push(RareWord { bits: *bits, terms });
        }
        words.sort_by_key(|word| word.terms.first().map(|term| term.records));
        words.truncate(RARE_WORDS_MAX);
        words
    }
}

/// A word of a citation that records have.
struct RareWord<'c, 's> {
    /// The bits that the word tells.
    bits: f32,
    /// The word in each language, the most frequent first.
    terms: Vec<&'c TrueTerm<'s>>,
}

/// Finds the rows that have the two rarest of frequent words, within a bounded number of steps.
fn rows_of_frequent<'s>(
    words: &[RareWord<'_, 's>],
    found: &mut HashMap<u32, f32>,
    has: impl Fn(&TrueTerm<'s>, u32) -> bool,
    deadline: Deadline<'_>,
) -> Result<(), QueryError> {
    let mut terms = words.iter().filter_map(|word| Some((word.bits, *word.terms.first()?)));
    let Some((bits, rare_term)) = terms.next() else { return Ok(()) };
    let mut rare = rare_term.term.postings()?;
    let Some((other_bits, other_term)) = terms.next() else {
        // The first rows are the most cited.
        while rare.row() != NO_ROW && found.len() < READ_MAX {
            if has(rare_term, rare.row()) {
                found.insert(rare.row(), bits);
            }
            rare.advance()?;
        }
        return Ok(());
    };
    let mut other = other_term.term.postings()?;
    for step in 0..4 * POSTINGS_MAX {
        if rare.row() == NO_ROW || other.row() == NO_ROW {
            break;
        }
        if step % 1_024 == 0 {
            deadline.check()?;
        }
        if rare.row() == other.row() {
            if has(rare_term, rare.row()) && has(other_term, rare.row()) {
                found.insert(rare.row(), bits + other_bits);
            }
            rare.advance()?;
        } else if rare.row() < other.row() {
            rare.seek(other.row())?;
        } else {
            other.seek(rare.row())?;
        }
    }
    Ok(())
}

/// Keeps the rows with the greatest sums, the best first.
pub(in crate::matching) fn best_first(rows: &mut Vec<(u32, f32)>, count: usize) {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if count < rows.len() {
        rows.select_nth_unstable_by(count, order);
        rows.truncate(count);
    }
    rows.sort_unstable_by(order);
}
