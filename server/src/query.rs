//! A list's question: from the raw query to checked values. After this nobody looks at its text.

use std::num::NonZeroU32;

use crate::path::{cut, decode};

/// Details in one reply at most.
const DETAILS_MAX: usize = 10;
/// Bytes of a value that are shown back.
const VALUE_BYTES_MAX: usize = 64;
/// The page sizes there are.
const PAGE_SIZES: [u32; 4] = [10, 25, 50, 100];
/// The page size where none is asked for.
const PAGE_SIZE_DEFAULT: u32 = 25;
/// The largest page number.
const PAGE_MAX: u32 = 2_147_483_647;
/// Parameters that mean nothing here and are sent by habit.
const IGNORED: [&str; 2] = ["mailto", "api_key"];
/// Parameters of services like this one, and what to use in their place.
const ELSEWHERE: [(&str, &str); 5] = [
    ("select", "records are always whole; leave it out"),
    ("cursor", "`page` reaches any depth at the same cost"),
    ("sample", "there is no random sample; use `page`"),
    ("group_by", "there are no groups here; leave it out"),
    ("q", "use `page` and `per_page`"),
];

/// A checked question to a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Which page, from 1.
    pub page: NonZeroU32,
    /// How many records a page has.
    pub per_page: u32,
}

/// What is wrong with one parameter.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Detail {
    /// The parameter.
    pub parameter: String,
    /// What it was.
    pub value: String,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

impl Detail {
    /// What is wrong with a parameter; name and value are cut to what may be shown.
    pub fn new(parameter: &str, value: &str, reason: String) -> Detail {
        let shown = |text| cut(text, VALUE_BYTES_MAX);
        Detail { parameter: shown(parameter), value: shown(value), reason }
    }
}

impl Query {
    /// The first row of the page, among all.
    pub fn first_row(&self) -> u64 {
        u64::from(self.page.get() - 1) * u64::from(self.per_page)
    }

    /// Reads the raw text after the `?`.
    ///
    /// # Errors
    ///
    /// Every parameter that is wrong, ten at most.
    pub fn parse(raw: &str) -> Result<Query, Vec<Detail>> {
        let mut reading = Reading::default();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            if reading.details.len() == DETAILS_MAX {
                break;
            }
            reading.take(pair);
        }
        if !reading.details.is_empty() {
            return Err(reading.details);
        }
        Ok(Query {
            page: reading.page.unwrap_or(NonZeroU32::MIN),
            per_page: reading.per_page.unwrap_or(PAGE_SIZE_DEFAULT),
        })
    }
}

/// A parameter this list knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Page,
    PerPage,
}

const PARAMETERS: [(&str, Parameter); 3] =
    [("page", Parameter::Page), ("per_page", Parameter::PerPage), ("per-page", Parameter::PerPage)];

/// A query under way.
#[derive(Default)]
struct Reading {
    seen: Vec<Parameter>,
    page: Option<NonZeroU32>,
    per_page: Option<u32>,
    details: Vec<Detail>,
}

impl Reading {
    fn take(&mut self, pair: &str) {
        let (raw_name, raw_value) = pair.split_once('=').unwrap_or((pair, ""));
        let spaced = |raw: &str| decode(&raw.replace('+', " ")).map(|decoded| decoded.into_owned());
        let (Some(name), Some(value)) = (spaced(raw_name), spaced(raw_value)) else {
            let reason = "is no percent-encoded UTF-8".to_owned();
            return self.refuse(raw_name, raw_value, reason);
        };
        if IGNORED.contains(&name.as_str()) {
            return;
        }
        let Some((_, parameter)) = PARAMETERS.iter().find(|(known, _)| *known == name) else {
            let reason = unknown(&name);
            return self.refuse(&name, &value, reason);
        };
        if self.seen.contains(parameter) {
            return self.refuse(&name, &value, "is given twice; give it once".to_owned());
        }
        self.seen.push(*parameter);
        let taken = match parameter {
            Parameter::Page => parse_page(&value).map(|page| self.page = Some(page)),
            Parameter::PerPage => parse_per_page(&value).map(|size| self.per_page = Some(size)),
        };
        if let Err(reason) = taken {
            self.refuse(&name, &value, reason);
        }
    }

    fn refuse(&mut self, parameter: &str, value: &str, reason: String) {
        self.details.push(Detail::new(parameter, value, reason));
    }
}

fn parse_page(value: &str) -> Result<NonZeroU32, String> {
    let reason = || format!("must be a whole number from 1 to {PAGE_MAX}");
    let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain {
        return Err(reason());
    }
    let digits = value.trim_start_matches('0');
    let page: u32 = digits.parse().map_err(|_| reason())?;
    NonZeroU32::new(page).filter(|page| page.get() <= PAGE_MAX).ok_or_else(reason)
}

fn parse_per_page(value: &str) -> Result<u32, String> {
    let size = PAGE_SIZES.into_iter().find(|size| size.to_string() == value);
    size.ok_or_else(|| "must be 10, 25, 50 or 100".to_owned())
}

/// Why a parameter is unknown, and which one may have been meant.
fn unknown(name: &str) -> String {
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return format!("is no parameter of this list: {instead}");
    }
    let short = cut(name, VALUE_BYTES_MAX).to_lowercase();
    let nearest = PARAMETERS
        .iter()
        .map(|(known, _)| (strsim::damerau_levenshtein(known, &short), *known))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, known)| *distance <= known.len() / 2);
    match nearest {
        Some((_, known)) => format!("is no parameter of this list; did you mean `{known}`?"),
        None => "is no parameter of this list; it takes `page` and `per_page`".to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> Option<(u32, u32)> {
        Query::parse(raw).ok().map(|query| (query.page.get(), query.per_page))
    }

    #[test]
    fn pages_are_whole_numbers_from_one() {
        for (raw, expected) in [
            ("", Some((1, 25))),
            ("&&&", Some((1, 25))),
            ("&page=2", Some((2, 25))),
            ("page=01", Some((1, 25))),
            ("page=2147483647&per_page=100", Some((2_147_483_647, 100))),
            ("mailto=a%40b&api_key=1&api_key=2", Some((1, 25))),
            ("per-page=50", Some((1, 50))),
            ("page=2147483648", None),
            ("page=4294967296", None),
            ("page=18446744073709551617", None),
            ("page=0", None),
            ("page=00", None),
            ("page=-1", None),
            ("page=1.5", None),
            ("page=1e3", None),
            ("page=%EF%BC%91", None),
            ("page=", None),
            ("page", None),
            ("page=+1", None),
            ("page=%2B1", None),
            ("page=1%20", None),
            ("page=1&page=1", None),
            ("per_page=10&per-page=10", None),
            ("=", None),
            ("page[]=1", None),
            ("Page=2", None),
            ("page%00=1", None),
            ("perpage=50", None),
            ("page=%zz", None),
            ("page=%ff", None),
        ] {
            assert_eq!(parsed(raw), expected, "{raw}");
        }
    }

    #[test]
    fn page_sizes_are_four_and_never_clamped() {
        for size in ["10", "25", "50", "100"] {
            assert_eq!(parsed(&format!("per_page={size}")), Some((1, size.parse().unwrap())));
        }
        for size in
            ["0", "1", "24", "26", "99", "101", "200", "25.0", "-25", "025", "+25", "25abc", ""]
        {
            assert_eq!(parsed(&format!("per_page={size}")), None, "{size}");
        }
    }

    #[test]
    fn an_unknown_parameter_names_its_nearest() {
        let reason = |raw: &str| Query::parse(raw).unwrap_err()[0].reason.clone();
        assert!(reason("perpage=50").contains("did you mean `per_page`"));
        assert!(reason("Page=2").contains("did you mean `page`"));
        assert!(reason("cursor=*").contains("`page` reaches any depth"));
        assert!(reason("colour=red").contains("it takes `page` and `per_page`"));
    }

    #[test]
    fn the_details_of_a_thousand_parameters_are_ten() {
        let raw: String = (0..1_000).map(|at| format!("p{at}={}&", "x".repeat(100))).collect();
        let details = Query::parse(&raw).unwrap_err();
        assert_eq!(details.len(), 10);
        assert!(details.iter().all(|detail| detail.value.len() <= 67));
    }

    #[test]
    fn the_deepest_page_does_not_overflow() {
        let query = Query::parse("page=2147483647&per_page=100").unwrap();
        assert_eq!(query.first_row(), 214_748_364_600);
    }
}
