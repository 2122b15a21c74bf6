//! Every record a snapshot holds, each declared once.

mod author;
pub mod build;
mod declare;
pub mod gather;
pub mod legacy;
mod organisation;
mod output;
pub mod schema;
mod select;
mod shared;
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

pub use crate::record::author::*;
pub use crate::record::organisation::*;
pub use crate::record::output::*;
pub use crate::record::shared::{
    Country, Currency, Role, SummaryStats, TaxonomyIds, TopicShare, YearCounts,
};
pub use crate::record::source::*;
pub use crate::record::taxonomy::*;

use crate::record::build::Make;
use crate::record::gather::Gather;
use crate::record::schema::Describe;
use crate::record::value::Slots;

/// A kind of record: what the compiler's pipeline and the renderer ask of all alike.
pub trait Record:
    Archive<Archived: ArchivedRecord>
    + Describe
    + Make
    + for<'a> Serialize<HighSerializer<Vec<u8>, ArenaHandle<'a>, rancor::Error>>
{
    /// Its kind.
    const ENTITY: Entity;

    /// The number of its identifier.
    fn id(&self) -> u64;

    /// The member that orders its list, descending, nulls last; `id` where it is that, ascending.
    const ORDERED_BY: &str;

    /// The count that orders its list; `None` sorts last.
    fn order_count(&self) -> Option<u64>;
}

/// What the pipeline asks of a record's archived form.
pub trait ArchivedRecord:
    Portable + Slots + Gather + Render + Select + for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
{
    /// The number of its identifier.
    fn id(&self) -> u64;

    /// Its name.
    fn name(&self) -> Option<&str>;

    /// When it changed, in microseconds since 1970.
    fn updated_micros(&self) -> Option<i64>;
}

/// The schema of a kind of record.
pub fn schema_of(entity: Entity) -> schema::Schema {
    with_record!(entity, R => R::schema())
}

/// Reads the record that ends `bytes`, checking every pointer, length and text in it.
///
/// `None` where it does not validate. Cost: one pass over the record.
pub fn access<R: Record>(bytes: &[u8]) -> Option<&R::Archived> {
    rkyv::access::<R::Archived, rancor::Error>(bytes).ok()
}

/// Why a record could not be archived: it is larger than its relative pointers reach.
#[derive(Debug, thiserror::Error)]
#[error("a record is too large to archive")]
pub struct TooLarge;

/// Appends a record's archived form.
///
/// # Errors
///
/// Where the record is larger than 2 GiB.
pub fn archive<R: Record>(
    record: &R,
    arena: &mut rkyv::ser::allocator::Arena,
    out: Vec<u8>,
) -> Result<Vec<u8>, TooLarge> {
    rkyv::api::high::to_bytes_in_with_alloc::<_, _, rancor::Error>(record, out, arena.acquire())
        .map_err(|_| TooLarge)
}
