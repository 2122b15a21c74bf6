//! Why records do not become columns.

use arrow_schema::ArrowError;
use pinakes_format::entity::Entity;
use pinakes_format::query::QueryError;
use pinakes_format::storage::ReadError;

/// Why records do not become columns.
#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// The record of a row cannot be read.
    #[error("row {row} of {entity}: {source}")]
    Record {
        /// The entity of the record.
        entity: Entity,
        /// The row of the record.
        row: u32,
        /// The file, and the rule that its bytes break.
        source: ReadError,
    },
    /// The rows of the list cannot be found.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The record of a row has more values than the offsets of a column can count.
    #[error(
        "row {row} of {entity} has more than 1 GiB of values, too many for columns; leave out members of long texts"
    )]
    TooLarge {
        /// The entity of the record.
        entity: Entity,
        /// The row of the record.
        row: u32,
    },
    /// The values of a record do not fit their columns.
    #[error("columns: {0}")]
    Arrays(#[from] ArrowError),
}
