//! Objects: what one input part compiles to, cached by content.
//!
//! An object holds *segments*, each of one entity and at most about 64 MiB: the archived records
//! in the order of their list, a key a record sorted by id, and the *mentions*: every reference
//! and code the records make, as (kind, id, name), once. A reference in a record is the number of
//! its mention; the linker replaces it by a row. Nothing else in a record changes when it is
//! linked.

pub mod file;
mod held;
pub mod key;
pub mod mentions;
pub mod segment;
pub mod side;

pub use file::{Object, ObjectWriter};
pub use held::gather;
pub use key::{Key, Origin};
