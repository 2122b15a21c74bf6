//! Objects: what one input part compiles to, cached by content.
//!
//! An object holds *segments*, each of one entity and at most about 64 MiB: the archived records
//! in the order of their list, a key a record sorted by id, and the *symbols*: every reference
//! and code the records make, as (kind, id, name), once. A reference in a record is the number of
//! its symbol; the linker replaces it by a row. Nothing else in a record changes when it is
//! linked.

pub(crate) mod bytes;
pub(crate) mod file;
pub(crate) mod key;
pub(crate) mod segment;
pub(crate) mod side;
pub(crate) mod side_table;
pub(crate) mod symbols;
pub(crate) mod warnings;

pub use crate::object::bytes::gather;
pub use crate::object::file::{Object, ObjectWriter};
pub use crate::object::key::{Key, Origin};
