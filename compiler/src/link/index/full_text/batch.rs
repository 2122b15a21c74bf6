//! Inverts the texts of a batch of records: record → words becomes term → records.
//!
//! ```text
//! row 7, title "Networks of neurons"    tokens: (network, 7, title, 0, "networks") (neuron, 7, title, 2, "neurons") …
//! sorted by term:                       network → row 7: impact 9, title 0    neuron → row 7: …
//! ```
//!
//! [`BatchWords`] give each word its stem, from the vocabulary of all batches.

use pinakes_format::index::full_text::{POSITION_MAX, TITLE_END, WordPlaces, impact_of, weight_of};
use pinakes_format::schema::Field;
use pinakes_format::storage::leb128;
use pinakes_format::text::analyzer::Stemmer;

use crate::link::index::full_text::vocabulary::{
    BatchWords, NewStem, SharedWords, Stem, StemView, Word,
};

/// The texts of consecutive rows, as words.
#[derive(Default)]
pub(crate) struct TextBatch {
    words: BatchWords,
    tokens: Vec<Token>,
    /// For each token, the number of its stem.
    stems: Vec<u32>,
    rows: Vec<BatchRow>,
    row: RowState,
    /// For each stem, its tokens; then the end of its tokens among the sorted ones. Zeros between batches.
    ends: Vec<u32>,
    /// The stems of the batch.
    used: Vec<u32>,
    sorted: Vec<Token>,
}

#[derive(Clone, Copy)]
struct BatchRow {
    low: u16,
    /// The weighted length of its texts.
    length: u64,
    /// The impacts of words with few weighted occurrences, from 1 on: most words have few, and an impact takes a division.
    impacts: [u8; IMPACTS],
}

/// The impacts that are computed once for a row.
const IMPACTS: usize = 4;

impl BatchRow {
    fn impact(&self, occurrences: u64) -> u8 {
        let known = self.impacts.get((occurrences as usize).wrapping_sub(1)).copied();
        known.unwrap_or_else(|| impact_of(occurrences, self.length))
    }
}

/// The language of the current row, and its words so far.
struct RowState {
    stemmer: Stemmer,
    places: WordPlaces,
}

impl RowState {
    fn new(language: Option<&str>) -> RowState {
        RowState { stemmer: Stemmer::of_language(language), places: WordPlaces::default() }
    }
}

impl Default for RowState {
    fn default() -> RowState {
        RowState::new(None)
    }
}

/// A word at a place. Tokens ascend by row, field and position.
///
/// ```text
/// index of the row in the batch: 16 bits | field: 3 | position: 20 | form, as the vocabulary numbers it: 25
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Token(u64);

/// Bytes of a token in a run, about.
const TOKEN_BYTES: usize = 6;
/// Bytes of a term in a run, without its tokens, about.
const ENTRY_BYTES: usize = 32;
/// Bits of a form in a token.
const FORM_BITS: u32 = 25;
const POSITION_BITS: u32 = POSITION_MAX.count_ones();
/// Bits of a field and a position, in three bytes of a run.
const PLACE_BITS: u32 = POSITION_BITS + 3;

impl Token {
    fn new(row: usize, field: Field, position: u32, form: u32) -> Token {
        let place = (field as u64) << POSITION_BITS | u64::from(position);
        Token((row as u64) << (PLACE_BITS + FORM_BITS) | place << FORM_BITS | u64::from(form))
    }

    fn row(self) -> usize {
        (self.0 >> (PLACE_BITS + FORM_BITS)) as usize
    }

    /// The field and the position.
    fn place(self) -> u32 {
        (self.0 >> FORM_BITS) as u32 & ((1 << PLACE_BITS) - 1)
    }

    fn form(self) -> u64 {
        self.0 & ((1 << FORM_BITS) - 1)
    }
}

/// Splits a place of a run into the field and the position.
pub(super) fn split_place(place: u32) -> (u8, u32) {
    ((place >> POSITION_BITS) as u8, place & POSITION_MAX)
}

impl TextBatch {
    /// Begins a batch with the shared words.
    pub fn begin(&mut self, shared: &SharedWords) {
        self.words.begin(shared);
    }

    /// Bytes of the words so far, as a run will have them, about.
    pub fn bytes(&self) -> usize {
        self.tokens.len() * TOKEN_BYTES
    }

    /// Begins a row with texts in a language.
    pub fn begin_row(&mut self, low: u16, language: Option<&str>) {
        self.row = RowState::new(language);
        self.rows.push(BatchRow { low, length: 0, impacts: [0; IMPACTS] });
    }

    /// Adds a text of the current row.
    pub fn text(&mut self, field: Field, text: &str) {
        let mut places = std::mem::take(&mut self.row.places);
        places.each(field, text, |word, position| self.token(word, field, position));
        if field == Field::Title && places.has(field) {
            self.token(TITLE_END, field, places.end(field));
        }
        self.row.places = places;
    }

    /// Ends the current row.
    pub fn end_row(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.length = self.row.places.length();
            row.impacts = std::array::from_fn(|at| impact_of(at as u64 + 1, row.length));
        }
        let TextBatch { words, tokens, stems, .. } = self;
        words.each_pending(|at, word| {
            stems[at as usize] = word.stem;
            tokens[at as usize].0 |= u64::from(word.form);
        });
    }

    fn token(&mut self, text: &str, field: Field, position: u32) {
        let at = self.tokens.len() as u32;
        let known = self.words.push(text, self.row.stemmer, at);
        let Word { stem, form } = known.unwrap_or_default();
        self.stems.push(stem);
        // The rows of a batch are of one chunk.
        self.tokens.push(Token::new(self.rows.len() - 1, field, position, form));
    }

    /// Encodes the terms, and removes all texts: the terms of frozen stems ascending, and the others ascending. Keeps the memory.
    ///
    /// ```text
    /// entry of a term: length of the stem | stem | part, see `encode_part`
    /// ```
    pub fn encode(&mut self, out: &mut [Vec<u8>; 2]) {
        let TextBatch { words, tokens, stems, rows, ends, used, sorted, .. } = self;
        // A counting sort by stem keeps the tokens of a stem in the order of rows.
        let count = stems.iter().max().map_or(0, |last| *last as usize + 1);
        ends.resize(count.max(ends.len()), 0);
        used.clear();
        for stem in &*stems {
            let count = &mut ends[*stem as usize];
            if *count == 0 {
                used.push(*stem);
            }
            *count += 1;
        }
        // Frozen stems ascend by text as by number.
        used.sort_unstable();
        let new = words.split_new(used);
        let mut from = 0;
        let mut begin = |stem: u32| {
            from += std::mem::replace(&mut ends[stem as usize], from);
            from as usize
        };
        let frozen_tokens = used.iter().map(|stem| begin(*stem)).last().unwrap_or(0);
        new.iter().for_each(|new| _ = begin(new.number));
        sorted.resize(tokens.len(), Token::default());
        for (stem, token) in stems.iter().zip(&*tokens) {
            let end = &mut ends[*stem as usize];
            sorted[*end as usize] = *token;
            *end += 1;
        }
        let [of_frozen, of_new] = out;
        of_frozen.reserve(frozen_tokens * TOKEN_BYTES + used.len() * ENTRY_BYTES);
        of_new.reserve((tokens.len() - frozen_tokens) * TOKEN_BYTES + new.len() * ENTRY_BYTES);
        let mut from = 0;
        let mut tokens_of = |stem: u32| {
            // Zero again for the next batch.
            let to = std::mem::take(&mut ends[stem as usize]) as usize;
            std::mem::replace(&mut from, to)..to
        };
        for number in &*used {
            let tokens = &mut sorted[tokens_of(*number)];
            let stem = words.frozen(*number);
            let is_known = |token: &Token| token.form() < u64::from(stem.form_count);
            let extended = match tokens.iter().all(is_known) {
                true => None,
                false => words.extended(*number),
            };
            encode_term(extended.as_ref().map_or(stem, Stem::view), tokens, rows, of_frozen);
        }
        for NewStem { number, stem, .. } in &new {
            encode_term(stem.view(), &mut sorted[tokens_of(*number)], rows, of_new);
        }
        words.end();
        tokens.clear();
        stems.clear();
        rows.clear();
    }
}

/// Appends three bytes and a number, most of which have one byte: then all four are appended at once.
fn push_number(out: &mut Vec<u8>, [a, b, c]: [u8; 3], number: u64) {
    match u8::try_from(number) {
        Ok(number) if number < 0x80 => out.extend_from_slice(&[a, b, c, number]),
        _ => {
            out.extend_from_slice(&[a, b, c]);
            leb128::push(number, out);
        }
    }
}

/// Encodes the tokens of a stem as an entry.
fn encode_term(stem: StemView<'_>, tokens: &mut [Token], rows: &[BatchRow], out: &mut Vec<u8>) {
    leb128::push(stem.text.len() as u64, out);
    out.extend_from_slice(stem.text);
    encode_part(stem, tokens, rows, out);
}

/// Bytes of a part before its forms.
const PART_HEAD_BYTES: usize = 8;

/// Encodes the tokens of a stem. The forms are all that the vocabulary knows, in its order.
///
/// ```text
/// length of the rest u32 | postings u16 | low half of the last row u16 | length of the forms | each form: length, text
/// | each posting: low half of the row u16 | impact u8 | number of occurrences
///   | for each: field and position u24 | form, if there is more than one
/// ```
fn encode_part(stem: StemView<'_>, tokens: &mut [Token], rows: &[BatchRow], out: &mut Vec<u8>) {
    let length_at = out.len();
    out.extend_from_slice(&[0; PART_HEAD_BYTES]);
    leb128::push(stem.forms.len() as u64, out);
    out.extend_from_slice(stem.forms);
    // A compound stands where its first part does, and a record's fields come in any order.
    if !tokens.is_sorted() {
        tokens.sort_unstable();
    }
    let (mut postings, mut last) = (0u16, 0u16);
    for of_row in tokens.chunk_by(|a, b| a.row() == b.row()) {
        let weights = of_row.iter().map(|token| weight_of(split_place(token.place()).0));
        let row = &rows[of_row[0].row()];
        // A batch has fewer rows than u16 has numbers.
        postings += 1;
        last = row.low;
        let [low, high] = row.low.to_le_bytes();
        let impact = row.impact(weights.sum());
        push_number(out, [low, high, impact], of_row.len() as u64);
        for token in of_row {
            let [a, b, c, _] = token.place().to_le_bytes();
            match stem.form_count > 1 {
                true => push_number(out, [a, b, c], token.form()),
                false => out.extend_from_slice(&[a, b, c]),
            }
        }
    }
    let length = (out.len() - length_at - size_of::<u32>()) as u32;
    let head = &mut out[length_at..length_at + PART_HEAD_BYTES];
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..6].copy_from_slice(&postings.to_le_bytes());
    head[6..].copy_from_slice(&last.to_le_bytes());
}
