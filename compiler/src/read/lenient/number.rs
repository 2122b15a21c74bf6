//! Numbers and booleans.

use crate::read::lenient::columnar::Wanted;
use crate::read::lenient::diagnostics::Diagnostics;
use crate::read::lenient::seed::Lenient;

/// The largest count: the largest integer that every JSON reader holds exactly.
pub const COUNT_MAX: u64 = (1 << 53) - 1;

/// A boolean, or null.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaybeBool(pub Option<bool>);

impl<'de> Lenient<'de> for MaybeBool {
    const WANTED: Wanted = Wanted::Scalar;

    fn other(diagnostics: &Diagnostics) -> MaybeBool {
        diagnostics.warn("not_a_boolean");
        MaybeBool(None)
    }

    fn of_bool(value: bool, _: &Diagnostics) -> MaybeBool {
        MaybeBool(Some(value))
    }
}

/// A number member, before the record type determines its range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MaybeNumber {
    #[default]
    Null,
    Integer(i64),
    /// An integer greater than `i64::MAX`.
    Huge(u64),
    /// Finite.
    Fraction(f64),
}

impl MaybeNumber {
    /// Parses a number in a string; anything else is null and a warning.
    pub(crate) fn parse(text: &str, diagnostics: &Diagnostics) -> MaybeNumber {
        let text = text.trim();
        if let Ok(integer) = text.parse() {
            return MaybeNumber::Integer(integer);
        }
        match text.parse::<f64>() {
            Ok(fraction) if fraction.is_finite() && !text.starts_with('+') => {
                MaybeNumber::Fraction(fraction)
            }
            _ => {
                diagnostics.warn("not_a_number");
                MaybeNumber::Null
            }
        }
    }

    /// The integer; a fraction is null and a warning.
    pub fn integer(self, diagnostics: &Diagnostics) -> Option<i64> {
        match self {
            MaybeNumber::Integer(integer) => Some(integer),
            // The cast is exact: the value is an integer below 2^53.
            MaybeNumber::Fraction(value)
                if value.fract() == 0.0 && value.abs() < COUNT_MAX as f64 =>
            {
                Some(value as i64)
            }
            MaybeNumber::Null => None,
            MaybeNumber::Fraction(_) | MaybeNumber::Huge(_) => {
                diagnostics.warn("not_an_integer");
                None
            }
        }
    }

    /// The count, from 0 to [`COUNT_MAX`]; anything else is null and a warning.
    pub fn count(self, diagnostics: &Diagnostics) -> Option<u64> {
        if let MaybeNumber::Huge(_) = self {
            diagnostics.warn("count_too_large");
            return None;
        }
        let integer = self.integer(diagnostics)?;
        match u64::try_from(integer) {
            Ok(count) if count <= COUNT_MAX => Some(count),
            Ok(_) => {
                diagnostics.warn("count_too_large");
                None
            }
            Err(_) => {
                diagnostics.warn("negative_count");
                None
            }
        }
    }

    /// The year, from 1 to 9999; anything else is null and a warning.
    pub fn year(self, diagnostics: &Diagnostics) -> Option<i32> {
        let integer = self.integer(diagnostics)?;
        if (1..=9_999).contains(&integer) {
            return i32::try_from(integer).ok();
        }
        diagnostics.warn("impossible_year");
        None
    }

    /// The finite number; `-0` becomes `0`.
    pub fn fraction(self) -> Option<f64> {
        match self {
            MaybeNumber::Null => None,
            MaybeNumber::Integer(integer) => Some(integer as f64),
            MaybeNumber::Huge(integer) => Some(integer as f64),
            MaybeNumber::Fraction(value) => Some(value + 0.0),
        }
    }
}

impl<'de> Lenient<'de> for MaybeNumber {
    const WANTED: Wanted = Wanted::Scalar;

    fn other(diagnostics: &Diagnostics) -> MaybeNumber {
        diagnostics.warn("not_a_number");
        MaybeNumber::Null
    }

    fn of_integer(integer: i64, _: &Diagnostics) -> MaybeNumber {
        MaybeNumber::Integer(integer)
    }

    fn of_huge(integer: u64, _: &Diagnostics) -> MaybeNumber {
        MaybeNumber::Huge(integer)
    }

    fn of_fraction(fraction: f64, diagnostics: &Diagnostics) -> MaybeNumber {
        match fraction.is_finite() {
            true => MaybeNumber::Fraction(fraction),
            false => MaybeNumber::other(diagnostics),
        }
    }

    fn of_text(text: &str, diagnostics: &Diagnostics) -> MaybeNumber {
        MaybeNumber::parse(text, diagnostics)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_from_an_integer_a_whole_fraction_or_a_string() {
        for (json, expected, warnings) in [
            ("5", Some(5), 0),
            ("\"5\"", Some(5), 0),
            ("5.0", Some(5), 0),
            ("-1", None, 1),
            ("5.5", None, 1),
            ("true", None, 1),
            ("[]", None, 1),
            ("{}", None, 1),
            ("null", None, 0),
            ("9007199254740991", Some(COUNT_MAX), 0),
            ("9007199254740992", None, 1),
            ("18446744073709551615", None, 1),
            ("\"NaN\"", None, 1),
        ] {
            let diagnostics = Diagnostics::default();
            let mut json_reader = serde_json::Deserializer::from_str(json);
            let number = MaybeNumber::read(&mut json_reader, &diagnostics).unwrap();
            assert_eq!(number.count(&diagnostics), expected, "{json}");
            assert_eq!(diagnostics.counts().values().sum::<u64>(), warnings, "{json}");
        }
    }
}
