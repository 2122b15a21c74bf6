//! A strict JSON parser: the members that no type reads are checked like the members that are read.
//!
//! serde skips a member that the target type does not declare. Inside a skipped member, serde_json accepts a
//! duplicate key, half a surrogate pair, an overlong number and any nesting. Then whether a line is good would
//! depend on the members that today's types declare. This parser checks skipped members itself, and every
//! refusal names its [`JsonFault`]. One parser serves good and bad lines: each type that reads lines is compiled
//! once for JSON.
//!
//! `NaN`, `Infinity` and `-Infinity` are no JSON, but Python's `json` writes them. They cost the member, not the line.
//!
//! A walk over every value of a line takes, in processor seconds a GB, on works of 2025, of 2023 and of the
//! generator:
//!
//! ```text
//! this parser           0.88   0.71   0.66
//! serde_json            1.31   1.15   1.05
//! sonic-rs              1.52   1.40   1.26
//! simd-json's tape      1.37   1.23   1.13     accepts half a surrogate pair and duplicate keys
//! ```

mod access;
mod fault;
mod keys;
mod number;
mod text;
mod unread;

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::read::json::access::{Elements, Members, UnreadKeys};
pub use crate::read::json::fault::JsonFault;
pub(crate) use crate::read::json::keys::{Keys, MANY};

/// Arrays and objects that may enclose a value; serde_json's own limit is the same.
pub(crate) const DEPTH_MAX: u8 = 127;

/// Parses a JSON text, and checks the members that the seed does not read as strictly as the others.
///
/// # Errors
///
/// The first fault of the text.
pub(crate) fn parse<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
) -> Result<S::Value, JsonFault> {
    Parser::new(text, true).parse(seed)
}

/// Like [`parse`]; members that the seed does not read are skipped as serde_json skips them.
///
/// # Errors
///
/// The first fault in a part of the text that the seed reads.
pub(crate) fn parse_skipping_unread<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
) -> Result<S::Value, JsonFault> {
    Parser::new(text, false).parse(seed)
}

/// Keys for which a parse takes memory from the start.
const UNREAD_KEYS_EXPECTED: usize = 32;

/// The state of a parse.
struct Parser<'de> {
    text: &'de str,
    /// Whether the text has control characters, which are white space outside of strings.
    has_control: bool,
    checks_unread: bool,
    /// The offset of the next byte.
    at: usize,
    /// The number of arrays and objects around the next byte.
    depth: u8,
    /// The current string, where the text has it with escapes.
    unescaped: String,
    /// The keys of the open objects that no type reads, outermost first.
    unread_keys: Vec<Cow<'de, str>>,
}

impl<'de> Parser<'de> {
    fn new(text: &'de str, checks_unread: bool) -> Parser<'de> {
        Parser {
            text,
            // No early exit: the compiler turns the loop into vector instructions.
            has_control: text.bytes().fold(false, |found, byte| found | (byte < b' ')),
            checks_unread,
            at: 0,
            depth: 0,
            unescaped: String::new(),
            unread_keys: Vec::with_capacity(UNREAD_KEYS_EXPECTED),
        }
    }

    fn parse<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, JsonFault> {
        let value = seed.deserialize(JsonDeserializer { parser: &mut self, member: None })?;
        self.skip_spaces();
        if self.at == self.text.len() { Ok(value) } else { Err(JsonFault::Syntax) }
    }

    /// The next byte; 0 at the end of the text.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Skips white space and returns the next byte without consuming it.
    #[inline(always)]
    fn skip_spaces(&mut self) -> u8 {
        loop {
            let byte = self.peek();
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return byte;
            }
            self.at += 1;
        }
    }

    /// Consumes white space and a byte.
    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.skip_spaces() != byte {
            return Err(JsonFault::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    #[inline(always)]
    fn literal(&mut self, literal: &[u8]) -> Result<(), JsonFault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(literal) {
            return Err(JsonFault::Syntax);
        }
        self.at += literal.len();
        Ok(())
    }

    /// Consumes the opening bracket of an array or object.
    #[inline(always)]
    fn open(&mut self) -> Result<(), JsonFault> {
        if self.depth == DEPTH_MAX {
            return Err(JsonFault::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Consumes the closing bracket of an array or object.
    #[inline(always)]
    fn close(&mut self, bracket: u8) -> Result<(), JsonFault> {
        self.depth -= 1;
        self.expect(bracket)
    }
}

/// The deserializer of one value.
struct JsonDeserializer<'p, 'de> {
    parser: &'p mut Parser<'de>,
    /// The keys of the enclosing object that no type reads, where the value is a member.
    member: Option<&'p mut UnreadKeys<'de>>,
}

impl<'de> Deserializer<'de> for JsonDeserializer<'_, 'de> {
    type Error = JsonFault;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonFault> {
        let parser = self.parser;
        match parser.skip_spaces() {
            b'"' => parser.string(visitor),
            b'{' => {
                parser.open()?;
                let keys_from = parser.unread_keys.len();
                let value = visitor.visit_map(Members::new(parser))?;
                parser.unread_keys.truncate(keys_from);
                parser.close(b'}')?;
                Ok(value)
            }
            b'[' => {
                parser.open()?;
                let value = visitor.visit_seq(Elements::new(parser))?;
                parser.close(b']')?;
                Ok(value)
            }
            b'0'..=b'9' | b'-' => parser.number(visitor),
            b't' => parser.literal(b"true").and_then(|()| visitor.visit_bool(true)),
            b'f' => parser.literal(b"false").and_then(|()| visitor.visit_bool(false)),
            b'n' => parser.literal(b"null").and_then(|()| visitor.visit_unit()),
            b'N' => parser.literal(b"NaN").and_then(|()| visitor.visit_f64(f64::NAN)),
            b'I' => parser.literal(b"Infinity").and_then(|()| visitor.visit_f64(f64::INFINITY)),
            _ => Err(JsonFault::Syntax),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonFault> {
        if self.parser.skip_spaces() == b'n' {
            self.parser.literal(b"null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(JsonDeserializer { parser: self.parser, member: None })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, JsonFault> {
        visitor.visit_newtype_struct(JsonDeserializer { parser: self.parser, member: None })
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonFault> {
        if !self.parser.checks_unread {
            self.parser.skip_value_unchecked()?;
            return visitor.visit_unit();
        }
        if let Some(member) = self.member {
            member.insert(&mut self.parser.unread_keys)?;
        }
        self.parser.skip_value()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier
    }
}

#[cfg(test)]
mod tests;
