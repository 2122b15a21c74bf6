//! Stems of folded words, and very frequent words.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use super::languages::{LANGUAGES, Language};
use crate::text::fold::fold;

/// English words that questions are made of, ascending. They are no stop words: a search of few words requires them.
const QUESTION_WORDS: [&str; 104] = [
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "also",
    "am",
    "any",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doing",
    "done",
    "during",
    "each",
    "either",
    "few",
    "find",
    "further",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "him",
    "his",
    "how",
    "i",
    "if",
    "interested",
    "into",
    "just",
    "like",
    "may",
    "me",
    "might",
    "more",
    "most",
    "must",
    "my",
    "no",
    "nor",
    "not",
    "now",
    "off",
    "once",
    "only",
    "onto",
    "other",
    "our",
    "out",
    "over",
    "own",
    "same",
    "shall",
    "she",
    "should",
    "so",
    "some",
    "such",
    "than",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "those",
    "through",
    "too",
    "under",
    "until",
    "up",
    "upon",
    "us",
    "very",
    "we",
    "what",
    "when",
    "where",
    "whether",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "without",
    "would",
    "you",
    "your",
];

/// Whether a folded word says nothing of the subject of a question: a stop word, or one of a list of pronouns,
/// auxiliary verbs and the like.
pub fn is_function_word(word: &str) -> bool {
    QUESTION_WORDS.binary_search(&word).is_ok() || is_stop_word(word)
}

/// Whether a folded word is very frequent in a language that has a stemmer: `the`, `der`, `la`.
pub fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        LANGUAGES.iter().flat_map(|language| language.stop_words.iter().copied()).collect()
    });
    WORDS.contains(word)
}

/// Reduces the inflected forms of a language's words to one stem: `studies` and `study` to `studi`.
///
/// Cost: about a microsecond for each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stemmer {
    /// The number of the language; `None` where words stay as they are.
    language: Option<u8>,
}

impl Stemmer {
    /// Returns the stemmer for the ISO 639-1 code of a record's language: that of English where the
    /// language is unknown, and one that changes nothing for languages without a stemmer.
    ///
    /// Only the part before a hyphen counts: `pt-br` is Portuguese.
    pub fn of_language(code: Option<&str>) -> Stemmer {
        Stemmer { language: number_of(code).map(|number| number as u8) }
    }

    /// Returns a number that differs from the numbers of the other stemmers.
    pub fn number(self) -> u8 {
        self.language.unwrap_or(u8::MAX)
    }

    /// Returns the stem of a folded word. Words with a digit or a sign, as in `covid19` and `c++`, are
    /// their own stems.
    pub fn stem(self, word: &str) -> Cow<'_, str> {
        match self.language {
            Some(number) => LANGUAGES[usize::from(number)].stem(word),
            None => Cow::Borrowed(word),
        }
    }
}

impl Language {
    /// Returns the stem of a folded word. Stems are folded, and only the empty word's is empty.
    fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        let is_letters = word.chars().all(char::is_alphabetic);
        if !is_letters {
            return Cow::Borrowed(word);
        }
        let algorithm = snowball_stemmers_rs::Stemmer::create(self.algorithm);
        let changed = |(folded, ending): &(&str, &str)| {
            word.strip_suffix(folded).map(|start| format!("{start}{ending}"))
        };
        let restored = self.endings.iter().find_map(changed);
        let stem = algorithm.stem(restored.as_deref().unwrap_or(word));
        match word.starts_with(&*stem) {
            true if stem.is_empty() => Cow::Borrowed(word),
            true => Cow::Borrowed(&word[..stem.len()]),
            // Algorithms write accents too: that of Turkish ends `agac` in `ç`.
            false => Cow::Owned(fold(&stem)),
        }
    }
}

/// Languages of records, by whose rules the words of a search are stemmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Languages(u64);

impl Languages {
    /// All languages with a stemmer.
    pub const ALL: Languages = Languages(u64::MAX);

    /// The languages with these codes, and English, by which texts of an unknown language are stemmed.
    pub fn of_codes<'c>(codes: impl Iterator<Item = &'c str>) -> Languages {
        let codes = codes.map(Some).chain([None]);
        let bits = codes.filter_map(number_of).map(|number| 1 << number);
        Languages(bits.fold(0, |all, bit| all | bit))
    }

    fn each(self) -> impl Iterator<Item = &'static Language> {
        let all = LANGUAGES.iter().enumerate();
        all.filter(move |(number, _)| self.0 >> number & 1 == 1).map(|(_, language)| language)
    }

    /// The stems of a folded word in these languages, in ascending order and without duplicates. The word itself is among
    /// them, as the stem in languages without a stemmer.
    pub fn stems(self, word: &str) -> Vec<String> {
        let stems = self.each().map(|language| language.stem(word).into_owned());
        let mut stems: Vec<String> = stems.chain([word.to_owned()]).collect();
        stems.sort_unstable();
        stems.dedup();
        stems
    }

    /// Whether two folded words have one stem in one of these languages, so that one may be an inflection of the other.
    ///
    /// ```text
    /// networks, network      the English stem of both is network
    /// synovitsi, synovitis   the Finnish stem of one and the English stem of the other is synov; no language has one for both
    /// ```
    pub fn have_inflection(self, word: &str, other: &str) -> bool {
        word == other || self.each().any(|language| language.stem(word) == language.stem(other))
    }
}

/// The number of the language with a code, of English without a code.
fn number_of(code: Option<&str>) -> Option<usize> {
    let code = code.map_or("en", |code| code.split('-').next().unwrap_or(code));
    LANGUAGES.iter().position(|language| language.codes.contains(&code))
}
