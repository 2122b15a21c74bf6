//! Dumps become snapshots, and snapshots become files again: the compiler as its users run it.

#![allow(clippy::unwrap_used, missing_docs)]

mod clusters;
mod command_line;
mod compiler;
mod crashes;
mod diff;
mod export;
mod legacy;
mod native;
mod nights;
mod packages;
mod parquet;
mod real_records;
mod side_tables;
mod subset;
mod suppression;
mod tables;
