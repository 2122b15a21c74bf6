//! The differences between the previous snapshot and the rows of this link.
//!
//! The linker takes the records, references and index entries of *unchanged* rows over from the previous snapshot.
//! The entries of a row follow from three facts: the record, the names of the rows that the record refers to, and the
//! merges of its references. `Extractor` reads nothing else:
//!
//! ```text
//! the record is new or has another content hash          changed
//! the record refers to an *altered* row                  changed
//! the merge of a reference is new, undone or another     changed
//! anything else                                          unchanged; the row may have moved
//! ```
//!
//! The extractor reads the following of a row that a record refers to. A row with another of these is altered:
//!
//! - the id and the name, and whether the row has a record;
//! - the type of a source, which venues repeat;
//! - the parents of a topic.
//!
//! An unchanged record is linked again, too, if it refers to a row to which a merge led that leads elsewhere now.
//! Numbers of rows are renumbered. Codes are compared and sorted by their texts, so their numbers do not matter. Of
//! several unresolved references with one id, target rows name the first, which may be another each night.

use pinakes_format::entity::Entity;

use crate::link::atomic_bitset::AtomicBitset;
use crate::link::column::Column;

/// In [`EntityChanges::moved`], a row that this link does not have.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// The differences of every entity.
pub(crate) struct Changes(pub Vec<EntityChanges>);

/// The differences of one entity.
pub(crate) struct EntityChanges {
    /// For each row of the previous snapshot, the row of the same record or unresolved reference, or
    /// [`NO_ROW`].
    pub moved: Column,
    /// For each record of this link, its row in the previous snapshot if the record has the same content hash, or
    /// [`NO_ROW`]. Empty if nothing is taken over.
    pub old_rows: Column,
    /// The changed records. Writing the records adds the records that refer to an altered row.
    pub changed: AtomicBitset,
    /// The rows, unresolved references included, that look different to a record that refers to them.
    pub altered: AtomicBitset,
    /// The merged ids that lead elsewhere than before, ascending.
    pub redirected: Vec<u64>,
    /// The rows, unresolved references included, that these ids led to before.
    pub former_ends: AtomicBitset,
    /// Whether every record counts as changed: records of side tables and of the taxonomy depend on others.
    pub is_whole: bool,
}

impl Changes {
    pub(crate) fn of(&self, entity: Entity) -> &EntityChanges {
        &self.0[entity as usize]
    }

    /// Whether a row looks different to a record that refers to it, which changes that record.
    pub(crate) fn is_altered(&self, entity: Entity, row: u32) -> bool {
        self.of(entity).altered.contains(row as usize)
    }

    /// Marks records of an entity as changed.
    pub(crate) fn add_changed(&mut self, entity: Entity, rows: &AtomicBitset) {
        self.0[entity as usize].changed.insert_all(rows);
    }
}

impl EntityChanges {
    /// The row of an unchanged record in the previous snapshot.
    pub(crate) fn old_row(&self, row: u32) -> Option<u32> {
        let old = self.old_rows.u32(row as usize)?;
        (old != NO_ROW && !self.changed.contains(row as usize)).then_some(old)
    }

    /// The row that a row of the previous snapshot has now.
    pub(crate) fn new_row(&self, old: u32) -> Option<u32> {
        self.moved.u32(old as usize).filter(|row| *row != NO_ROW)
    }

    /// Whether the merge of one of these ids is new, undone or leads elsewhere.
    pub(crate) fn has_redirected(&self, ids: &[u64]) -> bool {
        ids.iter().any(|id| self.redirected.binary_search(id).is_ok())
    }
}
