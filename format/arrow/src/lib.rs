//! Records of a snapshot as Arrow arrays: of an entity's records one table, of their edges others.
//!
//! ```text
//! a list ─► ListedRows: units of rows ─► Tables::part: columns of a part ─► Parquet files of the compiler
//!                                                                     └─► Records: batches, as Arrow's readers take them
//! ```
//!
//! The types of columns follow from the declarations of the records. Files import only files before them:
//!
//! - [`types`] has the types of columns, [`builder`] collects their values.
//! - [`tables`] has the tables, [`edges`] those of the edges between outputs and other records.
//! - [`rows`] finds the rows of a list, [`part`] puts rows into columns.
//! - [`records`] makes batches of a whole list, on all threads.

#![forbid(unsafe_code)]

pub mod builder;
pub mod edges;
pub mod error;
pub mod part;
pub mod records;
pub mod rows;
pub mod tables;
pub mod types;
