//! Filter and sort keys and the byte layout, both derived from the declarations of records; the
//! spellings of identifiers.
//!
//! The indexes, queries and the compiler read [`keys`].
//!
//! Imports `entity`, `record`, `text`.

pub mod countries;
pub mod identifier;
pub mod keys;
pub mod layout;
pub mod texts;
