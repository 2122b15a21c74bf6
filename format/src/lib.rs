//! The snapshot format of Pinakes: record declarations, files, indexes, and their verified readers.
//!
//! A snapshot is a directory of immutable files that readers map into memory. The compiler writes
//! snapshots with this library, and the server reads them with it. The library parses no dump and
//! speaks no HTTP. `FORMAT.md` beside this crate describes every byte.
//!
//! Each module imports only modules above it in this list:
//!
//! - [`text`]: folding, JSON output, times.
//! - [`entity`]: the table of the twelve entities.
//! - [`storage`]: files, the hash tree, archives, manifest and publication.
//! - [`json`]: whole or selected records as JSON.
//! - [`record`]: every record, declared once.
//! - [`schema`]: the keys that records are filtered and sorted by; layouts and the schema hash.
//! - [`index`]: term lists, orders, dictionaries and prefix statistics.
//! - [`snapshot`]: an open snapshot; suppression lists.
//! - [`query`]: filters, sorted pages and groups.
//! - [`autocomplete`]: ranked search of names.
//! - [`matching`]: which record a text of people means.
//! - [`changes`]: what differs between two snapshots.
//! - [`formats`]: references for reference managers, and tables.
//!
//! # Example
//!
//! ```no_run
#![doc = include_str!("../examples/ask.rs")]
//! ```

pub mod autocomplete;
pub mod changes;
pub mod entity;
pub mod formats;
pub mod index;
pub mod json;
pub mod matching;
pub mod query;
pub mod record;
pub mod schema;
pub mod snapshot;
pub mod storage;
pub mod text;
