//! Running text, and abstracts as inverted indexes: each word with its positions, by first occurrence.

use crate::emit::{list, put};
use crate::random::Random;
use crate::text::{Script, Vocabulary, put_capitalised};

/// The most words of an abstract.
const WORDS_MAX: usize = 400;

/// Slots of the hash table that finds earlier occurrences: a power of two above twice the number of words.
const SLOTS: usize = 1024;

/// No position.
const NONE: u16 = u16::MAX;

/// A word as printed: its rank, whether it has a capital, the mark after it.
///
/// Different tokens print differently: words are distinct and lower-case, and capitals occur only where a script has them.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Token {
    rank: u32,
    capitalised: bool,
    mark: &'static str,
}

impl Token {
    fn draw(vocabulary: &Vocabulary, capitalised: bool, random: &mut Random) -> Self {
        let mark = match random.below(100) {
            0..6 => ".",
            6..11 => ",",
            _ => "",
        };
        Self { rank: vocabulary.draw(random), capitalised, mark }
    }

    fn slot(self) -> usize {
        let key = self.rank * 8 + u32::from(self.capitalised) * 4 + self.mark.len() as u32;
        (key.wrapping_mul(0x9E37_79B1) >> 22) as usize
    }

    fn put(self, vocabulary: &Vocabulary, out: &mut Vec<u8>) {
        let word = vocabulary.word(self.rank);
        if self.capitalised {
            put_capitalised(out, word)
        } else {
            out.extend_from_slice(word.as_bytes())
        }
        put!(out; self.mark);
    }
}

/// The positions of equal tokens as linked lists.
struct Occurrences {
    tokens: [Token; WORDS_MAX],
    /// The next position of the same token.
    next: [u16; WORDS_MAX],
    /// The last position of the token whose first position is here, or `NONE` for a later position.
    last: [u16; WORDS_MAX],
    /// First position of a token, by its hash.
    slots: [u16; SLOTS],
}

impl Occurrences {
    fn new() -> Self {
        Self {
            tokens: [Token::default(); WORDS_MAX],
            next: [NONE; WORDS_MAX],
            last: [NONE; WORDS_MAX],
            slots: [NONE; SLOTS],
        }
    }

    fn add(&mut self, position: usize, token: Token) {
        self.tokens[position] = token;
        let mut slot = token.slot();
        loop {
            let first = usize::from(self.slots[slot]);
            if self.slots[slot] == NONE {
                self.slots[slot] = position as u16;
                self.last[position] = position as u16;
                return;
            }
            if self.tokens[first] == token {
                self.next[usize::from(self.last[first])] = position as u16;
                self.last[first] = position as u16;
                return;
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    fn positions(&self, first: usize) -> impl Iterator<Item = u16> {
        std::iter::successors(Some(first as u16), |&position| {
            Some(self.next[usize::from(position)]).filter(|&next| next != NONE)
        })
    }
}

/// `{"word":[positions],…}` of about 170 words; in one of a hundred the positions have a gap, as real ones do.
pub(super) fn put(script: Script, random: &mut Random, out: &mut Vec<u8>) {
    let vocabulary = script.vocabulary();
    let words = (20 + random.below(150) + random.below(151)) as usize;
    let gap_after = if random.chance(10) { random.below(words as u64) } else { u64::MAX };
    let mut occurrences = Occurrences::new();
    let mut begins_sentence = true;
    for position in 0..words {
        let token = Token::draw(vocabulary, begins_sentence && script.cased(), random);
        begins_sentence = token.mark == ".";
        occurrences.add(position, token);
    }
    put!(out; "{");
    for first in (0..words).filter(|&position| occurrences.last[position] != NONE) {
        put!(out; if first > 0 { ",\"" } else { "\"" });
        occurrences.tokens[first].put(vocabulary, out);
        put!(out; "\":");
        list(out, occurrences.positions(first), |out, position| {
            let position = u64::from(position);
            put!(out; position + u64::from(position > gap_after) * 3);
        });
    }
    put!(out; "}");
}

/// Draws `words` words by frequency. The first has a capital.
pub(super) fn put_sentence(script: Script, words: u64, random: &mut Random, out: &mut Vec<u8>) {
    let vocabulary = script.vocabulary();
    for position in 0..words {
        if position > 0 && script.spaced() {
            out.push(b' ');
        }
        let word = vocabulary.word(vocabulary.draw(random));
        if position == 0 {
            put_capitalised(out, word)
        } else {
            out.extend_from_slice(word.as_bytes())
        }
    }
}
