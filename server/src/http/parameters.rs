//! What stands after the `?`: parameters taken apart, and what is said of those that are wrong.

use crate::http::path::{cut, decode};

/// Details in one reply at most.
pub const DETAILS_MAX: usize = 10;
/// Bytes of a value that are shown back.
const VALUE_BYTES_MAX: usize = 64;
/// Parameters that mean nothing here and are sent by habit.
const IGNORED: [&str; 2] = ["mailto", "api_key"];

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
    pub fn new(parameter: &str, value: &str, reason: impl Into<String>) -> Detail {
        let shown = |text| cut(text, VALUE_BYTES_MAX);
        Detail { parameter: shown(parameter), value: shown(value), reason: reason.into() }
    }
}

/// Why a parameter that is given a second time is refused.
pub const TWICE: &str = "is given twice; give it once";

/// The parameters of a raw query, decoded, without those that are ignored; a detail for each that is
/// no text.
pub fn pairs(raw: &str) -> impl Iterator<Item = Result<(String, String), Detail>> {
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
