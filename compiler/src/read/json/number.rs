//! Numbers.

use serde::de::Visitor;

use crate::read::json::Parser;
use crate::read::json::fault::JsonFault;

/// No integer of this many digits exceeds an `i64`.
const SHORT_DIGITS_MAX: usize = 18;

/// A number of the text.
enum Number {
    Unsigned(u64),
    Negative(i64),
    Fraction(f64),
    /// A number beyond the range of `f64`.
    OutOfRange,
}

impl<'de> Parser<'de> {
    /// Consumes a number at its first byte.
    #[inline(always)]
    pub(super) fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, JsonFault> {
        match self.read_number()? {
            Number::Unsigned(integer) => visitor.visit_u64(integer),
            Number::Negative(integer) => visitor.visit_i64(integer),
            Number::Fraction(fraction) => visitor.visit_f64(fraction),
            Number::OutOfRange => Err(JsonFault::Syntax),
        }
    }

    /// Consumes a number at its first byte, and checks its range where unread values are checked.
    #[inline(always)]
    pub(super) fn skip_number(&mut self) -> Result<(), JsonFault> {
        match self.read_number()? {
            Number::OutOfRange if self.checks_unread => Err(JsonFault::Syntax),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn read_number(&mut self) -> Result<Number, JsonFault> {
        let from = self.at;
        let is_negative = self.peek() == b'-';
        self.at += usize::from(is_negative);
        let digits_from = self.at;
        let mut integer = 0u64;
        while let digit @ b'0'..=b'9' = self.peek() {
            // Wraps only where there are many digits, which `long_integer` reads again.
            integer = integer.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - digits_from;
        let has_leading_zero = digits > 1 && self.text.as_bytes()[digits_from] == b'0';
        if digits == 0 && is_negative && self.peek() == b'I' {
            self.literal(b"Infinity")?;
            return Ok(Number::Fraction(f64::NEG_INFINITY));
        }
        if digits == 0 || has_leading_zero {
            return Err(JsonFault::Syntax);
        }
        if matches!(self.peek(), b'.' | b'e' | b'E') {
            return self.read_fraction(from);
        }
        if digits > SHORT_DIGITS_MAX {
            return Ok(self.long_integer(from, is_negative));
        }
        Ok(match is_negative {
            false => Number::Unsigned(integer),
            // `-0` is a fraction to serde_json.
            true if integer == 0 => Number::Fraction(-0.0),
            // The cast is exact: 18 digits are below 2^63.
            true => Number::Negative(-(integer as i64)),
        })
    }

    /// Consumes the rest of a number that starts at `from`, behind its integer digits.
    fn read_fraction(&mut self, from: usize) -> Result<Number, JsonFault> {
        if self.peek() == b'.' {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.skip_digits()?;
        }
        Ok(self.fraction(from))
    }

    /// The integer between `from` and here; a fraction where no integer of 64 bits is as large.
    #[cold]
    fn long_integer(&self, from: usize, is_negative: bool) -> Number {
        let text = &self.text[from..self.at];
        let integer = match is_negative {
            false => text.parse().ok().map(Number::Unsigned),
            true => text.parse().ok().map(Number::Negative),
        };
        integer.unwrap_or_else(|| self.fraction(from))
    }

    /// The number between `from` and here, which has the syntax of JSON.
    fn fraction(&self, from: usize) -> Number {
        // Rounds to the nearest number, as serde_json does with its feature `float_roundtrip`.
        match self.text[from..self.at].parse::<f64>() {
            Ok(fraction) if fraction.is_finite() => Number::Fraction(fraction),
            _ => Number::OutOfRange,
        }
    }

    /// Consumes one or more digits.
    fn skip_digits(&mut self) -> Result<(), JsonFault> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(JsonFault::Syntax) }
    }
}
