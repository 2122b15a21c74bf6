//! Compiles an expression of a filter for the type of its key, and tests the values of records.

use std::cmp::Ordering;
use std::mem::discriminant;

use super::Refused;
use super::atoms::{Atom, bare, keyword};
use super::days::{period, time_of, years};
use super::fold::{finds, fold};
use super::grammar::{Asked, Operator, Word};
use super::ids::{Spelled, numbered_id, spelled};
use super::keys::{Key, Kind};

/// One alternative or one comparison of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// Matches a record without a value.
    Null,
    /// Matches no record.
    Nothing,
    /// Matches an equal value.
    Equal(Atom),
    /// Matches an identifier that begins so.
    Begins(String),
    /// Matches a value between two bounds, both included.
    Between(Option<Atom>, Option<Atom>),
    /// Matches a greater value.
    Above(Atom),
    /// Matches a smaller value.
    Below(Atom),
    /// Matches a record with all of these words.
    Words(Vec<String>),
}

/// The tests of one expression. A record matches if any test holds, or if none holds and the expression is
/// negated.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    is_negated: bool,
    tests: Vec<Test>,
}

impl Question {
    /// Parses the values of an expression by the type of its key. `follow` replaces a merged id by its current
    /// id; its first argument is the level of a taxonomy number, `None` for other entities.
    pub fn new(
        key: &Key,
        asked: &Asked,
        follow: impl Fn(Option<&str>, &str) -> String,
    ) -> Result<Question, Refused> {
        let (is_negated, words) = match asked {
            Asked::Compared(operator, word) => {
                let tests = vec![comparison(key, *operator, word)?];
                return Ok(Question { is_negated: false, tests });
            }
            Asked::Any(words) => (false, words),
            Asked::NoneOf(words) => (true, words),
        };
        let tests = words.iter().map(|word| alternative(key, word, &follow));
        Ok(Question { is_negated, tests: tests.collect::<Result<_, _>>()? })
    }

    /// Whether a record with these values matches.
    pub fn holds(&self, atoms: &[Atom]) -> bool {
        self.tests.iter().any(|test| test.holds(atoms)) != self.is_negated
    }
}

impl Test {
    fn holds(&self, atoms: &[Atom]) -> bool {
        let any = |is_met: &dyn Fn(&Atom) -> bool| atoms.iter().any(is_met);
        match self {
            Test::Null => atoms.is_empty(),
            Test::Nothing => false,
            Test::Equal(value) => any(&|atom| atom == value),
            Test::Begins(beginning) => {
                any(&|atom| matches!(atom, Atom::Text(text) if text.starts_with(beginning)))
            }
            Test::Between(low, high) => any(&|atom| {
                let is_above = |low| compared(atom, low).is_some_and(Ordering::is_ge);
                let is_below = |high| compared(atom, high).is_some_and(Ordering::is_le);
                low.as_ref().is_none_or(is_above) && high.as_ref().is_none_or(is_below)
            }),
            Test::Above(value) => any(&|atom| compared(atom, value) == Some(Ordering::Greater)),
            Test::Below(value) => any(&|atom| compared(atom, value) == Some(Ordering::Less)),
            // The own texts of a record have all words together. A reference has all words in its names.
            Test::Words(words) => {
                let in_record = |asked: &String| {
                    any(&|atom| matches!(atom, Atom::Text(word) if finds(asked, word)))
                };
                let in_reference = |own: &[String]| {
                    words.iter().all(|asked| own.iter().any(|word| finds(asked, word)))
                };
                words.iter().all(in_record)
                    || any(&|atom| matches!(atom, Atom::Words(own) if in_reference(own)))
            }
        }
    }
}

/// Compares two atoms of the same form.
fn compared(a: &Atom, b: &Atom) -> Option<Ordering> {
    if discriminant(a) == discriminant(b) { a.partial_cmp(b) } else { None }
}

/// The time in a value of a key whose records have timestamps.
fn time(key: &Key, text: &str) -> Option<Atom> {
    if key.has_times() { time_of(text).map(Atom::Time) } else { None }
}

fn comparison(key: &Key, operator: Operator, word: &Word) -> Result<Test, Refused> {
    let (first, last) = match key.kind {
        Kind::Integer => integer(&word.text).map(|value| (value.clone(), value)),
        Kind::Fraction => fraction(&word.text).map(|value| (value.clone(), value)),
        Kind::Date => match period(&word.text) {
            Some((first, last)) => Some((Atom::Day(first), Atom::Day(last))),
            None => time(key, &word.text).map(|time| (time.clone(), time)),
        },
        _ => return Err(Refused("a comparison of what has no order")),
    }
    .ok_or(Refused("no value to compare with"))?;
    Ok(match operator {
        Operator::Above => Test::Above(last),
        Operator::From => Test::Between(Some(first), None),
        Operator::Below => Test::Below(first),
        Operator::To => Test::Between(None, Some(last)),
    })
}

fn alternative(
    key: &Key,
    word: &Word,
    follow: impl Fn(Option<&str>, &str) -> String,
) -> Result<Test, Refused> {
    let (kind, text) = (key.kind, word.text.as_str());
    if text == "null" && !word.is_quoted {
        return match kind {
            Kind::From | Kind::To | Kind::Search | Kind::ReferenceSearch => {
                Err(Refused("`null` where a value belongs"))
            }
            Kind::Hx if key.name == "is_version_of" => Err(Refused("`null` where an id belongs")),
            _ => Ok(Test::Null),
        };
    }
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err(Refused("a control character"));
    }
    let equal = |text: String| match text.is_empty() {
        true => Test::Nothing,
        false => Test::Equal(Atom::Text(text)),
    };
    let days = |low, high| Test::Between(Option::map(low, Atom::Day), Option::map(high, Atom::Day));
    let test = match kind {
        Kind::Integer if !word.is_quoted && text.contains('-') => range(text),
        Kind::Integer => integer(text).map(Test::Equal),
        Kind::Fraction => fraction(text).map(Test::Equal),
        Kind::Flag | Kind::Presence => flag(text).map(|flag| Test::Equal(Atom::Flag(flag))),
        Kind::Date => match (period(text), years(text)) {
            (Some((first, last)), _) => Some(days(Some(first), Some(last))),
            (None, Some((Some(first), Some(last)))) if first > last => None,
            (None, Some((first, last))) if !word.is_quoted => Some(days(first, last)),
            _ => time(key, text).map(Test::Equal),
        },
        Kind::From => match period(text) {
            Some((first, _)) => Some(days(Some(first), None)),
            None => time(key, text).map(|time| Test::Between(Some(time), None)),
        },
        Kind::To => match period(text) {
            Some((_, last)) => Some(days(None, Some(last))),
            None => time(key, text).map(|time| Test::Between(None, Some(time))),
        },
        Kind::Hx => match spelled(text) {
            Spelled::Lettered(id) => Some(equal(follow(None, &id).to_ascii_lowercase())),
            Spelled::Numbered(..) | Spelled::Prefixed => Some(Test::Nothing),
            Spelled::Other => None,
        },
        Kind::Level(level) => match spelled(text) {
            Spelled::Numbered(of, number) if of == level => {
                Some(equal(follow(Some(level), &number)))
            }
            _ => {
                let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
                is_number.then(|| equal(follow(Some(level), text)))
            }
        },
        Kind::Award => Some(equal(numbered_id(text, "awards/", 'g'))),
        Kind::Work => Some(equal(numbered_id(text, "works/", 'w'))),
        Kind::DoiBeginning => Some(Test::Begins(bare(Kind::Doi, text))),
        Kind::Keyword => Some(equal(keyword(text))),
        Kind::Plain | Kind::Code => Some(equal(text.to_ascii_lowercase())),
        Kind::Doi | Kind::Orcid | Kind::Ror | Kind::Issn | Kind::Pmid => {
            Some(equal(bare(kind, text)))
        }
        Kind::Text => Some(equal(fold(text))),
        Kind::Search | Kind::ReferenceSearch => Some(match fold(text) {
            folded if folded.is_empty() => Test::Nothing,
            folded => Test::Words(folded.split(' ').map(str::to_owned).collect()),
        }),
    };
    test.ok_or(Refused("a value of another type"))
}

/// Parses a range `a-b`, `a-` or `-b` of whole numbers without a sign; `b` is not less than `a`.
fn range(text: &str) -> Option<Test> {
    let (low, high) = text.split_once('-')?;
    if low.is_empty() && high.is_empty() || high.contains('-') {
        return None;
    }
    let bound = |text: &str| match text {
        "" => Some(None),
        _ => integer(text).map(Some),
    };
    let (low, high) = (bound(low)?, bound(high)?);
    let is_reversed = low.is_some() && high.is_some() && low > high;
    if is_reversed { None } else { Some(Test::Between(low, high)) }
}

fn integer(text: &str) -> Option<Atom> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok().map(Atom::Integer) } else { None }
}

/// Parses a finite `-?digits(.digits)?(e[+-]?digits)?`.
fn fraction(text: &str) -> Option<Atom> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = match unsigned.split_once('e') {
        Some((number, exponent)) => (number, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if ![whole, part, exponent].into_iter().all(is_digits) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(Atom::Fraction)
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
