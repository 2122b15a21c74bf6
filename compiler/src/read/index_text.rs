//! Inverted indexes that are JSON texts, and the joining of an index to the text of an abstract.
//!
//! ```text
//! {"show":[1],"we":[0,7],"can":[9]}    we show we can
//! ```
//!
//! [`join_plain`] reads the plain form of an index, which almost every text has: about six times as fast as
//! serde reads the text. It leaves every other text, and every error, to its caller.

use std::borrow::Cow;

use crate::read::json::{Keys, MANY};
use crate::read::lenient::{Diagnostics, clean, is_too_long};

/// Bytes of an index for which its lists take memory for a word from the start.
const WORD_BYTES: usize = 16;
/// The most digits of a position: no such number is too large for a count.
const DIGITS_MAX: usize = 15;

/// Joins the words of an index in the order of their positions with single spaces; equal positions in the
/// order of the words. `None` for a blank or overlong text.
///
/// A word has two bytes a position in the index and all its bytes in the text. So the length is
/// checked before the text takes memory.
pub(super) fn join_words(
    words: &[Cow<'_, str>],
    mut positions: Vec<(u64, u32)>,
    diagnostics: &Diagnostics,
) -> Option<String> {
    let word = |number: u32| words[number as usize].as_ref();
    positions.retain(|(_, number)| !word(*number).is_empty());
    let lengths = positions.iter().map(|(_, number)| word(*number).len() as u64 + 1);
    let text_bytes = lengths.sum::<u64>().saturating_sub(1);
    if is_too_long(text_bytes, diagnostics) {
        return None;
    }
    let mut text = String::with_capacity(text_bytes as usize);
    let mut push = |number: u32| {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word(number));
    };
    match place(&positions) {
        Some(places) => places.into_iter().filter(|place| *place != NO_WORD).for_each(push),
        None => {
            positions.sort_unstable_by_key(|(at, number)| (*at, word(*number)));
            positions.iter().for_each(|(_, number)| push(*number));
        }
    }
    clean(Cow::Owned(text), diagnostics).to_owned()
}

/// A place without a word.
const NO_WORD: u32 = u32::MAX;

/// The number of the word at each position; `None` if two words share a position, or if most positions have
/// no word.
fn place(positions: &[(u64, u32)]) -> Option<Vec<u32>> {
    let last = positions.iter().map(|(at, _)| *at).max()?;
    let places = usize::try_from(last).ok()?.checked_add(1)?;
    if places / 2 > positions.len() {
        return None;
    }
    let mut words = vec![NO_WORD; places];
    for (at, number) in positions {
        let place = &mut words[*at as usize];
        if *place != NO_WORD {
            return None;
        }
        *place = *number;
    }
    Some(words)
}

/// Joins an index of the form `{"word":[1,2],…}`; `None` for any other text, and if a word occurs twice.
pub(super) fn join_plain(text: &str, diagnostics: &Diagnostics) -> Option<Option<String>> {
    let mut parser = Parser { text, at: 0 };
    let mut words: Vec<Cow<'_, str>> = Vec::with_capacity(text.len() / WORD_BYTES);
    let mut positions: Vec<(u64, u32)> = Vec::with_capacity(text.len() / WORD_BYTES);
    let mut is_ascending = true;
    parser.take(b'{')?;
    if parser.take(b'}').is_none() {
        loop {
            let word = parser.word()?;
            is_ascending &= words.last().is_none_or(|last| *last < word);
            // The cast is exact: a row has fewer than 2^32 bytes, so fewer words.
            let number = words.len() as u32;
            words.push(word);
            parser.take(b':')?;
            parser.positions(|at| positions.push((at, number)))?;
            if parser.take(b',').is_none() {
                break;
            }
        }
        parser.take(b'}')?;
    }
    parser.skip_spaces();
    if parser.at != text.len() || !(is_ascending || are_distinct(&words)) {
        return None;
    }
    Some(join_words(&words, positions, diagnostics))
}

fn are_distinct(words: &[Cow<'_, str>]) -> bool {
    let mut keys = Keys::<MANY>::default();
    let mut words = words.iter().map(|word| Cow::Borrowed(word.as_ref()));
    words.all(|word| keys.insert::<serde::de::value::Error>(word).is_ok())
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Skips spaces and takes a byte, if it comes next.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_spaces();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next.then_some(())
    }

    fn word(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let from = self.at;
        let mut has_escape = false;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    has_escape = true;
                    self.at += 2;
                }
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        let to = self.at;
        self.at += 1;
        if has_escape {
            return serde_json::from_str(self.text.get(from - 1..to + 1)?).ok().map(Cow::Owned);
        }
        self.text.get(from..to).map(Cow::Borrowed)
    }

    fn positions(&mut self, mut each: impl FnMut(u64)) -> Option<()> {
        self.take(b'[')?;
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            self.skip_spaces();
            each(self.number()?);
            if self.take(b',').is_none() {
                return self.take(b']');
            }
        }
    }

    fn number(&mut self) -> Option<u64> {
        let from = self.at;
        let mut number = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            if self.at - from == DIGITS_MAX {
                return None;
            }
            number = number * 10 + u64::from(digit - b'0');
            self.at += 1;
        }
        let digits = self.at - from;
        // JSON allows no zero before other digits.
        let is_plain = digits == 1 || (digits > 1 && self.text.as_bytes()[from] != b'0');
        is_plain.then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_form_of_an_index_is_joined() {
        let diagnostics = Diagnostics::default();
        let check = |text: &str, expected: Option<Option<&str>>| {
            let joined = join_plain(text, &diagnostics);
            assert_eq!(joined.as_ref().map(Option::as_deref), expected, "{text}");
        };
        check(r#"{"can":[3],"show":[1],"we":[0,2]}"#, Some(Some("we show we can")));
        check(r#"{"show":[1],"we":[0,7],"can":[9]}"#, Some(Some("we show we can")));
        check(r#" { "we" : [ 0 , 2 ] , "show": [1] } "#, Some(Some("we show we")));
        check(r#"{"a\"b":[0],"é\u00e9":[1]}"#, Some(Some("a\"b éé")));
        check(r#"{"b":[0],"a":[0],"":[1],"c":[123456789012345]}"#, Some(Some("a b c")));
        check("{}", Some(None));
        check(r#"{"a":[]}"#, Some(None));
        for other in [
            "",
            "{",
            "[]",
            "no index",
            r#"{"a":[0]"#,
            r#"{"a":[0],}"#,
            r#"{"a":[0,]}"#,
            r#"{"a":[00]}"#,
            r#"{"a":[01]}"#,
            r#"{"a":[-1]}"#,
            r#"{"a":[1.5]}"#,
            r#"{"a":[1e3]}"#,
            r#"{"a":["1"]}"#,
            r#"{"a":[1234567890123456]}"#,
            r#"{"a":1}"#,
            r#"{"a":{"b":[1]}}"#,
            r#"{"a":[0],"b":[1],"a":[2]}"#,
            r#"{"a":[0]} x"#,
            r#"{"a\":[0]}"#,
            r#"{"a\x":[0]}"#,
            "{\"a\u{1}\":[0]}",
            "{\"a\\",
        ] {
            check(other, None);
        }
    }
}
