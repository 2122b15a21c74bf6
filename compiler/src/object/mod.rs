//! Objects: the compiled form of one input part, cached by content.
//!
//! An object has *segments* of one entity each, about 48 MiB large. A segment has:
//!
//! - the stored records, in list order ([`segment`]),
//! - one [`RecordKey`] for each record, ascending by id,
//! - a symbol table ([`symbols`]): every reference and code of the records, as (kind, id, name), once,
//! - a chain table ([`chains`]): what topics of the records say of the levels above them, once.
//!
//! A reference in a record is the number of its symbol; the linker replaces the number by a row. The
//! linker also fills in taxonomy counts and relatives, and the members of side tables. An object may
//! also have side segments ([`side`]) and deleted or merged ids ([`id_blocks`]), and always has a directory with the
//! report of its part.
//!
//! References to topics become records too ([`derived`]).
//!
//! An object lies in a directory, or in a bucket too ([`store`]).
//!
//! Imports `error`, `read`, `remote`, `terminal`.

pub(crate) mod bytes;
pub(crate) mod chains;
pub(crate) mod derived;
pub(crate) mod directory;
pub(crate) mod file;
pub(crate) mod gather;
pub(crate) mod id_blocks;
pub(crate) mod key;
pub(crate) mod part_report;
pub(crate) mod read_ahead;
pub(crate) mod segment;
pub(crate) mod side;
pub(crate) mod store;
pub(crate) mod symbols;
pub(crate) mod unfinished;
pub(crate) mod warnings;
pub(crate) mod writer;

pub(crate) use crate::object::chains::{Chain, NamedBy, NodeRef};
pub(crate) use crate::object::id_blocks::{Deletion, IdBlock, ListedId, Merge};
pub(crate) use crate::object::key::{RecordPlace, count_of, hash_line, rank_of};
pub(crate) use crate::object::segment::{Provenance, Segment, SegmentBuilder, SegmentShape};
pub(crate) use crate::object::symbols::Symbol;
pub(crate) use crate::object::warnings::Warnings;

pub use crate::object::file::{Check, Object};
pub use crate::object::gather::gather;
pub use crate::object::key::{Origin, RecordKey};
pub use crate::object::store::ObjectStore;
pub use crate::object::writer::ObjectWriter;
