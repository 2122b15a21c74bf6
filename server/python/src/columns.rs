//! The records of a list by Arrow's C interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use pinakes_arrow::records::Records;
use pinakes_format::query::Query;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::calls::{pool, wait};
use crate::errors::Raised;
use crate::opened::Opened;

/// The records of a list as columns, for each program that reads Arrow's C stream interface. Each reader gets all of
/// them.
#[pyclass(frozen)]
pub struct Columns {
    opened: Arc<Opened>,
    query: Query,
    has_numbers: bool,
}

impl Columns {
    pub fn new(opened: Arc<Opened>, query: Query, has_numbers: bool) -> Columns {
        Columns { opened, query, has_numbers }
    }

    fn records(&self) -> Records {
        Records::new(self.opened.waiting(), &self.query, self.has_numbers)
    }
}

/// Batches that are read from files that may fail, and from a host that may be slow.
struct CheckedRecords {
    schema: SchemaRef,
    /// `None` after an error.
    records: Option<Records>,
    opened: Arc<Opened>,
}

impl CheckedRecords {
    fn new(records: Records, opened: Arc<Opened>) -> CheckedRecords {
        CheckedRecords { schema: records.schema(), records: Some(records), opened }
    }

    /// The next batch, and the records after it.
    fn batch(
        mut records: Records,
        opened: &Opened,
    ) -> Result<Option<(RecordBatch, Records)>, ArrowError> {
        let external = |message: String| ArrowError::ExternalError(message.into());
        let pool = pool().map_err(|error| external(error.to_string()))?;
        let batch = pool.install(|| records.next()).transpose();
        opened.check_readable().map_err(|error| external(error.to_string()))?;
        // A failed transfer is the cause of the reads that failed after it.
        let batch = batch.map_err(|error| {
            opened.failure().map_or(error, |failure| external(failure.to_string()))
        })?;
        Ok(batch.map(|batch| (batch, records)))
    }

    /// Makes a batch. An interrupt ends the wait with an error of Arrow, and is raised when the reader has passed that on.
    fn interruptible(
        &self,
        records: Records,
    ) -> Result<Option<(RecordBatch, Records)>, ArrowError> {
        let opened = Arc::clone(&self.opened);
        let made = if opened.is_fetched() {
            wait(move || CheckedRecords::batch(records, &opened))
        } else {
            let batch = CheckedRecords::batch(records, &opened);
            Python::attach(|py| py.check_signals()).map(|()| batch)
        };
        made.unwrap_or_else(|error| {
            // Without it, the interrupt would end as the reader's error.
            let _ = Python::attach(|py| {
                py.import("_thread")?.call_method0("interrupt_main").map(Bound::unbind)
            });
            Err(ArrowError::ExternalError(error.to_string().into()))
        })
    }
}

impl Iterator for CheckedRecords {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let records = self.records.take()?;
        let made = self.interruptible(records).transpose()?;
        Some(made.map(|(batch, rest)| {
            self.records = Some(rest);
            batch
        }))
    }
}

impl RecordBatchReader for CheckedRecords {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// A reader in a capsule, as Arrow's C stream interface has it.
pub fn stream_capsule<'py>(
    py: Python<'py>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// A schema in a capsule, as Arrow's C interface has it.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref());
    let schema = schema.map_err(|error| Raised::Internal(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

#[pymethods]
impl Columns {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer give its own schema.
        drop(requested_schema);
        let records = py.detach(|| self.records());
        stream_capsule(py, CheckedRecords::new(records, Arc::clone(&self.opened)))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.records().schema())
    }
}
