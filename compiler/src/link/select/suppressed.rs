//! Records dropped by `--suppress`, and the placeholders that references to them keep.
//!
//! All references to a suppressed id come to lead to one placeholder with the id and no name,
//! also those of an unresolved reference with that id. A server with the same list answers alike.

use std::collections::BTreeSet;

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::RecordLookup;
use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_format::storage::ReadError;

use crate::link::atomic_bitset::{AtomicBitset, RankBitset};
use crate::link::resolve::renumbering::Placeholders;

/// The suppressed rows, by entity. Empty by default.
#[derive(Default)]
pub(crate) struct Suppressed {
    entities: Vec<SuppressedRows>,
    /// Listed ids that no record and no unresolved reference has.
    pub unknown_ids: u64,
}

/// The suppressed rows of one entity.
struct SuppressedRows {
    /// The suppressed ids, ascending, after following redirects.
    ids: Vec<u64>,
    /// Every row with one of the ids, ascending, and the index of its id. Includes unresolved
    /// references.
    rows: Vec<(u32, u32)>,
    /// The rows with records, ascending.
    records: Vec<u32>,
    /// For each id, whether a kept record refers to it.
    referenced: AtomicBitset,
}

impl Suppressed {
    /// Finds the rows of every listed id.
    pub fn find(
        list: &SuppressionList,
        library: &impl RecordLookup,
    ) -> Result<Suppressed, ReadError> {
        let mut unknown_ids = 0;
        let mut entities = Vec::with_capacity(Entity::COUNT);
        for entity in Entity::all() {
            let mut found: BTreeSet<u64> = BTreeSet::new();
            for id in list.ids(entity) {
                let id = library.merged_into(entity, id)?;
                if library.rows_with(entity, id)?.is_empty() {
                    unknown_ids += 1;
                } else {
                    found.insert(id);
                }
            }
            let ids: Vec<u64> = found.into_iter().collect();
            let mut rows = Vec::new();
            for (index, id) in (0..).zip(&ids) {
                rows.extend(library.rows_with(entity, *id)?.map(|row| (row, index)));
            }
            rows.sort_unstable();
            let count = library.count(entity);
            let records = rows.iter().map(|(row, _)| *row).filter(|row| *row < count).collect();
            let referenced = AtomicBitset::new(ids.len());
            entities.push(SuppressedRows { ids, rows, records, referenced });
        }
        Ok(Suppressed { entities, unknown_ids })
    }

    /// The rows of an entity's suppressed records, ascending.
    pub fn records(&self, entity: Entity) -> &[u32] {
        self.entities.get(entity as usize).map_or(&[], |rows| &rows.records)
    }

    /// Whether a row, with or without a record, is suppressed.
    pub fn has(&self, entity: Entity, row: u32) -> bool {
        self.entities.get(entity as usize).is_some_and(|rows| rows.id_index(row).is_some())
    }

    /// Notes that a kept record refers to the row; returns false if the row is not suppressed.
    pub fn note_reference(&self, entity: Entity, row: u32) -> bool {
        let rows = self.entities.get(entity as usize);
        rows.is_some_and(|rows| {
            rows.id_index(row).is_some_and(|index| rows.referenced.insert(index as usize))
        })
    }

    /// Notes a reference to every suppressed row of the entities that records can refer to.
    pub fn note_all_references(&self) {
        for (entity, rows) in Entity::all().zip(&self.entities) {
            if entity.facts().is_referenced {
                (0..rows.ids.len()).for_each(|index| _ = rows.referenced.insert(index));
            }
        }
    }

    /// Makes a placeholder for every suppressed id with a reference.
    ///
    /// `kept` are the rows that the subset keeps. `first_unresolved` returns the row of an entity's
    /// first unresolved reference with an id or a greater one.
    pub fn into_placeholders(
        self,
        kept: &[RankBitset],
        first_unresolved: impl Fn(Entity, u64) -> u32,
    ) -> Vec<Placeholders> {
        let of_entity = |(entity, rows): (Entity, SuppressedRows)| {
            let SuppressedRows { ids, rows, records, referenced } = rows;
            let mut placeholders = Placeholders::new(records);
            for index in referenced.into_rank_bitset().iter() {
                let id = ids[index as usize];
                let old_rows = rows.iter().filter(|(_, of)| *of == index).map(|(row, _)| *row);
                let next_row = first_unresolved(entity, id);
                placeholders.push(id, old_rows, next_row, &kept[entity as usize]);
            }
            placeholders.finish();
            placeholders
        };
        Entity::all().zip(self.entities).map(of_entity).collect()
    }
}

impl SuppressedRows {
    fn id_index(&self, row: u32) -> Option<u32> {
        let at = self.rows.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        Some(self.rows[at].1)
    }
}
