//! Stems of folded words, and very frequent words.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use super::languages::{LANGUAGES, Language, Script};
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

/// Reduces the inflected forms of a language's words to one term: `studies` and `study` to `studi`.
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

    /// Returns the term of a folded word: the stem, and behind it the mark of the language. The terms of two words are equal
    /// if both have one stem in one language.
    ///
    /// ```text
    /// networks   English, or unknown: network      Spanish: networks + mark of Spanish
    ///            no stemmer, or another script:    networks + mark of no language
    /// covid19    any language: covid19             сети in English: сети      网络 in any language: 网络
    /// ```
    ///
    /// The stem of a word with a digit or a sign, or of a script without a stemmer, is the word in all languages, and has no
    /// mark. English terms have none either, since most records are English.
    pub fn term(self, word: &str) -> Cow<'_, str> {
        let Some(script) = Script::of(word) else { return Cow::Borrowed(word) };
        let language =
            self.language.filter(|number| LANGUAGES[usize::from(*number)].script == script);
        match language {
            Some(number) if LANGUAGES[usize::from(number)].codes == ["en"] => {
                LANGUAGES[usize::from(number)].stem(word)
            }
            Some(number) => marked(&LANGUAGES[usize::from(number)].stem(word), number + 1),
            None if script == Script::Latin => marked(word, NO_LANGUAGE),
            None => Cow::Borrowed(word),
        }
    }
}

/// The mark of a Latin word that is its own stem, because its language has no stemmer or another script.
const NO_LANGUAGE: u8 = b' ' - 1;
const _: () = assert!(LANGUAGES.len() < NO_LANGUAGE as usize);

/// Appends a mark, which sorts before all letters: the terms of a stem are neighbours.
fn marked<'w>(stem: &str, mark: u8) -> Cow<'w, str> {
    Cow::Owned(format!("{stem}{}", char::from(mark)))
}

/// The stem of a term, without the mark of its language.
pub fn stem_of(term: &str) -> &str {
    term.trim_end_matches(|c| c < ' ')
}

impl Language {
    /// Returns the stem of a folded word of letters. Stems are folded, and only the empty word's is empty.
    fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
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

    /// The terms of a folded word in records of these languages, and of languages without a stemmer; ascending, without
    /// duplicates.
    pub fn terms(self, word: &str) -> Vec<String> {
        let languages = (0..LANGUAGES.len() as u8).filter(|number| self.0 >> number & 1 == 1);
        let languages = languages.map(Some).chain([None]);
        let mut terms: Vec<String> =
            languages.map(|language| Stemmer { language }.term(word).into_owned()).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }
}

/// The number of the language with a code, of English without a code.
fn number_of(code: Option<&str>) -> Option<usize> {
    let code = code.map_or("en", |code| code.split('-').next().unwrap_or(code));
    LANGUAGES.iter().position(|language| language.codes.contains(&code))
}
