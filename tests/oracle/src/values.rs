//! Converts one member of the dump into the member that the server shows: text, numbers, years, dates,
//! timestamps and ids.
//!
//! Every function accepts any JSON and returns `null` if the value is absent, has another type or is
//! impossible. No function looks at a second record.

use serde_json::{Map, Number, Value};

use crate::json;

/// The greatest count, 2^53 − 1; sums stop there too.
pub const COUNT_MAX: u64 = (1 << 53) - 1;

/// The oracle's name of every country and language; comparisons accept any string or `null` there.
pub const ANY_NAME: &str = "*";

/// An object with these members, in this order.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
    Value::Object(Map::from_iter(members))
}

/// Renders an object; `null` for any other value.
pub fn object_or_null(value: &Value, render: impl FnOnce(&Value) -> Value) -> Value {
    match value {
        Value::Object(_) => render(value),
        _ => Value::Null,
    }
}

/// Renders each item of a list and drops nulls before and after rendering; `null` for any other value.
pub fn list(value: &Value, render: impl FnMut(&Value) -> Value) -> Value {
    match value {
        Value::Array(items) => items
            .iter()
            .filter(|item| !item.is_null())
            .map(render)
            .filter(|item| !item.is_null())
            .collect(),
        _ => Value::Null,
    }
}

/// Renders a list of objects and drops all other items.
pub fn objects(value: &Value, mut render: impl FnMut(&Value) -> Value) -> Value {
    list(value, |item| object_or_null(item, &mut render))
}

/// The number of items in a list without nulls; `null` for any other value.
pub fn length(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().filter(|item| !item.is_null()).count().into(),
        _ => Value::Null,
    }
}

/// The text without NUL; `None` for white space alone.
pub fn words(value: &Value) -> Option<String> {
    let text = value.as_str()?.replace('\0', "");
    (!text.trim().is_empty()).then_some(text)
}

/// [`words`], with `null` for `None`.
pub fn text(value: &Value) -> Value {
    words(value).map_or(Value::Null, Value::String)
}

/// A list of texts.
pub fn texts(value: &Value) -> Value {
    list(value, text)
}

/// A member of `ids`, written as a string even if the dump holds an integer.
pub fn id_text(value: &Value) -> Value {
    match value {
        Value::Number(_) => match count(value) {
            Value::Number(number) => number.to_string().into(),
            _ => Value::Null,
        },
        _ => text(value),
    }
}

/// `true`, `false` or `null`.
pub fn flag(value: &Value) -> Value {
    value.as_bool().map_or(Value::Null, Value::Bool)
}

fn numeric(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => json::parse_number(text),
        _ => None,
    }
}

/// Parses a whole number from 0 to [`COUNT_MAX`]; `5`, `5.0` and `"5"` are equal.
pub fn whole(value: &Value) -> Option<u64> {
    let number = numeric(value)?;
    let whole = match number.as_u64() {
        Some(whole) => whole,
        None => {
            let float = number.as_f64()?;
            let fits = float.fract() == 0.0 && float >= 0.0 && float <= COUNT_MAX as f64;
            fits.then_some(float as u64)?
        }
    };
    (whole <= COUNT_MAX).then_some(whole)
}

/// [`whole`], with `null` for `None`.
pub fn count(value: &Value) -> Value {
    whole(value).map_or(Value::Null, Value::from)
}

/// A year from 1 to 9999.
pub fn year(value: &Value) -> Value {
    match whole(value) {
        Some(year @ 1..=9999) => year.into(),
        _ => Value::Null,
    }
}

/// A finite number: whole numbers to ±2^53 as integers, others as the nearest double; never negative zero.
pub fn fraction(value: &Value) -> Value {
    let Some(float) = numeric(value).and_then(|number| number.as_f64()) else {
        return Value::Null;
    };
    if float.fract() == 0.0 && float.abs() <= COUNT_MAX as f64 {
        return (float as i64).into();
    }
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}

/// `YYYY-MM-DD` of a day that exists.
pub fn date(value: &Value) -> Value {
    let day = words(value).filter(|text| text.len() == 10 && day_of(text).is_some());
    day.map_or(Value::Null, Value::String)
}

/// A moment in UTC, with the text that the server shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since 1970-01-01T00:00:00 UTC.
    pub micros: i64,
    /// `YYYY-MM-DDTHH:MM:SS`, with the fraction as given unless it is zero.
    pub text: String,
}

/// Parses a date, or a date and a time of day with or without a zone; `None` if it does not exist.
pub fn moment(value: &Value) -> Option<Moment> {
    let text = words(value)?;
    let day = day_of(text.get(..10)?)?;
    let rest = &text[10..];
    if rest.is_empty() {
        return Some(write_moment(day * 86_400, ""));
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let clock = rest.get(..8)?;
    let mut parts = clock.split(':').map(two_digits);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let rest = &rest[8..];
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            rest.split_at(end)
        }
        None => ("", rest),
    };
    let seconds = day * 86_400 + hour * 3_600 + minute * 60 + second - zone_seconds(zone)?;
    (YEAR_1_SECONDS..YEAR_10000_SECONDS).contains(&seconds).then(|| write_moment(seconds, fraction))
}

/// [`moment`] as a member.
pub fn timestamp(value: &Value) -> Value {
    moment(value).map_or(Value::Null, |moment| moment.text.into())
}

/// `YYYY-MM-DDTHH:MM:SS.sssZ`, digits beyond the millisecond cut.
pub fn millisecond_timestamp(micros: i64) -> String {
    let whole = write_moment(micros.div_euclid(1_000_000), "").text;
    format!("{whole}.{:03}Z", micros.rem_euclid(1_000_000) / 1_000)
}

const YEAR_1_SECONDS: i64 = -62_135_596_800;
const YEAR_10000_SECONDS: i64 = 253_402_300_800;

fn write_moment(seconds: i64, fraction: &str) -> Moment {
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let clock = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
    let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if fraction.bytes().any(|digit| digit != b'0') {
        text.push('.');
        text.push_str(fraction);
    }
    let micros = format!("{fraction:0<6}")[..6].parse().unwrap_or(0);
    Moment { micros: seconds * 1_000_000 + micros, text }
}

fn two_digits(text: &str) -> Option<i64> {
    let plain = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn zone_seconds(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = zone.get(1..)?;
    let (hours, minutes) = match digits.len() {
        2 => (digits, "00"),
        4 => (digits.get(..2)?, digits.get(2..)?),
        5 => digits.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Days since 1970-01-01 of `YYYY-MM-DD`.
fn day_of(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let plain = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if !plain {
        return None;
    }
    let year: i64 = text[..4].parse().ok()?;
    let month: usize = text[5..7].parse().ok()?;
    let day: i64 = text[8..].parse().ok()?;
    if year == 0 || !(1..=12).contains(&month) || day < 1 || day > month_days(year, month) {
        return None;
    }
    let months: i64 = (1..month).map(|month| month_days(year, month)).sum();
    Some(days_before(year) + months + day - 1)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub fn month_days(year: i64, month: usize) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of January of `year`.
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400 - 719_162
}

fn civil(day: i64) -> (i64, usize, i64) {
    let mut year = 1970 + day / 366;
    while days_before(year + 1) <= day {
        year += 1;
    }
    while days_before(year) > day {
        year -= 1;
    }
    let mut rest = day - days_before(year);
    let mut month = 1;
    while rest >= month_days(year, month) {
        rest -= month_days(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}

/// The bare iD of an ORCID given as an iD or as a URL.
pub fn orcid_id(value: &Value) -> Option<String> {
    let text = words(value)?;
    words(&Value::from(text.rsplit('/').next()?))
}

/// The URL of an ORCID given as an iD or as a URL.
pub fn orcid_url(value: &Value) -> Value {
    orcid_id(value).map_or(Value::Null, |id| format!("https://orcid.org/{id}").into())
}

/// A country or language code with [`ANY_NAME`]; `null` without a code.
pub fn coded(value: &Value) -> Value {
    match text(value) {
        Value::Null => Value::Null,
        code => object([("code", code), ("name", ANY_NAME.into())]),
    }
}

/// The abstract of an inverted index: an object, `{IndexLength, InvertedIndex}`, or either as a JSON string.
pub fn abstract_text(value: &Value) -> Value {
    let parsed = value.as_str().and_then(|text| json::parse(text).ok());
    let value = parsed.as_ref().unwrap_or(value);
    let index = match &value["InvertedIndex"] {
        inner @ Value::Object(_) => inner,
        _ => value,
    };
    let Value::Object(index) = index else {
        return Value::Null;
    };
    let mut placed: Vec<(u64, String)> = Vec::new();
    for (word, positions) in index {
        let Some(word) = words(&Value::from(word.as_str())) else {
            continue;
        };
        for position in positions.as_array().into_iter().flatten() {
            if let Some(position) = whole(position) {
                placed.push((position, word.clone()));
            }
        }
    }
    placed.sort_by_key(|(position, _)| *position);
    let words: Vec<String> = placed.into_iter().map(|(_, word)| word).collect();
    text(&words.join(" ").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        json::parse(text).expect("the test's own JSON")
    }

    #[test]
    fn a_count_is_a_whole_number_up_to_the_maximum() {
        for (given, shown) in [
            ("5", "5"),
            ("5.0", "5"),
            ("\"5\"", "5"),
            ("5.5", "null"),
            ("-1", "null"),
            ("-0.0", "0"),
            ("9007199254740991", "9007199254740991"),
            ("9007199254740992", "null"),
            ("true", "null"),
            ("[]", "null"),
            ("{}", "null"),
            ("\"x\"", "null"),
        ] {
            assert_eq!(count(&json(given)).to_string(), shown, "{given}");
        }
    }

    #[test]
    fn a_fraction_has_its_shortest_form() {
        for (given, shown) in [
            ("1.0", "1"),
            ("-0.0", "0"),
            ("0.10", "0.1"),
            ("\"2.5\"", "2.5"),
            ("-1.5", "-1.5"),
            ("4.92e-05", "0.0000492"),
        ] {
            let shown = json(shown);
            assert_eq!(fraction(&json(given)), shown, "{given}");
        }
    }

    #[test]
    fn impossible_years_and_days_are_null() {
        for (given, shown) in
            [("0", "null"), ("-5", "null"), ("20240", "null"), ("\"2024\"", "2024")]
        {
            assert_eq!(year(&json(given)).to_string(), shown, "{given}");
        }
        for (given, stays) in [
            ("2024-02-29", true),
            ("2023-02-29", false),
            ("1900-02-29", false),
            ("2000-02-29", true),
            ("2023-13-01", false),
            ("2023-1-1", false),
        ] {
            assert_eq!(date(&given.into()).is_string(), stays, "{given}");
        }
    }

    #[test]
    fn timestamps_are_written_in_utc() {
        for (given, shown) in [
            ("2023-04-21", Some("2023-04-21T00:00:00")),
            ("2023-04-21T01:02:03.450000", Some("2023-04-21T01:02:03.450000")),
            ("2023-04-21T01:02:03.000", Some("2023-04-21T01:02:03")),
            ("2023-05-16T14:50:18.726Z", Some("2023-05-16T14:50:18.726")),
            ("2024-03-01T00:30:00+01:00", Some("2024-02-29T23:30:00")),
            ("1969-12-31T23:00:00-0200", Some("1970-01-01T01:00:00")),
            ("2023-02-30T00:00:00", None),
            ("2023-04-21T24:00:00", None),
            ("yesterday", None),
        ] {
            let found = moment(&given.into()).map(|moment| moment.text);
            assert_eq!(found.as_deref(), shown, "{given}");
        }
        for day in (-800_000..2_000_000).step_by(97) {
            let (year, month, of_month) = civil(day);
            if (1..=9999).contains(&year) {
                assert_eq!(day_of(&format!("{year:04}-{month:02}-{of_month:02}")), Some(day));
            }
        }
        assert_eq!(
            moment(&"1970-01-02T00:00:00.5".into()).map(|moment| moment.micros),
            Some(86_400_500_000)
        );
    }

    #[test]
    fn an_abstract_is_read_in_three_encodings() {
        let plain = r#"{"world":[7],"Hello":[0,9],"":[1]}"#;
        let wrapped = format!(r#"{{"IndexLength":10,"InvertedIndex":{plain}}}"#);
        let quoted = Value::from(plain).to_string();
        for given in [plain, &wrapped, &quoted] {
            assert_eq!(abstract_text(&json(given)), "Hello world Hello", "{given}");
        }
        assert_eq!(abstract_text(&json("{}")), Value::Null);
    }
}
