//! Errors in parameters, as replies list them.

/// Most details of one reply.
pub const DETAILS_MAX: usize = 10;
/// Bytes of a name or value that a detail repeats.
const VALUE_BYTES_MAX: usize = 64;

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

/// Truncates a text to at most this many bytes, and marks the truncation with `…`.
pub fn truncate(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}
