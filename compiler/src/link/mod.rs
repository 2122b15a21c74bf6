//! The second stage: objects become a snapshot.
//!
//! For each entity the keys of all segments are merged by id and the winners sorted into rows;
//! every mention is resolved to a row; then each record's blob is copied in row order with its
//! mentions replaced. Only the keys are sorted, the records are read and written once. Where a part is
//! asked for, it is found in between.

pub(crate) mod atomic_bitset;
pub(crate) mod enrich;
pub(crate) mod external_sort;
pub(crate) mod index;
pub(crate) mod merge;
pub(crate) mod publish;
pub(crate) mod resolve;
pub(crate) mod select;
pub(crate) mod selection;
pub(crate) mod write;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::storage::mmap::Map;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::link::external_sort::Spill;
use crate::object::Object;
use crate::object::file::Segment;
use crate::report::progress::Progress;

pub use crate::link::enrich::SideTally;
pub use crate::link::publish::{
    Published, link, make_current, publish, publish_directory, refuse_shrinking,
};

/// The accounting of one entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Lines or rows read.
    pub read: u64,
    /// Of those, published.
    pub published_from_input: u64,
    /// The same line again.
    pub duplicates: u64,
    /// An older copy, or a weaker source.
    pub superseded: u64,
    /// Of those, as new as the copy that stands.
    pub conflicts: u64,
    /// Merged into another record.
    pub merged: u64,
    /// Not asked for by `--where`, nor by a record that is.
    pub excluded: u64,
    /// Left out by `--suppress`.
    pub suppressed: u64,
    /// Set aside as bad.
    pub quarantined: u64,
    /// Published without a line of its own.
    pub derived: u64,
    /// References in published records to records that are not there.
    pub dangling: u64,
}

impl Tally {
    /// Records published.
    pub fn published(&self) -> u64 {
        self.published_from_input + self.derived
    }

    /// Whether every line read is accounted for.
    pub fn closes(&self) -> bool {
        self.read
            == self.published_from_input
                + self.duplicates
                + self.superseded
                + self.merged
                + self.excluded
                + self.suppressed
                + self.quarantined
    }
}

/// The objects of a run, and where the run may spill.
pub struct Linker<'o> {
    objects: &'o [&'o Object],
    scratch: PathBuf,
    memory_bytes: usize,
    progress: Progress,
}

/// Every segment of an entity, in the order of the objects.
type Segments<'o> = Vec<Segment<'o>>;

impl<'o> Linker<'o> {
    /// A linker of objects that spills into `scratch`.
    pub fn new(
        objects: &'o [&'o Object],
        scratch: &Path,
        memory_bytes: usize,
        progress: Progress,
    ) -> Linker<'o> {
        Linker { objects, scratch: scratch.to_path_buf(), memory_bytes, progress }
    }

    fn segments(&self, entity: Entity) -> Segments<'o> {
        self.objects.iter().flat_map(|object| object.segments_of(entity)).collect()
    }

    /// What one sorter may hold: two may be filled at a time, beside the buffers of the rest.
    fn sorter_bytes(&self) -> usize {
        self.memory_bytes / 4
    }

    fn spilled<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(Error::output(&self.scratch))
    }
}

/// An object that passed its own hash and still makes no sense.
fn broken() -> Error {
    Error::Internal("an object contradicts itself; remove the objects and build again".into())
}

/// A column of fixed-width values, written once and then mapped.
pub(crate) struct Column {
    map: Map,
    width: usize,
}

impl Column {
    fn new(file: File, width: usize) -> io::Result<Column> {
        Ok(Column { map: Map::open(&file)?, width })
    }

    fn len(&self) -> usize {
        self.map.len() / self.width
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        let from = index.checked_mul(self.width)?;
        self.map.get(from..from.checked_add(self.width)?)
    }

    fn u32(&self, index: usize) -> Option<u32> {
        self.get(index)?.get(..4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&self, index: usize) -> Option<u64> {
        self.get(index)?.get(..8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// The index of the value whose first eight bytes are `key`, among ascending ones.
    fn find(&self, key: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.u64(middle)? < key { low = middle + 1 } else { high = middle }
        }
        (self.u64(low) == Some(key)).then_some(low)
    }
}

/// An id and its row, as they are sorted into the map from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct IdRow {
    id: u64,
    row: u32,
}

impl Spill for IdRow {
    fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        out.write_all(&self.id.to_le_bytes())?;
        out.write_all(&self.row.to_le_bytes())
    }

    fn read(input: &mut impl io::Read) -> io::Result<Option<IdRow>> {
        let Some(id) = external_sort::read_array(input)? else { return Ok(None) };
        let Some(row) = external_sort::read_array(input)? else { return Ok(None) };
        Ok(Some(IdRow { id: u64::from_le_bytes(id), row: u32::from_le_bytes(row) }))
    }
}
