//! Why the records of an entity could not be written.

use std::{io, path::PathBuf};

use parquet::errors::ParquetError;
use pinakes_arrow::error::ColumnsError;
use pinakes_format::entity::Entity;
use pinakes_format::query::QueryError;
use pinakes_format::storage::ReadError;

use crate::error::Error;

/// Why the records of an entity could not be written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// A file cannot be written.
    Output(io::Error),
    /// The record of a row cannot be read.
    Record(Entity, u32, ReadError),
    /// The rows of the list cannot be found.
    Query(QueryError),
    /// The record of a row is too large for the columns of Parquet.
    TooLarge(Entity, u32),
    /// The values of a record do not fit their columns.
    Columns(String),
}

impl WriteError {
    /// Converts the error, given the path of the file.
    pub(crate) fn into_error(self, path: PathBuf) -> Error {
        match self {
            WriteError::Output(source) => Error::output(path)(source),
            WriteError::Record(entity, row, error) => damaged(entity, row as usize, &error),
            WriteError::Query(QueryError::Damaged(error)) => {
                Error::Refused(format!("{error}; nothing was exported"))
            }
            WriteError::Query(error) => Error::Usage(format!("{error}; nothing was exported")),
            WriteError::TooLarge(entity, row) => Error::Refused(format!(
                "row {row} of {entity} has more than 1 GiB of values, too many for Parquet; export \
                 `--format ndjson`; nothing was exported"
            )),
            WriteError::Columns(reason) => Error::Internal(format!("columns: {reason}")),
        }
    }
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> WriteError {
        WriteError::Query(QueryError::Damaged(error))
    }
}

/// The error of a row that cannot be read.
pub(crate) fn damaged(entity: Entity, row: usize, error: &ReadError) -> Error {
    Error::Refused(format!("row {row} of {entity}: {error}; nothing was exported"))
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> WriteError {
        WriteError::Output(error)
    }
}

impl From<QueryError> for WriteError {
    fn from(error: QueryError) -> WriteError {
        WriteError::Query(error)
    }
}

impl From<ColumnsError> for WriteError {
    fn from(error: ColumnsError) -> WriteError {
        match error {
            ColumnsError::Record { entity, row, source } => WriteError::Record(entity, row, source),
            ColumnsError::Query(error) => WriteError::Query(error),
            ColumnsError::TooLarge { entity, row } => WriteError::TooLarge(entity, row),
            ColumnsError::Arrays(error) => WriteError::Columns(error.to_string()),
        }
    }
}

impl From<ParquetError> for WriteError {
    fn from(error: ParquetError) -> WriteError {
        match error {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(error) => WriteError::Output(*error),
                Err(cause) => WriteError::Columns(cause.to_string()),
            },
            other => WriteError::Columns(other.to_string()),
        }
    }
}
