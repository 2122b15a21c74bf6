//! Writes dates and times. A time is in microseconds since 1970-01-01T00:00:00 UTC, and its text has
//! no time zone.

use chrono::{DateTime, Datelike, Timelike};

/// Appends `YYYY-MM-DD`.
pub fn write_day(out: &mut Vec<u8>, year: u16, month: u8, day: u8) {
    digits(out, u32::from(year), 4);
    out.push(b'-');
    digits(out, u32::from(month), 2);
    out.push(b'-');
    digits(out, u32::from(day), 2);
}

/// Appends `YYYY-MM-DDTHH:MM:SS`, followed by `.` and `fraction_digits` digits unless that is 0.
///
/// `None` where the year does not have four digits.
pub fn write_moment(out: &mut Vec<u8>, micros: i64, fraction_digits: u8) -> Option<()> {
    let moment = DateTime::from_timestamp_micros(micros)?;
    let year = u16::try_from(moment.year()).ok().filter(|year| *year <= 9_999)?;
    // Both casts fit: a month is at most 12, a day at most 31.
    write_day(out, year, moment.month() as u8, moment.day() as u8);
    for (mark, value) in [(b'T', moment.hour()), (b':', moment.minute()), (b':', moment.second())] {
        out.push(mark);
        digits(out, value, 2);
    }
    if fraction_digits > 0 {
        let shown = fraction_digits.min(6);
        out.push(b'.');
        digits(out, moment.timestamp_subsec_micros() / 10u32.pow(u32::from(6 - shown)), shown);
    }
    Some(())
}

fn digits(out: &mut Vec<u8>, value: u32, width: u8) {
    for place in (0..u32::from(width)).rev() {
        // A digit fits a byte.
        out.push(b'0' + (value / 10u32.pow(place) % 10) as u8);
    }
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
