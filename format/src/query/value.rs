//! The values of a filter, read as their key's kind and brought to the form indexes hold.

use chrono::{Datelike, Days, Months, NaiveDate};

use crate::entity::{CATALOG, Entity, IdFormat, parse_digits};
use crate::index::orders::{sortable_integer, sortable_number};
use crate::index::term_lists::{Term, text_term};
use crate::query::error::{Stance, expected, not_compared};
use crate::query::grammar::{Comparison, Value};
use crate::schema::keys::{Bound, Index, Key, Kind};
use crate::text::fold::fold;

/// What is looked for among a key's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// That there is no value.
    Null,
    /// That there is one, or with `false` that there is none.
    Presence(bool),
    /// A term.
    Term(Term),
    /// The record with this id.
    Record(Entity, u64),
    /// Values between two, both included, as numbers that ascend with them.
    Between(u64, u64),
    /// Beginnings of words, all of which must be among those of the names.
    Words(Vec<String>),
    /// Something no value is.
    Nothing,
}

type Read = Result<Operand, String>;

/// Reads a value that is looked for.
///
/// # Errors
///
/// What it must be instead.
pub(super) fn equality(key: &Key, value: &Value<'_>) -> Read {
    let text = &*value.text;
    let is_bound = matches!(
        key.kind,
        Kind::Day(Bound::From | Bound::To) | Kind::Moment(Bound::From | Bound::To)
    );
    let has_null = !is_bound && key.kind != Kind::Words;
    if !value.is_quoted && text == "null" && has_null {
        return Ok(match key.filter {
            // There always is an answer to whether there is a value.
            Some(Index::Presence(_)) => Operand::Nothing,
            _ => Operand::Null,
        });
    }
    let stance = if value.is_quoted { Stance::Quoted } else { Stance::Bare };
    let wrong = || expected(key, stance);
    match key.kind {
        Kind::Id(entity) => record(entity, text).ok_or_else(wrong),
        Kind::LegacyId(entity) => legacy_record(entity, text).ok_or_else(wrong),
        Kind::AnyId => any_record(text).ok_or_else(wrong),
        Kind::Identifier(scheme) => Ok(Operand::Term(text_term(&scheme.normal(text)))),
        Kind::Code => Ok(Operand::Term(text_term(&text.to_ascii_lowercase()))),
        Kind::Text => match fold(text) {
            folded if folded.is_empty() => Ok(Operand::Nothing),
            folded => Ok(Operand::Term(text_term(&folded))),
        },
        Kind::Words if !value.is_quoted && text == "null" => Err(wrong()),
        Kind::Words => Ok(words(text)),
        Kind::Boolean => boolean(key, text).ok_or_else(wrong),
        Kind::Integer => match integer(text) {
            // Outside of quotes a leading `-` opens a range.
            Some(number) if value.is_quoted || !text.starts_with('-') => {
                Ok(exactly(sortable_integer(number)))
            }
            _ if value.is_quoted => Err(wrong()),
            _ => integer_range(text).ok_or_else(wrong),
        },
        Kind::Number => {
            number(text).map(|number| exactly(sortable_number(number))).ok_or_else(wrong)
        }
        Kind::Day(bound) | Kind::Moment(bound) => {
            let range = if value.is_quoted || is_bound { None } else { years(text) };
            let period = range.or_else(|| period(text)).ok_or_else(wrong)?;
            let (from, to) = days(key, period);
            Ok(match bound {
                Bound::Exact => Operand::Between(from, to),
                Bound::From => Operand::Between(from, u64::MAX),
                Bound::To => Operand::Between(0, to),
            })
        }
    }
}

/// Reads a value that others are compared with.
///
/// # Errors
///
/// What it must be instead.
pub(super) fn comparison(key: &Key, comparison: Comparison, value: &Value<'_>) -> Read {
    let (from, to) = match key.kind {
        Kind::Integer => {
            integer(&value.text).map(|at| (sortable_integer(at), sortable_integer(at)))
        }
        Kind::Number => number(&value.text).map(|at| (sortable_number(at), sortable_number(at))),
        Kind::Day(Bound::Exact) | Kind::Moment(Bound::Exact) => {
            period(&value.text).map(|period| days(key, period))
        }
        _ => return Err(not_compared(key)),
    }
    .ok_or_else(|| expected(key, Stance::Compared))?;
    let between = match comparison {
        Comparison::Above => to.checked_add(1).map(|above| (above, u64::MAX)),
        Comparison::From => Some((from, u64::MAX)),
        Comparison::Below => from.checked_sub(1).map(|below| (0, below)),
        Comparison::To => Some((0, to)),
    };
    Ok(between.map_or(Operand::Nothing, |(from, to)| Operand::Between(from, to)))
}

/// The words of a search.
pub(super) fn words(text: &str) -> Operand {
    let folded = fold(text);
    let words: Vec<String> = folded.split(' ').map(str::to_owned).collect();
    if words.iter().all(|word| !word.is_empty()) { Operand::Words(words) } else { Operand::Nothing }
}

fn exactly(value: u64) -> Operand {
    Operand::Between(value, value)
}

/// An identifier of a record: with its prefix in either case, or a number in the taxonomy.
fn record(entity: Entity, text: &str) -> Option<Operand> {
    let Some(letter) = entity.facts().letter else {
        let number = parse_digits(text);
        return is_digits(text)
            .then(|| number.map_or(Operand::Nothing, |id| Operand::Record(entity, id)));
    };
    let rest = hx(text)?;
    let digits = rest.strip_prefix([char::from(letter), char::from(letter.to_ascii_lowercase())]);
    let id = digits.and_then(parse_digits);
    Some(id.map_or(Operand::Nothing, |id| Operand::Record(entity, id)))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// An identifier of a record as the older variant spells it, in either case, or its number.
fn legacy_record(entity: Entity, text: &str) -> Option<Operand> {
    let found = |id: Option<u64>| id.map_or(Operand::Nothing, |id| Operand::Record(entity, id));
    if is_digits(text) {
        return Some(found(parse_digits(text)));
    }
    let upper = text.to_ascii_uppercase();
    let rest = upper.strip_prefix(IdFormat::LEGACY.prefix(entity))?;
    let is_read = entity.facts().letter.is_some() || is_digits(rest);
    is_read.then(|| found(IdFormat::LEGACY.parse(entity, &upper)))
}

/// An identifier of a record of any entity, which its letter tells.
fn any_record(text: &str) -> Option<Operand> {
    let rest = hx(text)?;
    let letter = rest.bytes().next().map(|letter| letter.to_ascii_uppercase());
    let entity = CATALOG.iter().find(|facts| facts.letter.is_some() && facts.letter == letter);
    Some(entity.and_then(|facts| record(facts.entity, text)).unwrap_or(Operand::Nothing))
}

/// What follows the prefix of an identifier of this service, in either case.
pub(crate) fn hx(text: &str) -> Option<&str> {
    let prefix = text.get(..3)?;
    prefix.eq_ignore_ascii_case("HX_").then(|| &text[3..])
}

fn boolean(key: &Key, text: &str) -> Option<Operand> {
    let value = match text.to_ascii_lowercase().as_str() {
        "true" => true,
        "false" => false,
        _ => return None,
    };
    Some(match key.filter {
        Some(Index::Presence(_)) => Operand::Presence(value),
        _ => Operand::Term(Term::from(value)),
    })
}

/// `-` and digits, within 64 bits.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// `a-b`, `a-` or `-b`.
fn integer_range(text: &str) -> Option<Operand> {
    let (from, to) = text.split_once('-')?;
    if from.is_empty() && to.is_empty() {
        return None;
    }
    let end = |text: &str, open: u64| match text {
        "" => Some(open),
        _ if text.starts_with('-') => None,
        _ => integer(text).map(sortable_integer),
    };
    Some(Operand::Between(end(from, 0)?, end(to, u64::MAX)?))
}

/// `-?digits(.digits)?(e[+-]?digits)?`, finite.
fn number(text: &str) -> Option<f64> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let is_mantissa = match unsigned.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(unsigned),
    };
    let is_exponent = exponent
        .is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    let number: f64 = (is_mantissa && is_exponent).then(|| text.parse().ok()).flatten()?;
    number.is_finite().then_some(number)
}

/// A first and a last day.
type Period = (NaiveDate, NaiveDate);

/// The days of a year, a month or a day.
fn period(text: &str) -> Option<Period> {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |at: usize, length: usize| {
        let part = parts.get(at)?;
        let is_plain = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| part.parse::<u32>().ok()).flatten()
    };
    let year = digits(0, 4).filter(|year| *year > 0)?.cast_signed();
    let month = if parts.len() > 1 { Some(digits(1, 2)?) } else { None };
    let day = if parts.len() > 2 { Some(digits(2, 2)?) } else { None };
    let first = NaiveDate::from_ymd_opt(year, month.unwrap_or(1), day.unwrap_or(1))?;
    let last = match (parts.len(), month, day) {
        (1, ..) => NaiveDate::from_ymd_opt(year, 12, 31)?,
        (2, ..) => first.checked_add_months(Months::new(1))?.pred_opt()?,
        (3, ..) => first,
        _ => return None,
    };
    Some((first, last))
}

/// A range of years: `a-b`, `a-` or `-b`.
fn years(text: &str) -> Option<Period> {
    let (from, to) = text.split_once('-')?;
    let is_year = |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let first = match from {
        "" => NaiveDate::MIN,
        _ if is_year(from) => period(from)?.0,
        _ => return None,
    };
    let last = match to {
        "" => NaiveDate::MAX,
        _ if is_year(to) => period(to)?.1,
        _ => return None,
    };
    (!text.eq("-")).then_some((first, last))
}

/// A period as the key's index holds days or moments.
fn days(key: &Key, (first, last): Period) -> (u64, u64) {
    if matches!(key.kind, Kind::Moment(_)) {
        let start =
            |day: NaiveDate| day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_micros();
        let from = if first == NaiveDate::MIN { i64::MIN } else { start(first) };
        let to = last.checked_add_days(Days::new(1)).map_or(i64::MAX, |next| start(next) - 1);
        return (sortable_integer(from), sortable_integer(to));
    }
    let number = |day: NaiveDate| {
        i64::from(day.year()) * 10_000 + i64::from(day.month()) * 100 + i64::from(day.day())
    };
    (sortable_integer(number(first)), sortable_integer(number(last)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::query::grammar;
    use crate::query::grammar::Test;
    use crate::schema::keys::keys_of;

    /// How an expression's value is read.
    fn read(entity: Entity, text: &str) -> Read {
        let written = grammar::parse(text)?;
        let (key, _) = keys_of(entity).filter(written.key).unwrap();
        match &written.test {
            Test::Compares(sign, value) => comparison(key, *sign, value),
            Test::Any { alternatives, .. } => equality(key, &alternatives[0]),
        }
    }

    fn integers(from: i64, to: i64) -> Option<Operand> {
        Some(Operand::Between(sortable_integer(from), sortable_integer(to)))
    }

    #[test]
    fn integers_compare_and_lie_in_ranges() {
        let check = |text: &str, expected: Option<Operand>| {
            assert_eq!(read(Entity::Output, text).ok(), expected, "{text}");
        };
        check("year:2020", integers(2020, 2020));
        check("year:2020-2022", integers(2020, 2022));
        check("year:2020-", Some(Operand::Between(sortable_integer(2020), u64::MAX)));
        check("year:-5", Some(Operand::Between(0, sortable_integer(5))));
        check("cited_by_count:>-1", Some(Operand::Between(sortable_integer(0), u64::MAX)));
        check("year:<=5", Some(Operand::Between(0, sortable_integer(5))));
        check("year:>9223372036854775807", Some(Operand::Nothing));
        check("year:null", Some(Operand::Null));
        check("year:\"2020\"", integers(2020, 2020));
        check("year:\"-5\"", integers(-5, -5));
        for wrong in [
            "year:abc",
            "year:2024.5",
            "year:1e3",
            "year:+5",
            "year: 5",
            "year:-",
            "year:1--2",
            "year:1-2-3",
            "year:\"1-2\"",
            "year:\"null\"",
            "year:>abc",
            "year:=5",
            "year:5>",
            "cited_by_count:>18446744073709551616",
            "year:9223372036854775808",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn numbers_take_signs_and_exponents_and_no_ranges() {
        let check = |text: &str, is_read: bool| {
            assert_eq!(read(Entity::Output, text).is_ok(), is_read, "{text}");
        };
        for right in ["fwci:0.5", "fwci:-1", "fwci:>-0", "fwci:1e-3", "fwci:1.5e+2", "fwci:null"] {
            check(right, true);
        }
        for wrong in [
            "fwci:>NaN",
            "fwci:>inf",
            "fwci:>1e309",
            "fwci:1-2",
            "fwci:.5",
            "fwci:5.",
            "fwci:1E3",
            "fwci:",
        ] {
            check(wrong, false);
        }
    }

    #[test]
    fn dates_are_whole_periods() {
        let check = |text: &str, expected: Option<Operand>| {
            assert_eq!(read(Entity::Output, text).ok(), expected, "{text}");
        };
        check("date:2020", integers(20_200_101, 20_201_231));
        check("date:2020-02", integers(20_200_201, 20_200_229));
        check("date:2020-02-03", integers(20_200_203, 20_200_203));
        check("date:2019-2020", integers(20_190_101, 20_201_231));
        check("date:>2020", Some(Operand::Between(sortable_integer(20_201_232), u64::MAX)));
        check("from_date:2020", Some(Operand::Between(sortable_integer(20_200_101), u64::MAX)));
        check("to_date:2020-02", Some(Operand::Between(0, sortable_integer(20_200_229))));
        let day = 86_400_000_000;
        check("updated_date:1970-01-02", integers(day, 2 * day - 1));
        for wrong in [
            "date:20",
            "date:0000",
            "date:2020-13",
            "date:2020-02-30",
            "date:2020-2",
            "date:-",
            "date:2020-01-01T00",
            "from_date:null",
            "from_date:2019-2020",
            "from_date:>2019",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn identifiers_are_read_without_ascii_case() {
        let check = |entity: Entity, text: &str, expected: Option<Operand>| {
            assert_eq!(read(entity, text).ok(), expected, "{text}");
        };
        let author = |id| Some(Operand::Record(Entity::Author, id));
        check(Entity::Output, "authors.id:HX_A5", author(5));
        check(Entity::Output, "authors.id:hx_a5", author(5));
        check(Entity::Output, "authors.id:HX_A05", Some(Operand::Nothing));
        check(Entity::Output, "authors.id:HX_W5", Some(Operand::Nothing));
        check(Entity::Output, "authors.id:A5", None);
        check(Entity::Topic, "domain.id:3", Some(Operand::Record(Entity::Domain, 3)));
        check(Entity::Topic, "domain.id:03", Some(Operand::Nothing));
        check(Entity::Topic, "domain.id:x", None);
        let funder = Some(Operand::Record(Entity::Funder, 7));
        check(Entity::Institution, "roles.id:HX_f7", funder);
        let doi = Some(Operand::Term(text_term("10.1/x")));
        for text in ["doi:10.1/X", "doi:https://doi.org/10.1/x", "doi:DOI:10.1/x"] {
            check(Entity::Output, text, doi.clone());
        }
        check(Entity::Output, "is_oa:TRUE", Some(Operand::Term(1)));
        check(Entity::Output, "is_oa:1", None);
        check(Entity::Output, "has_doi:false", Some(Operand::Presence(false)));
        check(Entity::Output, "has_doi:null", Some(Operand::Nothing));
        check(Entity::Output, "name:***", Some(Operand::Nothing));
    }
}
