//! Words that a thread has met, with their stems and the forms of each stem. A stem has the mark of its language here.
//!
//! ```text
//! "networks" in English → stem 3, form 1      stem 3: "network"   forms "network", "networks"
//! ```
//!
//! A vocabulary outlives batches, so that a word is stemmed once for many records. Cost of a known word: one probe of a
//! table that holds the words themselves, and one miss of the cache if the word is rare.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use pinakes_format::storage::leb128;
use pinakes_format::text::analyzer::Stemmer;

use crate::link::index::full_text::{first_bytes, take_text};

/// Words in languages, and their stems. Stems and forms are numbered as they are first met.
#[derive(Default)]
pub(super) struct Vocabulary {
    words: HashTable<(Key, Word)>,
    long_words: HashMap<(Stemmer, String), Word, RandomState>,
    stems: Vec<Stem>,
    known_stems: HashTable<u32>,
    /// The stems with their first bytes, ascending by text. New stems are missing.
    order: Vec<(u64, u32)>,
    /// The words to look up, each with the number that [`Vocabulary::push`] got.
    pending: Vec<(Key, Stemmer, u32)>,
    hasher: RandomState,
}

/// The number of a word's stem, and of the word among the stem's forms.
#[derive(Clone, Copy, Default)]
pub(super) struct Word {
    pub stem: u32,
    pub form: u32,
}

/// The longest word of a key.
const TEXT_BYTES: usize = 23;

/// Memory of a word, with its share of a stem, about.
const WORD_BYTES: usize = 160;

/// A word in a language: 23 bytes of text, with zeros behind a shorter word, and the number of the stemmer.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key(u64, u64, u64);

impl Key {
    /// `None` of a longer word. Folded words have no zero bytes.
    fn new(text: &str, stemmer: Stemmer) -> Option<Key> {
        let mut bytes = [0; 24];
        bytes[..TEXT_BYTES].get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        bytes[TEXT_BYTES] = stemmer.number();
        let (chunks, _) = bytes.as_chunks();
        Some(Key(
            u64::from_le_bytes(chunks[0]),
            u64::from_le_bytes(chunks[1]),
            u64::from_le_bytes(chunks[2]),
        ))
    }

    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let (chunks, _) = bytes.as_chunks_mut();
        chunks.copy_from_slice(&[self.0, self.1, self.2].map(u64::to_le_bytes));
        bytes
    }
}

/// A stem and its forms.
pub(super) struct Stem {
    /// The stem, and behind it for each form the form's length and the form: side by side in the cache.
    bytes: Vec<u8>,
    text_bytes: u32,
    pub form_count: u32,
}

impl Vocabulary {
    /// Looks up a long word, in the language of a stemmer. Keeps any other word for [`Vocabulary::each_pending`], which
    /// names the word by `at`, and returns `None`.
    pub fn push(&mut self, text: &str, stemmer: Stemmer, at: u32) -> Option<Word> {
        if let Some(key) = Key::new(text, stemmer) {
            self.pending.push((key, stemmer, at));
            return None;
        }
        let key = (stemmer, text.to_owned());
        if let Some(known) = self.long_words.get(&key) {
            return Some(*known);
        }
        let word = self.new_word(text, stemmer);
        self.long_words.insert(key, word);
        Some(word)
    }

    /// Looks up the words that were kept. A loop without other work overlaps the misses of the cache.
    pub fn each_pending(&mut self, mut visit: impl FnMut(u32, Word)) {
        let mut pending = std::mem::take(&mut self.pending);
        for (key, stemmer, at) in pending.drain(..) {
            let hash = self.hasher.hash_one(key);
            let known = self.words.find(hash, |(known, _)| *known == key);
            let known = known.map(|(_, word)| *word);
            visit(at, known.unwrap_or_else(|| self.add(key, hash, stemmer)));
        }
        self.pending = pending;
    }

    #[cold]
    fn add(&mut self, key: Key, hash: u64, stemmer: Stemmer) -> Word {
        let bytes = key.bytes();
        let text = bytes[..TEXT_BYTES].split(|byte| *byte == 0).next().unwrap_or_default();
        let word = self.new_word(str::from_utf8(text).unwrap_or_default(), stemmer);
        let hasher = &self.hasher;
        self.words.insert_unique(hash, (key, word), |(key, _)| hasher.hash_one(key));
        word
    }

    fn new_word(&mut self, text: &str, stemmer: Stemmer) -> Word {
        let Vocabulary { stems, known_stems, hasher, .. } = self;
        let stem = stemmer.term(text);
        let hash = hasher.hash_one(stem.as_bytes());
        let known =
            known_stems.find(hash, |at| stems[*at as usize].text() == stem.as_bytes()).copied();
        let number = known.unwrap_or_else(|| {
            let number = stems.len() as u32;
            stems.push(Stem::new(&stem));
            let hash_of = |at: &u32| hasher.hash_one(stems[*at as usize].text());
            known_stems.insert_unique(hash, number, hash_of);
            number
        });
        Word { stem: number, form: stems[number as usize].form(text) }
    }

    /// The stems, by their numbers.
    pub fn stems(&self) -> &[Stem] {
        &self.stems
    }

    /// Sorts the stems by text.
    pub fn sort(&mut self) {
        let Vocabulary { stems, order, .. } = self;
        let first = |at: usize| (first_bytes(stems[at].text()), at as u32);
        order.extend((order.len()..stems.len()).map(first));
        // Most stems differ in their first bytes. A stable sort merges the new stems into the ascending ones.
        let text = |number: u32| stems[number as usize].text();
        order.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1))));
    }

    /// The numbers of the stems by text, as of the last [`Vocabulary::sort`].
    pub fn sorted(&self) -> impl Iterator<Item = u32> {
        self.order.iter().map(|(_, stem)| *stem)
    }

    /// Forgets all words if they take more than `bytes_max`. Keeps the memory of the tables.
    pub fn limit(&mut self, bytes_max: usize) {
        if (self.words.len() + self.long_words.len()) * WORD_BYTES > bytes_max {
            self.words.clear();
            self.long_words.clear();
            self.stems.clear();
            self.known_stems.clear();
            self.order.clear();
        }
    }
}

impl Stem {
    fn new(text: &str) -> Stem {
        Stem { bytes: text.as_bytes().to_vec(), text_bytes: text.len() as u32, form_count: 0 }
    }

    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.text_bytes as usize]
    }

    /// For each form, its length and its text.
    pub fn forms(&self) -> &[u8] {
        &self.bytes[self.text_bytes as usize..]
    }

    /// The number of a form, which may be new.
    fn form(&mut self, text: &str) -> u32 {
        let (mut rest, mut number) = (self.forms(), 0);
        while let Ok(known) = take_text(&mut rest) {
            if known == text.as_bytes() {
                return number;
            }
            number += 1;
        }
        leb128::push(text.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(text.as_bytes());
        self.form_count += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks up words in a language. Returns the stem and the number of the form of each.
    fn look_up(vocabulary: &mut Vocabulary, language: &str, words: &[&str]) -> Vec<(String, u32)> {
        let stemmer = Stemmer::of_language(Some(language));
        let known = (0..).zip(words).map(|(at, word)| vocabulary.push(word, stemmer, at));
        let mut found: Vec<Option<Word>> = known.collect();
        vocabulary.each_pending(|at, word| found[at as usize] = Some(word));
        let text = |stem: u32| vocabulary.stems[stem as usize].text().to_vec();
        let named =
            |word: Word| (String::from_utf8_lossy(&text(word.stem)).into_owned(), word.form);
        found.into_iter().flatten().map(named).collect()
    }

    #[test]
    fn words_keep_their_stems_and_forms_until_the_limit() {
        let long = "pneumonoultramicroscopicsilicovolcanoconioses";
        let words = ["networks", "network", "networks", " ", long, "covid19", long];
        let stem = Stemmer::of_language(Some("en")).term(long);
        let expected = [
            ("network", 0),
            ("network", 1),
            ("network", 0),
            (" ", 0),
            (&*stem, 0),
            ("covid19", 0),
            (&*stem, 0),
        ];
        let expected = expected.map(|(stem, form)| (stem.to_owned(), form));
        let mut vocabulary = Vocabulary::default();
        for _ in 0..2 {
            assert_eq!(look_up(&mut vocabulary, "en", &words), expected);
        }
        // In another language the word has another term.
        let of_other = Stemmer::of_language(Some("ja")).term("network").into_owned();
        assert_ne!(of_other, "network");
        assert_eq!(look_up(&mut vocabulary, "ja", &["network"]), [(of_other, 0)]);
        let of = |at: usize| -> String { "abcdefghij".repeat(3)[at..at + 3].to_owned() };
        let others: Vec<String> = (0..20).map(of).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        vocabulary.sort();
        look_up(&mut vocabulary, "ja", &others);
        vocabulary.sort();
        let sorted: Vec<&[u8]> =
            vocabulary.sorted().map(|stem| vocabulary.stems[stem as usize].text()).collect();
        assert!(sorted.is_sorted() && sorted.len() == vocabulary.stems.len());
        vocabulary.limit(usize::MAX);
        assert!(!vocabulary.stems.is_empty());
        vocabulary.limit(0);
        assert!(vocabulary.stems.is_empty() && vocabulary.sorted().next().is_none());
        assert_eq!(look_up(&mut vocabulary, "en", &words), expected);
    }
}
