//! Selecting: which records `--where` keeps and `--suppress` drops.
//!
//! Takes a record linker of all records and the parsed options. Gives the rows, codes and placeholders
//! that the subset keeps, and then the same inputs with new row numbers.
//!
//! Imports `link/{atomic_bitset, column, context, merge, record, resolve, selection, taxonomy}`.

pub(crate) mod full_records;
pub(crate) mod subset;
pub(crate) mod suppressed;
