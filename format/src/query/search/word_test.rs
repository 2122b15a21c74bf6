//! Tests whether a word of a text is a word of a search, where no index answers.

use std::collections::BTreeSet;

use rapidfuzz::distance::osa;

use crate::query::search::forms::{FUZZY_LETTERS_MAX, has_pattern};
use crate::text::abbreviations::same_words;
use crate::text::analyzer::Languages;

/// A word of a search.
#[derive(Debug)]
pub(super) enum WordTest {
    /// The word as it is written.
    Exact(String),
    /// The terms of the word in all languages.
    Terms(BTreeSet<String>),
    /// The letters of a pattern.
    Pattern(Vec<char>),
    /// A word, and the greatest number of changes.
    Near(String, u32),
}

impl WordTest {
    /// The test of a word.
    pub fn of_word(word: &str, is_exact: bool) -> WordTest {
        match is_exact {
            true => WordTest::Exact(word.to_owned()),
            false => {
                let mut terms: BTreeSet<String> = Languages::ALL.terms(word).into_iter().collect();
                terms.extend(same_words(word).flat_map(|other| Languages::ALL.terms(other)));
                WordTest::Terms(terms)
            }
        }
    }

    /// The test of a pattern.
    pub fn of_pattern(pattern: &str) -> WordTest {
        WordTest::Pattern(pattern.chars().collect())
    }

    /// Whether a text has the word, given a form in the text and its term in the language of the record.
    pub fn accepts(&self, form: &str, term: &str) -> bool {
        match self {
            WordTest::Exact(word) => form == word,
            WordTest::Terms(terms) => terms.contains(term),
            WordTest::Pattern(pattern) => has_pattern(form, pattern),
            WordTest::Near(word, edits) => {
                word.chars().count() <= FUZZY_LETTERS_MAX
                    && osa::distance(word.chars(), form.chars()) <= *edits as usize
            }
        }
    }
}
