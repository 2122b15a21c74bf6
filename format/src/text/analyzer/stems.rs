//! Stems of folded words, and very frequent words.

use std::{borrow::Cow, cell::RefCell, collections::HashSet, sync::LazyLock};

use super::languages::{LANGUAGES, Language};
use crate::text::fold::fold;

/// Whether a folded word is very frequent in a language that has a stemmer: `the`, `der`, `la`.
pub fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        LANGUAGES.iter().flat_map(|language| language.stop_words.iter().copied()).collect()
    });
    WORDS.contains(word)
}

/// Reduces the inflected forms of a language's words to one stem: `studies` and `study` to `studi`.
///
/// Remembers recent words in [`CACHE_ENTRIES`] entries of 48 bytes, allocated with the first stem. Keep one
/// stemmer for each thread and language.
pub struct Stemmer {
    /// `None` where words stay as they are.
    language: Option<&'static Language>,
    cache: RefCell<Vec<CacheEntry>>,
}

/// Words that a stemmer remembers, at most; a power of two.
const CACHE_ENTRIES: usize = 4096;

/// A word and its stem.
#[derive(Clone, Copy, Default)]
struct CacheEntry {
    word: ShortText,
    stem: ShortText,
}

/// A text of at most 23 bytes; the bytes behind it are 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct ShortText {
    length: u8,
    bytes: [u8; ShortText::BYTES_MAX],
}

impl ShortText {
    const BYTES_MAX: usize = 23;

    fn new(text: &str) -> Option<ShortText> {
        let mut short = ShortText::default();
        short.bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        short.length = text.len() as u8;
        Some(short)
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The place of the text in a cache: FNV-1a, folded to the upper bits.
    fn cache_place(&self) -> usize {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hash = self.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
        (hash >> 32) as usize % CACHE_ENTRIES
    }
}

impl Stemmer {
    /// Returns the stemmer for the ISO 639-1 code of a record's language: that of English where the
    /// language is unknown, and one that changes nothing for languages without a stemmer.
    ///
    /// Only the part before a hyphen counts: `pt-br` is Portuguese.
    pub fn of_language(code: Option<&str>) -> Stemmer {
        let code = code.map_or("en", |code| code.split('-').next().unwrap_or(code));
        let language = LANGUAGES.iter().find(|language| language.codes.contains(&code));
        Stemmer { language, cache: RefCell::default() }
    }

    /// Returns the stem of a folded word. Words with a digit or a sign, as in `covid19` and `c++`, are
    /// their own stems.
    pub fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        let Some(language) = self.language else { return Cow::Borrowed(word) };
        let Some(short) = ShortText::new(word) else { return language.stem(word) };
        let mut cache = self.cache.borrow_mut();
        if cache.is_empty() {
            cache.resize(CACHE_ENTRIES, CacheEntry::default());
        }
        let entry = &mut cache[short.cache_place()];
        if entry.word != short {
            let stem = language.stem(word);
            if let Some(stem) = ShortText::new(&stem) {
                *entry = CacheEntry { word: short, stem };
            }
            return stem;
        }
        let stem = entry.stem.as_bytes();
        if word.as_bytes().starts_with(stem) {
            return Cow::Borrowed(&word[..stem.len()]);
        }
        Cow::Owned(str::from_utf8(stem).expect("entries are whole texts").to_owned())
    }
}

impl Language {
    /// Returns the stem of a folded word, itself folded; never empty unless the word is.
    fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        let is_letters = word.chars().all(char::is_alphabetic);
        if !is_letters {
            return Cow::Borrowed(word);
        }
        let algorithm = snowball_stemmers_rs::Stemmer::create(self.algorithm);
        let changed = |(folded, ending): &(&str, &str)| {
            word.strip_suffix(folded).map(|start| format!("{start}{ending}"))
        };
        let stem = match self.endings.iter().find_map(changed) {
            Some(word) => Cow::Owned(fold(&algorithm.stem(&word))),
            None => algorithm.stem(word),
        };
        if stem.is_empty() { Cow::Borrowed(word) } else { shared(word, stem) }
    }
}

/// Borrows a stem from its word where the stem is the word's beginning.
fn shared<'w>(word: &'w str, stem: Cow<'_, str>) -> Cow<'w, str> {
    match word.starts_with(&*stem) {
        true => Cow::Borrowed(&word[..stem.len()]),
        false => Cow::Owned(stem.into_owned()),
    }
}

/// Returns the stems of a folded word in every language, in ascending order and without duplicates. The
/// word itself is among them, as the stem in languages without a stemmer.
pub fn all_stems(word: &str) -> Vec<String> {
    let stems = LANGUAGES.iter().map(|language| language.stem(word).into_owned());
    let mut stems: Vec<String> = stems.chain([word.to_owned()]).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
}
