//! The query of an autocomplete URL: from raw text to the text to be completed.

use pinakes_format::query::nearest;

use crate::http::parameters::{DETAILS_MAX, Detail, TWICE, pairs};

/// Bytes of the text at most.
pub const TEXT_BYTES_MAX: usize = 256;
/// The one parameter.
const QUERY: &str = "query";

/// Why there is nothing to complete.
#[derive(Debug, PartialEq, Eq)]
pub enum TextError {
    /// There is no text.
    Missing,
    /// What was given is wrong.
    Invalid(Vec<Detail>),
}

/// Reads the raw text after the `?`.
///
/// # Errors
///
/// That the text is missing, or every parameter that is wrong, ten at most.
pub fn parse(raw: &str) -> Result<String, TextError> {
    let mut text: Option<String> = None;
    let mut details = Vec::new();
    for pair in pairs(raw) {
        match pair {
            Err(detail) => details.push(detail),
            Ok((name, value)) if name != QUERY => {
                details.push(Detail::new(&name, &value, unknown(&name)));
            }
            Ok((name, value)) if text.is_some() => details.push(Detail::new(&name, &value, TWICE)),
            Ok((name, value)) => {
                if let Some(reason) = wrong(&value) {
                    details.push(Detail::new(&name, &value, reason));
                }
                text = Some(value);
            }
        }
        if details.len() == DETAILS_MAX {
            break;
        }
    }
    let is_given = text.as_ref().is_some_and(|text| !text.trim().is_empty());
    // That it is missing is what a client has to know, whatever else it sent.
    if !is_given && details.iter().all(|detail| detail.parameter != QUERY) {
        return Err(TextError::Missing);
    }
    if details.is_empty() { Ok(text.unwrap_or_default()) } else { Err(TextError::Invalid(details)) }
}

/// Whether there is something to complete in a text that came by itself.
///
/// # Errors
///
/// As [`parse`].
pub fn check(text: &str) -> Result<(), TextError> {
    if text.trim().is_empty() {
        return Err(TextError::Missing);
    }
    match wrong(text) {
        Some(reason) => Err(TextError::Invalid(vec![Detail::new(QUERY, text, reason)])),
        None => Ok(()),
    }
}

/// What is wrong with a text.
fn wrong(text: &str) -> Option<String> {
    if text.len() > TEXT_BYTES_MAX {
        return Some(format!("is {} bytes long; at most {TEXT_BYTES_MAX} are taken", text.len()));
    }
    let has_control = text.bytes().any(|byte| byte.is_ascii_control()) && !text.trim().is_empty();
    has_control.then(|| "holds a control character".to_owned())
}

/// Why a parameter is unknown, and which one may have been meant.
fn unknown(name: &str) -> String {
    let is_meant =
        ["q", "search", "filter"].contains(&name) || nearest(name, [QUERY].into_iter()).is_some();
    let why = if is_meant { "did you mean `query`?" } else { "it takes `query`" };
    format!("is no parameter of autocomplete; {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_is_taken() {
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
        }
        check(&format!("query={}", "a".repeat(257)), Err(1));
        check("query=a&query=b", Err(1));
        check("query=&query=", Err(1));
        check("query=a&page=1&q=b", Err(2));
        for wrong in ["%00", "a%7F", "%1B[31m", "%ED%A0%80", "%F5%80%80%80", "%C0%80", "%zz"] {
            check(&format!("query={wrong}"), Err(1));
        }
        check("q=smith", Err(0));
        check("x=1&query=", Err(0));
        check(&format!("query=a&{}", "x=1&".repeat(100)), Err(10));
    }
}
