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

pub use crate::schema::countries::Class;
pub use crate::schema::identifier::{
    Scheme, parse_record_id, spellings_of_doi, strip_id_prefix, without_repeated_prefix,
};
pub use crate::schema::keys::{
    Bound, CountedOrder, Direction, Index, Key, Keys, Kind, Order, ScannedValues, TermLists, Terms,
    Values, keys_of, keys_of_legacy, keys_of_openalex,
};
pub use crate::schema::layout::{schema_digits, schema_hash};
pub use crate::schema::texts::{ANY_FIELD, FIELDS, Field, TextPaths, text_paths};
