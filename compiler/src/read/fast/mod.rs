//! A JSON parser for good lines: reads what [`strict`](crate::read::strict) reads, in less time.
//!
//! The parser reports no faults. At anything unusual it returns [`Doubt`], and the caller parses the text
//! with the strict parser, which accepts the text or names the fault. So the parser may refuse a good text,
//! but every text that it accepts has the value that the strict parser reads. It refuses:
//!
//! - every fault: broken syntax, a duplicate key, nesting beyond [`DEPTH_MAX`], half a surrogate pair, a number
//!   out of range;
//! - control characters, also as white space between tokens;
//! - numbers of more than 18 digits before the point.
//!
//! The strict parser wraps serde_json's to check members that no type reads; this one checks them itself. Without
//! wrappers, a walk over every value of a line takes, in processor seconds a GB, on works of 2025, of 2023 and
//! of the generator:
//!
//! ```text
//! this parser           0.88   0.71   0.66
//! serde_json            1.31   1.15   1.05
//! sonic-rs              1.52   1.40   1.26
//! simd-json's tape      1.37   1.23   1.13     accepts half a surrogate pair and duplicate keys
//! ```

mod access;
mod number;
mod text;
mod unread;

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Visitor},
    forward_to_deserialize_any,
};

use crate::read::fast::access::{Elements, Members, UnreadKeys};
use crate::read::strict::DEPTH_MAX;

/// Parses a JSON text; `None` where the strict parser must decide.
pub(crate) fn parse<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Option<S::Value> {
    // No early exit: the compiler turns the loop into vector instructions.
    if text.bytes().fold(false, |found, byte| found | (byte < b' ')) {
        return None;
    }
    let mut parser =
        Parser { text, at: 0, depth: 0, unescaped: String::new(), unread_keys: Vec::new() };
    let value = seed.deserialize(Value { parser: &mut parser, member: None }).ok()?;
    parser.skip_spaces();
    (parser.at == text.len()).then_some(value)
}

/// The text has a fault, or the parser does not know.
#[derive(Debug)]
struct Doubt;

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text is left to the strict parser")
    }
}

impl std::error::Error for Doubt {}

impl serde::de::Error for Doubt {
    fn custom<T: fmt::Display>(_: T) -> Doubt {
        Doubt
    }
}

/// The state of a parse.
struct Parser<'de> {
    /// The text, without control characters.
    text: &'de str,
    /// The offset of the next byte.
    at: usize,
    /// The number of arrays and objects around the next byte.
    depth: u8,
    /// The current string, where the text has it with escapes.
    unescaped: String,
    /// The keys of the open objects that no type reads, outermost first.
    unread_keys: Vec<Cow<'de, str>>,
}

impl Parser<'_> {
    /// The next byte; 0 at the end of the text.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Skips spaces and returns the next byte without consuming it.
    #[inline(always)]
    fn skip_spaces(&mut self) -> u8 {
        while self.peek() == b' ' {
            self.at += 1;
        }
        self.peek()
    }

    /// Consumes spaces and a byte.
    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Result<(), Doubt> {
        if self.skip_spaces() != byte {
            return Err(Doubt);
        }
        self.at += 1;
        Ok(())
    }

    #[inline(always)]
    fn literal(&mut self, literal: &[u8]) -> Result<(), Doubt> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(literal) {
            return Err(Doubt);
        }
        self.at += literal.len();
        Ok(())
    }

    /// Consumes the opening bracket of an array or object.
    #[inline(always)]
    fn open(&mut self) -> Result<(), Doubt> {
        if self.depth == DEPTH_MAX {
            return Err(Doubt);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Consumes the closing bracket of an array or object.
    #[inline(always)]
    fn close(&mut self, bracket: u8) -> Result<(), Doubt> {
        self.depth -= 1;
        self.expect(bracket)
    }
}

/// The deserializer of one value.
struct Value<'p, 'de> {
    parser: &'p mut Parser<'de>,
    /// The keys of the enclosing object that no type reads, where the value is a member.
    member: Option<&'p mut UnreadKeys<'de>>,
}

impl<'de> Deserializer<'de> for Value<'_, 'de> {
    type Error = Doubt;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Doubt> {
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
            _ => Err(Doubt),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Doubt> {
        if self.parser.skip_spaces() == b'n' {
            self.parser.literal(b"null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(Value { parser: self.parser, member: None })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Doubt> {
        visitor.visit_newtype_struct(Value { parser: self.parser, member: None })
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Doubt> {
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
