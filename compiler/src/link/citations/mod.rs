//! The citation graph: which record refers to which, in both directions.
//!
//! ```text
//! references of segments: ids ─merges followed, looked up→ rows, or ids without a record
//! references of unchanged records in the previous snapshot ─renumbered→ the same
//!   ids without a record  ─sorted→ unresolved references, which get the rows after the records
//!   rows of each record   ─────→ lists of references
//!                         ─divided by target, sorted→ lists of citations
//! ```
//!
//! - `redirected` finds the records that changed because a merge did.
//! - `references` resolves the references of every record.
//! - `graph` writes the file.
//!
//! References do not select: a subset keeps the references of its records. References that lead out of the subset are
//! unresolved.
//!
//! Memory: batches of references, and the links to a range of targets.
//!
//! Imports `link/{atomic_bitset, column, context, radix_sort, record, resolve, take_over}`.

mod graph;
mod redirected;
mod references;

use crate::link::citations::graph::ReferenceLists;
use crate::link::column::KeyColumn;

/// In a resolved list, the row of a reference whose id has no record.
const UNRESOLVED: u32 = u32::MAX;

/// The references of one entity's records.
pub(crate) struct ResolvedReferences {
    pub lists: ReferenceLists,
    /// Ids without a record, ascending.
    pub unresolved: KeyColumn,
    /// References that lead to no record.
    pub dangling: u64,
}
