//! The faults of refused JSON texts.

use std::fmt;

/// Why a JSON text is refused: its first fault.
///
/// As wide as a pointer. A fault of one byte would stand where a result keeps the pointer of a text: each result would
/// be copied as that byte and the 15 bytes behind, which the processor reads only after the text was written to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum JsonFault {
    /// The text breaks the syntax of JSON.
    Syntax,
    /// The JSON is well-formed and has not the shape of a record.
    Shape,
    /// An object holds one key twice.
    DuplicateKey,
    /// More than [`DEPTH_MAX`](super::DEPTH_MAX) arrays and objects enclose a value.
    TooDeep,
    /// The lists of the record take more memory than they may.
    TakesMemory,
}

impl JsonFault {
    /// The code of the fault in a report.
    pub fn code(self) -> &'static str {
        match self {
            JsonFault::Syntax => "not_json",
            JsonFault::Shape => "not_a_record",
            JsonFault::DuplicateKey => "duplicate_key",
            JsonFault::TooDeep => "too_deep",
            JsonFault::TakesMemory => "takes_memory",
        }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl std::error::Error for JsonFault {}

impl serde::de::Error for JsonFault {
    fn custom<T: fmt::Display>(_: T) -> JsonFault {
        JsonFault::Shape
    }

    fn invalid_length(_: usize, _: &dyn serde::de::Expected) -> JsonFault {
        JsonFault::TakesMemory
    }

    fn duplicate_field(_: &'static str) -> JsonFault {
        JsonFault::DuplicateKey
    }
}
