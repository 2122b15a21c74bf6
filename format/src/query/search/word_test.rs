//! Tests whether a word of a text is a word of a search, where no index answers.

use std::collections::BTreeSet;

use rapidfuzz::distance::osa;

use crate::query::search::forms::{FUZZY_LETTERS_MAX, has_pattern};
use crate::text::analyzer::Languages;

/// A word of a search.
#[derive(Debug)]
pub(super) enum WordTest {
    /// The word as it is written.
    Exact(String),
    /// The stems of the word in all languages.
    Stems(BTreeSet<String>),
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
            false => WordTest::Stems(Languages::ALL.stems(word).into_iter().collect()),
        }
    }

    /// The test of a pattern.
    pub fn of_pattern(pattern: &str) -> WordTest {
        WordTest::Pattern(pattern.chars().collect())
    }

    /// Whether a text has the word, given a form in the text and its stem in the language of the record.
    pub fn accepts(&self, form: &str, stem: &str) -> bool {
        match self {
            WordTest::Exact(word) => form == word,
            WordTest::Stems(stems) => stems.contains(stem),
            WordTest::Pattern(pattern) => has_pattern(form, pattern),
            WordTest::Near(word, edits) => {
                word.chars().count() <= FUZZY_LETTERS_MAX
                    && osa::distance(word.chars(), form.chars()) <= *edits as usize
            }
        }
    }
}
