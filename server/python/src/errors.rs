//! Raises the exceptions that `pinakes/_errors.py` declares.

use std::fmt::{self, Display, Formatter};

use pinakes_format::storage::ReadError;
use pinakes_remote::error::RemoteError;
use pinakes_store::error::StoreError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// An exception of the package, by the name of its class.
#[derive(Debug)]
pub enum Raised {
    /// The snapshot was closed.
    Closed,
    /// A directory or a publication cannot be opened.
    Open(String),
    /// The snapshot proved damaged.
    Damaged(String),
    /// The host does not send what a read needs.
    Fetch(String),
    /// An argument has no meaning.
    Value(String),
    /// A fault of this program.
    Internal(String),
}

impl Display for Raised {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Raised::Closed => "the snapshot is closed; open it again",
            Raised::Open(message)
            | Raised::Damaged(message)
            | Raised::Fetch(message)
            | Raised::Value(message)
            | Raised::Internal(message) => message,
        })
    }
}

impl Raised {
    /// The exception for a failed read. `failure` is the transfer that failed before it.
    pub fn of_read(error: &ReadError, failure: Option<RemoteError>) -> Raised {
        match failure {
            Some(failure) => Raised::Fetch(failure.to_string()),
            None => Raised::Damaged(error.to_string()),
        }
    }
}

impl From<StoreError> for Raised {
    fn from(error: StoreError) -> Raised {
        match error {
            StoreError::Remote(error) => Raised::Fetch(error.to_string()),
            error => Raised::Open(error.to_string()),
        }
    }
}

impl From<RemoteError> for Raised {
    fn from(error: RemoteError) -> Raised {
        Raised::Fetch(error.to_string())
    }
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> PyErr {
        let message = raised.to_string();
        let class = match raised {
            Raised::Closed => "ClosedError",
            Raised::Open(_) => "OpenError",
            Raised::Damaged(_) => "DamagedError",
            Raised::Fetch(_) => "FetchError",
            Raised::Value(_) => "ArgumentError",
            Raised::Internal(_) => return PyRuntimeError::new_err(message),
        };
        Python::attach(|py| {
            let errors = py.import("pinakes._errors");
            let made = errors.and_then(|errors| errors.getattr(class)?.call1((message,)));
            made.map_or_else(|error| error, PyErr::from_value)
        })
    }
}
