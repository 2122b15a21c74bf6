//! The snapshot of Pinakes: record declarations, archives, hash trees and their verified readers.
//!
//! A snapshot is a directory of immutable files, mapped and read in place. This library knows how
//! they are written and read; it parses no dump and speaks no HTTP. `FORMAT.md` beside this crate
//! describes every byte.
//!
//! - [`entity`]: the catalog of the eleven kinds of record.
//! - [`record`]: every record, declared once, with its JSON and its schema.
//! - [`snapshot`]: opening, looking up, rendering.
//! - [`suppression`]: lists of records to be withheld.
//! - [`older`]: the older variant of two of them.
//! - [`select`]: some members of a record, and the records they refer to.
//! - [`query`], [`autocomplete`]: questions to lists and to names, and their answers.
//! - [`file`](mod@file), [`blobs`], [`ids`], [`lists`], [`orders`], [`dictionary`], [`prefixes`],
//!   [`manifest`]: the files, each with writer and reader.
//! - [`publication`]: what a host says of a snapshot that others pull from it.
//! - [`keys`]: what records are filtered and sorted by.
//! - [`listed`]: what their values are in the indexes.
//! - [`integrity`]: the hash tree that every byte is checked against before it is trusted.

pub mod autocomplete;
pub mod entity;
pub mod index;
pub mod json;
pub mod query;
pub mod record;
pub mod schema;
pub mod snapshot;
pub mod storage;
pub mod text;
