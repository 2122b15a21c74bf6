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

/// Batches that are read from files that may fail.
struct CheckedRecords {
    records: Records,
    opened: Arc<Opened>,
}

impl Iterator for CheckedRecords {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.records.next();
        let external = |message: String| ArrowError::ExternalError(message.into());
        match (self.opened.check_readable(), batch) {
            (Err(Raised::Damaged(message)), _) => Some(Err(external(message))),
            (_, batch) => batch,
        }
    }
}

impl RecordBatchReader for CheckedRecords {
    fn schema(&self) -> SchemaRef {
        self.records.schema()
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
        stream_capsule(py, CheckedRecords { records, opened: Arc::clone(&self.opened) })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.records().schema())
    }
}
