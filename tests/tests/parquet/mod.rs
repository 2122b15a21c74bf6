//! Parquet dumps: the same snapshot as from JSON lines, drift of schemas, ties, and hostile files.

mod drift;
mod equal;
mod hostile;
mod native;
mod setup;
mod spark;
mod ties;
