//! Writing: the files of a snapshot except its indexes.
//!
//! Takes a record linker with final row numbers. Gives the archives of every entity, the table of
//! codes and, at the end, report, hashes and manifest. Each record is copied once, in row order.
//!
//! Imports `link/{atomic_bitset, column, context, record, resolve, tally}`.

pub(crate) mod codes;
pub(crate) mod entity_files;
pub(crate) mod institution_types;
pub(crate) mod manifest;
pub(crate) mod records;
