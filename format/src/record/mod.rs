//! The records of a snapshot, each declared once, member by member.
//!
//! - `output`, `author`, `award`, `source`, `venue_metrics`, `organisation`, `taxonomy`, `shared`: the declarations.
//! - `declare`: the macros that generate code from a declaration.
//! - [`value`]: the leaf types, such as identifiers, references and codes. [`leaf`]: what each output shows of
//!   their values.
//! - [`stored`]: the packed form of every type. [`writer`]: writes packed records. [`slot`]: the references
//!   and codes in packed records.
//! - [`build`]: from parsed input to records. [`gather`]: from dotted paths to values. `derived`: values that follow
//!   from several members. [`columns`]: from records to one column for each member.
//! - `select`: writes selected members. [`members`]: the members that records show, and selections of them.
//!   [`csv`]: rows of CSV. [`legacy`]: the legacy form of topics and domains.
//! - [`schema`]: the declarations as values.
//!
//! The modules of this folder import one another:
//! a declaration implements the traits of all of them.
//!
//! Imports `entity`, `json`, `storage`, `text`.

mod author;
mod award;
pub mod build;
pub mod columns;
pub mod csv;
mod declare;
mod derived;
pub mod gather;
pub mod leaf;
pub mod legacy;
pub mod members;
mod organisation;
mod output;
pub mod schema;
mod select;
mod shared;
pub mod slot;
mod source;
pub mod stored;
mod taxonomy;
pub mod value;
mod venue_metrics;
pub mod writer;

pub use crate::record::columns::{Column, fill, fill_member, put_reference};
pub use crate::record::csv::{CsvTable, write_line};
pub use crate::record::gather::{Gather, Gathered, PathTarget, PathTree};
pub use crate::record::legacy::{LEGACY, LegacyEntity};
pub use crate::record::members::{Member, Members, View};
pub use crate::record::schema::{ObjectSchema, Schema, Shown};
pub use crate::record::slot::{RenumberedCopy, Slot, SlotNumber};
pub use crate::record::stored::{Measured, Stored, StoredObject};
pub use crate::record::value::{
    AnyRef, Code, Date, Id, LongText, NO_CODE, Named, Orcid, ParentRef, PrintedName, Ref,
    TABLE_FIRST, TABLE_NAMES, Table, Timestamp, UtcTimestamp,
};
pub use crate::record::writer::RecordWriter;

use rkyv::with::InlineAsBox;
use rkyv::{Archive, Serialize, rancor};

use crate::entity::{Entity, with_record};
use crate::json::record_reader::RecordReader;
use crate::json::render::{RecordBytes, Render};
use crate::storage::error::ReadError;

pub use crate::record::author::*;
pub use crate::record::award::*;
pub use crate::record::organisation::*;
pub use crate::record::output::*;
pub use crate::record::shared::{
    Country, Currency, Role, SummaryStats, TaxonomyIds, TopicShare, YearCounts,
};
pub use crate::record::source::*;
pub use crate::record::taxonomy::*;
pub use crate::record::venue_metrics::VenueMetrics;

use crate::record::build::Build;
use crate::record::columns::Columns;
use crate::record::gather::find_path;
use crate::record::schema::Describe;
use crate::record::select::SelectMember;

/// The record type of an entity, as the compiler and the renderer use it.
pub trait Record: Describe + Build + Gather + Render + SelectMember + Columns + Stored {
    /// The entity whose records have this type.
    const ENTITY: Entity;

    /// Number of the identifier.
    fn id(&self) -> u64;

    /// The member that orders the rows: a count, descending with nulls last, or `id`, ascending.
    const ORDERED_BY: &str;

    /// The count that orders the rows; `None` sorts last.
    fn order_count(&self) -> Option<u64>;

    /// The member `name` of a packed record.
    fn name(packed: &[u8]) -> Result<Option<&str>, ReadError>;
}

/// The schema of an entity's record.
pub fn schema_of(entity: Entity) -> Schema {
    with_record!(entity, R => R::schema())
}

/// The tree of some members of an entity, by their paths; the end of each is its number among them.
///
/// # Panics
///
/// If records have no such member.
pub fn tree_of(entity: Entity, members: &[&str]) -> PathTree {
    let schema = schema_of(entity);
    let mut tree = PathTree::default();
    for (end, path) in members.iter().enumerate() {
        let Some(found) = find_path(&schema, path) else { panic!("no member `{path}`") };
        tree.add(&found.path, end);
    }
    tree
}

/// A record as files keep it: an rkyv archive of two byte strings.
///
/// rkyv archives nothing else. It finds and checks the two parts; the packed record inside has a form of its own
/// ([`stored`]), whose values take fewer bytes than rkyv's, and whose reader checks each value that it reads.
#[derive(Archive, Serialize)]
struct StoredRecord<'r> {
    /// The members and texts, for a [`RecordReader`].
    #[rkyv(with = InlineAsBox)]
    packed: &'r [u8],
    /// The frame of the long texts; empty where the record has none.
    #[rkyv(with = InlineAsBox)]
    long_texts: &'r [u8],
}

/// Reads the two parts of a stored record, after rkyv has checked that they lie inside its bytes.
#[inline]
pub fn access(stored: &[u8]) -> Result<RecordBytes<'_>, ReadError> {
    let invalid = |_| ReadError::corrupt("records", "an archived record does not validate");
    let stored =
        rkyv::access::<ArchivedStoredRecord<'_>, rancor::Error>(stored).map_err(invalid)?;
    Ok(RecordBytes { packed: stored.packed.get(), long_texts: stored.long_texts.get() })
}

/// The record is larger than 2 GiB, the reach of relative pointers.
#[derive(Debug, thiserror::Error)]
#[error("a record is too large to archive")]
pub struct TooLarge;

/// Appends the stored form of a packed record and of the frame of its long texts.
///
/// # Errors
///
/// If the record is larger than 2 GiB; `out` is as before then.
pub fn store(
    packed: &[u8],
    long_texts: &[u8],
    arena: &mut rkyv::ser::allocator::Arena,
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    let (stored, before) = (StoredRecord { packed, long_texts }, out.len());
    let written = rkyv::api::high::to_bytes_in_with_alloc::<_, _, rancor::Error>(
        &stored,
        &mut *out,
        arena.acquire(),
    );
    written.map(|_| ()).map_err(|_| {
        out.truncate(before);
        TooLarge
    })
}

/// Packs a record, or another object of a declaration.
pub fn pack<T: Stored>(object: &T, writer: &mut RecordWriter) -> Vec<u8> {
    const { assert!(T::FLAG_BITS == 0, "no object around the value has its flags") };
    let mut packed = Vec::new();
    object.write(writer);
    writer.finish(&mut packed);
    packed
}

/// Reads a whole packed record or object, whose texts must be UTF-8 and which must have no other bytes.
pub fn read<T: Stored>(packed: &[u8]) -> Result<T, ReadError> {
    let mut from = RecordReader::new(packed)?;
    let record = T::read(&mut from)?;
    let other = ReadError::corrupt("records", "a record has bytes of no member");
    if from.is_at_end() { Ok(record) } else { Err(other) }
}

/// Calls `visit` with each slot of a packed record, in the order of the declaration.
pub fn visit_slots<R: Record>(
    packed: &[u8],
    visit: &mut dyn FnMut(Slot<SlotNumber>),
) -> Result<(), ReadError> {
    R::slots(&mut RecordReader::new(packed)?, visit)
}
