//! Reads the works of a dump from JSON lines: the members that the SQLite columns need.

use std::{borrow::Cow, path::Path};

use serde::Deserialize;

use crate::{
    Result,
    dump::{each_line, number},
};

/// A work, borrowed from its JSON line.
#[derive(Deserialize)]
pub struct Work<'a> {
    #[serde(borrow)]
    id: &'a str,
    #[serde(borrow)]
    pub doi: Option<Cow<'a, str>>,
    pub publication_year: Option<i64>,
    #[serde(borrow)]
    publication_date: Option<&'a str>,
    #[serde(borrow)]
    pub language: Option<&'a str>,
    #[serde(borrow)]
    pub r#type: Option<&'a str>,
    #[serde(borrow)]
    pub open_access: OpenAccess<'a>,
    pub cited_by_count: Option<i64>,
    pub referenced_works_count: Option<i64>,
    pub locations_count: Option<i64>,
    pub fwci: Option<f64>,
    #[serde(borrow)]
    primary_location: Option<Location<'a>>,
    #[serde(borrow)]
    authorships: Vec<Authorship<'a>>,
    #[serde(borrow)]
    primary_topic: Option<Reference<'a>>,
    #[serde(borrow)]
    topics: Vec<Reference<'a>>,
    #[serde(borrow)]
    updated_date: &'a str,
    #[serde(borrow)]
    created_date: &'a str,
}

#[derive(Deserialize)]
pub struct OpenAccess<'a> {
    pub is_oa: bool,
    #[serde(borrow)]
    pub oa_status: &'a str,
}

#[derive(Deserialize)]
struct Location<'a> {
    #[serde(borrow)]
    source: Option<Reference<'a>>,
}

#[derive(Deserialize)]
struct Authorship<'a> {
    #[serde(borrow)]
    author: Reference<'a>,
}

#[derive(Deserialize)]
struct Reference<'a> {
    #[serde(borrow)]
    id: &'a str,
}

impl Reference<'_> {
    fn number(&self) -> i64 {
        number(self.id)
    }
}

impl Work<'_> {
    pub fn id(&self) -> i64 {
        number(self.id)
    }

    /// The publication date as digits, such as `20260131`.
    pub fn date(&self) -> Option<i64> {
        self.publication_date.map(|date| digits(date, 0))
    }

    /// The update time as a number, see [`time_number`].
    pub fn updated(&self) -> i64 {
        time_number(self.updated_date)
    }

    /// The creation time as a number, see [`time_number`].
    pub fn created(&self) -> i64 {
        time_number(self.created_date)
    }

    /// The source id of the primary location.
    pub fn source(&self) -> Option<i64> {
        Some(self.primary_location.as_ref()?.source.as_ref()?.number())
    }

    pub fn primary_topic(&self) -> Option<i64> {
        self.primary_topic.as_ref().map(Reference::number)
    }

    pub fn topics(&self) -> impl Iterator<Item = i64> {
        self.topics.iter().map(Reference::number)
    }

    pub fn authors(&self) -> impl Iterator<Item = i64> {
        self.authorships.iter().map(|authorship| authorship.author.number())
    }
}

/// Appends all digits of a text to the decimal number `before`.
fn digits(text: &str, before: i64) -> i64 {
    let digits = text.bytes().filter(u8::is_ascii_digit);
    digits.fold(before, |number, digit| number * 10 + i64::from(digit - b'0'))
}

/// A time of the years 1970 to 2069 as a number that orders times, to the microsecond.
fn time_number(text: &str) -> i64 {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds = digits(seconds, 0) - 19_700_000_000_000;
    digits(&format!("{fraction:0<6.6}"), seconds)
}

/// Calls `each` with every work of a dump, newest partition first. The newest copy of a work comes first, and is the
/// copy that the compiler publishes.
pub fn each_work(dump: &Path, mut each: impl FnMut(&Work<'_>) -> Result<()>) -> Result<()> {
    each_line(dump, "works", |line| each(&serde_json::from_slice(line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_times_have_greater_numbers() {
        let times = [
            "1970-01-01T00:00:00",
            "2025-10-10T00:00:00",
            "2025-10-10T00:00:00.000001",
            "2025-10-10T00:00:00.1",
            "2025-10-10T00:00:01",
            "2026-01-01T00:00:00.999999",
            "2069-12-31T23:59:59.999999",
        ];
        assert!(times.windows(2).all(|pair| time_number(pair[0]) < time_number(pair[1])));
    }
}
