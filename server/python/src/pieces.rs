//! A body in pieces, as an iterator of bytes.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pinakes_answer::{CodedPieces, PieceError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::calls::run;
use crate::errors::Raised;
use crate::host::CLOCK;
use crate::opened::Opened;

/// The pieces of a body, in their order. Each is made when it is asked for.
#[pyclass(frozen)]
pub struct Pieces(pub Arc<Body>);

/// A body that is made piece by piece.
pub struct Body {
    opened: Arc<Opened>,
    body: Mutex<CodedPieces>,
}

impl Body {
    pub fn new(opened: Arc<Opened>, body: CodedPieces) -> Arc<Body> {
        Arc::new(Body { opened, body: Mutex::new(body) })
    }

    /// The next piece, possibly empty; `None` at the end.
    pub fn take(self: &Arc<Self>, py: Python<'_>) -> PyResult<Option<Bytes>> {
        let body = Arc::clone(self);
        let piece = run(py, &self.opened, move || body.next_piece())?;
        py.check_signals()?;
        Ok(piece)
    }

    fn next_piece(&self) -> Result<Option<Bytes>, Raised> {
        let mut body = self.body.lock().unwrap_or_else(PoisonError::into_inner);
        let piece = body.next_piece(self.opened.waiting(), CLOCK).transpose();
        self.opened.check_readable()?;
        piece.map_err(|error| match error {
            PieceError::Damaged(error) => self.opened.raise(&error),
            error => Raised::Internal(error.to_string()),
        })
    }
}

#[pymethods]
impl Pieces {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let piece = self.0.take(py)?;
        Ok(piece.map(|piece| PyBytes::new(py, &piece)))
    }
}
