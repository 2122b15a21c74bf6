//! The results of earlier steps that linking a record reads.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;

use crate::link::context::Segments;
use crate::link::enrich::tables::SideTables;
use crate::link::merge::entity_rows::{EntityRows, Sums};
use crate::link::resolve::resolved::ResolvedSymbols;
use crate::object::{RecordPlace, Segment, Symbol};

/// The merged and resolved inputs of a run. Immutable.
pub(crate) struct LinkInputs<'o> {
    /// By entity.
    pub segments: Vec<Segments<'o>>,
    pub rows: Vec<EntityRows>,
    pub resolved: ResolvedSymbols,
    pub side_tables: SideTables<'o>,
    /// By level of the taxonomy.
    pub sums: BTreeMap<Entity, Sums>,
}

impl<'o> LinkInputs<'o> {
    /// The records of all entities.
    pub(crate) fn total_records(&self) -> u64 {
        self.rows.iter().map(|rows| rows.order.len() as u64).sum()
    }

    pub(crate) fn record_count(&self, entity: Entity) -> usize {
        self.rows[entity as usize].order.len()
    }

    /// Finds a record: the number of its segment, the segment and the place there.
    pub(crate) fn locate(
        &self,
        entity: Entity,
        row: u32,
    ) -> Option<(usize, &Segment<'o>, RecordPlace)> {
        self.rows[entity as usize].locate(row as usize, &self.segments[entity as usize])
    }

    /// Appends the ids that a record refers to, with merges followed: ascending, each once. `None` if
    /// there is no such record.
    pub(crate) fn references(&self, entity: Entity, row: u32, ids: &mut Vec<u64>) -> Option<()> {
        let (_, segment, place) = self.locate(entity, row)?;
        let from = ids.len();
        segment.references(&place, ids)?;
        let redirects = &self.rows[entity as usize].redirects;
        let mut is_changed = false;
        for id in &mut ids[from..] {
            let end = redirects.end(*id);
            is_changed |= end != *id;
            *id = end;
        }
        if is_changed {
            let mut merged = ids.split_off(from);
            merged.sort_unstable();
            merged.dedup();
            ids.append(&mut merged);
        }
        Some(())
    }

    /// The unresolved reference in a row after the records.
    pub(crate) fn unresolved(&self, entity: Entity, row: u32) -> Option<Symbol<'_>> {
        let after = (row as usize).checked_sub(self.record_count(entity))?;
        let indices = self.resolved.unresolved.range(entity as u8);
        (after < indices.len())
            .then(|| self.resolved.unresolved.get(indices.start + after))
            .flatten()
    }
}
