//! Numbers and booleans.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::read::lenient::{drain, warn};

/// The largest count kept: every JSON reader can hold it exactly.
pub const COUNT_MAX: u64 = (1 << 53) - 1;

/// A boolean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bool(pub Option<bool>);

struct BoolVisitor;

impl<'de> Visitor<'de> for BoolVisitor {
    type Value = Bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Bool, E> {
        Ok(Bool(Some(value)))
    }

    fn visit_str<E>(self, _: &str) -> Result<Bool, E> {
        warn("not_a_boolean");
        Ok(Bool(None))
    }

    drain!(numbers "not_a_boolean");
    drain!(null);
    drain!("not_a_boolean");
}

impl<'de> Deserialize<'de> for Bool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BoolVisitor)
    }
}

/// A number as a dump gives it, before it is known what it must be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Number {
    /// None.
    #[default]
    Null,
    /// An integer.
    Integer(i64),
    /// An integer beyond `i64`.
    Huge(u64),
    /// A fraction, finite.
    Fraction(f64),
}

impl Number {
    /// The number a text spells; null, with a warning, where it spells none.
    pub(crate) fn parse(text: &str) -> Number {
        let text = text.trim();
        if let Ok(integer) = text.parse() {
            return Number::Integer(integer);
        }
        match text.parse::<f64>() {
            Ok(fraction) if fraction.is_finite() && !text.starts_with('+') => {
                Number::Fraction(fraction)
            }
            _ => {
                warn("not_a_number");
                Number::Null
            }
        }
    }

    /// The integer it is, if it is one.
    pub fn integer(self) -> Option<i64> {
        match self {
            Number::Integer(integer) => Some(integer),
            // The cast is exact: integral and within 2^53.
            Number::Fraction(value) if value.fract() == 0.0 && value.abs() < COUNT_MAX as f64 => {
                Some(value as i64)
            }
            Number::Null => None,
            Number::Fraction(_) | Number::Huge(_) => {
                warn("not_an_integer");
                None
            }
        }
    }

    /// The count it is: not negative, at most [`COUNT_MAX`].
    pub fn count(self) -> Option<u64> {
        if let Number::Huge(_) = self {
            warn("count_too_large");
            return None;
        }
        let integer = self.integer()?;
        match u64::try_from(integer) {
            Ok(count) if count <= COUNT_MAX => Some(count),
            Ok(_) => {
                warn("count_too_large");
                None
            }
            Err(_) => {
                warn("negative_count");
                None
            }
        }
    }

    /// The year it is: 1 to 9999.
    pub fn year(self) -> Option<i32> {
        let integer = self.integer()?;
        if (1..=9_999).contains(&integer) {
            return i32::try_from(integer).ok();
        }
        warn("impossible_year");
        None
    }

    /// The finite number it is, `-0` as `0`.
    pub fn fraction(self) -> Option<f64> {
        match self {
            Number::Null => None,
            Number::Integer(integer) => Some(integer as f64),
            Number::Huge(integer) => Some(integer as f64),
            Number::Fraction(value) => Some(value + 0.0),
        }
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
        Ok(Number::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
        Ok(i64::try_from(value).map_or(Number::Huge(value), Number::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
        Ok(Number::Fraction(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(Number::parse(text))
    }

    drain!(bool "not_a_number");
    drain!(null);
    drain!("not_a_number");
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::read::lenient::take_warnings;

    fn count(json: &str) -> Option<u64> {
        serde_json::from_str::<Number>(json).unwrap().count()
    }

    #[test]
    fn counts_are_read_from_whatever_spells_one() {
        for (json, expected) in [
            ("5", Some(5)),
            ("\"5\"", Some(5)),
            ("5.0", Some(5)),
            ("-1", None),
            ("5.5", None),
            ("true", None),
            ("[]", None),
            ("{}", None),
            ("null", None),
            ("9007199254740991", Some(COUNT_MAX)),
            ("9007199254740992", None),
            ("18446744073709551615", None),
            ("\"NaN\"", None),
        ] {
            assert_eq!(count(json), expected, "{json}");
        }
        assert!(!take_warnings().is_empty());
    }
}
