//! Writing JSON: whole records ([`render`]) and selected members ([`select`]), from the bytes of packed
//! records ([`record_reader`]).
//!
//! The traits here are implemented by the types in `record`.
//!
//! Imports `entity`, `storage`, `text`.

pub mod record_reader;
pub mod render;
pub mod select;
