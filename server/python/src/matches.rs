//! The records that texts mean, as a table.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pinakes_format::entity::Entity;
use pinakes_format::matching::{Question, find_matches};
use pinakes_format::query::{Deadline, QueryError};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use rayon::prelude::*;

use crate::calls::{pool, run};
use crate::columns::{schema_capsule, stream_capsule};
use crate::errors::Raised;
use crate::opened::Opened;

/// Texts that are matched before the interpreter looks for signals.
const TEXTS_TOGETHER: usize = 1_024;

/// The names and parts of a text.
pub type Parts = Vec<(String, String)>;

/// The best candidate of each text, in the order of the texts.
#[pyclass(frozen)]
pub struct Matches(Vec<Matched>);

/// The best candidate of a text, or what is wrong with the text.
#[derive(Default)]
struct Matched {
    id: Option<String>,
    name: Option<String>,
    score: Option<f64>,
    is_match: bool,
    error: Option<String>,
}

impl Matches {
    /// Matches texts on all threads.
    pub fn find(
        py: Python<'_>,
        opened: &Arc<Opened>,
        entity: Entity,
        texts: Vec<Parts>,
    ) -> PyResult<Matches> {
        let pool = pool()?;
        let mut found = Vec::with_capacity(texts.len());
        let mut texts = texts.into_iter();
        while texts.len() > 0 {
            let some: Vec<Parts> = texts.by_ref().take(TEXTS_TOGETHER).collect();
            let (opened, pool) = (Arc::clone(opened), Arc::clone(&pool));
            let matched = run(py, &Arc::clone(&opened), move || {
                let snapshot = opened.waiting();
                let of_each = some.par_iter().map(|parts| Matched::find(snapshot, entity, parts));
                let matched = pool.install(|| of_each.collect::<Result<Vec<_>, _>>());
                opened.check_readable()?;
                matched.map_err(|error| opened.raise(&error))
            });
            found.extend(matched?);
            py.check_signals()?;
        }
        Ok(Matches(found))
    }

    fn schema() -> SchemaRef {
        let field = |name, data_type, is_nullable| Field::new(name, data_type, is_nullable);
        Arc::new(Schema::new(vec![
            field("id", DataType::Utf8, true),
            field("name", DataType::Utf8, true),
            field("score", DataType::Float64, true),
            field("match", DataType::Boolean, false),
            field("error", DataType::Utf8, true),
        ]))
    }

    fn batch(&self) -> Result<RecordBatch, Raised> {
        let text = |of: fn(&Matched) -> Option<&str>| -> ArrayRef {
            Arc::new(self.0.iter().map(of).collect::<StringArray>())
        };
        let scores: Float64Array = self.0.iter().map(|matched| matched.score).collect();
        let is_match: Vec<bool> = self.0.iter().map(|matched| matched.is_match).collect();
        let columns: Vec<ArrayRef> = vec![
            text(|matched| matched.id.as_deref()),
            text(|matched| matched.name.as_deref()),
            Arc::new(scores),
            Arc::new(BooleanArray::from(is_match)),
            text(|matched| matched.error.as_deref()),
        ];
        RecordBatch::try_new(Matches::schema(), columns)
            .map_err(|error| Raised::Internal(error.to_string()))
    }
}

impl Matched {
    fn find(snapshot: &Snapshot, entity: Entity, parts: &Parts) -> Result<Matched, ReadError> {
        let mut question = Question::new(entity);
        let set = |(name, text): &(String, String)| question.set(name, text);
        let checked = parts.iter().try_for_each(set).and_then(|()| question.check());
        if let Err(error) = checked {
            return Ok(Matched { error: Some(error.to_string()), ..Matched::default() });
        }
        let found = match find_matches(snapshot, &question, Deadline::NEVER) {
            Ok(found) => found,
            Err(QueryError::Damaged(error)) => return Err(error),
            Err(error) => {
                return Ok(Matched { error: Some(error.to_string()), ..Matched::default() });
            }
        };
        let Some(best) = found.first() else { return Ok(Matched::default()) };
        let mut id = Vec::new();
        entity.write_id(snapshot.row_id(entity, best.row)?, &mut id);
        Ok(Matched {
            id: Some(String::from_utf8_lossy(&id).into_owned()),
            name: snapshot.name(entity, best.row)?.map(|name| name.to_string()),
            // As replies show it.
            score: best.score_text().parse().ok(),
            is_match: best.is_match,
            error: None,
        })
    }
}

#[pymethods]
impl Matches {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyDict>> {
        let at = if index < 0 { index + self.0.len() as isize } else { index };
        let found = usize::try_from(at).ok().and_then(|at| self.0.get(at));
        let Matched { id, name, score, is_match, error } = found
            .ok_or_else(|| PyIndexError::new_err(format!("there are {} matches", self.0.len())))?;
        let row = PyDict::new(py);
        row.set_item("id", id)?;
        row.set_item("name", name)?;
        row.set_item("score", score)?;
        row.set_item("match", is_match)?;
        row.set_item("error", error)?;
        Ok(row)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer give its own schema.
        drop(requested_schema);
        let batch = self.batch()?;
        stream_capsule(py, RecordBatchIterator::new([Ok(batch)], Matches::schema()))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &Matches::schema())
    }
}
