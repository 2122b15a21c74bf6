//! The state of a parse: its depth, and the faults that serde_json's errors do not name.

use std::{cell::Cell, fmt};

use crate::read::strict::fault::JsonFault;

/// Arrays and objects that may enclose a value; serde_json's own limit is the same.
pub(crate) const DEPTH_MAX: u8 = 127;

/// State that one parse shares between its values.
pub(super) struct ParseState {
    /// A fault that serde_json's error categories do not name.
    pub(super) fault: Cell<Option<JsonFault>>,
    pub(super) checks_unread: bool,
}

/// The state of the parse and the number of arrays and objects around a value.
#[derive(Clone, Copy)]
pub(super) struct Level<'s> {
    pub(super) state: &'s ParseState,
    pub(super) depth: u8,
}

impl Level<'_> {
    /// The level of the elements or members of an array or object at this level.
    pub(super) fn descend<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            self.state.fault.set(Some(JsonFault::TooDeep));
            return Err(E::custom(format_args!("nested deeper than {DEPTH_MAX} levels")));
        }
        Ok(Level { depth: self.depth + 1, ..self })
    }
}

/// The error of a wrapped access: serde_json's error type cannot tell a duplicate key from other
/// errors in the data, so this type keeps the difference until [`StrictError::record`] stores it.
#[derive(Debug)]
pub(super) enum StrictError<E> {
    DuplicateKey,
    Inner(E),
}

impl<E: serde::de::Error> StrictError<E> {
    /// Stores a duplicate key as the fault of the parse, and returns the error of the inner access.
    pub(super) fn record(self, level: Level<'_>) -> E {
        match self {
            StrictError::DuplicateKey => {
                level.state.fault.set(Some(JsonFault::DuplicateKey));
                E::custom("duplicate key in an object")
            }
            StrictError::Inner(error) => error,
        }
    }
}

impl<E: serde::de::Error> serde::de::Error for StrictError<E> {
    fn custom<T: fmt::Display>(message: T) -> Self {
        StrictError::Inner(E::custom(message))
    }

    fn duplicate_field(_: &'static str) -> Self {
        StrictError::DuplicateKey
    }
}

impl<E: fmt::Display> fmt::Display for StrictError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrictError::DuplicateKey => f.write_str("duplicate key in an object"),
            StrictError::Inner(error) => error.fmt(f),
        }
    }
}

impl<E: serde::de::Error> std::error::Error for StrictError<E> {}
