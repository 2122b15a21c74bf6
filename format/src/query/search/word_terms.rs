//! The terms that a word of a search stands for.

use crate::query::search::terms::TrueTerm;

/// One term of a group.
#[derive(Clone)]
pub(super) struct GroupTerm<'s> {
    pub of: TrueTerm<'s>,
    /// The forms that count; `None` for all forms.
    pub forms: Option<Vec<u16>>,
    /// The number of the form that the search has; `None` if the term has others only.
    pub typed: Option<u16>,
}

/// The terms of a word.
#[derive(Clone, Default)]
pub(super) struct WordTerms<'s> {
    pub terms: Vec<GroupTerm<'s>>,
    /// The records with the word; of several words that stand for each other, those with the most frequent word.
    pub records: u64,
    /// Whether no record has two of the terms, as the terms of one word are of different languages.
    pub are_disjoint: bool,
}

impl<'s> WordTerms<'s> {
    /// The terms of one word in different languages.
    pub fn of_word(terms: Vec<GroupTerm<'s>>) -> WordTerms<'s> {
        let records = terms.iter().map(|term| term.of.records).sum();
        WordTerms { terms, records, are_disjoint: true }
    }

    /// Adds the terms of another word.
    pub fn add(&mut self, other: WordTerms<'s>) {
        if other.terms.is_empty() {
            return;
        }
        self.are_disjoint = self.terms.is_empty() && other.are_disjoint;
        self.records = self.records.max(other.records);
        self.terms.extend(other.terms);
    }
}
