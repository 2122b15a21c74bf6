//! Days as ordered numbers, and the periods that dates in queries mean.

use crate::values::month_days;

/// `YYYYMMDD` as a number.
pub type Day = u32;

/// The first and the last day of a `YYYY`, `YYYY-MM` or `YYYY-MM-DD`; `None` if it does not exist.
pub fn period(text: &str) -> Option<(Day, Day)> {
    let parts: Vec<&str> = text.split('-').collect();
    let year = digits(parts[0], 4).filter(|year| *year >= 1)?;
    let day = |month: u32, day: u32| year * 10_000 + month * 100 + day;
    let last_of = |month: u32| month_days(i64::from(year), month as usize) as u32;
    match parts[1..] {
        [] => Some((day(1, 1), day(12, 31))),
        [month] => {
            let month = digits(month, 2).filter(|month| (1..=12).contains(month))?;
            Some((day(month, 1), day(month, last_of(month))))
        }
        [month, of_month] => {
            let month = digits(month, 2).filter(|month| (1..=12).contains(month))?;
            let of_month = digits(of_month, 2).filter(|d| (1..=last_of(month)).contains(d))?;
            Some((day(month, of_month), day(month, of_month)))
        }
        _ => None,
    }
}

/// The day of a date or a timestamp of a record.
pub fn day_of(text: &str) -> Option<Day> {
    period(text.get(..10)?).map(|(day, _)| day)
}

/// A time in the form that orders times: the text to the second, then six digits of the fraction.
pub fn time_of(text: &str) -> Option<String> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (day, clock) = text.split_once('T')?;
    day_of(day).filter(|_| day.len() == 10)?;
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, fraction),
        None => (clock, "0"),
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let is_clock = parts.len() == 3
        && parts
            .iter()
            .zip([24, 60, 60])
            .all(|(part, end)| digits(part, 2).is_some_and(|n| n < end));
    let is_fraction =
        (1..=6).contains(&fraction.len()) && digits(fraction, fraction.len()).is_some();
    (is_clock && is_fraction).then(|| format!("{day}T{clock}.{fraction:0<6}"))
}

/// The first and the last day of a range of years; either bound may be absent.
pub fn years(text: &str) -> Option<(Option<Day>, Option<Day>)> {
    let (low, high) = text.split_once('-')?;
    let year = |text: &str| match text {
        "" => Some(None),
        _ => digits(text, 4).filter(|year| *year >= 1).map(Some),
    };
    let (low, high) = (year(low)?, year(high)?);
    if low.is_none() && high.is_none() {
        return None;
    }
    Some((low.map(|year| year * 10_000 + 101), high.map(|year| year * 10_000 + 1_231)))
}

fn digits(text: &str, length: usize) -> Option<u32> {
    let is_plain = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_means_its_whole_period() {
        let check = |text: &str, expected: Option<(Day, Day)>| {
            assert_eq!(period(text), expected, "{text}");
        };
        check("2020", Some((20_200_101, 20_201_231)));
        check("2020-02", Some((20_200_201, 20_200_229)));
        check("1900-02", Some((19_000_201, 19_000_228)));
        check("2021-12-31", Some((20_211_231, 20_211_231)));
        for text in [
            "",
            "20",
            "02020",
            "0000",
            "2020-",
            "2020-1",
            "2020-13",
            "2020-00",
            "2021-02-29",
            "2020-01-32",
            "2020-01-00",
            "2020-01-01-01",
            "2020-01-01T00:00:00",
            "2020/01/01",
            "２０２０",
            " 2020",
            "+202",
        ] {
            check(text, None);
        }
        assert_eq!(day_of("2020-02-29T01:02:03.4"), Some(20_200_229));
    }

    #[test]
    fn a_time_has_six_digits_of_its_fraction() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(time_of(text).as_deref(), expected, "{text}");
        };
        check("2020-02-29T01:02:03", Some("2020-02-29T01:02:03.000000"));
        check("2020-02-29T01:02:03.4Z", Some("2020-02-29T01:02:03.400000"));
        check("2020-02-29T01:02:03.456789", Some("2020-02-29T01:02:03.456789"));
        for text in [
            "2020-02-29",
            "2020-02T01:02:03",
            "2021-02-29T01:02:03",
            "2020-02-29T01:02",
            "2020-02-29T24:02:03",
            "2020-02-29T01:02:60",
            "2020-02-29T01:02:03.",
            "2020-02-29T01:02:03.1234567",
            "2020-02-29T01:02:03+00:00",
            "2020-02-29 01:02:03",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_range_consists_of_years() {
        let check = |text: &str, expected: Option<(Option<Day>, Option<Day>)>| {
            assert_eq!(years(text), expected, "{text}");
        };
        check("2020-2021", Some((Some(20_200_101), Some(20_211_231))));
        check("2020-", Some((Some(20_200_101), None)));
        check("-2021", Some((None, Some(20_211_231))));
        for text in ["", "-", "2020", "2020-13", "2020-01-", "--2020", "2020-2021-", "999-2020"] {
            check(text, None);
        }
    }
}
