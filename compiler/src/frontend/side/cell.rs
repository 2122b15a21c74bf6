//! Lenient reading of one cell of a journal list.
//!
//! A cell that cannot be parsed becomes null and counts as a warning; the row stays. A cell is
//! always text, even if a spreadsheet would read it as a formula.

use chrono::Datelike;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::frontend::side::keys;
use crate::read::{Diagnostics, MaybeNumber, clean, times};

#[derive(Clone, Copy, Debug)]
pub struct TableCell<'a> {
    /// Without surrounding white space.
    pub text: &'a str,
    /// Whether a comma separates the fraction of a number.
    pub has_decimal_comma: bool,
    pub diagnostics: &'a Diagnostics,
}

/// The texts that lists write for an unknown value. `#N/A` is the error value of spreadsheets.
const NOTHING: [&str; 13] = [
    "-",
    "--",
    "–",
    "—",
    "n/a",
    "#n/a",
    "n.a.",
    "na",
    "not applicable",
    "not available",
    "null",
    "none",
    "****-****",
];

impl<'a> TableCell<'a> {
    fn is_nothing(self) -> bool {
        NOTHING.iter().any(|nothing| self.text.eq_ignore_ascii_case(nothing))
    }

    /// The text; `None` where the cell is blank or unknown.
    pub fn text(self) -> Option<String> {
        let text = if self.is_nothing() { "" } else { self.text };
        clean(text.into(), self.diagnostics).to_owned()
    }

    /// The text without a percent sign; `None` where the cell is blank or unknown.
    fn digits(self) -> Option<&'a str> {
        if self.is_nothing() {
            return None;
        }
        let text = self.text.strip_suffix('%').unwrap_or(self.text).trim();
        (!text.is_empty()).then_some(text)
    }

    /// Parses a number, with or without thousands separators and a percent sign.
    fn any_number(self) -> MaybeNumber {
        let Some(text) = self.digits() else { return MaybeNumber::Null };
        let plain = match (self.has_decimal_comma, text.contains(',')) {
            (true, true) => text.replace('.', "").replace(',', "."),
            (false, true) if has_thousands(text, ',') => text.replace(',', ""),
            _ => text.to_owned(),
        };
        MaybeNumber::parse(&plain, self.diagnostics)
    }

    pub fn number(self) -> Option<f64> {
        self.any_number().fraction()
    }

    /// Parses a count. A count has no fraction, so a comma before three digits separates thousands.
    /// A full stop does too, in a table with decimal commas.
    pub fn count(self) -> Option<i64> {
        let separators = if self.has_decimal_comma { &[',', '.'][..] } else { &[','] };
        let text = self.digits().unwrap_or_default();
        let found = separators
            .iter()
            .find(|separator| text.contains(**separator) && has_thousands(text, **separator));
        let number = match found {
            Some(separator) => MaybeNumber::parse(&text.replace(*separator, ""), self.diagnostics),
            None => self.any_number(),
        };
        number.count(self.diagnostics).and_then(|count| i64::try_from(count).ok())
    }

    pub fn year(self) -> Option<i64> {
        self.any_number().year(self.diagnostics).map(i64::from)
    }

    /// Parses a percentage and converts it to an integer with `round`.
    pub fn percent(self, round: fn(f64) -> f64) -> Option<i64> {
        let percent = self.number()?;
        if (0.0..=100.0).contains(&percent) {
            return Some(round(percent) as i64);
        }
        self.diagnostics.warn("not_a_percentage");
        None
    }

    /// Splits the cell at `separators` into distinct parts that are not blank; `None` for no parts.
    pub fn list(self, separators: &[char]) -> Option<Vec<String>> {
        let text = if self.is_nothing() { "" } else { self.text };
        let parts = text.split(separators);
        let parts = parts.filter_map(|part| TableCell { text: part.trim(), ..self }.text());
        let mut seen = Vec::new();
        for part in parts {
            if !seen.contains(&part) {
                seen.push(part);
            }
        }
        (!seen.is_empty()).then_some(seen)
    }

    /// Parses `Active`, `Yes`, `True` and their opposites.
    pub fn activity(self) -> Option<bool> {
        match self.text.to_ascii_lowercase().as_str() {
            "active" | "yes" | "y" | "true" | "1" => Some(true),
            "inactive" | "discontinued" | "ceased" | "no" | "n" | "false" | "0" => Some(false),
            _ => {
                if !self.text.is_empty() && !self.is_nothing() {
                    self.diagnostics.warn("not_a_boolean");
                }
                None
            }
        }
    }

    /// Parses `1`, `q1` or `Quartile 1` to `Q1`, up to `Q4`.
    pub fn quartile(self) -> Option<String> {
        let lower = self.text.to_ascii_lowercase();
        let digit = lower.strip_prefix("quartile").or(lower.strip_prefix('q')).unwrap_or(&lower);
        match digit.trim() {
            digit @ ("1" | "2" | "3" | "4") => Some(format!("Q{digit}")),
            _ => {
                if !lower.is_empty() && !self.is_nothing() {
                    self.diagnostics.warn("not_a_quartile");
                }
                None
            }
        }
    }

    /// The ISSNs in the cell, as keys. Ignores format characters, such as those that mark the direction of
    /// text. Text beside an ISSN counts as a warning; text without any ISSN is an error.
    pub fn issns(self) -> Result<Vec<u64>, ()> {
        let is_shown = |char: &char| char.general_category() != GeneralCategory::Format;
        let text: String = self.text.chars().filter(is_shown).collect();
        let is_nothing = TableCell { text: text.trim(), ..self }.is_nothing();
        let parts = text.split([',', ';', '|', '/', ' ']).map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty() && !is_nothing).collect();
        let keys: Vec<u64> =
            parts.iter().filter_map(|part| self.parse_or_complete_issn(part)).collect();
        match keys.len() {
            0 if !parts.is_empty() => return Err(()),
            count if count < parts.len() => self.diagnostics.warn("bad_issn"),
            _ => {}
        }
        Ok(keys)
    }

    /// Parses an ISSN. A completed ISSN counts as a warning.
    fn parse_or_complete_issn(self, text: &str) -> Option<u64> {
        keys::parse_issn(text).or_else(|| {
            let completed = keys::complete_issn(text);
            completed.inspect(|_| self.diagnostics.warn("completed_issn"))
        })
    }

    /// Parses `YYYY-MM-DD…` or `YYYY…` to the number YYYYMMDD, with 00 for an unknown month or day.
    pub fn vintage(self) -> Option<i64> {
        if let Some(day) = self.text.get(..10).and_then(times::parse_day) {
            return Some(vintage_from(day.year().into(), day.month(), day.day()));
        }
        let year = self.text.get(..4).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        year.and_then(|year| year.parse().ok()).map(|year| vintage_from(year, 0, 0))
    }
}

/// The number YYYYMMDD; month and day are 0 where they are unknown.
pub fn vintage_from(year: i64, month: u32, day: u32) -> i64 {
    year * 10_000 + i64::from(month * 100 + day)
}

/// Whether every separator of a number precedes a group of three digits.
fn has_thousands(text: &str, separator: char) -> bool {
    let fraction = if separator == ',' { '.' } else { ',' };
    let integer_part = text.split(fraction).next().unwrap_or_default();
    let mut groups = integer_part.trim_start_matches('-').split(separator);
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell<'a>(
        text: &'a str,
        has_decimal_comma: bool,
        diagnostics: &'a Diagnostics,
    ) -> TableCell<'a> {
        TableCell { text, has_decimal_comma, diagnostics }
    }

    #[test]
    fn numbers_are_parsed_with_the_separators_of_their_table() {
        for (text, comma, expected, warnings) in [
            ("62.937", false, Some(62.937), 0),
            ("62,937", true, Some(62.937), 0),
            ("1.062,9", true, Some(1062.9), 0),
            ("62.9", true, Some(62.9), 0),
            ("1,062", false, Some(1062.0), 0),
            ("1,062.5", false, Some(1062.5), 0),
            ("-0", false, Some(0.0), 0),
            ("99.5%", false, Some(99.5), 0),
            ("", false, None, 0),
            ("NaN", false, None, 1),
            ("inf", false, None, 1),
            ("-", false, None, 0),
            ("N/A", false, None, 0),
            ("#N/A", false, None, 0),
            ("not available", false, None, 0),
            ("10,62", false, None, 1),
            ("=1+1", false, None, 1),
            ("<0.1", false, None, 1),
        ] {
            let diagnostics = Diagnostics::default();
            assert_eq!(cell(text, comma, &diagnostics).number(), expected, "{text}");
            assert_eq!(diagnostics.counts().values().sum::<u64>(), warnings, "{text}");
        }
        let diagnostics = Diagnostics::default();
        for (text, comma, expected) in [
            ("12", false, Some(12)),
            ("12.0", false, Some(12)),
            ("12.5", false, None),
            ("-1", false, None),
            ("19,000", false, Some(19_000)),
            ("1,019,000", false, Some(1_019_000)),
            ("1,019.0", false, Some(1_019)),
            ("19.000", false, Some(19)),
            ("19.000", true, Some(19_000)),
            ("1.019.000", true, Some(1_019_000)),
            ("19,000", true, Some(19_000)),
            ("19,0", true, Some(19)),
            ("12.0", true, Some(12)),
            ("1.9000", true, None),
            ("", true, None),
        ] {
            assert_eq!(cell(text, comma, &diagnostics).count(), expected, "{text}");
        }
        for (text, expected) in [("99.9%", Some(99)), ("100", Some(100)), ("101", None)] {
            assert_eq!(cell(text, false, &diagnostics).percent(f64::floor), expected, "{text}");
        }
        assert_eq!(cell("84.5", false, &diagnostics).percent(f64::round), Some(85));
    }

    #[test]
    fn quartiles_states_and_dates_are_parsed_in_every_spelling() {
        let diagnostics = Diagnostics::default();
        for (text, expected) in [
            ("Q1", Some("Q1")),
            ("q2", Some("Q2")),
            ("3", Some("Q3")),
            ("Quartile 4", Some("Q4")),
            ("-", None),
            ("Q5", None),
            ("", None),
        ] {
            assert_eq!(cell(text, false, &diagnostics).quartile().as_deref(), expected, "{text}");
        }
        for (text, expected) in
            [("Active", Some(true)), ("inactive", Some(false)), ("", None), ("maybe", None)]
        {
            assert_eq!(cell(text, false, &diagnostics).activity(), expected, "{text}");
        }
        for (text, expected) in [
            ("2023", Some(20_230_000)),
            ("2023-02-28T10:00:00Z", Some(20_230_228)),
            ("2023-02-30", Some(20_230_000)),
            ("not yet", None),
            ("", None),
        ] {
            assert_eq!(cell(text, false, &diagnostics).vintage(), expected, "{text}");
        }
        assert_eq!(cell("=cmd()", false, &diagnostics).text().as_deref(), Some("=cmd()"));
        assert_eq!(cell("n/a", false, &diagnostics).text(), None);
        assert_eq!(cell("n/a", false, &diagnostics).list(&['/']), None);
        assert_eq!(diagnostics.counts(), [("not_a_boolean", 1), ("not_a_quartile", 1)].into());
    }

    #[test]
    fn a_cell_may_hold_several_issns() {
        let diagnostics = Diagnostics::default();
        let keys = |text: &str| cell(text, false, &diagnostics).issns();
        assert_eq!(keys("15424863, 0007-9235").map(|keys| keys.len()), Ok(2));
        assert_eq!(keys("1542-4863; not one").map(|keys| keys.len()), Ok(1));
        assert_eq!(keys("-"), Ok(vec![]));
        assert_eq!(keys("****-****"), Ok(vec![]));
        assert_eq!(keys("not one"), Err(()));
        assert_eq!(diagnostics.counts(), [("bad_issn", 1)].into());
        assert_eq!(keys("\u{200e}0028-0836\u{200f}"), keys("00280836"));
        assert_eq!(keys("\u{feff}-\u{200b}"), Ok(vec![]));
        assert_eq!(keys("280836, 0304405"), keys("0028-0836, 0304-405X"));
        assert_eq!(diagnostics.counts(), [("bad_issn", 1), ("completed_issn", 2)].into());
    }
}
