//! The values of groups.

use crate::entity::Entity;

/// The value of a key that the records of a group share.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum GroupValue {
    /// The records have no value.
    #[default]
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A number, possibly fractional.
    Number(f64),
    /// A record, or an unresolved reference.
    Record {
        /// Its entity.
        entity: Entity,
        /// Its id.
        id: u64,
        /// Its row, or the first row of unresolved references with the id.
        row: u32,
    },
    /// The number of a code.
    Code(u32),
    /// A text, or an identifier in another system.
    Text(String),
}
