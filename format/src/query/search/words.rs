//! What the words of a search stand for in a snapshot: terms of the index, within the limits of a search.
//!
//! ```text
//! networks     network (English), networks + mark of Spanish, …      the terms that records of each language have
//! univ         univ, and the terms of university
//! network*     network, networks, networking: words of the snapshot, each with its terms
//! synovitsi    corrected: the terms of synovitis
//! ```

use std::collections::BTreeMap;

use crate::index::full_text::{FormCursor, FormOf, idf};
use crate::query::parse::search::{PhrasePart, Search};
use crate::query::rows::deadline::{Deadline, QueryError};
use crate::query::search::forms::{Found, near, with_pattern};
use crate::query::search::terms::TrueTerms;
use crate::query::search::word_terms::{GroupTerm, WordTerms};
use crate::text::abbreviations::same_words;
use crate::text::analyzer::{Languages, stem_of};

/// The most words that the patterns and the mistyped words of a search stand for.
const EXPANSIONS_MAX: usize = 10_000;

/// The words that patterns and mistyped words stand for: by the pattern, or by the word and its changes.
type Expansions = BTreeMap<(String, Option<u32>), Vec<Found>>;

/// The words of a search in a snapshot.
pub(super) struct Words<'s, 'q> {
    pub search: &'q Search,
    pub index: TrueTerms<'s>,
    pub deadline: Deadline<'s>,
    /// The records that are not suppressed.
    pub records: u64,
    /// The languages of the records.
    languages: Languages,
    expansions_left: usize,
    expansions: Expansions,
    /// By word: the terms, once the word is looked up.
    known: BTreeMap<String, WordTerms<'s>>,
    /// The words of a plain search that also stand for others.
    pub corrections: BTreeMap<String, Vec<Found>>,
}

impl<'s, 'q> Words<'s, 'q> {
    pub fn new(
        search: &'q Search,
        index: TrueTerms<'s>,
        languages: Languages,
        records: u64,
        deadline: Deadline<'s>,
    ) -> Words<'s, 'q> {
        Words {
            search,
            index,
            deadline,
            records,
            languages,
            expansions_left: EXPANSIONS_MAX,
            expansions: BTreeMap::new(),
            known: BTreeMap::new(),
            corrections: BTreeMap::new(),
        }
    }

    /// The inverse document frequency of a word that this many records have.
    pub fn idf(&self, with_word: u64) -> u64 {
        if with_word == 0 { 0 } else { idf(self.records, with_word.min(self.records)) }
    }

    /// The terms of a word: in each language those of its stem, or of the word as it is written in an exact search.
    pub fn own_terms(&mut self, word: &str) -> Result<WordTerms<'s>, QueryError> {
        self.deadline.check()?;
        if let Some(known) = self.known.get(word) {
            return Ok(known.clone());
        }
        let terms = match self.search.is_exact {
            true => self.terms_of_form(&self.index.forms(word)?)?,
            false => self.stemmed_terms(word)?,
        };
        self.known.insert(word.to_owned(), terms.clone());
        Ok(terms)
    }

    fn stemmed_terms(&self, word: &str) -> Result<WordTerms<'s>, QueryError> {
        let names = self.languages.terms(word);
        let found = self.index.terms(&names)?.into_iter();
        let terms = found.map(|(name, of)| {
            let typed = of.term.number_of(name.as_bytes(), word.as_bytes())?;
            Ok(GroupTerm { of, forms: None, typed })
        });
        Ok(WordTerms::of_word(terms.collect::<Result<_, QueryError>>()?))
    }

    /// The terms of a word, of the words that it abbreviates or that abbreviate the word, and of its corrections.
    pub fn terms(&mut self, word: &str) -> Result<WordTerms<'s>, QueryError> {
        let mut terms = self.own_terms(word)?;
        if !self.search.is_exact {
            for other in same_words(word) {
                let mut of_other = self.own_terms(other)?;
                of_other.terms.iter_mut().for_each(|term| term.typed = None);
                terms.add(of_other);
            }
        }
        let corrections = self.corrections.get(word).cloned().unwrap_or_default();
        for Found { terms: of, .. } in corrections {
            let names: Vec<String> = of.into_iter().map(|of| of.stem).collect();
            let found = self.index.terms(&names)?.into_iter();
            let found = found.map(|(_, of)| GroupTerm { of, forms: None, typed: None });
            terms.add(WordTerms::of_word(found.collect()));
        }
        Ok(terms)
    }

    /// The terms of a word of a plain search, and of the joined form of its compound.
    pub fn terms_with_joined(
        &mut self,
        word: &str,
        joined: Option<&str>,
    ) -> Result<WordTerms<'s>, QueryError> {
        let mut terms = self.terms(word)?;
        if let Some(joined) = joined {
            terms.add(self.terms(joined)?);
        }
        Ok(terms)
    }

    pub fn part_terms(&mut self, part: &PhrasePart) -> Result<WordTerms<'s>, QueryError> {
        match part {
            PhrasePart::Word(word) => self.terms(word),
            PhrasePart::Pattern(pattern) => {
                let found = self.pattern(pattern)?;
                self.terms_of_forms(found)
            }
        }
    }

    /// The terms of a word that may be mistyped.
    pub fn fuzzy_terms(&mut self, word: &str, edits: u32) -> Result<WordTerms<'s>, QueryError> {
        let found = self.fuzzy(word, edits)?;
        let mut terms = self.terms(word)?;
        terms.add(self.terms_of_forms(found)?);
        Ok(terms)
    }

    /// The words of a pattern. Scans the forms once.
    pub fn pattern(&mut self, pattern: &str) -> Result<Vec<Found>, QueryError> {
        let key = (pattern.to_owned(), None);
        if let Some(known) = self.expansions.get(&key) {
            return Ok(known.clone());
        }
        let (index, max) = (self.index.index, self.expansions_left + 1);
        let live = |forms: &FormCursor<'_>| self.index.forms_at(forms);
        let (found, count) = with_pattern(index, pattern, max, live, self.deadline)?;
        self.expand(key, found, count)
    }

    /// The words within some changes of a word. Scans the forms once.
    pub fn fuzzy(&mut self, word: &str, edits: u32) -> Result<Vec<Found>, QueryError> {
        let key = (word.to_owned(), Some(edits));
        if let Some(known) = self.expansions.get(&key) {
            return Ok(known.clone());
        }
        let found = self.near(word, edits)?;
        let found: Vec<Found> = found.into_iter().map(|(_, found)| found).collect();
        let count = found.len() as u64;
        self.expand(key, found, count)
    }

    /// The words within some changes of a word, with their distances.
    pub fn near(&self, word: &str, edits: u32) -> Result<Vec<(u32, Found)>, QueryError> {
        let live = |forms: &FormCursor<'_>| self.index.forms_at(forms);
        near(self.index.index, word, edits, live, self.deadline)
    }

    /// Takes the words that a clause stands for off the budget of the search.
    fn expand(
        &mut self,
        clause: (String, Option<u32>),
        found: Vec<Found>,
        count: u64,
    ) -> Result<Vec<Found>, QueryError> {
        let Some(left) = self.expansions_left.checked_sub(count as usize) else {
            let reason = format!(
                "stands for {count} words; all patterns of a search stand for at most {EXPANSIONS_MAX}: write more \
                 letters"
            );
            return Err(QueryError::refused(self.search.parameter, &clause.0, reason));
        };
        self.expansions_left = left;
        self.expansions.insert(clause, found.clone());
        Ok(found)
    }

    /// The terms of one word as it is written.
    pub fn terms_of_form(&self, of: &[FormOf]) -> Result<WordTerms<'s>, QueryError> {
        let mut terms = Vec::with_capacity(of.len());
        for FormOf { stem, number } in of {
            if let Some(of) = self.index.term(stem)? {
                let forms = (of.term.form_count() > 1).then(|| vec![*number]);
                terms.push(GroupTerm { of, forms, typed: None });
            }
        }
        Ok(WordTerms::of_word(terms))
    }

    /// The terms of words, each once, with the forms of all words. The records are those of the most frequent stem, in all
    /// languages.
    pub fn terms_of_forms(&self, found: Vec<Found>) -> Result<WordTerms<'s>, QueryError> {
        let mut numbers: BTreeMap<String, Vec<u16>> = BTreeMap::new();
        for FormOf { stem, number } in found.into_iter().flat_map(|found| found.terms) {
            numbers.entry(stem).or_default().push(number);
        }
        let mut terms = Vec::with_capacity(numbers.len());
        let mut records: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, forms) in &mut numbers {
            forms.sort_unstable();
            if let Some(of) = self.index.term(name)? {
                *records.entry(stem_of(name)).or_default() += of.records;
                let is_part = forms.len() < of.term.form_count();
                let forms = is_part.then(|| std::mem::take(forms));
                terms.push(GroupTerm { of, forms, typed: None });
            }
        }
        let records = records.into_values().max().unwrap_or(0);
        Ok(WordTerms { terms, records, are_disjoint: false })
    }
}
