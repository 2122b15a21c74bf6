//! Types that every step of a link shares: the linker's inputs and limits, and its errors.

use std::io;
use std::path::{Path, PathBuf};

use pinakes_format::entity::Entity;
use pinakes_format::storage::{ReadError, Written};

use crate::error::{Error, Result, Unreadable};
use crate::link::take_over::NotTakenOverList;
use crate::object::{Object, Segment};
use crate::terminal::progress::Progress;

/// The objects of a run, its scratch directory and its memory limit.
pub(crate) struct Linker<'o> {
    pub objects: &'o [&'o Object],
    /// Holds unnamed files of sorters and columns.
    pub scratch: PathBuf,
    pub memory_bytes: usize,
    pub progress: Progress,
    /// Most nodes of one level of the taxonomy: [`NODES_MAX`].
    pub nodes_max: u64,
    /// The parts of the previous snapshot that are made from the objects instead, because they are damaged.
    pub not_taken_over: NotTakenOverList,
    /// Whether the snapshot has a full-text index.
    pub has_search: bool,
}

/// Most nodes of one level of the taxonomy. The merge holds ids, sums and parents of all nodes in memory, about 200
/// bytes for each node. OpenAlex has 4,516 topics.
const NODES_MAX: u64 = 1_000_000;

/// Most rows of an entity, unresolved references included. The greatest number of 32 bits means no row.
const ROWS_MAX: u64 = u32::MAX as u64 - 1;

/// Refuses more rows of an entity than a snapshot holds.
pub(crate) fn check_rows(entity: Entity, rows: u64) -> Result<()> {
    if rows <= ROWS_MAX {
        return Ok(());
    }
    let (entity, remedy) = (entity.facts().plural, "build from fewer inputs");
    Err(Error::TooMany { entity, max: ROWS_MAX, remedy })
}

/// Every segment of an entity, in the order of the objects.
pub(crate) type Segments<'o> = Vec<Segment<'o>>;

/// A written file and its path in the snapshot.
pub(crate) type WrittenFile = (String, Written);

impl<'o> Linker<'o> {
    pub(crate) fn new(
        objects: &'o [&'o Object],
        scratch: &Path,
        memory_bytes: usize,
        progress: Progress,
    ) -> Linker<'o> {
        let (scratch, nodes_max) = (scratch.to_path_buf(), NODES_MAX);
        let not_taken_over = NotTakenOverList::default();
        Linker {
            objects,
            scratch,
            memory_bytes,
            progress,
            nodes_max,
            not_taken_over,
            has_search: true,
        }
    }

    /// Refuses more nodes of a level of the taxonomy than a snapshot holds.
    pub(crate) fn check_nodes(&self, level: Entity, nodes: usize) -> Result<()> {
        if nodes as u64 <= self.nodes_max {
            return Ok(());
        }
        let (entity, remedy) =
            (level.facts().plural, "check the ids of the taxonomy in the inputs");
        Err(Error::TooMany { entity, max: self.nodes_max, remedy })
    }

    /// Lists the segments of every entity, indexed by entity.
    pub(crate) fn segments(&self) -> Vec<Segments<'o>> {
        let segments_of = |entity| {
            self.objects.iter().flat_map(move |object| object.segments_of(entity)).collect()
        };
        Entity::all().map(segments_of).collect()
    }

    /// Bytes one sorter may hold: a quarter, because two sorters fill concurrently and the other
    /// buffers need the other half. Stages with more sorters and windows divide it.
    pub(crate) fn sorter_bytes(&self) -> usize {
        self.memory_bytes / 4
    }

    /// Names the scratch directory in an I/O error.
    pub(crate) fn scratch_result<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(Error::output(&self.scratch))
    }
}

/// The error for an object whose hash is right but whose contents contradict each other.
pub(crate) fn inconsistent_object() -> Error {
    Error::Internal("an object contradicts itself; remove the objects and build again".into())
}

/// Names the row whose record, in an object, breaks the format.
pub(crate) fn broken_object(
    entity: impl Into<Option<Entity>>,
    row: impl Into<Option<u32>>,
) -> impl FnOnce(ReadError) -> Error {
    let name = Unreadable::at(entity, row);
    move |source| Error::BrokenObject(name(source))
}

/// Names the row of the new snapshot that cannot be read back.
pub(crate) fn unreadable(
    entity: impl Into<Option<Entity>>,
    row: impl Into<Option<u32>>,
) -> impl FnOnce(ReadError) -> Error {
    let name = Unreadable::at(entity, row);
    move |source| Error::Unreadable(name(source))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn more_records_than_row_numbers_are_refused() {
        check_rows(Entity::Output, u64::from(u32::MAX) - 1).unwrap();
        let error = check_rows(Entity::Output, u64::from(u32::MAX)).unwrap_err();
        let expected = "the inputs hold or name more than 4294967294 outputs, and no snapshot holds more; build \
                        from fewer inputs";
        assert_eq!((error.to_string().as_str(), error.exit_code()), (expected, 4));
    }
}
