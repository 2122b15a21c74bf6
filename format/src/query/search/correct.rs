//! Corrects the words of a plain search that no record has, or hardly any.
//!
//! ```text
//! synovitsi   in no record; synovitis in 40, one exchange away    → synovitis
//! alphfold    in no record; alphafold in 1                        → alphafold, since no frequent word is near
//! UCSF, Univ  in capitals, an abbreviation                        stay
//! ```

use std::collections::BTreeSet;

use crate::query::rows::deadline::QueryError;
use crate::query::search::forms::Found;
use crate::query::search::words::Words;
use crate::text::abbreviations::is_abbreviation;
use crate::text::analyzer::{each_compound, is_function_word};

/// Letters from which on a word may be mistyped, and from which on in two places.
const MISTYPED_LETTERS: [usize; 2] = [4, 8];
/// A mistyped word stands for words in more records than this, and in more than four times as many as itself.
const FREQUENT_RECORDS: u64 = 2;
/// The most words that a mistyped word stands for.
const CORRECTIONS_MAX: usize = 8;

impl Words<'_, '_> {
    /// Corrects some of the words of the search. Tells whether any word is corrected.
    pub fn correct<'w>(
        &mut self,
        words: impl Iterator<Item = &'w str>,
    ) -> Result<bool, QueryError> {
        let in_capitals = words_in_capitals(&self.search.text);
        for word in words {
            let stays = self.search.is_exact
                || is_function_word(word)
                || is_abbreviation(word)
                || in_capitals.contains(word);
            if stays || self.corrections.contains_key(word) {
                continue;
            }
            let found = self.corrections_of(word)?;
            if !found.is_empty() {
                self.corrections.insert(word.to_owned(), found);
            }
        }
        Ok(!self.corrections.is_empty())
    }

    /// The nearest frequent words; of a word that no record has, the nearest words of any frequency if no frequent one is
    /// near. The most frequent first.
    fn corrections_of(&mut self, word: &str) -> Result<Vec<Found>, QueryError> {
        let letters = word.chars().count();
        let edits = MISTYPED_LETTERS.iter().filter(|least| letters >= **least).count() as u32;
        let own = self.own_terms(word)?.records;
        if edits == 0 || own > 1 + self.records / 1_000_000 {
            return Ok(Vec::new());
        }
        let mut near = Vec::new();
        for (distance, found) in self.near(word, edits)? {
            let count = self.terms_of_form(&found.terms)?.records;
            let is_frequent = count > FREQUENT_RECORDS.max(4 * own);
            if is_frequent || own == 0 {
                near.push((!is_frequent, distance, u64::MAX - count, found));
            }
        }
        near.sort_by(|a, b| (a.0, a.1, a.2, &a.3.form).cmp(&(b.0, b.1, b.2, &b.3.form)));
        let best = near.first().map(|(is_rare, distance, ..)| (*is_rare, *distance));
        let nearest = near
            .into_iter()
            .take_while(|(is_rare, distance, ..)| Some((*is_rare, *distance)) == best);
        Ok(nearest.map(|(.., found)| found).take(CORRECTIONS_MAX).collect())
    }
}

/// The folded words that a text has in capitals: names, formulas and acronyms.
fn words_in_capitals(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    each_compound(text, |compound| {
        let source = &text[compound.source()];
        if source.chars().any(char::is_uppercase) && !source.chars().any(char::is_lowercase) {
            words.extend(compound.parts().map(str::to_owned));
        }
    });
    words
}
