//! Filter and sort keys and the byte layout, both derived from the declarations of records.
//!
//! Imports `entity` and `record`. The indexes, queries and the compiler read [`keys`].

pub mod keys;
pub mod layout;
