//! The analyzer of the full-text search: from a text, of a record or of a query, to folded words.
//!
//! ```text
//! COVID-19 in <i>E. coli</i>: H$_2$O  →  covid 19 (joined covid19) · in · e · coli · h2o
//! ```
//!
//! - Letters fold as in [`fold`](super::fold). Hyphens and apostrophes between letters join the
//!   parts of a [`Compound`]; every other sign separates compounds.
//! - A decimal point separates too: `3.14` is `3` and `14`, so that every number of `10.1000/182`,
//!   `12.05.2020` and `see 2019.3` is found.
//! - `C++`, `C#`, `.NET` and `R&D` are one word each. A single letter takes the signs, so that the
//!   calcium of `Ca++` is `ca`.
//! - A single Greek letter, and Greek letters beside Latin ones, become their names: `TNFα` is
//!   `tnfalpha`. Greek words stay.
//! - Texts in Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese become overlapping pairs of
//!   characters. Korean has spaces, but a pair of syllables is often a word with an ending.
//! - Tags and LaTeX vanish, and character entities become characters. Bold and italic words
//!   separate from the letters around them: `An<i>in vitro</i>test` is four words.
//!
//! Cost: one pass over the text.

mod greek;
mod languages;
mod markup;
mod scanner;
mod stems;

use std::ops::Range;

use self::scanner::{PART_BYTES_MAX, Scanner};
pub use self::stems::{Languages, Stemmer, is_function_word, is_stop_word, stem_of};
use super::fold;

/// The version of the analyzer. The schema hash of snapshots includes the version, because snapshots
/// store words and stems.
///
/// Every change of a word, a stem, a stop word or the version of the stemming crate raises the version.
pub const ANALYZER_VERSION: u32 = 2;

/// The words of a text that no space separates: `COVID-19`, `L'État`, `学习方法`.
#[derive(Default)]
pub struct Compound {
    /// The folded parts, one behind the other.
    text: String,
    /// Where the parts stand in `text`. The parts of an unspaced script overlap.
    parts: Vec<Range<usize>>,
    is_unspaced: bool,
    source: Range<usize>,
}

impl Compound {
    /// The folded words, in order; each takes one position: `covid`, `19`.
    ///
    /// In a script without spaces: overlapping pairs of characters, or the only character.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| &self.text[part.clone()])
    }

    /// The number of parts, at least 1.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// The parts as one word, where hyphens or apostrophes join two or more: `covid19`.
    ///
    /// `None` for ranges of numbers, such as `271-280`, and in scripts without spaces.
    pub fn joined(&self) -> Option<&str> {
        let is_joined = !self.is_unspaced && self.parts.len() > 1;
        let is_range = || self.text.bytes().all(|byte| byte.is_ascii_digit());
        (is_joined && !is_range()).then(|| fold::cut(&self.text, PART_BYTES_MAX))
    }

    /// Whether the compound is of a script without spaces, whose parts overlap.
    pub fn is_unspaced(&self) -> bool {
        self.is_unspaced
    }

    /// The bytes of the analyzed text that the compound stands in, from its first letter to its last. Markup
    /// between letters is included.
    pub fn source(&self) -> Range<usize> {
        self.source.clone()
    }
}

/// Visits the compounds of a text, in order.
///
/// The compound is reused: a word allocates only while it is longer than all words before.
pub fn each_compound(text: &str, visit: impl FnMut(&Compound)) {
    Scanner::new(text, visit).run();
}

#[cfg(test)]
mod tests;
