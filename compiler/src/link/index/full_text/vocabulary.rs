//! Words with their stems and the forms of each stem. A stem has the mark of its language here.
//!
//! ```text
//! "networks" in English → stem 3, form 1      stem 3: "network"   forms "network", "networks"
//! ```
//!
//! All threads share the words of earlier waves of batches, so that a word is stemmed about once a build. Each batch keeps its new
//! words to itself until the next wave. Cost of a known word: one probe of a table that holds
//! the words themselves, and one miss of the cache if the word is rare.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use pinakes_format::storage::leb128;
use pinakes_format::text::analyzer::Stemmer;

use crate::link::index::full_text::take_text;
use crate::link::index::sort_key::head;

/// Words in languages, and their stems. Stems and forms are numbered as they are first met.
#[derive(Default)]
pub(crate) struct Vocabulary {
    words: HashTable<(Key, Word)>,
    long_words: HashMap<LongWord, Word, RandomState>,
    stems: Vec<Stem>,
    known_stems: HashTable<u32>,
    /// The stems with their first bytes, ascending by text. Stems without a rank are missing.
    order: Vec<(u64, u32)>,
    /// The place of each stem in `order`. The latest stems have none yet.
    ranks: Vec<u32>,
    hasher: RandomState,
}

/// The words that all batches share.
#[derive(Default)]
pub(crate) struct SharedWords {
    known: Mutex<Arc<Vocabulary>>,
    /// Words that batches met and did not know.
    learned: Mutex<Vec<LearnedWord>>,
    /// The most bytes of the shared words.
    bytes_max: usize,
}

/// A word that a batch shares, and its stem.
struct LearnedWord {
    word: WordKey,
    stem: Box<[u8]>,
}

impl SharedWords {
    pub fn new(bytes_max: usize) -> SharedWords {
        SharedWords { bytes_max, ..SharedWords::default() }
    }

    /// The shared words, for a batch.
    fn known(&self) -> Arc<Vocabulary> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shares what batches have learned, unless a batch reads the shared words now. Once they take `bytes_max`, they stay as
    /// they are: frequent words come early.
    pub fn share_learned(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = Arc::get_mut(&mut known) else { return };
        let learned =
            std::mem::take(&mut *self.learned.lock().unwrap_or_else(PoisonError::into_inner));
        for word in learned {
            if known.bytes() < self.bytes_max {
                known.insert(word);
            }
        }
        known.rank_stems();
    }
}

/// The words of a batch: the shared words, and the words that the batch alone has.
#[derive(Default)]
pub(super) struct BatchWords {
    known: Arc<Vocabulary>,
    /// The other words. Stems behind those of `known` have the next numbers.
    own: HashMap<WordKey, Word, RandomState>,
    own_stems: Vec<Stem>,
    own_stem_numbers: HashTable<u32>,
    /// Stems of `known` that have further forms in this batch.
    changed: HashMap<u32, Stem, RandomState>,
    /// The words to look up, each with the number that [`BatchWords::push`] got.
    pending: Vec<(Key, Stemmer, u32)>,
    /// Differs from batch to batch.
    hasher: RandomState,
    /// Stems without a rank, with their first bytes, while stems are sorted.
    unranked: Vec<(u64, u32)>,
}

/// A batch shares one in this many of its new words. A frequent word is new to many batches of a wave, one of which shares
/// the word. Most rare words are never shared: sharing them would take longer than stemming them again.
const SHARED_OF_NEW: u64 = 16;

/// The number of a word's stem, and of the word among the stem's forms.
#[derive(Clone, Copy, Default)]
pub(super) struct Word {
    pub stem: u32,
    pub form: u32,
}

/// The longest word of a key.
const TEXT_BYTES: usize = 23;

/// One shared stem in this many may have no rank before all stems are ranked again.
const UNRANKED: usize = 8;

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

    fn text(self) -> String {
        let mut bytes = [0; 24];
        let (chunks, _) = bytes.as_chunks_mut();
        chunks.copy_from_slice(&[self.0, self.1, self.2].map(u64::to_le_bytes));
        let text = bytes[..TEXT_BYTES].split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// A word that is too long for a [`Key`].
type LongWord = (Stemmer, String);

/// A word in a language. Only a long one has memory of its own.
#[derive(PartialEq, Eq, Hash)]
enum WordKey {
    Short(Key),
    Long(LongWord),
}

impl WordKey {
    fn text(&self) -> Cow<'_, str> {
        match self {
            WordKey::Short(key) => Cow::Owned(key.text()),
            WordKey::Long((_, text)) => Cow::Borrowed(text),
        }
    }
}

/// A stem and its forms.
#[derive(Clone)]
pub(super) struct Stem {
    /// The stem, and behind it for each form the form's length and the form: side by side in the cache.
    bytes: Vec<u8>,
    text_bytes: u32,
    pub form_count: u32,
}

impl Vocabulary {
    fn find(&self, key: Key) -> Option<Word> {
        let hash = self.hasher.hash_one(key);
        self.words.find(hash, |(known, _)| *known == key).map(|(_, word)| *word)
    }

    fn find_stem(&self, stem: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(stem);
        let is_same = |at: &u32| self.stems[*at as usize].text() == stem;
        self.known_stems.find(hash, is_same).copied()
    }

    /// Adds a word, unless the word is known.
    fn insert(&mut self, LearnedWord { word: key, stem }: LearnedWord) {
        let is_known = match &key {
            WordKey::Short(key) => self.find(*key).is_some(),
            WordKey::Long(word) => self.long_words.contains_key(word),
        };
        if is_known {
            return;
        }
        let number = self.find_stem(&stem).unwrap_or_else(|| {
            let Vocabulary { stems, known_stems, hasher, .. } = self;
            let number = stems.len() as u32;
            stems.push(Stem::new(stem));
            let hash_of = |at: &u32| hasher.hash_one(stems[*at as usize].text());
            known_stems.insert_unique(hash_of(&number), number, hash_of);
            number
        });
        let word = Word { stem: number, form: self.stems[number as usize].form(&key.text()) };
        match key {
            WordKey::Short(key) => {
                let hasher = &self.hasher;
                let hash = hasher.hash_one(key);
                self.words.insert_unique(hash, (key, word), |(key, _)| hasher.hash_one(key));
            }
            WordKey::Long(long) => {
                self.long_words.insert(long, word);
            }
        }
    }

    fn bytes(&self) -> usize {
        (self.words.len() + self.long_words.len()) * WORD_BYTES
    }

    /// Ranks the stems, if more than one in [`UNRANKED`] has no rank.
    fn rank_stems(&mut self) {
        let Vocabulary { stems, order, ranks, .. } = self;
        if (stems.len() - ranks.len()) * UNRANKED <= stems.len() {
            return;
        }
        let text = |number: u32| stems[number as usize].text();
        let first = |at: usize| (head(stems[at].text()), at as u32);
        order.extend((order.len()..stems.len()).map(first));
        // Most stems differ in their first bytes. A stable sort merges the new stems into the ascending ones.
        order.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1))));
        ranks.resize(stems.len(), 0);
        (0..).zip(&*order).for_each(|(rank, (_, stem))| ranks[*stem as usize] = rank);
    }
}

impl BatchWords {
    /// Begins a batch with the shared words.
    pub fn begin(&mut self, shared: &SharedWords) {
        self.known = shared.known();
    }

    /// Ends a batch: leaves some of its words to be shared, and forgets all.
    pub fn end(&mut self, shared: &SharedWords) {
        self.hasher = RandomState::default();
        let mut learned = Vec::new();
        let own = std::mem::take(&mut self.own);
        let is_shared = self.known.bytes() < shared.bytes_max;
        let is_learned = |word: &WordKey| self.hasher.hash_one(word).is_multiple_of(SHARED_OF_NEW);
        for (key, word) in own.into_iter().filter(|(key, _)| is_shared && is_learned(key)) {
            learned.push(LearnedWord { word: key, stem: self.text(word.stem).into() });
        }
        shared.learned.lock().unwrap_or_else(PoisonError::into_inner).append(&mut learned);
        self.own_stems.clear();
        self.own_stem_numbers.clear();
        self.changed.clear();
        self.known = Arc::default();
    }

    /// Looks up a long word, in the language of a stemmer. Keeps any other word for [`BatchWords::each_pending`], which
    /// names the word by `at`, and returns `None`.
    pub fn push(&mut self, text: &str, stemmer: Stemmer, at: u32) -> Option<Word> {
        if let Some(key) = Key::new(text, stemmer) {
            self.pending.push((key, stemmer, at));
            return None;
        }
        let word = (stemmer, text.to_owned());
        let known = self.known.long_words.get(&word).copied();
        Some(known.unwrap_or_else(|| self.own(WordKey::Long(word), stemmer)))
    }

    /// Looks up the words that were kept. A loop without other work overlaps the misses of the cache.
    pub fn each_pending(&mut self, mut visit: impl FnMut(u32, Word)) {
        let mut pending = std::mem::take(&mut self.pending);
        for (key, stemmer, at) in pending.drain(..) {
            let known = self.known.find(key);
            visit(at, known.unwrap_or_else(|| self.own(WordKey::Short(key), stemmer)));
        }
        self.pending = pending;
    }

    /// Looks up a word that is not shared.
    #[cold]
    fn own(&mut self, key: WordKey, stemmer: Stemmer) -> Word {
        if let Some(word) = self.own.get(&key) {
            return *word;
        }
        let word = self.stemmed(&key.text(), stemmer);
        self.own.insert(key, word);
        word
    }

    /// Stems a word that is not shared, and finds or adds the stem.
    fn stemmed(&mut self, text: &str, stemmer: Stemmer) -> Word {
        let stem = stemmer.term(text);
        let first = self.known.stems.len() as u32;
        match self.known.find_stem(stem.as_bytes()) {
            Some(number) => {
                let known = || self.known.stems[number as usize].clone();
                let form = self.changed.entry(number).or_insert_with(known).form(text);
                Word { stem: number, form }
            }
            None => {
                let BatchWords { own_stems, own_stem_numbers, known, .. } = self;
                let hash_of = |text: &[u8]| known.hasher.hash_one(text);
                let hash = hash_of(stem.as_bytes());
                let is_same = |at: &u32| own_stems[*at as usize].text() == stem.as_bytes();
                let at = own_stem_numbers.find(hash, is_same).copied();
                let at = at.unwrap_or_else(|| {
                    let at = own_stems.len() as u32;
                    own_stems.push(Stem::new(stem.as_bytes().into()));
                    let hash_of = |at: &u32| hash_of(own_stems[*at as usize].text());
                    own_stem_numbers.insert_unique(hash, at, hash_of);
                    at
                });
                Word { stem: first + at, form: own_stems[at as usize].form(text) }
            }
        }
    }

    /// The number of stems.
    pub fn stem_count(&self) -> usize {
        self.known.stems.len() + self.own_stems.len()
    }

    /// A stem by its number, with all forms that it has so far.
    pub fn stem(&self, number: u32) -> &Stem {
        let known = || self.changed.get(&number).or(self.known.stems.get(number as usize));
        known().unwrap_or_else(|| &self.own_stems[number as usize - self.known.stems.len()])
    }

    /// Sorts different stems by text. Most comparisons are of ranks, or of the first bytes.
    pub fn sort(&mut self, numbers: &mut Vec<u32>) {
        let mut unranked = std::mem::take(&mut self.unranked);
        let rank = |number: &u32| self.known.ranks.get(*number as usize).copied();
        unranked.clear();
        unranked.extend(
            numbers
                .extract_if(.., |number| rank(number).is_none())
                .map(|number| (head(self.text(number)), number)),
        );
        numbers.sort_unstable_by_key(rank);
        let ascending = |a: &(u64, u32), b: &(u64, u32)| {
            a.0.cmp(&b.0).then_with(|| self.text(a.1).cmp(self.text(b.1)))
        };
        unranked.sort_unstable_by(ascending);
        // Both ascend, and are merged from the back.
        let (mut ranked, mut to) = (numbers.len(), numbers.len() + unranked.len());
        numbers.resize(to, 0);
        while let Some(last) = unranked.last() {
            let before = ranked.checked_sub(1).map(|at| {
                let rank = rank(&numbers[at]).unwrap_or_default();
                self.known.order[rank as usize]
            });
            to -= 1;
            match before.filter(|before| ascending(before, last).is_gt()) {
                Some((_, number)) => {
                    numbers[to] = number;
                    ranked -= 1;
                }
                None => {
                    numbers[to] = last.1;
                    unranked.pop();
                }
            }
        }
        self.unranked = unranked;
    }

    fn text(&self, number: u32) -> &[u8] {
        let stems = &self.known.stems;
        match stems.get(number as usize) {
            Some(stem) => stem.text(),
            None => self.own_stems[number as usize - stems.len()].text(),
        }
    }
}

impl Stem {
    fn new(text: Box<[u8]>) -> Stem {
        Stem { text_bytes: text.len() as u32, bytes: text.into_vec(), form_count: 0 }
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
        while !rest.is_empty()
            && let Ok(known) = take_text(&mut rest)
        {
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
    fn look_up(batch: &mut BatchWords, language: &str, words: &[&str]) -> Vec<(String, u32)> {
        let stemmer = Stemmer::of_language(Some(language));
        let known = (0..).zip(words).map(|(at, word)| batch.push(word, stemmer, at));
        let mut found: Vec<Option<Word>> = known.collect();
        batch.each_pending(|at, word| found[at as usize] = Some(word));
        let text = |stem: u32| String::from_utf8_lossy(batch.stem(stem).text()).into_owned();
        found.into_iter().flatten().map(|word| (text(word.stem), word.form)).collect()
    }

    #[test]
    fn words_have_the_same_stems_in_a_batch_whether_they_are_shared_or_not() {
        let long = "pneumonoultramicroscopicsilicovolcanoconioses";
        let words = ["networks", "network", "networks", " ", long, "covid19", long];
        let stem = Stemmer::of_language(Some("en")).term(long);
        let stems = ["network", "network", "network", " ", &*stem, "covid19", &*stem];
        let shared = SharedWords::new(usize::MAX);
        let mut batch = BatchWords::default();
        for _ in 0..100 {
            batch.begin(&shared);
            let found = look_up(&mut batch, "en", &words);
            assert_eq!(found.iter().map(|(stem, _)| stem).collect::<Vec<_>>(), stems);
            assert!(found[0] == found[2] && found[0].1 != found[1].1 && found[4] == found[6]);
            // In another language the word has another term.
            let of_other = Stemmer::of_language(Some("ja")).term("network").into_owned();
            assert_ne!(of_other, "network");
            assert_eq!(look_up(&mut batch, "ja", &["network"]), [(of_other, 0)]);
            let of = |at: usize| -> String { "abcdefghij".repeat(3)[at..at + 3].to_owned() };
            let others: Vec<String> = (0..20).map(of).collect();
            look_up(&mut batch, "ja", &others.iter().map(String::as_str).collect::<Vec<_>>());
            let mut all: Vec<u32> = (0..batch.stem_count() as u32).rev().collect();
            batch.sort(&mut all);
            assert!(all.iter().map(|stem| batch.stem(*stem).text()).is_sorted());
            // A batch that reads the shared words does not let them change.
            shared.share_learned();
            batch.end(&shared);
            shared.share_learned();
        }
        // After 100 batches, in each of which a word is shared with a chance of one in 16.
        batch.begin(&shared);
        assert!(batch.known.words.len() > 10 && batch.known.long_words.len() == 1);
        batch.end(&shared);
        let full = SharedWords::new(0);
        batch.begin(&full);
        look_up(&mut batch, "en", &words);
        batch.end(&full);
        full.share_learned();
        assert_eq!(full.known().words.len(), 0);
    }
}
