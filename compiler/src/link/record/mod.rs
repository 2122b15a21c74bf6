//! Linking one record: copies its blob, replaces its symbols by rows and completes it. If the previous snapshot has
//! the record, copies it from there.
//!
//! Takes the rows, the resolved symbols, the side tables and the taxonomy's sums. Gives the record's
//! final blob, id and name. Both selecting a subset and writing the snapshot link records this way.
//!
//! Imports `link/{context, enrich, merge, resolve, take_over, taxonomy}`.

pub(crate) mod copier;
pub(crate) mod inputs;
pub(crate) mod linker;
pub(crate) mod old_records;
pub(crate) mod source_types;
pub(crate) mod type_sums;
