//! The faults of refused JSON texts.

/// Why a JSON text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// The text breaks the syntax of JSON.
    Syntax,
    /// The JSON is well-formed and has not the shape of a record.
    Shape,
    /// An object holds one key twice.
    DuplicateKey,
    /// More than [`DEPTH_MAX`](super::level::DEPTH_MAX) arrays and objects enclose a value.
    TooDeep,
}

impl JsonFault {
    /// The code of the fault in a report.
    pub fn code(self) -> &'static str {
        match self {
            JsonFault::Syntax => "not_json",
            JsonFault::Shape => "not_a_record",
            JsonFault::DuplicateKey => "duplicate_key",
            JsonFault::TooDeep => "too_deep",
        }
    }
}

/// A refused JSON text.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    pub fault: JsonFault,
    pub(super) message: serde_json::Error,
}
