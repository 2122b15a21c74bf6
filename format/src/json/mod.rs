//! Writing JSON: whole records ([`render`]) and selected members ([`select`]), from the bytes of archived
//! records ([`location`]).
//!
//! The traits here are implemented by the types in `record`. Imports `entity`, `text` and
//! `storage`.

pub mod location;
pub mod render;
pub mod select;
