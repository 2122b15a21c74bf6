//! Parquet dumps: the same snapshot as from JSON lines, drift of schemas, ties, and hostile files.

#![allow(clippy::unwrap_used, missing_docs)]

mod drift;
mod equal;
mod hostile;
mod native;
mod setup;
mod spark;
mod ties;
