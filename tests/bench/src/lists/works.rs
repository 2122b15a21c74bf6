//! The works of a dump, read as lines of JSON: what the columns of a table need of them.

use std::{borrow::Cow, path::Path};

use serde::Deserialize;

use crate::{
    Result,
    dump::{each_line, number},
};

/// A work as its line has it.
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

/// Whether it is open.
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
    /// The number of its id.
    pub fn id(&self) -> i64 {
        number(self.id)
    }

    /// `20260131`.
    pub fn date(&self) -> Option<i64> {
        self.publication_date.map(|date| digits(date, 0))
    }

    /// A number that grows with the time.
    pub fn updated(&self) -> i64 {
        moment(self.updated_date)
    }

    /// A number that grows with the time.
    pub fn created(&self) -> i64 {
        moment(self.created_date)
    }

    /// The source of its primary location.
    pub fn source(&self) -> Option<i64> {
        Some(self.primary_location.as_ref()?.source.as_ref()?.number())
    }

    /// Its primary topic.
    pub fn primary_topic(&self) -> Option<i64> {
        self.primary_topic.as_ref().map(Reference::number)
    }

    /// Its topics.
    pub fn topics(&self) -> impl Iterator<Item = i64> {
        self.topics.iter().map(Reference::number)
    }

    /// Its authors.
    pub fn authors(&self) -> impl Iterator<Item = i64> {
        self.authorships.iter().map(|authorship| authorship.author.number())
    }
}

/// All digits of a text as one number, after those of `before`.
fn digits(text: &str, before: i64) -> i64 {
    let digits = text.bytes().filter(u8::is_ascii_digit);
    digits.fold(before, |number, digit| number * 10 + i64::from(digit - b'0'))
}

/// A time of the years 1970 to 2069 as a number, to the microsecond.
fn moment(text: &str) -> i64 {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds = digits(seconds, 0) - 19_700_000_000_000;
    digits(&format!("{fraction:0<6.6}"), seconds)
}

/// Calls `each` with every work of a dump, newest partition first: of several copies of a work, the one that counts
/// comes first.
pub fn each_work(dump: &Path, mut each: impl FnMut(&Work<'_>) -> Result<()>) -> Result<()> {
    each_line(dump, "works", |line| each(&serde_json::from_slice(line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_grow_with_time() {
        let moments = [
            "1970-01-01T00:00:00",
            "2025-10-10T00:00:00",
            "2025-10-10T00:00:00.000001",
            "2025-10-10T00:00:00.1",
            "2025-10-10T00:00:01",
            "2026-01-01T00:00:00.999999",
            "2069-12-31T23:59:59.999999",
        ];
        assert!(moments.windows(2).all(|pair| moment(pair[0]) < moment(pair[1])));
    }
}
