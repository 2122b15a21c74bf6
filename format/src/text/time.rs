//! Writes dates and times. A time is in microseconds since 1970-01-01T00:00:00 UTC, and its text has
//! no time zone.

use chrono::{DateTime, Datelike, Timelike};

/// Appends `YYYY-MM-DD`.
pub fn write_day(out: &mut Vec<u8>, year: u16, month: u8, day: u8) {
    let [a, b] = two_digits(u32::from(year) / 100);
    let [c, d] = two_digits(u32::from(year));
    let ([e, f], [g, h]) = (two_digits(month.into()), two_digits(day.into()));
    out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
}

/// Appends `YYYY-MM-DDTHH:MM:SS`, followed by `.` and `fraction_digits` digits unless that is 0.
///
/// `None` where the year does not have four digits.
pub fn write_moment(out: &mut Vec<u8>, micros: i64, fraction_digits: u8) -> Option<()> {
    let moment = DateTime::from_timestamp_micros(micros)?;
    let year = u16::try_from(moment.year()).ok().filter(|year| *year <= 9_999)?;
    // Both casts fit: a month is at most 12, a day at most 31.
    write_day(out, year, moment.month() as u8, moment.day() as u8);
    let ([a, b], [c, d]) = (two_digits(moment.hour()), two_digits(moment.minute()));
    let [e, f] = two_digits(moment.second());
    out.extend_from_slice(&[b'T', a, b, b':', c, d, b':', e, f]);
    if fraction_digits > 0 {
        let micros = moment.timestamp_subsec_micros();
        let ([a, b], [c, d]) = (two_digits(micros / 10_000), two_digits(micros / 100));
        let [e, f] = two_digits(micros);
        let fraction = [b'.', a, b, c, d, e, f];
        out.extend_from_slice(&fraction[..1 + usize::from(fraction_digits.min(6))]);
    }
    Some(())
}

/// The last two digits of a number.
fn two_digits(value: u32) -> [u8; 2] {
    // A digit fits a byte.
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_requested_fraction_digits() {
        let check = |micros: i64, digits: u8, expected: &str| {
            let mut out = Vec::new();
            write_moment(&mut out, micros, digits).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(0, 0, "1970-01-01T00:00:00");
        check(-1, 6, "1969-12-31T23:59:59.999999");
        check(1_700_000_000_123_400, 6, "2023-11-14T22:13:20.123400");
        check(1_700_000_000_123_400, 3, "2023-11-14T22:13:20.123");
    }

    #[test]
    fn a_time_beyond_the_calendar_is_refused() {
        assert_eq!(write_moment(&mut Vec::new(), i64::MAX, 0), None);
    }
}
