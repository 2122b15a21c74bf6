//! Words with their stems and the forms of each stem. A stem has the mark of its language here.
//!
//! ```text
//! "networks" in English → stem 3, form 1      stem 3: "network"   forms "network", "networks"
//! ```
//!
//! All threads share one vocabulary, so that a word is stemmed once a build. Words of earlier waves of batches are frozen: threads
//! read frozen words without a lock, and frozen stems are numbered in the order of their texts. Later words are in shards, each behind
//! a lock. Their stems have the numbers after the frozen ones:
//!
//! ```text
//! frozen stems     0 "graph"   1 "network"   2 "theori"
//! shard 0          3 "neuron"  3 + SHARDS "cell"
//! shard 1          4 "edg"
//! ```
//!
//! Cost of a frozen word: one probe of a table that holds the words themselves, and one miss of the cache if the word is rare.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use pinakes_format::storage::leb128;
use pinakes_format::text::analyzer::Stemmer;

use crate::link::index::full_text::take_text;
use crate::link::index::sort_key::head;
use crate::parallel;

/// The vocabulary of all batches.
pub(crate) struct SharedWords {
    current: Mutex<Arc<Vocabulary>>,
    /// The most bytes of the words, besides the words of one batch of each thread.
    bytes_max: usize,
}

impl SharedWords {
    /// A vocabulary of about `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> SharedWords {
        SharedWords { current: Mutex::new(Arc::new(Vocabulary::new())), bytes_max }
    }

    /// The vocabulary for a batch. If there is no room for more new words, the batch keeps its new words to itself.
    fn current(&self) -> Arc<Vocabulary> {
        let current = lock(&self.current);
        match current.bytes() < self.bytes_max {
            true => Arc::clone(&current),
            false => Arc::new(current.without_new()),
        }
    }

    /// Freezes the words of the batches before, if they are many, unless a batch reads the words now. Once half of the bytes
    /// are taken, forgets them instead: frequent words come early.
    pub fn freeze(&self) {
        let mut current = lock(&self.current);
        let Some(vocabulary) = Arc::get_mut(&mut current) else { return };
        if vocabulary.bytes() > self.bytes_max / 2 {
            *vocabulary = vocabulary.without_new();
        } else if vocabulary.has_many_new() {
            vocabulary.freeze();
        }
    }
}

/// Words in languages, and their stems.
#[derive(Default)]
struct Vocabulary {
    frozen: Arc<Frozen>,
    /// Empty in the vocabulary of no batch.
    shards: Vec<Mutex<Shard>>,
    /// The number of words in the shards.
    new_words: AtomicUsize,
    hasher: RandomState,
}

/// Words that do not change while batches read them.
#[derive(Default)]
struct Frozen {
    /// The stems, ascending by text, each with its forms, one behind the other: a batch reads its stems in this order.
    bytes: Vec<u8>,
    stems: Vec<StemPlace>,
    /// A word or stem is in the table of its hash's [`shard_of`]. Empty before the first words are frozen.
    tables: Vec<FrozenTables>,
}

/// The frozen words and stems of a shard.
#[derive(Default)]
struct FrozenTables {
    words: HashTable<(Key, Word)>,
    long_words: HashMap<LongWord, Word, RandomState>,
    /// The numbers of the stems, by text.
    numbers: HashTable<u32>,
}

/// Where a frozen stem begins.
struct StemPlace {
    from: usize,
    text_bytes: u32,
    form_count: u32,
}

/// Words and stems that are not frozen yet. A word and its stem may be in different shards.
#[derive(Default)]
struct Shard {
    words: HashTable<(WordKey, Word)>,
    stems: Vec<Stem>,
    /// The indexes of `stems`, by text.
    numbers: HashTable<u32>,
    /// Frozen stems that have further forms, by number.
    extended: HashMap<u32, Stem, RandomState>,
}

/// The words of a batch.
#[derive(Default)]
pub(super) struct BatchWords {
    vocabulary: Arc<Vocabulary>,
    /// The words to look up, each with the number that [`BatchWords::push`] got.
    pending: Vec<(Key, Stemmer, u32)>,
}

const SHARDS: usize = 64;

/// New words are frozen once there is more than one for this many frozen words.
const FROZEN_PER_NEW: usize = 4;

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
#[derive(PartialEq, Eq)]
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
    /// The stem, and behind it for each form the form's length and the form.
    bytes: Vec<u8>,
    text_bytes: u32,
    form_count: u32,
}

/// A stem and its forms, borrowed.
#[derive(Clone, Copy)]
pub(super) struct StemView<'s> {
    pub text: &'s [u8],
    /// For each form, its length and its text.
    pub forms: &'s [u8],
    pub form_count: u32,
}

/// A stem that is not frozen, in the order of texts.
pub(super) struct NewStem {
    /// The first bytes of the stem as a number that is fast to compare.
    first: u64,
    pub number: u32,
    pub stem: Stem,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shard of a hash. The table of a shard uses the lowest and the highest bits.
fn shard_of(hash: u64) -> usize {
    (hash >> 32) as usize % SHARDS
}

impl Vocabulary {
    fn new() -> Vocabulary {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Vocabulary { shards, ..Vocabulary::default() }
    }

    /// The same frozen words, and no others.
    fn without_new(&self) -> Vocabulary {
        let frozen = Arc::clone(&self.frozen);
        Vocabulary { frozen, hasher: self.hasher.clone(), ..Vocabulary::new() }
    }

    /// Memory of the words, about.
    fn bytes(&self) -> usize {
        (self.frozen.word_count() + self.new_words.load(Relaxed)) * WORD_BYTES
    }

    fn has_many_new(&self) -> bool {
        self.new_words.load(Relaxed) * FROZEN_PER_NEW > self.frozen.word_count()
    }

    fn hash(&self, word: &WordKey) -> u64 {
        match word {
            WordKey::Short(key) => self.hasher.hash_one(key),
            WordKey::Long(word) => self.hasher.hash_one(word),
        }
    }

    /// Looks up a word that is not frozen. Stems a word that is new.
    #[cold]
    fn learn(&self, word: WordKey, stemmer: Stemmer) -> Word {
        let hash = self.hash(&word);
        let shard = &self.shards[shard_of(hash)];
        let find = |shard: &Shard| {
            let found = shard.words.find(hash, |(known, _)| *known == word);
            found.map(|(_, word)| *word)
        };
        if let Some(known) = find(&lock(shard)) {
            return known;
        }
        let text = word.text();
        let found = self.stem_number(stemmer.term(&text).as_bytes(), text.as_bytes());
        drop(text);
        let mut shard = lock(shard);
        // Another thread may have stemmed the word meanwhile.
        if find(&shard).is_none() {
            shard.words.insert_unique(hash, (word, found), |(word, _)| self.hash(word));
            self.new_words.fetch_add(1, Relaxed);
        }
        found
    }

    /// Finds or adds a stem, and a form of the stem.
    fn stem_number(&self, text: &[u8], form: &[u8]) -> Word {
        let hash = self.hasher.hash_one(text);
        let at = shard_of(hash);
        let mut shard = lock(&self.shards[at]);
        let Shard { stems, numbers, extended, .. } = &mut *shard;
        if let Some(stem) = self.frozen.find_stem(hash, text) {
            let frozen = self.frozen.stem(stem);
            let form = frozen.form(form).unwrap_or_else(|| {
                extended.entry(stem).or_insert_with(|| frozen.to_stem()).add_form(form)
            });
            return Word { stem, form };
        }
        let known = numbers.find(hash, |at| stems[*at as usize].view().text == text).copied();
        let number = known.unwrap_or_else(|| {
            let number = stems.len() as u32;
            stems.push(Stem::new(text));
            let hash_of = |at: &u32| self.hasher.hash_one(stems[*at as usize].view().text);
            numbers.insert_unique(hash, number, hash_of);
            number
        });
        let form = stems[number as usize].add_form(form);
        Word { stem: (self.frozen.stems.len() + number as usize * SHARDS + at) as u32, form }
    }

    /// Freezes the words of the shards.
    ///
    /// ```text
    /// frozen 0 "graph", 1 "theori"; new 2 "network"  →  0 "graph", 1 "network", 2 "theori"
    /// ```
    fn freeze(&mut self) {
        let Vocabulary { frozen, shards, new_words, hasher } = self;
        // A batch with words of its own may read the frozen ones still.
        let Some(frozen) = Arc::get_mut(frozen) else { return };
        let mut old = std::mem::take(frozen);
        old.tables.resize_with(SHARDS, FrozenTables::default);
        let (mut new, mut extended, mut tables) = (Vec::new(), Vec::new(), Vec::new());
        for ((at, shard), table) in (old.stems.len()..).zip(shards).zip(old.tables.drain(..)) {
            let shard = std::mem::take(&mut *lock(shard));
            let numbers = (at as u32..).step_by(SHARDS).take(shard.stems.len());
            tables.push((table, shard.words, numbers.clone()));
            let stems = numbers.zip(shard.stems);
            new.push(stems.map(|(number, stem)| NewStem::new(number, stem)).collect::<Vec<_>>());
            extended.extend(shard.extended);
        }
        new_words.store(0, Relaxed);
        let last = new.iter().flatten().map(|new| new.number as usize + 1).max();
        // Numbers of no stem stay 0.
        let mut renumbered = vec![0; last.unwrap_or(old.stems.len())];
        // The frozen stems and the new ones, ascending.
        let sorted = parallel::sort_blocks(new, NewStem::compare);
        extended.sort_unstable_by_key(|(number, _)| *number);
        let mut new = sorted.iter().flatten().peekable();
        let mut extended = extended.iter().peekable();
        for number in 0..old.stems.len() as u32 {
            let extended = extended.next_if(|(extended, _)| *extended == number);
            let stem = extended.map_or(old.stem(number), |(_, stem)| stem.view());
            while let Some(new) = new.next_if(|new| new.stem.view().text < stem.text) {
                renumbered[new.number as usize] = frozen.push(new.stem.view());
            }
            renumbered[number as usize] = frozen.push(stem);
        }
        for new in new {
            renumbered[new.number as usize] = frozen.push(new.stem.view());
        }
        let (stems, renumbered) = (&*frozen, &renumbered);
        frozen.tables = parallel::map(tables, |(mut table, words, numbers)| {
            table.renumber(renumbered);
            let hash_of = |number: &u32| hasher.hash_one(stems.stem(*number).text);
            for number in numbers.map(|number| renumbered[number as usize]) {
                table.numbers.insert_unique(hash_of(&number), number, hash_of);
            }
            for (key, Word { stem, form }) in words {
                table.add(key, Word { stem: renumbered[stem as usize], form }, hasher);
            }
            table
        });
    }
}

impl FrozenTables {
    /// Gives each stem its new number. The tables keep their order: no text has another hash than before.
    fn renumber(&mut self, renumbered: &[u32]) {
        let renumber = |number: &mut u32| *number = renumbered[*number as usize];
        self.numbers.iter_mut().for_each(renumber);
        self.words.iter_mut().for_each(|(_, word)| renumber(&mut word.stem));
        self.long_words.values_mut().for_each(|word| renumber(&mut word.stem));
    }

    fn add(&mut self, key: WordKey, word: Word, hasher: &RandomState) {
        match key {
            WordKey::Short(key) => {
                let hash_of = |(key, _): &(Key, Word)| hasher.hash_one(key);
                self.words.insert_unique(hasher.hash_one(key), (key, word), hash_of);
            }
            WordKey::Long(key) => _ = self.long_words.insert(key, word),
        }
    }
}

impl Frozen {
    fn word_count(&self) -> usize {
        self.tables.iter().map(|table| table.words.len() + table.long_words.len()).sum()
    }

    fn find(&self, hash: u64, key: Key) -> Option<Word> {
        let words = &self.tables.get(shard_of(hash))?.words;
        words.find(hash, |(known, _)| *known == key).map(|(_, word)| *word)
    }

    fn find_long(&self, hash: u64, word: &LongWord) -> Option<Word> {
        self.tables.get(shard_of(hash))?.long_words.get(word).copied()
    }

    fn find_stem(&self, hash: u64, text: &[u8]) -> Option<u32> {
        let numbers = &self.tables.get(shard_of(hash))?.numbers;
        numbers.find(hash, |number| self.stem(*number).text == text).copied()
    }

    fn stem(&self, number: u32) -> StemView<'_> {
        let StemPlace { from, text_bytes, form_count } = self.stems[number as usize];
        let to = self.stems.get(number as usize + 1).map_or(self.bytes.len(), |next| next.from);
        let (text, forms) = self.bytes[from..to].split_at(text_bytes as usize);
        StemView { text, forms, form_count }
    }

    /// Appends a stem after the last one. Returns its number.
    fn push(&mut self, stem: StemView<'_>) -> u32 {
        let StemView { text, forms, form_count } = stem;
        let place = StemPlace { from: self.bytes.len(), text_bytes: text.len() as u32, form_count };
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(forms);
        self.stems.push(place);
        self.stems.len() as u32 - 1
    }
}

impl BatchWords {
    /// Begins a batch with the shared words.
    pub fn begin(&mut self, shared: &SharedWords) {
        self.vocabulary = shared.current();
    }

    /// Ends a batch, so that the words can be frozen.
    pub fn end(&mut self) {
        self.vocabulary = Arc::default();
    }

    /// Looks up a long word, in the language of a stemmer. Keeps any other word for [`BatchWords::each_pending`], which
    /// names the word by `at`, and returns `None`.
    pub fn push(&mut self, text: &str, stemmer: Stemmer, at: u32) -> Option<Word> {
        if let Some(key) = Key::new(text, stemmer) {
            self.pending.push((key, stemmer, at));
            return None;
        }
        let word = (stemmer, text.to_owned());
        let Vocabulary { frozen, hasher, .. } = &*self.vocabulary;
        let frozen = frozen.find_long(hasher.hash_one(&word), &word);
        Some(frozen.unwrap_or_else(|| self.vocabulary.learn(WordKey::Long(word), stemmer)))
    }

    /// Looks up the words that were kept. A loop without other work overlaps the misses of the cache.
    pub fn each_pending(&mut self, mut visit: impl FnMut(u32, Word)) {
        let BatchWords { vocabulary, pending } = self;
        for (key, stemmer, at) in pending.drain(..) {
            let hash = vocabulary.hasher.hash_one(key);
            let learn = || vocabulary.learn(WordKey::Short(key), stemmer);
            visit(at, vocabulary.frozen.find(hash, key).unwrap_or_else(learn));
        }
    }

    /// Takes the stems that are not frozen off ascending numbers. Returns these stems ascending by text.
    pub fn split_new(&self, numbers: &mut Vec<u32>) -> Vec<NewStem> {
        let Vocabulary { frozen, shards, .. } = &*self.vocabulary;
        let is_frozen = |number: &u32| (*number as usize) < frozen.stems.len();
        let new = numbers.split_off(numbers.partition_point(is_frozen));
        let copy = |number: u32| {
            let place = number as usize - frozen.stems.len();
            NewStem::new(number, lock(&shards[place % SHARDS]).stems[place / SHARDS].clone())
        };
        let mut new: Vec<NewStem> = new.into_iter().map(copy).collect();
        new.sort_unstable_by(NewStem::compare);
        new
    }

    /// The frozen stem of a number.
    pub fn frozen(&self, number: u32) -> StemView<'_> {
        self.vocabulary.frozen.stem(number)
    }

    /// A frozen stem with the forms that batches found since it was frozen.
    pub fn extended(&self, number: u32) -> Option<Stem> {
        let Vocabulary { frozen, shards, hasher, .. } = &*self.vocabulary;
        let shard = shard_of(hasher.hash_one(frozen.stem(number).text));
        lock(&shards[shard]).extended.get(&number).cloned()
    }
}

impl NewStem {
    fn new(number: u32, stem: Stem) -> NewStem {
        NewStem { first: head(stem.view().text), number, stem }
    }

    fn compare(a: &NewStem, b: &NewStem) -> Ordering {
        a.first.cmp(&b.first).then_with(|| a.stem.view().text.cmp(b.stem.view().text))
    }
}

impl Stem {
    fn new(text: &[u8]) -> Stem {
        Stem { text_bytes: text.len() as u32, bytes: text.to_vec(), form_count: 0 }
    }

    pub fn view(&self) -> StemView<'_> {
        let (text, forms) = self.bytes.split_at(self.text_bytes as usize);
        StemView { text, forms, form_count: self.form_count }
    }

    /// The number of a form, which may be new.
    fn add_form(&mut self, text: &[u8]) -> u32 {
        self.view().form(text).unwrap_or_else(|| {
            leb128::push(text.len() as u64, &mut self.bytes);
            self.bytes.extend_from_slice(text);
            self.form_count += 1;
            self.form_count - 1
        })
    }
}

impl<'s> StemView<'s> {
    fn to_stem(self) -> Stem {
        let StemView { text, forms, form_count } = self;
        Stem { bytes: [text, forms].concat(), text_bytes: text.len() as u32, form_count }
    }

    /// The number of a form.
    fn form(self, text: &[u8]) -> Option<u32> {
        let mut rest = self.forms;
        (0..self.form_count).find(|_| take_text(&mut rest).is_ok_and(|known| known == text))
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
        let text = |stem: u32| {
            let mut numbers = vec![stem];
            let text = match batch.split_new(&mut numbers).first() {
                Some(new) => new.stem.view().text.to_vec(),
                None => batch.frozen(stem).text.to_vec(),
            };
            String::from_utf8_lossy(&text).into_owned()
        };
        found.into_iter().flatten().map(|word| (text(word.stem), word.form)).collect()
    }

    #[test]
    fn words_have_the_same_stems_whether_they_are_frozen_or_not() {
        let long = "pneumonoultramicroscopicsilicovolcanoconioses";
        let words = ["networks", "network", "networks", " ", long, "covid19", long];
        let stem = Stemmer::of_language(Some("en")).term(long);
        let stems = ["network", "network", "network", " ", &*stem, "covid19", &*stem];
        // All words fit; then no batch shares its words; then only the first words are frozen.
        for bytes_max in [usize::MAX, 0, 80 * WORD_BYTES] {
            let shared = SharedWords::new(bytes_max);
            let mut batch = BatchWords::default();
            for round in 0..30 {
                batch.begin(&shared);
                let found = look_up(&mut batch, "en", &words);
                assert_eq!(found.iter().map(|(stem, _)| stem).collect::<Vec<_>>(), stems);
                assert!(found[0] == found[2] && found[0].1 != found[1].1 && found[4] == found[6]);
                // In another language the word has another term.
                let of_other = Stemmer::of_language(Some("ja")).term("network").into_owned();
                assert_ne!(of_other, "network");
                assert_eq!(look_up(&mut batch, "ja", &["network"]), [(of_other, 0)]);
                // Further forms of a frozen stem, and other words of each round.
                let form = ["networking", "networked"][round % 2];
                let [(stem, number)] = &look_up(&mut batch, "en", &[form])[..] else { panic!() };
                assert!(stem == "network" && *number >= 2, "{form} {number}");
                let others: Vec<String> = (0..20).map(|at| format!("x{round}x{at}")).collect();
                look_up(&mut batch, "ja", &others.iter().map(String::as_str).collect::<Vec<_>>());
                // A batch that reads the words does not let them change.
                shared.freeze();
                let frozen = &batch.vocabulary.frozen;
                let texts = (0..frozen.stems.len() as u32).map(|stem| frozen.stem(stem).text);
                assert!(texts.is_sorted());
                batch.end();
                shared.freeze();
            }
            let frozen = &lock(&shared.current).frozen;
            let numbers = frozen.tables.iter().map(|table| table.numbers.len());
            assert_eq!(numbers.sum::<usize>(), frozen.stems.len());
            // Of 608 words, one in nine need not be frozen yet.
            let expected = match bytes_max {
                usize::MAX => 540..=608,
                0 => 0..=0,
                _ => 8..=40,
            };
            assert!(expected.contains(&frozen.word_count()), "{}", frozen.word_count());
        }
    }
}
