//! Enriching: joins the rows of side tables to records. The table's declaration in `frontend/side`
//! adds the rows to the record.
//!
//! Takes the side segments of the objects and a linked record. Gives the record with the additional
//! members, or nothing if no row has one of its keys. The keys of all rows of a table are sorted once,
//! on disk; each record looks its own keys up as it is written, so memory does not grow with the dump.
//! Of several rows for one record in one table, only the newest rows count.
//!
//! Imports `link/{atomic_bitset, column, context, merge, resolve, tally}`.

pub(crate) mod complete;
pub(crate) mod side_rows;
pub(crate) mod tables;
