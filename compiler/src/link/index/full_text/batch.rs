//! Inverts the texts of a batch of records: record → words becomes term → records.
//!
//! ```text
//! row 7, title "Networks of neurons"    tokens: (network, 7, title, 0, "networks") (neuron, 7, title, 2, "neurons") …
//! sorted by term:                       network → row 7: impact 9, title 0    neuron → row 7: …
//! ```
//!
//! A word is stemmed once for each language and batch, however often it occurs.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use pinakes_format::index::full_text::{
    Occurrence, POSITION_MAX, TITLE_END, VALUE_GAP, impact, weighted_length,
};
use pinakes_format::schema::texts::{FIELDS, Field};
use pinakes_format::storage::leb128;
use pinakes_format::text::analyzer::{Stemmer, each_compound};

use crate::link::index::full_text::first_bytes;

/// The texts of consecutive rows, as words.
#[derive(Default)]
pub(crate) struct TextBatch {
    /// Words and stems, one after another.
    bytes: String,
    words: Vec<Word>,
    known_words: HashTable<u32>,
    stems: Vec<Text>,
    known_stems: HashTable<u32>,
    languages: Vec<(String, Stemmer)>,
    tokens: Vec<Token>,
    /// For each row, its low half and its weighted length.
    rows: Vec<(u16, u64)>,
    row: RowState,
    hasher: RandomState,
}

/// The language of the current row, and the places of its next words.
#[derive(Default)]
struct RowState {
    language: usize,
    /// For each field, the words so far, and the position of the next word.
    counts: [u32; FIELDS],
    next: [u32; FIELDS],
}

/// A range of the batch's bytes, and its hash.
#[derive(Clone, Copy)]
struct Text {
    from: u32,
    length: u32,
    hash: u64,
}

/// A word in a language, and the number of its stem.
#[derive(Clone, Copy)]
struct Word {
    text: Text,
    language: u16,
    stem: u32,
}

/// A word at a position.
#[derive(Clone, Copy, Default)]
struct Token {
    stem: u32,
    word: u32,
    position: u32,
    /// The row's index in the batch.
    row: u16,
    field: u8,
}

/// The stemmers that a thread keeps from batch to batch, at most.
const LANGUAGES_MAX: usize = 64;

impl TextBatch {
    /// Begins a row with texts in a language.
    pub fn begin_row(&mut self, low: u16, language: Option<&str>) {
        let language = language.unwrap_or_default();
        let known = self.languages.iter().position(|(code, _)| code == language);
        let language = known.unwrap_or_else(|| {
            let code = (!language.is_empty()).then_some(language);
            self.languages.push((language.to_owned(), Stemmer::of_language(code)));
            self.languages.len() - 1
        });
        self.row = RowState { language, ..RowState::default() };
        self.rows.push((low, 0));
    }

    /// Adds a text of the current row.
    pub fn text(&mut self, field: Field, text: &str) {
        let at = field as usize;
        if self.row.counts[at] > 0 {
            self.row.next[at] += VALUE_GAP;
        }
        each_compound(text, |compound| {
            let position = self.row.next[at].min(POSITION_MAX);
            if let Some(joined) = compound.joined() {
                self.token(joined, field, position);
            }
            for part in compound.parts() {
                let position = self.row.next[at].min(POSITION_MAX);
                self.token(part, field, position);
                self.row.next[at] = position + 1;
                self.row.counts[at] += 1;
            }
        });
        if field == Field::Title && self.row.counts[at] > 0 {
            let end = self.row.next[at].min(POSITION_MAX);
            self.token(TITLE_END, field, end);
        }
    }

    /// Ends the current row.
    pub fn end_row(&mut self) {
        if let Some((_, length)) = self.rows.last_mut() {
            *length = weighted_length(&self.row.counts);
        }
    }

    fn token(&mut self, text: &str, field: Field, position: u32) {
        let word = self.word(text);
        // The rows of a batch are of one chunk.
        let row = (self.rows.len() - 1) as u16;
        let stem = self.words[word as usize].stem;
        self.tokens.push(Token { stem, word, position, row, field: field as u8 });
    }

    /// The number of a word in the language of the current row.
    fn word(&mut self, text: &str) -> u32 {
        let language = self.row.language as u16;
        let hash = self.hasher.hash_one((text, language));
        let TextBatch { bytes, words, known_words, .. } = self;
        let is_same = |at: &u32| {
            let word = &words[*at as usize];
            word.language == language && word.text.of(bytes) == text
        };
        if let Some(known) = known_words.find(hash, is_same) {
            return *known;
        }
        let (_, stemmer) = &self.languages[usize::from(language)];
        let stem = stemmer.stem(text);
        let stem_hash = self.hasher.hash_one(&*stem);
        let is_same = |at: &u32| self.stems[*at as usize].of(&self.bytes) == stem;
        let known = self.known_stems.find(stem_hash, is_same).copied();
        let stem = known.unwrap_or_else(|| {
            let number = self.stems.len() as u32;
            self.stems.push(Text::push(&mut self.bytes, &stem, stem_hash));
            let stems = &self.stems;
            self.known_stems.insert_unique(stem_hash, number, |at| stems[*at as usize].hash);
            number
        });
        let number = self.words.len() as u32;
        let text = Text::push(&mut self.bytes, text, hash);
        self.words.push(Word { text, language, stem });
        let words = &self.words;
        self.known_words.insert_unique(hash, number, |at| words[*at as usize].text.hash);
        number
    }

    /// Encodes the terms in ascending order, and removes all texts. Keeps the memory.
    ///
    /// ```text
    /// entry of a term: length of the stem | stem | length of the rest u32 | the rest, see `encode_term`
    /// ```
    pub fn encode(&mut self, out: &mut Vec<u8>) {
        // A counting sort by stem keeps the tokens of a stem in the order of rows, fields and positions.
        let mut ends = vec![0u32; self.stems.len() + 1];
        self.tokens.iter().for_each(|token| ends[token.stem as usize + 1] += 1);
        // Most stems differ in their first bytes, which are compared as numbers.
        let text = |stem: u32| self.stems[stem as usize].of(&self.bytes);
        let mut order: Vec<(u64, u32)> = (0..self.stems.len() as u32)
            .map(|stem| (first_bytes(text(stem).as_bytes()), stem))
            .collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1))));
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let mut sorted = vec![Token::default(); self.tokens.len()];
        for token in &self.tokens {
            let end = &mut ends[token.stem as usize];
            sorted[*end as usize] = *token;
            *end += 1;
        }
        let mut scratch = EncodeScratch::default();
        for (_, stem) in order {
            let text = text(stem);
            leb128::push(text.len() as u64, out);
            out.extend_from_slice(text.as_bytes());
            let length_at = out.len();
            out.extend_from_slice(&[0; 4]);
            let from = stem.checked_sub(1).map_or(0, |before| ends[before as usize]);
            let tokens = &sorted[from as usize..ends[stem as usize] as usize];
            self.encode_term(tokens, &mut scratch, out);
            let length = (out.len() - length_at - 4) as u32;
            out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
        }
        self.clear();
    }

    /// Encodes the tokens of a stem.
    ///
    /// ```text
    /// number of forms | each form: length, text | number of postings | their bytes | for each posting:
    /// low half of the row u16 | impact u8 | number of occurrences | for each: field u8, position, form
    /// ```
    fn encode_term(&self, tokens: &[Token], scratch: &mut EncodeScratch, out: &mut Vec<u8>) {
        let EncodeScratch { words, numbers, occurrences, postings } = scratch;
        words.clear();
        for Token { word, .. } in tokens {
            if !words.contains(word) {
                words.push(*word);
            }
        }
        // A word of two languages with the same stem is one form.
        let text_of = |word: u32| self.words[word as usize].text.of(&self.bytes);
        words.sort_unstable_by_key(|word| text_of(*word));
        let forms = words.chunk_by(|a, b| text_of(*a) == text_of(*b));
        leb128::push(forms.clone().count() as u64, out);
        numbers.clear();
        for (number, same) in (0..).zip(forms) {
            let text = text_of(same[0]);
            leb128::push(text.len() as u64, out);
            out.extend_from_slice(text.as_bytes());
            numbers.extend(same.iter().map(|word| (*word, number)));
        }
        let form_of = |word: u32| {
            let of = numbers.iter().find(|(known, _)| *known == word);
            of.map_or(0, |(_, number)| *number)
        };
        let rows = tokens.chunk_by(|a, b| a.row == b.row);
        leb128::push(rows.clone().count() as u64, out);
        postings.clear();
        for of_row in rows {
            occurrences.clear();
            let mut counts = [0; FIELDS];
            for Token { word, field, position, .. } in of_row {
                counts[usize::from(*field)] += 1;
                let form = form_of(*word);
                occurrences.push(Occurrence { field: *field, position: *position, form });
            }
            // A compound stands where its first part does.
            occurrences.sort_unstable();
            let (low, length) = self.rows[usize::from(of_row[0].row)];
            postings.extend_from_slice(&low.to_le_bytes());
            postings.push(impact(&counts, length));
            leb128::push(occurrences.len() as u64, postings);
            for Occurrence { field, position, form } in &*occurrences {
                postings.push(*field);
                leb128::push((*position).into(), postings);
                leb128::push((*form).into(), postings);
            }
        }
        leb128::push(postings.len() as u64, out);
        out.extend_from_slice(postings);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.words.clear();
        self.known_words.clear();
        self.stems.clear();
        self.known_stems.clear();
        // A stemmer keeps the stems of frequent words. Codes of languages are few, except in hostile dumps.
        if self.languages.len() > LANGUAGES_MAX {
            self.languages.clear();
        }
        self.tokens.clear();
        self.rows.clear();
    }
}

/// Memory that the encoding of each term uses again.
#[derive(Default)]
struct EncodeScratch {
    words: Vec<u32>,
    numbers: Vec<(u32, u16)>,
    occurrences: Vec<Occurrence>,
    postings: Vec<u8>,
}

impl Text {
    /// Appends a text. A batch has less than 4 GiB of distinct words, since a word has at most 64 bytes.
    fn push(bytes: &mut String, text: &str, hash: u64) -> Text {
        let from = bytes.len() as u32;
        bytes.push_str(text);
        Text { from, length: text.len() as u32, hash }
    }

    fn of<'b>(&self, bytes: &'b str) -> &'b str {
        &bytes[self.from as usize..(self.from + self.length) as usize]
    }
}
