//! Parses the query of an autocomplete URL.

use pinakes_format::query::nearest;

use crate::reply::{DETAILS_MAX, Detail};
use crate::request::parameters::{GIVEN_TWICE, query_pairs};

/// Largest size of the typed text, in bytes.
pub const TEXT_BYTES_MAX: usize = 256;
const QUERY: &str = "query";

/// Why a query has no text to complete.
#[derive(Debug, PartialEq, Eq)]
pub enum TextError {
    /// The parameter is missing or blank.
    Missing,
    /// These parameters are invalid, at most ten.
    Invalid(Vec<Detail>),
}

/// Parses the text after the `?` of a URL.
pub fn parse(raw: &str) -> Result<String, TextError> {
    let mut text: Option<String> = None;
    let mut is_blank = true;
    let mut details = Vec::new();
    for pair in query_pairs(raw) {
        let has_room = details.len() < DETAILS_MAX;
        let detail = match pair {
            Err(detail) => {
                is_blank &= detail.parameter != QUERY;
                Some(detail)
            }
            Ok((name, value)) if name != QUERY => {
                has_room.then(|| Detail::new(&name, &value, unknown_reason(&name)))
            }
            Ok((name, value)) => {
                is_blank &= value.trim().is_empty();
                let twice = text.is_some().then(|| GIVEN_TWICE.to_owned());
                let reason = twice.or_else(|| invalid_reason(&value));
                let detail = reason.map(|reason| Detail::new(&name, &value, reason));
                text.get_or_insert(value);
                detail
            }
        };
        if has_room {
            details.extend(detail);
        }
    }
    // A missing text takes precedence over errors of other parameters.
    if is_blank {
        return Err(TextError::Missing);
    }
    if details.is_empty() { Ok(text.unwrap_or_default()) } else { Err(TextError::Invalid(details)) }
}

/// Checks a typed text that is not part of a URL.
pub fn check(text: &str) -> Result<(), TextError> {
    if text.trim().is_empty() {
        return Err(TextError::Missing);
    }
    match invalid_reason(text) {
        Some(reason) => Err(TextError::Invalid(vec![Detail::new(QUERY, text, reason)])),
        None => Ok(()),
    }
}

/// Why a text is invalid.
fn invalid_reason(text: &str) -> Option<String> {
    if text.len() > TEXT_BYTES_MAX {
        return Some(format!("is {} bytes long; at most {TEXT_BYTES_MAX} are taken", text.len()));
    }
    let has_control = text.bytes().any(|byte| byte.is_ascii_control()) && !text.trim().is_empty();
    has_control.then(|| "holds a control character".to_owned())
}

/// The reason for refusing an unknown parameter, with a suggestion.
fn unknown_reason(name: &str) -> String {
    let is_similar =
        ["q", "search", "filter"].contains(&name) || nearest(name, [QUERY].into_iter()).is_some();
    let why = if is_similar { "did you mean `query`?" } else { "it takes `query`" };
    format!("is no parameter of autocomplete; {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_one_text() {
        let check = |raw: &str, expected: Result<&str, usize>| {
            let found = match parse(raw) {
                Ok(text) => Ok(text),
                Err(TextError::Missing) => Err(0),
                Err(TextError::Invalid(details)) => Err(details.len()),
            };
            assert_eq!(found, expected.map(str::to_owned), "{raw}");
        };
        check("query=smith", Ok("smith"));
        check("query=john+smith%20jr", Ok("john smith jr"));
        check("&query=a&mailto=x&api_key=y&", Ok("a"));
        check(&format!("query={}", "a".repeat(256)), Ok(&"a".repeat(256)));
        for missing in ["", "mailto=x", "query", "query=", "query=%20%20", "query=%E3%80%80"] {
            check(missing, Err(0));
            check(&format!("{missing}&query=&query=%20"), Err(0));
        }
        check(&format!("query={}", "a".repeat(257)), Err(1));
        check("query=a&query=b", Err(1));
        check("query=&query=a", Err(1));
        check("query=%00&query=", Err(2));
        check("query=a&page=1&q=b", Err(2));
        for wrong in ["%00", "a%7F", "%1B[31m", "%ED%A0%80", "%F5%80%80%80", "%C0%80", "%zz"] {
            check(&format!("query={wrong}"), Err(1));
        }
        check("q=smith", Err(0));
        check("x=1&query=", Err(0));
        check(&format!("query=a&{}", "x=1&".repeat(100)), Err(10));
        check(&format!("{}query=a", "x=1&".repeat(100)), Err(10));
    }
}
