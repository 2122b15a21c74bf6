//! Values that no type reads.

use crate::read::json::Parser;
use crate::read::json::fault::JsonFault;
use crate::read::json::keys::{FEW, KeyIndex};

impl Parser<'_> {
    /// Consumes a value, and checks it like a value that is read.
    pub(super) fn skip_value(&mut self) -> Result<(), JsonFault> {
        match self.skip_spaces() {
            b'"' => self.skip_string(),
            b'{' => self.skip_object(),
            b'[' => self.skip_array(),
            _ => self.skip_number_or_literal(),
        }
    }

    #[inline(always)]
    fn skip_number_or_literal(&mut self) -> Result<(), JsonFault> {
        match self.peek() {
            b'0'..=b'9' | b'-' => self.skip_number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            b'N' => self.literal(b"NaN"),
            b'I' => self.literal(b"Infinity"),
            _ => Err(JsonFault::Syntax),
        }
    }

    /// Consumes a value as serde_json skips one: with duplicate keys, half surrogate pairs, numbers out of range, and
    /// any nesting.
    pub(super) fn skip_value_unchecked(&mut self) -> Result<(), JsonFault> {
        // The closing brackets of the arrays and objects around the next value, outermost first.
        let mut closing: Vec<u8> = Vec::new();
        loop {
            match self.skip_spaces() {
                b'"' => self.skip_string_unchecked()?,
                open @ (b'{' | b'[') => {
                    // In ASCII, a closing bracket comes two places behind its opening bracket.
                    let close = open + 2;
                    self.at += 1;
                    if self.skip_spaces() != close {
                        self.skip_key_before_value(close)?;
                        closing.push(close);
                        continue;
                    }
                    self.at += 1;
                }
                _ => self.skip_number_or_literal()?,
            }
            // Closes what ends with the value, up to the comma before the next value.
            loop {
                let Some(close) = closing.last().copied() else { return Ok(()) };
                let byte = self.skip_spaces();
                if byte != close && byte != b',' {
                    return Err(JsonFault::Syntax);
                }
                self.at += 1;
                if byte == b',' {
                    self.skip_key_before_value(close)?;
                    break;
                }
                closing.pop();
            }
        }
    }

    /// Consumes the key and the colon of a member; nothing in an array, which closes with another bracket.
    fn skip_key_before_value(&mut self, close: u8) -> Result<(), JsonFault> {
        if close == b'}' {
            if self.skip_spaces() != b'"' {
                return Err(JsonFault::Syntax);
            }
            self.skip_string_unchecked()?;
            self.expect(b':')?;
        }
        Ok(())
    }

    fn skip_array(&mut self) -> Result<(), JsonFault> {
        self.open()?;
        if self.skip_spaces() != b']' {
            self.skip_value()?;
            while self.skip_spaces() == b',' {
                self.at += 1;
                self.skip_value()?;
            }
        }
        self.close(b']')
    }

    fn skip_object(&mut self) -> Result<(), JsonFault> {
        self.open()?;
        let from = self.unread_keys.len();
        let mut index = KeyIndex::<FEW>::default();
        let mut is_first = true;
        while self.skip_spaces() != b'}' {
            if !std::mem::take(&mut is_first) {
                self.expect(b',')?;
            }
            let key = self.key()?;
            if index.insert(self.unread_keys.get(from..).unwrap_or_default(), &key) {
                return Err(JsonFault::DuplicateKey);
            }
            self.unread_keys.push(key);
            self.expect(b':')?;
            self.skip_value()?;
        }
        self.unread_keys.truncate(from);
        self.close(b'}')
    }
}
