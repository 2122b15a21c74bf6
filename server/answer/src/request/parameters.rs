//! Query parameters, decoded and encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::reply::Detail;
use crate::request::path::decode;

/// Characters that are escaped in the value of a parameter.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b':')
    .remove(b',')
    .remove(b'>')
    .remove(b'|');

/// Parameters that clients of similar services send by habit; the server ignores them.
const IGNORED: [&str; 2] = ["mailto", "api_key"];

/// A raw query without the ignored parameters; `None` if it has none. Keys and addresses of clients then reach no log.
pub fn without_ignored(raw: &str) -> Option<String> {
    let is_ignored = |pair: &&str| IGNORED.iter().any(|name| is_named(pair, name));
    raw.split('&')
        .any(|pair| is_ignored(&pair))
        .then(|| raw.split('&').filter(|pair| !is_ignored(pair)).collect::<Vec<_>>().join("&"))
}

/// The reason of a detail about a repeated parameter.
pub const GIVEN_TWICE: &str = "is given twice; give it once";

/// Whether a raw `name=value` pair is the parameter with this name.
pub fn is_named(pair: &str, name: &str) -> bool {
    let raw_name = pair.split_once('=').map_or(pair, |(raw_name, _)| raw_name);
    decode(raw_name).is_some_and(|decoded| decoded == name)
}

/// A text as the value of a parameter.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Decodes the parameters of a raw query, without the ignored ones; a detail for each that is not UTF-8.
pub fn query_pairs(raw: &str) -> impl Iterator<Item = Result<(String, String), Detail>> {
    query_pairs_with(raw, " ")
}

/// As [`query_pairs`], with another text than a space for a plus sign that is not encoded.
pub fn query_pairs_with(
    raw: &str,
    plus: &str,
) -> impl Iterator<Item = Result<(String, String), Detail>> {
    raw.split('&').filter(|pair| !pair.is_empty()).filter_map(move |pair| {
        let (raw_name, raw_value) = pair.split_once('=').unwrap_or((pair, ""));
        let spaced =
            |raw: &str| decode(&raw.replace('+', plus)).map(|decoded| decoded.into_owned());
        let (Some(name), Some(value)) = (spaced(raw_name), spaced(raw_value)) else {
            let reason = "is no percent-encoded UTF-8; a `%` itself is written `%25`";
            return Some(Err(Detail::new(raw_name, raw_value, reason)));
        };
        (!IGNORED.contains(&name.as_str())).then_some(Ok((name, value)))
    })
}
