//! Parses the values of a filter by the kind of their key, into the form that indexes hold.
//!
//! ```text
//! year:2020          Between(2020, 2020)          integers become ascending numbers
//! date:2020-02       Between(20200201, 20200229)  a month stands for all its days
//! authors.id:HX_A5   Record(Author, 5)
//! type:article       Term(…)                      the term of the lower-case text
//! ```

use std::sync::Arc;

use crate::entity::{Entity, IdFormat, parse_digits};
use crate::index::orders::{sortable_integer, sortable_number};
use crate::index::term_lists::{Term, text_term};
use crate::query::parse::dates::{Unit, reversed};
use crate::query::parse::error::{ValueForm, expected_value, not_comparable};
use crate::query::parse::grammar::{Comparison, RawValue};
use crate::query::parse::search::{Search, SyntaxError};
use crate::schema::{Bound, Index, Key, Kind, parse_record_id, strip_id_prefix};
use crate::text::fold::fold;

/// A condition on the values of a key.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Operand {
    /// The record has no value.
    Null,
    /// The record has a value, or with `false` none.
    Presence(bool),
    /// A value has this term.
    Term(Term),
    /// A value refers to the record with this id.
    Record(Entity, u64),
    /// A value lies between both, inclusive, as an ascending number.
    Between(u64, u64),
    /// Each of these is a prefix of a word in the record's names.
    Words(Vec<String>),
    /// The record's texts match a search.
    Search(Arc<Search>),
    /// An identifier begins with this text, in the normal form of its scheme.
    Beginning(String),
    /// Matches no record.
    Nothing,
}

/// Parses an alternative. The error says what the value must be.
pub(in crate::query) fn parse_operand(key: &Key, value: &RawValue<'_>) -> Result<Operand, String> {
    let text = &*value.text;
    let is_bound = matches!(
        key.kind,
        Kind::Day(Bound::From | Bound::To) | Kind::Moment(Bound::From | Bound::To)
    );
    // Whether a record has no other version is in no index.
    let has_null = !is_bound
        && !matches!(key.kind, Kind::Words | Kind::Search)
        && !matches!(key.filter, Some(Index::Versions { .. }));
    if !value.is_quoted && text == "null" && has_null {
        return Ok(match key.filter {
            // Every record answers whether it has a value, so the answer itself is never null.
            Some(Index::Presence(_) | Index::OneOf { .. }) => Operand::Nothing,
            _ => Operand::Null,
        });
    }
    let form = if value.is_quoted { ValueForm::Quoted } else { ValueForm::Bare };
    let wrong = || expected_value(key, form);
    match key.kind {
        Kind::Id(entity) => parse_id(entity, text).ok_or_else(wrong),
        Kind::LegacyId(entity) => parse_legacy_id(entity, text).ok_or_else(wrong),
        Kind::AnyId => parse_any_id(text).ok_or_else(wrong),
        Kind::Identifier(scheme) => Ok(match (scheme.normal(text), key.filter) {
            (normal, Some(Index::Scanned { .. })) => Operand::Beginning(normal),
            (normal, _) => Operand::Term(text_term(&normal)),
        }),
        Kind::Code => Ok(Operand::Term(text_term(&text.to_ascii_lowercase()))),
        Kind::Text => match fold(text) {
            folded if folded.is_empty() => Ok(Operand::Nothing),
            folded => Ok(Operand::Term(text_term(&folded))),
        },
        Kind::Words if !value.is_quoted && text == "null" => Err(wrong()),
        Kind::Words => Ok(words_operand(text)),
        Kind::Search => search_operand(key, text),
        Kind::Boolean => parse_boolean(key, text).ok_or_else(wrong),
        Kind::Integer => match parse_integer(text) {
            // Outside of quotes, `-5` is the range up to 5 and not a negative number.
            Some(number) if value.is_quoted || !text.starts_with('-') => {
                Ok(equal_to(sortable_integer(number)))
            }
            _ if value.is_quoted => Err(wrong()),
            _ => parse_integer_range(text).unwrap_or_else(|| Err(wrong())),
        },
        Kind::Number => {
            parse_number(text).map(|number| equal_to(sortable_number(number))).ok_or_else(wrong)
        }
        Kind::Day(bound) | Kind::Moment(bound) => {
            let unit = unit_of(key);
            let years = if value.is_quoted || is_bound { None } else { unit.parse_years(text) };
            let (from, to) = match years {
                Some(years) => years?,
                None => unit.parse(text).ok_or_else(wrong)?,
            };
            Ok(match bound {
                Bound::Exact => Operand::Between(from, to),
                Bound::From => Operand::Between(from, u64::MAX),
                Bound::To => Operand::Between(0, to),
            })
        }
    }
}

/// Parses the value of a comparison. The error says what the value must be.
pub(in crate::query) fn parse_comparison(
    key: &Key,
    comparison: Comparison,
    value: &RawValue<'_>,
) -> Result<Operand, String> {
    let (from, to) = match key.kind {
        Kind::Integer => {
            parse_integer(&value.text).map(|at| (sortable_integer(at), sortable_integer(at)))
        }
        Kind::Number => {
            parse_number(&value.text).map(|at| (sortable_number(at), sortable_number(at)))
        }
        Kind::Day(Bound::Exact) | Kind::Moment(Bound::Exact) => unit_of(key).parse(&value.text),
        _ => return Err(not_comparable(key)),
    }
    .ok_or_else(|| expected_value(key, ValueForm::Compared))?;
    let between = match comparison {
        Comparison::Greater => to.checked_add(1).map(|above| (above, u64::MAX)),
        Comparison::GreaterOrEqual => Some((from, u64::MAX)),
        Comparison::Less => from.checked_sub(1).map(|below| (0, below)),
        Comparison::LessOrEqual => Some((0, to)),
    };
    Ok(between.map_or(Operand::Nothing, |(from, to)| Operand::Between(from, to)))
}

/// The operand of a full-text search in the fields of a key.
fn search_operand(key: &Key, text: &str) -> Result<Operand, String> {
    let Some(Index::FullText(fields)) = key.filter else { return Ok(Operand::Nothing) };
    match Search::parse_in(text, false, fields) {
        Ok(search) => Ok(Operand::Search(Arc::new(search))),
        Err(SyntaxError { position, reason }) => Err(format!("at byte {position}: {reason}")),
    }
}

/// The operand of a search; [`Operand::Nothing`] if the text folds to nothing.
pub(in crate::query) fn words_operand(text: &str) -> Operand {
    let folded = fold(text);
    let words: Vec<String> = folded.split(' ').map(str::to_owned).collect();
    if words.iter().all(|word| !word.is_empty()) { Operand::Words(words) } else { Operand::Nothing }
}

fn equal_to(value: u64) -> Operand {
    Operand::Between(value, value)
}

/// Parses the id of a record in any of its spellings, or a number alone in the taxonomy. A text that is
/// the id of another entity, or only begins as an id, matches nothing where ids have a letter.
fn parse_id(entity: Entity, text: &str) -> Option<Operand> {
    let has_letter = entity.facts().letter.is_some();
    if !has_letter && is_digits(text) {
        let number = parse_digits(text);
        return Some(number.map_or(Operand::Nothing, |id| Operand::Record(entity, id)));
    }
    match parse_record_id(text) {
        Some((of, id)) if of == entity => Some(Operand::Record(entity, id)),
        Some(_) => has_letter.then_some(Operand::Nothing),
        None => (has_letter && strip_id_prefix(text).is_some()).then_some(Operand::Nothing),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses the id of a record as the legacy interface spells ids, in either case, or its number.
fn parse_legacy_id(entity: Entity, text: &str) -> Option<Operand> {
    let operand = |id: Option<u64>| id.map_or(Operand::Nothing, |id| Operand::Record(entity, id));
    if is_digits(text) {
        return Some(operand(parse_digits(text)));
    }
    let upper = text.to_ascii_uppercase();
    let Some(rest) = upper.strip_prefix(IdFormat::LEGACY.prefix(entity)) else {
        return parse_id(entity, text);
    };
    let is_id = entity.facts().letter.is_some() || is_digits(rest);
    is_id.then(|| operand(IdFormat::LEGACY.parse(entity, &upper)))
}

/// Parses the id of a record of any entity.
fn parse_any_id(text: &str) -> Option<Operand> {
    match parse_record_id(text) {
        Some((entity, id)) => Some(Operand::Record(entity, id)),
        None => strip_id_prefix(text).map(|_| Operand::Nothing),
    }
}

fn parse_boolean(key: &Key, text: &str) -> Option<Operand> {
    let value = match text.to_ascii_lowercase().as_str() {
        "true" => true,
        "false" => false,
        _ => return None,
    };
    Some(match key.filter {
        Some(index) if index.is_presence() => Operand::Presence(value),
        _ => Operand::Term(Term::from(value)),
    })
}

/// Parses digits with an optional `-`, within 64 bits.
fn parse_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Parses `a-b`, `a-` or `-b`. `None` for other texts; the error says that the ends are reversed.
fn parse_integer_range(text: &str) -> Option<Result<Operand, String>> {
    let (from, to) = text.split_once('-')?;
    let end = |text: &str| match text {
        "" => Some(None),
        _ if text.starts_with('-') => None,
        _ => parse_integer(text).map(Some),
    };
    let between = |from: Option<i64>, to: Option<i64>| {
        let (from, to) = (from.map(sortable_integer), to.map(sortable_integer));
        Ok(Operand::Between(from.unwrap_or(0), to.unwrap_or(u64::MAX)))
    };
    match (end(from)?, end(to)?) {
        (None, None) => None,
        (Some(from), Some(to)) if from > to => Some(Err(reversed(to, from))),
        (from, to) => Some(between(from, to)),
    }
}

/// The unit of a key of dates or times.
fn unit_of(key: &Key) -> Unit {
    if matches!(key.kind, Kind::Moment(_)) { Unit::Microseconds } else { Unit::Days }
}

/// Parses `-?digits(.digits)?(e[+-]?digits)?`; `None` if the number is not finite.
fn parse_number(text: &str) -> Option<f64> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::query::parse::grammar::{RawTest, parse_expression};
    use crate::schema::keys::keys_of;

    fn parse(entity: Entity, text: &str) -> Result<Operand, String> {
        let raw = parse_expression(text)?;
        let (key, _) = keys_of(entity).filter(raw.key).unwrap();
        match &raw.test {
            RawTest::Compares(comparison, value) => parse_comparison(key, *comparison, value),
            RawTest::AnyOf { alternatives, .. } => parse_operand(key, &alternatives[0]),
        }
    }

    fn integers(from: i64, to: i64) -> Option<Operand> {
        Some(Operand::Between(sortable_integer(from), sortable_integer(to)))
    }

    #[test]
    fn integers_are_parsed_alone_in_ranges_and_in_comparisons() {
        let check = |text: &str, expected: Option<Operand>| {
            assert_eq!(parse(Entity::Output, text).ok(), expected, "{text}");
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
            "year:-",
            "year:1--2",
            "year:1-2-3",
            "year:2022-2020",
            "year:2018-12",
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
    fn numbers_have_signs_and_exponents_but_no_ranges() {
        let check = |text: &str, is_number: bool| {
            assert_eq!(parse(Entity::Output, text).is_ok(), is_number, "{text}");
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
    fn a_date_key_bounds_or_compares_days_and_times() {
        let check = |text: &str, expected: Option<Operand>| {
            assert_eq!(parse(Entity::Output, text).ok(), expected, "{text}");
        };
        check("date:2020-02", integers(20_200_201, 20_200_229));
        check("date:2019-2020", integers(20_190_101, 20_201_231));
        check("date:>2020", Some(Operand::Between(sortable_integer(20_201_232), u64::MAX)));
        check("from_date:2020", Some(Operand::Between(sortable_integer(20_200_101), u64::MAX)));
        check("to_date:2020-02", Some(Operand::Between(0, sortable_integer(20_200_229))));
        check("updated_date:1970-01-01T00:00:00.000007", integers(7, 7));
        let from = |at| Some(Operand::Between(sortable_integer(at), u64::MAX));
        check("updated_date:>1970-01-01T00:00:00.000007Z", from(8));
        check("from_updated_date:1970-01-01T00:00:01", from(1_000_000));
        check(
            "to_created_date:1970-01-01T00:00:00",
            Some(Operand::Between(0, sortable_integer(0))),
        );
        for wrong in [
            "date:2020-01-01T00:00:00",
            "date:2020-2019",
            "date:\"2019-2020\"",
            "from_date:null",
            "from_date:2019-2020",
            "from_date:>2019",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn identifiers_ignore_ascii_case() {
        let check = |entity: Entity, text: &str, expected: Option<Operand>| {
            assert_eq!(parse(entity, text).ok(), expected, "{text}");
        };
        let author = |id| Some(Operand::Record(Entity::Author, id));
        check(Entity::Output, "authors.id:HX_A5", author(5));
        check(Entity::Output, "authors.id:hx_a5", author(5));
        check(Entity::Output, "authors.id:HX_A05", Some(Operand::Nothing));
        check(Entity::Output, "authors.id:HX_W5", Some(Operand::Nothing));
        check(Entity::Output, "authors.id:A5", author(5));
        check(Entity::Output, "authors.id:https://openalex.org/A5", author(5));
        check(Entity::Output, "authors.id:W5", Some(Operand::Nothing));
        check(Entity::Output, "authors.id:openalex:A05", Some(Operand::Nothing));
        check(Entity::Output, "authors.id:A05", None);
        check(Entity::Output, "authors.id:Ada", None);
        check(Entity::Topic, "domain.id:3", Some(Operand::Record(Entity::Domain, 3)));
        check(Entity::Topic, "domain.id:03", Some(Operand::Nothing));
        check(Entity::Topic, "domain.id:x", None);
        let domain = Some(Operand::Record(Entity::Domain, 3));
        check(Entity::Topic, "domain.id:https://openalex.org/domains/3", domain);
        check(Entity::Topic, "domain.id:fields/3", None);
        check(Entity::Topic, "domain.id:W3", None);
        let funder = Some(Operand::Record(Entity::Funder, 7));
        check(Entity::Institution, "roles.id:HX_f7", funder.clone());
        check(Entity::Institution, "roles.id:openalex.org/F7", funder);
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
