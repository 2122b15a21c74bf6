//! The records of a snapshot, each declared once, member by member.
//!
//! - `output`, `author`, `source`, `organisation`, `taxonomy`, `shared`: the declarations.
//! - `declare`: the macros that generate code from a declaration.
//! - [`value`]: the leaf types, such as identifiers, references and codes.
//! - [`build`]: from parsed input to records. [`gather`]: from dotted paths to values.
//!   [`columns`]: from records to one column for each member.
//! - `select`: writes selected members. [`members`]: the members that records show, and selections of them.
//!   [`csv`]: rows of CSV. [`legacy`]: the legacy form of topics and domains.
//! - [`schema`]: the declarations as values.
//!
//! Imports `entity`, `text`, `storage` and `json`. The modules of this folder import one another:
//! a declaration implements the traits of all of them.

mod author;
pub mod build;
pub mod columns;
pub mod csv;
mod declare;
pub mod gather;
pub mod legacy;
pub mod members;
mod organisation;
mod output;
pub mod schema;
mod select;
mod shared;
pub mod slot;
mod source;
mod taxonomy;
pub mod value;

use rkyv::{
    Archive, Portable, Serialize,
    api::high::{HighSerializer, HighValidator},
    bytecheck::CheckBytes,
    rancor,
    ser::allocator::ArenaHandle,
};

use crate::entity::{Entity, with_record};
use crate::json::render::Render;
use crate::json::select::Select;
use crate::storage::error::ReadError;

pub use crate::record::author::*;
pub use crate::record::organisation::*;
pub use crate::record::output::*;
pub use crate::record::shared::{
    Country, Currency, Role, SummaryStats, TaxonomyIds, TopicShare, YearCounts,
};
pub use crate::record::source::*;
pub use crate::record::taxonomy::*;

use crate::record::build::Build;
use crate::record::columns::Columns;
use crate::record::gather::Gather;
use crate::record::schema::Describe;
use crate::record::slot::{Slot, SlotNumber, Slots};

/// The record type of an entity, as the compiler and the renderer use it.
pub trait Record:
    Archive<Archived: ArchivedRecord>
    + Describe
    + Build
    + for<'a> Serialize<HighSerializer<Vec<u8>, ArenaHandle<'a>, rancor::Error>>
{
    /// The entity whose records have this type.
    const ENTITY: Entity;

    /// Number of the identifier.
    fn id(&self) -> u64;

    /// The member that orders the rows: a count, descending with nulls last, or `id`, ascending.
    const ORDERED_BY: &str;

    /// The count that orders the rows; `None` sorts last.
    fn order_count(&self) -> Option<u64>;
}

/// The archived form of a record.
pub trait ArchivedRecord:
    Portable
    + Slots
    + Gather
    + Render
    + Select
    + Columns
    + for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
{
    /// Number of the identifier.
    fn id(&self) -> u64;

    /// The member `name`.
    fn name(&self) -> Option<&str>;

    /// Time of the last change, in microseconds since 1970.
    fn updated_micros(&self) -> Option<i64>;
}

/// The schema of an entity's record.
pub fn schema_of(entity: Entity) -> schema::Schema {
    with_record!(entity, R => R::schema())
}

/// Validates every pointer, length and text of an archived record and returns a reference to it.
///
/// The record is at the end of `bytes`. `None` if it is invalid. Cost: one pass over the record.
pub fn access<R: Record>(bytes: &[u8]) -> Option<&R::Archived> {
    rkyv::access::<R::Archived, rancor::Error>(bytes).ok()
}

/// Calls `visit` with each slot of a record that [`access`] returned for `bytes`, in the order of the
/// declaration.
pub fn visit_slots(
    bytes: &[u8],
    record: &impl ArchivedRecord,
    visit: &mut impl FnMut(Slot<SlotNumber>),
) {
    record.slots(&mut |slot| visit(slot.map(|number| SlotNumber::new(bytes, number))));
}

/// As [`access`], with an error that reports the damaged snapshot.
///
/// # Errors
///
/// If the bytes are not a valid record.
pub fn access_stored<R: Record>(bytes: &[u8]) -> Result<&R::Archived, ReadError> {
    access::<R>(bytes).ok_or(ReadError::corrupt("records", "an archived record does not validate"))
}

/// The record is larger than 2 GiB, the reach of relative pointers.
#[derive(Debug, thiserror::Error)]
#[error("a record is too large to archive")]
pub struct TooLarge;

/// Appends the archived form of a record.
///
/// # Errors
///
/// If the record is larger than 2 GiB.
pub fn archive<R: Record>(
    record: &R,
    arena: &mut rkyv::ser::allocator::Arena,
    out: Vec<u8>,
) -> Result<Vec<u8>, TooLarge> {
    rkyv::api::high::to_bytes_in_with_alloc::<_, _, rancor::Error>(record, out, arena.acquire())
        .map_err(|_| TooLarge)
}
