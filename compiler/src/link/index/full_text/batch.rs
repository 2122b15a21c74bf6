//! Inverts the texts of a batch of records: record → words becomes term → records.
//!
//! ```text
//! row 7, title "Networks of neurons"    tokens: (network, 7, title, 0, "networks") (neuron, 7, title, 2, "neurons") …
//! sorted by term:                       network → row 7: impact 9, title 0    neuron → row 7: …
//! ```
//!
//! Words are looked up in a [`Vocabulary`], which outlives the batch.

use pinakes_format::index::full_text::{POSITION_MAX, TITLE_END, WordPlaces, impact};
use pinakes_format::schema::texts::{FIELDS, Field};
use pinakes_format::storage::leb128;
use pinakes_format::text::analyzer::Stemmer;

use crate::link::index::full_text::vocabulary::{Stem, Vocabulary, Word};

/// The texts of consecutive rows, as words.
#[derive(Default)]
pub(crate) struct TextBatch {
    vocabulary: Vocabulary,
    tokens: Vec<Token>,
    /// For each token, the number of its stem.
    stems: Vec<u32>,
    /// For each row, its low half and its weighted length.
    rows: Vec<(u16, u64)>,
    row: RowState,
    /// For each stem, its tokens; then the end of its tokens among the sorted ones.
    ends: Vec<u32>,
    sorted: Vec<Token>,
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

/// Bits of a form in a token.
const FORM_BITS: u32 = 25;
/// Bits of a position.
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
    /// Begins a row with texts in a language.
    pub fn begin_row(&mut self, low: u16, language: Option<&str>) {
        self.row = RowState::new(language);
        self.rows.push((low, 0));
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
        if let Some((_, length)) = self.rows.last_mut() {
            *length = self.row.places.length();
        }
        let TextBatch { vocabulary, tokens, stems, .. } = self;
        vocabulary.each_pending(|at, word| {
            stems[at as usize] = word.stem;
            tokens[at as usize].0 |= u64::from(word.form);
        });
    }

    fn token(&mut self, text: &str, field: Field, position: u32) {
        let at = self.tokens.len() as u32;
        let known = self.vocabulary.push(text, self.row.stemmer, at);
        let Word { stem, form } = known.unwrap_or_default();
        self.stems.push(stem);
        // The rows of a batch are of one chunk.
        self.tokens.push(Token::new(self.rows.len() - 1, field, position, form));
    }

    /// Encodes the terms in ascending order, and removes all texts. Keeps the memory, and the words unless they take more
    /// than `words_bytes_max`.
    ///
    /// ```text
    /// entry of a term: length of the stem | stem | part, see `encode_part`
    /// ```
    pub fn encode(&mut self, out: &mut Vec<u8>, words_bytes_max: usize) {
        let TextBatch { vocabulary, tokens, stems, rows, ends, sorted, .. } = self;
        vocabulary.sort();
        // A counting sort by stem keeps the tokens of a stem in the order of rows.
        ends.clear();
        ends.resize(vocabulary.stems().len(), 0);
        stems.iter().for_each(|stem| ends[*stem as usize] += 1);
        let mut from = 0;
        for stem in vocabulary.sorted() {
            from += std::mem::replace(&mut ends[stem as usize], from);
        }
        sorted.resize(tokens.len(), Token::default());
        for (stem, token) in stems.iter().zip(&*tokens) {
            let end = &mut ends[*stem as usize];
            sorted[*end as usize] = *token;
            *end += 1;
        }
        let mut from = 0;
        for stem in vocabulary.sorted() {
            let to = ends[stem as usize] as usize;
            if from < to {
                let stem = &vocabulary.stems()[stem as usize];
                leb128::push(stem.text().len() as u64, out);
                out.extend_from_slice(stem.text());
                encode_part(stem, &mut sorted[from..to], rows, out);
                from = to;
            }
        }
        vocabulary.limit(words_bytes_max);
        tokens.clear();
        stems.clear();
        rows.clear();
    }
}

/// Encodes the tokens of a stem. The forms are all that the vocabulary knows, in its order.
///
/// ```text
/// length of the rest u32 | length of the forms | each form: length, text
/// | each posting: low half of the row u16 | impact u8 | number of occurrences
///   | for each: field and position u24 | form, if there is more than one
/// ```
fn encode_part(stem: &Stem, tokens: &mut [Token], rows: &[(u16, u64)], out: &mut Vec<u8>) {
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    leb128::push(stem.forms().len() as u64, out);
    out.extend_from_slice(stem.forms());
    // A compound stands where its first part does, and a record's fields come in any order.
    if !tokens.is_sorted() {
        tokens.sort_unstable();
    }
    for of_row in tokens.chunk_by(|a, b| a.row() == b.row()) {
        let mut counts = [0; FIELDS];
        for token in of_row {
            counts[usize::from(split_place(token.place()).0)] += 1;
        }
        let (low, length) = rows[of_row[0].row()];
        out.extend_from_slice(&low.to_le_bytes());
        out.push(impact(&counts, length));
        leb128::push(of_row.len() as u64, out);
        for token in of_row {
            out.extend_from_slice(&token.place().to_le_bytes()[..3]);
            if stem.form_count > 1 {
                leb128::push(token.form(), out);
            }
        }
    }
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}
