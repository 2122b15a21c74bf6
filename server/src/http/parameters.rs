//! Query parameters: decoding, and details of errors.

use crate::http::path::{decode, truncate};

/// Most details of one reply.
pub const DETAILS_MAX: usize = 10;
/// Bytes of a value that a detail repeats.
const VALUE_BYTES_MAX: usize = 64;
/// Parameters that clients of similar services send by habit; the server ignores them.
const IGNORED: [&str; 2] = ["mailto", "api_key"];

/// An error in one parameter.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Detail {
    /// Name of the parameter.
    pub parameter: String,
    /// The value as the client sent it.
    pub value: String,
    /// The error, and a correction.
    pub reason: String,
}

impl Detail {
    /// Makes a detail; truncates name and value to 64 bytes each.
    pub fn new(parameter: &str, value: &str, reason: impl Into<String>) -> Detail {
        let shown = |text| truncate(text, VALUE_BYTES_MAX);
        Detail { parameter: shown(parameter), value: shown(value), reason: reason.into() }
    }
}

/// The reason of a detail about a repeated parameter.
pub const GIVEN_TWICE: &str = "is given twice; give it once";

/// Whether a raw `name=value` pair is the parameter with this name.
pub fn is_named(pair: &str, name: &str) -> bool {
    let raw_name = pair.split_once('=').map_or(pair, |(raw_name, _)| raw_name);
    decode(raw_name).is_some_and(|decoded| decoded == name)
}

/// Decodes the parameters of a raw query, without the ignored ones; a detail for each that is not UTF-8.
pub fn query_pairs(raw: &str) -> impl Iterator<Item = Result<(String, String), Detail>> {
    raw.split('&').filter(|pair| !pair.is_empty()).filter_map(|pair| {
        let (raw_name, raw_value) = pair.split_once('=').unwrap_or((pair, ""));
        let spaced = |raw: &str| decode(&raw.replace('+', " ")).map(|decoded| decoded.into_owned());
        let (Some(name), Some(value)) = (spaced(raw_name), spaced(raw_value)) else {
            let reason = "is no percent-encoded UTF-8; a `%` itself is written `%25`";
            return Some(Err(Detail::new(raw_name, raw_value, reason)));
        };
        (!IGNORED.contains(&name.as_str())).then_some(Ok((name, value)))
    })
}
