//! Strings.

use std::borrow::Cow;

use serde::de::Visitor;

use crate::read::json::Parser;
use crate::read::json::fault::JsonFault;

/// A word whose bytes are all 1.
const ONES: u64 = u64::MAX / 255;
const HIGH_SURROGATES: std::ops::Range<u32> = 0xd800..0xdc00;
const LOW_SURROGATES: std::ops::Range<u32> = 0xdc00..0xe000;

/// A number whose lowest set bit is the top bit of the first byte of `word` that is a quote or a backslash;
/// 0 if there is none.
#[inline(always)]
fn find_in_word(word: u64) -> u64 {
    // A zero byte borrows from the next, so its top bit is set by the subtraction and was not set before.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')))
}

impl<'de> Parser<'de> {
    /// Finds the first quote or backslash from `at` on.
    #[inline(always)]
    fn find_quote_or_backslash(&self, mut at: usize) -> Result<usize, JsonFault> {
        let bytes = self.text.as_bytes();
        while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let found = find_in_word(u64::from_le_bytes(*word));
            if found != 0 {
                return Ok(at + (found.trailing_zeros() / 8) as usize);
            }
            at += 8;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        found.map(|found| at + found).ok_or(JsonFault::Syntax)
    }

    /// A piece of a string, which has no control characters.
    #[inline(always)]
    fn piece(&self, from: usize, to: usize) -> Result<&'de str, JsonFault> {
        let piece = &self.text[from..to];
        if self.has_control && piece.bytes().any(|byte| byte < b' ') {
            return Err(JsonFault::Syntax);
        }
        Ok(piece)
    }

    /// Consumes a string without escapes; `None`, and no more than before, where it has an escape.
    #[inline(always)]
    fn plain_string(&mut self) -> Result<Option<&'de str>, JsonFault> {
        let from = self.at + 1;
        let end = self.find_quote_or_backslash(from)?;
        if self.text.as_bytes()[end] != b'"' {
            return Ok(None);
        }
        self.at = end + 1;
        self.piece(from, end).map(Some)
    }

    /// Consumes a string at its opening quote.
    #[inline(always)]
    pub(super) fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, JsonFault> {
        match self.plain_string()? {
            Some(text) => visitor.visit_borrowed_str(text),
            None => {
                self.unescape()?;
                visitor.visit_str(&self.unescaped)
            }
        }
    }

    /// Consumes spaces and a key.
    #[inline(always)]
    pub(super) fn key(&mut self) -> Result<Cow<'de, str>, JsonFault> {
        if self.skip_spaces() != b'"' {
            return Err(JsonFault::Syntax);
        }
        match self.plain_string()? {
            Some(key) => Ok(Cow::Borrowed(key)),
            None => {
                self.unescape()?;
                Ok(Cow::Owned(self.unescaped.clone()))
            }
        }
    }

    /// Consumes a string at its opening quote, and checks its escapes.
    #[inline(always)]
    pub(super) fn skip_string(&mut self) -> Result<(), JsonFault> {
        match self.plain_string()? {
            Some(_) => Ok(()),
            None => self.unescape(),
        }
    }

    /// Consumes a string at its opening quote, where half a surrogate pair is as good as any escape.
    pub(super) fn skip_string_unchecked(&mut self) -> Result<(), JsonFault> {
        let mut from = self.at + 1;
        loop {
            let end = self.find_quote_or_backslash(from)?;
            self.piece(from, end)?;
            self.at = end + 1;
            if self.text.as_bytes()[end] == b'"' {
                return Ok(());
            }
            match self.peek() {
                b'u' => {
                    self.at += 1;
                    self.hex_digits()?;
                }
                _ => _ = self.escape()?,
            }
            from = self.at;
        }
    }

    /// Consumes a string at its opening quote into [`Parser::unescaped`].
    fn unescape(&mut self) -> Result<(), JsonFault> {
        self.unescaped.clear();
        let mut from = self.at + 1;
        loop {
            let end = self.find_quote_or_backslash(from)?;
            self.unescaped.push_str(self.piece(from, end)?);
            self.at = end + 1;
            if self.text.as_bytes()[end] == b'"' {
                return Ok(());
            }
            let character = self.escape()?;
            self.unescaped.push(character);
            from = self.at;
        }
    }

    /// Consumes an escape behind its backslash.
    fn escape(&mut self) -> Result<char, JsonFault> {
        let kind = self.peek();
        self.at += 1;
        Ok(match kind {
            b'u' => return self.unicode_escape(),
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return Err(JsonFault::Syntax),
        })
    }

    /// Consumes the digits of a `\u` escape, and the escape of the second half of a pair.
    fn unicode_escape(&mut self) -> Result<char, JsonFault> {
        let mut code = self.hex_digits()?;
        if HIGH_SURROGATES.contains(&code) {
            self.literal(b"\\u")?;
            let low = self.hex_digits()?;
            if !LOW_SURROGATES.contains(&low) {
                return Err(JsonFault::Syntax);
            }
            code = 0x1_0000 + ((code - HIGH_SURROGATES.start) << 10) + (low - LOW_SURROGATES.start);
        }
        char::from_u32(code).ok_or(JsonFault::Syntax)
    }

    fn hex_digits(&mut self) -> Result<u32, JsonFault> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).ok_or(JsonFault::Syntax)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, digit| {
            char::from(*digit).to_digit(16).map(|digit| code << 4 | digit).ok_or(JsonFault::Syntax)
        })
    }
}
