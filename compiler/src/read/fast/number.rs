//! Numbers.

use serde::de::Visitor;

use crate::read::fast::{Doubt, Parser};

/// Digits of the longest integer that the parser reads; none of them exceeds an `i64`.
const INTEGER_DIGITS_MAX: usize = 18;

/// A number of the text.
enum Number {
    Unsigned(u64),
    Negative(i64),
    Fraction(f64),
}

impl<'de> Parser<'de> {
    /// Consumes a number at its first byte.
    #[inline(always)]
    pub(super) fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Doubt> {
        match self.read_number()? {
            Number::Unsigned(integer) => visitor.visit_u64(integer),
            Number::Negative(integer) => visitor.visit_i64(integer),
            Number::Fraction(fraction) => visitor.visit_f64(fraction),
        }
    }

    /// Consumes a number at its first byte, and checks its range.
    #[inline(always)]
    pub(super) fn skip_number(&mut self) -> Result<(), Doubt> {
        self.read_number().map(drop)
    }

    #[inline(always)]
    fn read_number(&mut self) -> Result<Number, Doubt> {
        let from = self.at;
        let is_negative = self.peek() == b'-';
        self.at += usize::from(is_negative);
        let digits_from = self.at;
        let mut integer = 0u64;
        while let digit @ b'0'..=b'9' = self.peek() {
            // Wraps only where there are too many digits, which the next check refuses.
            integer = integer.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        let digits = self.at - digits_from;
        let has_leading_zero = digits > 1 && self.text.as_bytes()[digits_from] == b'0';
        if digits == 0 || digits > INTEGER_DIGITS_MAX || has_leading_zero {
            return Err(Doubt);
        }
        if matches!(self.peek(), b'.' | b'e' | b'E') {
            return self.read_fraction(from);
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
    fn read_fraction(&mut self, from: usize) -> Result<Number, Doubt> {
        if self.peek() == b'.' {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.skip_digits()?;
        }
        // Both this and serde_json, with its feature `float_roundtrip`, round to the nearest number.
        let fraction: f64 = self.text[from..self.at].parse().map_err(|_| Doubt)?;
        if fraction.is_finite() { Ok(Number::Fraction(fraction)) } else { Err(Doubt) }
    }

    /// Consumes one or more digits.
    fn skip_digits(&mut self) -> Result<(), Doubt> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(Doubt) }
    }
}
