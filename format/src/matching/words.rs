//! The words of a text, and how alike two words are: equal, spelled almost so, or one abbreviated.

use rapidfuzz::distance::osa;

use crate::text::analyzer::{each_compound, is_stop_word};

/// Words of a text that are read; the rest is left out.
const WORDS_MAX: usize = 400;
/// Letters of a word from which on one letter may differ, and from which on two may.
const MISTYPED_LETTERS: [usize; 2] = [4, 8];
/// The likeness of words that one letter, or two letters, tell apart.
const MISTYPED: [f32; 2] = [0.92, 0.8];
/// The likeness of words that look equal.
const LOOKS_EQUAL: f32 = 0.96;

/// A folded word of a text.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub text: String,
    /// The set of the word's bytes, modulo 64, each letter as it looks: words that differ in few letters have similar sets.
    bytes: u64,
    pub is_number: bool,
    /// Whether the word is very frequent in some language, such as `of`.
    pub is_stop: bool,
}

impl Word {
    pub fn new(text: &str) -> Word {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let bit = |byte: u8| 1_u64 << (byte & 63);
        let bytes = text.bytes().fold(0, |set, byte| {
            set | match byte {
                b'm' => bit(b'r') | bit(b'n'),
                b'd' => bit(b'c') | bit(b'l'),
                b'w' => bit(b'v'),
                b'1' | b'i' => bit(b'l'),
                b'0' => bit(b'o'),
                byte => bit(byte),
            }
        });
        Word { text: text.to_owned(), bytes, is_number, is_stop: is_stop_word(text) }
    }

    /// Whether the word says something: no stop word, no number, and no initial.
    pub fn is_content(&self) -> bool {
        !self.is_stop && !self.is_number && self.text.len() > 2
    }

    /// The weight of the word in a title.
    pub fn weight(&self) -> f32 {
        if self.is_stop { 0.3 } else { 1.0 }
    }
}

/// The words of a text, in order.
pub(super) fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    each_compound(text, |compound| {
        if words.len() < WORDS_MAX {
            words.extend(compound.parts().map(Word::new));
        }
    });
    words
}

/// Writes letters that scanned texts confuse in one way.
fn as_seen(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let pair = letters.peek().map(|next| (letter, *next));
        let whole = match pair {
            Some(('r', 'n')) => Some('m'),
            Some(('c', 'l')) => Some('d'),
            Some(('v', 'v')) => Some('w'),
            _ => None,
        };
        seen.push(match (whole, letter) {
            (Some(whole), _) => {
                letters.next();
                whole
            }
            (None, '0') => 'o',
            (None, '1' | 'i') => 'l',
            (None, letter) => letter,
        });
    }
    seen
}

/// How alike two words are: 1 for equal words, 0 for words that more than a mistake tells apart.
pub(super) fn likeness(a: &Word, b: &Word) -> f32 {
    if a.text == b.text {
        return 1.0;
    }
    let (shorter, longer) = match a.text.len() <= b.text.len() {
        true => (a.text.len(), b.text.len()),
        false => (b.text.len(), a.text.len()),
    };
    let edits = MISTYPED_LETTERS.iter().filter(|letters| shorter >= **letters).count();
    let differing = (a.bytes ^ b.bytes).count_ones() as usize;
    // Letters that look like two may make a word longer by one or two.
    let is_far = longer - shorter > edits + 1 || differing > 2 * edits;
    if edits == 0 || a.is_number || b.is_number || is_far {
        return 0.0;
    }
    match osa::distance(as_seen(&a.text).chars(), as_seen(&b.text).chars()) {
        0 => LOOKS_EQUAL,
        distance if distance <= edits => MISTYPED[distance - 1],
        _ => 0.0,
    }
}

/// Whether a word may be an abbreviation of another: its beginning, or a contraction that keeps its first two letters and the
/// order of the others, as `natl` of `national`.
pub(super) fn abbreviates(short: &str, long: &str) -> bool {
    if long.starts_with(short) {
        return true;
    }
    let mut letters = short.chars();
    let (first, second) = (letters.next(), letters.next());
    let mut others = long.chars();
    if first != others.next() || second.is_none() {
        return false;
    }
    if second != others.next() && short.chars().count() > 3 {
        return false;
    }
    let mut others = long.chars();
    short.chars().all(|letter| others.any(|other| other == letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_few_mistakes_are_alike() {
        let check = |a: &str, b: &str, expected: bool| {
            let found = likeness(&Word::new(a), &Word::new(b)) > 0.0;
            assert_eq!(found, expected, "{a} {b}");
        };
        check("knee", "knee", true);
        check("knee", "knce", true);
        check("kne", "kme", false);
        check("cartilage", "cart1lagc", true);
        check("cartilage", "catrilage", true);
        check("cartilage", "cartography", false);
        check("1994", "1995", false);
        check("modern", "modem", true);
        check("simmons", "sirnmons", true);
    }

    #[test]
    fn abbreviations_are_beginnings_and_contractions() {
        let check = |short: &str, long: &str, expected: bool| {
            assert_eq!(abbreviates(short, long), expected, "{short} {long}");
        };
        check("biol", "biology", true);
        check("natl", "national", true);
        check("jpn", "japanese", true);
        check("geneeskd", "geneeskunde", true);
        check("j", "journal", true);
        check("biol", "bulletin", false);
        check("rev", "review", true);
        check("x", "journal", false);
    }
}
