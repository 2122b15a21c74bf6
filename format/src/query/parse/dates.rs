//! Parses the dates and times of a filter into intervals of ascending numbers, as orders hold them.
//!
//! ```text
//! date:2020-02                                 the days 20200201 to 20200229
//! updated_date:2020-02                         the microseconds of the same days
//! updated_date:2020-02-03T04:05:06.5           one microsecond
//! date:2019-2020                               the days 20190101 to 20201231
//! ```

use chrono::{Datelike, Days, Months, NaiveDate, NaiveTime};

use crate::index::orders::sortable_integer;

/// First and last value, as ascending numbers.
pub(in crate::query) type Interval = (u64, u64);

/// The unit in which a key's values are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Unit {
    Days,
    Microseconds,
}

impl Unit {
    /// Parses a year, a month or a day; in microseconds also a time, as records show times.
    pub(in crate::query) fn parse(self, text: &str) -> Option<Interval> {
        match parse_period(text) {
            Some(period) => Some(self.interval(period)),
            None if self == Unit::Microseconds => {
                let at = sortable_integer(parse_time(text)?);
                Some((at, at))
            }
            None => None,
        }
    }

    /// Parses a range of years: `a-b`, `a-` or `-b`. `None` for other texts; the error says that the ends are
    /// reversed.
    pub(in crate::query) fn parse_years(self, text: &str) -> Option<Result<Interval, String>> {
        let (from, to) = text.split_once('-')?;
        let year = |text: &str| if text.len() == 4 { parse_period(text) } else { None };
        let first = if from.is_empty() { NaiveDate::MIN } else { year(from)?.0 };
        let last = if to.is_empty() { NaiveDate::MAX } else { year(to)?.1 };
        if from.is_empty() && to.is_empty() {
            return None;
        }
        Some(if first > last { Err(reversed(to, from)) } else { Ok(self.interval((first, last))) })
    }

    fn interval(self, (first, last): Period) -> Interval {
        match self {
            Unit::Days => {
                let number = |day: NaiveDate| {
                    i64::from(day.year()) * 10_000
                        + i64::from(day.month()) * 100
                        + i64::from(day.day())
                };
                (sortable_integer(number(first)), sortable_integer(number(last)))
            }
            Unit::Microseconds => {
                let start =
                    |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc().timestamp_micros();
                let from = if first == NaiveDate::MIN { i64::MIN } else { start(first) };
                let to =
                    last.checked_add_days(Days::new(1)).map_or(i64::MAX, |next| start(next) - 1);
                (sortable_integer(from), sortable_integer(to))
            }
        }
    }
}

/// The error of a range whose ends are reversed.
pub(in crate::query) fn reversed(
    low: impl std::fmt::Display,
    high: impl std::fmt::Display,
) -> String {
    format!("is a range that ends before it begins; write `{low}-{high}`")
}

/// A first and a last day.
type Period = (NaiveDate, NaiveDate);

/// Parses a year, a month or a day.
fn parse_period(text: &str) -> Option<Period> {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |at: usize, length: usize| parse_fixed(parts.get(at)?, length);
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

/// Parses `YYYY-MM-DDTHH:MM:SS`, with up to six digits of a fraction and with or without `Z`, into
/// microseconds since 1970.
fn parse_time(text: &str) -> Option<i64> {
    let (day, time) = text.strip_suffix('Z').unwrap_or(text).split_once('T')?;
    let (day, last) = parse_period(day)?;
    let (time, fraction) = match time.split_once('.') {
        Some((time, fraction)) => (time, Some(fraction)),
        None => (time, None),
    };
    let mut parts = time.split(':').map(|part| parse_fixed(part, 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let micros = match fraction {
        Some(digits) if (1..=6).contains(&digits.len()) => {
            parse_fixed(digits, digits.len())? * 10u32.pow(6 - digits.len() as u32)
        }
        Some(_) => return None,
        None => 0,
    };
    // Equal days: the date is neither a year nor a month.
    let is_whole = day == last && parts.next().is_none();
    let time = NaiveTime::from_hms_micro_opt(hour, minute, second, micros).filter(|_| is_whole)?;
    Some(day.and_time(time).and_utc().timestamp_micros())
}

/// Parses exactly this number of ASCII digits.
fn parse_fixed(text: &str, length: usize) -> Option<u32> {
    let is_plain = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(from: i64, to: i64) -> Option<Interval> {
        Some((sortable_integer(from), sortable_integer(to)))
    }

    #[test]
    fn a_date_stands_for_all_its_days() {
        let check = |text: &str, expected: Option<Interval>| {
            assert_eq!(Unit::Days.parse(text), expected, "{text}");
        };
        check("2020", interval(20_200_101, 20_201_231));
        check("2020-02", interval(20_200_201, 20_200_229));
        check("2020-02-03", interval(20_200_203, 20_200_203));
        for wrong in [
            "",
            "20",
            "0000",
            "2020-13",
            "2020-02-30",
            "2020-2",
            "-",
            "2020-02-03T00",
            "2020-02-03T04:05:06",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_time_is_one_microsecond() {
        let check = |text: &str, expected: Option<i64>| {
            let expected = expected.and_then(|at| interval(at, at));
            assert_eq!(Unit::Microseconds.parse(text), expected, "{text}");
        };
        check("1970-01-01T00:00:00", Some(0));
        check("1970-01-01T00:00:00Z", Some(0));
        check("1970-01-02T01:02:03.5", Some(90_123_500_000));
        check("1970-01-02T01:02:03.500Z", Some(90_123_500_000));
        check("1969-12-31T23:59:59.999999", Some(-1));
        for wrong in [
            "1970-01-01T",
            "1970-01-01T00:00",
            "1970-01-01T00:00:00:00",
            "1970-01-01T24:00:00",
            "1970-01-01T00:00:60",
            "1970-01-01T00:00:00.",
            "1970-01-01T00:00:00.0000000",
            "1970-01-01T00:00:00.+5",
            "1970-01-01T00:00:00ZZ",
            "1970-01-01T00:00:00+00:00",
            "1970-01-01t00:00:00",
            "1970-01-01 00:00:00",
            "1970-01T00:00:00",
            "1970T00:00:00",
            "1970-02-30T00:00:00",
        ] {
            check(wrong, None);
        }
        let day = 86_400_000_000;
        assert_eq!(Unit::Microseconds.parse("1970-01-02"), interval(day, 2 * day - 1));
    }

    #[test]
    fn a_range_has_years_in_ascending_order() {
        let check = |text: &str, expected: Option<Result<Interval, String>>| {
            assert_eq!(Unit::Days.parse_years(text), expected, "{text}");
        };
        check("2019-2020", interval(20_190_101, 20_201_231).map(Ok));
        check("2020-2020", interval(20_200_101, 20_201_231).map(Ok));
        let reversed = "is a range that ends before it begins; write `2019-2020`";
        check("2020-2019", Some(Err(reversed.to_owned())));
        for wrong in ["", "-", "2020", "2020-02", "2020-0000", "--2020", "2019-2020-"] {
            check(wrong, None);
        }
        let open = Unit::Microseconds.parse_years("-1969");
        assert_eq!(open, Some(Ok((sortable_integer(i64::MIN), sortable_integer(-1)))));
    }
}
