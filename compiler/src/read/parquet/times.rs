//! Dates and times as the text that JSON lines have.

use arrow_schema::TimeUnit;
use chrono::{DateTime, Datelike, NaiveDate, Timelike};

/// The text of a date or a time; empty if its year has not four digits.
pub(super) struct TimeText {
    bytes: [u8; 26],
    length: usize,
}

impl TimeText {
    const NONE: TimeText = TimeText { bytes: [0; 26], length: 0 };

    pub(super) fn as_str(&self) -> &str {
        // Digits and signs only, so the text is never empty for being no UTF-8.
        match std::str::from_utf8(&self.bytes[..self.length]) {
            Ok("") | Err(_) => "out of range",
            Ok(text) => text,
        }
    }

    fn push(&mut self, sign: Option<u8>, number: u32, digits: usize) {
        if let Some(sign) = sign {
            self.bytes[self.length] = sign;
            self.length += 1;
        }
        let mut rest = number;
        for at in (self.length..self.length + digits).rev() {
            self.bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length += digits;
    }

    fn push_date(&mut self, date: &impl Datelike) -> Option<()> {
        let year = u32::try_from(date.year()).ok().filter(|year| (1..=9_999).contains(year))?;
        self.push(None, year, 4);
        self.push(Some(b'-'), date.month(), 2);
        self.push(Some(b'-'), date.day(), 2);
        Some(())
    }
}

/// Writes `YYYY-MM-DD`.
pub(super) fn date_text(days: i32) -> TimeText {
    let mut text = TimeText::NONE;
    let date = NaiveDate::from_epoch_days(days);
    match date.and_then(|date| text.push_date(&date)) {
        Some(()) => text,
        None => TimeText::NONE,
    }
}

/// Writes `YYYY-MM-DDTHH:MM:SS`, and six digits of a fraction that is not zero.
pub(super) fn moment_text(value: i64, unit: TimeUnit) -> TimeText {
    let micros = match unit {
        TimeUnit::Second => value.checked_mul(1_000_000),
        TimeUnit::Millisecond => value.checked_mul(1_000),
        TimeUnit::Microsecond => Some(value),
        TimeUnit::Nanosecond => Some(value.div_euclid(1_000)),
    };
    let Some(moment) = micros.and_then(DateTime::from_timestamp_micros) else {
        return TimeText::NONE;
    };
    let mut text = TimeText::NONE;
    if text.push_date(&moment).is_none() {
        return TimeText::NONE;
    }
    text.push(Some(b'T'), moment.hour(), 2);
    text.push(Some(b':'), moment.minute(), 2);
    text.push(Some(b':'), moment.second(), 2);
    let fraction = moment.timestamp_subsec_micros();
    if fraction > 0 {
        text.push(Some(b'.'), fraction, 6);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_json_lines_have_them() {
        let check = |value: i64, unit: TimeUnit, expected: &str| {
            assert_eq!(moment_text(value, unit).as_str(), expected);
        };
        check(1_770_000_945_819_870, TimeUnit::Microsecond, "2026-02-02T02:55:45.819870");
        check(0, TimeUnit::Microsecond, "1970-01-01T00:00:00");
        check(-1, TimeUnit::Second, "1969-12-31T23:59:59");
        check(1_500, TimeUnit::Millisecond, "1970-01-01T00:00:01.500000");
        check(-1, TimeUnit::Nanosecond, "1969-12-31T23:59:59.999999");
        check(i64::MAX, TimeUnit::Second, "out of range");
        check(i64::MAX, TimeUnit::Microsecond, "out of range");
        assert_eq!(date_text(20_485).as_str(), "2026-02-01");
        assert_eq!(date_text(i32::MIN).as_str(), "out of range");
        assert_eq!(date_text(-800_000).as_str(), "out of range");
    }
}
