//! Parsing of dates and times in every notation that dumps use.

use chrono::{Datelike, NaiveDate, NaiveTime};
use pinakes_format::record::{Date, Timestamp, UtcTimestamp};

use crate::read::lenient::{Diagnostics, MaybeText};

/// Parses `YYYY-MM-DD`, for the years 1 to 9999.
pub fn parse_day(text: &str) -> Option<NaiveDate> {
    let bytes = text.as_bytes();
    let has_shape = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
    if !has_shape {
        return None;
    }
    let year = digits(&text[0..4])?;
    if year == 0 {
        return None;
    }
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, digits(&text[5..7])?, digits(&text[8..10])?)
}

fn digits(text: &str) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Parses `YYYY-MM-DD[THH:MM:SS[.fraction]][zone]` to a moment in UTC.
///
/// A date alone is midnight. The result keeps the number of fraction digits, at most six, and drops
/// a fraction of zeros: `…01.500` keeps three digits, `…01.000000` none.
pub fn parse_moment(text: &str) -> Option<Timestamp> {
    if !text.is_ascii() || text.len() < 10 {
        return None;
    }
    let (day, rest) = text.split_at(10);
    let midnight = parse_day(day)?.and_time(NaiveTime::MIN).and_utc().timestamp_micros();
    if rest.is_empty() {
        return Some(Timestamp { micros: midnight, fraction_digits: 0 });
    }
    let rest = rest.strip_prefix(['T', ' '])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let seconds = parse_clock(clock)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest.split_at_checked(end).filter(|(fraction, _)| !fraction.is_empty())?
        }
        None => ("", rest),
    };
    let (micros, fraction_digits) = parse_fraction(fraction)?;
    let moment = midnight + seconds * 1_000_000 + micros - parse_zone(zone)? * 1_000_000;
    // A zone can move the moment out of the years 1 to 9999.
    let year = chrono::DateTime::from_timestamp_micros(moment)?.year();
    let is_writable = (1..=9_999).contains(&year);
    is_writable.then_some(Timestamp { micros: moment, fraction_digits })
}

/// Parses `HH:MM:SS` to seconds of the day.
fn parse_clock(clock: &str) -> Option<i64> {
    let bytes = clock.as_bytes();
    if bytes[2] != b':' || bytes[5] != b':' {
        return None;
    }
    let (hour, minute, second) =
        (digits(&clock[0..2])?, digits(&clock[3..5])?, digits(&clock[6..8])?);
    let valid = hour < 24 && minute < 60 && second < 60;
    valid.then(|| i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second))
}

/// Parses a fraction to microseconds and the number of digits to show.
fn parse_fraction(fraction: &str) -> Option<(i64, u8)> {
    let kept = &fraction[..fraction.len().min(6)];
    if kept.bytes().all(|byte| byte == b'0') {
        return Some((0, 0));
    }
    let shown = u8::try_from(kept.len()).ok()?;
    Some((i64::from(digits(kept)?) * 10i64.pow(6 - u32::from(shown)), shown))
}

/// Parses a zone such as `Z`, `+02:00` or `-0130` to seconds east of UTC.
fn parse_zone(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = match zone.len() {
        3 => (&zone[1..3], "00"),
        5 => (&zone[1..3], &zone[3..5]),
        6 if zone.as_bytes()[3] == b':' => (&zone[1..3], &zone[4..6]),
        _ => return None,
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60)
        .then(|| sign * (i64::from(hours) * 3_600 + i64::from(minutes) * 60))
}

/// Reads a timestamp member; a bad timestamp is null and a warning.
pub fn timestamp(text: &MaybeText<'_>, diagnostics: &Diagnostics) -> Option<Timestamp> {
    let text = text.as_str()?;
    let moment = parse_moment(text);
    if moment.is_none() {
        diagnostics.warn("impossible_date");
    }
    moment
}

/// Reads a timestamp member that records show with milliseconds.
pub fn utc_timestamp(text: &MaybeText<'_>, diagnostics: &Diagnostics) -> Option<UtcTimestamp> {
    timestamp(text, diagnostics).map(|moment| UtcTimestamp::from_micros(moment.micros))
}

/// Reads a date member; a bad date is null and a warning.
pub fn date(text: &MaybeText<'_>, diagnostics: &Diagnostics) -> Option<Date> {
    let text = text.as_str()?;
    let Some(day) = parse_day(text) else {
        diagnostics.warn("impossible_date");
        return None;
    };
    // The casts are exact: the year has four digits, the month is at most 12, the day at most 31.
    Some(Date { year: day.year() as u16, month: day.month() as u8, day: day.day() as u8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_parsed_in_every_notation_of_dumps() {
        let check = |text: &str, expected: Option<(i64, u8)>| {
            let found = parse_moment(text).map(|moment| (moment.micros, moment.fraction_digits));
            assert_eq!(found, expected, "{text}");
        };
        check("1970-01-02", Some((86_400_000_000, 0)));
        check("1970-01-01T00:00:01", Some((1_000_000, 0)));
        check("1970-01-01T00:00:01.500", Some((1_500_000, 3)));
        check("1970-01-01T00:00:01.000000", Some((1_000_000, 0)));
        check("1970-01-01T00:00:00.720710", Some((720_710, 6)));
        check("1970-01-01T00:00:00.123456789Z", Some((123_456, 6)));
        check("1970-01-01T02:00:00+02:00", Some((0, 0)));
        check("1970-01-01T00:00:00-0130", Some((5_400_000_000, 0)));
        for text in
            ["", "1970", "1970-02-30", "1970-01-01T24:00:00", "1970-01-01Tnoon", "0000-01-01"]
        {
            check(text, None);
        }
        check("1970-01-01T00:00:00.", None);
        check("0001-01-01T00:00:00+00:01", None);
        check("9999-12-31T23:59:59-00:01", None);
        check("1970-01-01T00:00:00+2", None);
    }
}
