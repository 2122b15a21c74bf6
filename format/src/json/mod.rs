//! Writing JSON: whole records ([`render`]) and selected members ([`select`]).
//!
//! The traits here are implemented by the types in `record`. Imports `entity`, `text` and
//! `storage`.

pub mod render;
pub mod select;
