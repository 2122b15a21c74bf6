//! The taxonomy as a tree of rows. It gives records the siblings and children that their source omits.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;

use crate::error::Result;
use crate::link::context::inconsistent_object;
use crate::link::resolve::renumbering::Renumbering;
use crate::link::taxonomy::{Sum, complete, parent_row};

/// One level's rows, and the rows of their parents.
#[derive(Default)]
struct LevelRows {
    /// Rows ascending by id.
    by_id: Vec<u32>,
    /// For each row of the level above, its children, ascending by id.
    children: BTreeMap<u32, Vec<u32>>,
    /// For each row, the row of its parent.
    parents: Vec<Option<u32>>,
}

/// The whole tree, by level.
#[derive(Default)]
pub(crate) struct TaxonomyTree(BTreeMap<Entity, LevelRows>);

impl TaxonomyTree {
    /// Adds a level: its rows ascending by id, and the linked blob of each row in row order.
    pub(crate) fn add_level(
        &mut self,
        entity: Entity,
        by_id: impl Iterator<Item = u32>,
        blobs: &[Vec<u8>],
    ) -> Result<()> {
        let parents = blobs.iter().map(|blob| parent_row(entity, blob));
        let parents = parents.collect::<Option<Vec<_>>>().ok_or_else(inconsistent_object)?;
        let mut level = LevelRows { by_id: by_id.collect(), children: BTreeMap::new(), parents };
        for row in &level.by_id {
            if let Some(parent) = level.parents.get(*row as usize).copied().flatten() {
                level.children.entry(parent).or_default().push(*row);
            }
        }
        self.0.insert(entity, level);
        Ok(())
    }

    /// Returns the tree with the row numbers of a subset, without nodes outside the subset.
    pub(crate) fn renumbered(&self, renumbering: &Renumbering) -> TaxonomyTree {
        let of_level = |(entity, level): (&Entity, &LevelRows)| {
            let new_row = |row: &u32| renumbering.row(*entity, *row);
            let new_parent = |row: u32| renumbering.row(entity.taxonomy_parent()?, row);
            let children = level.children.iter().filter_map(|(parent, rows)| {
                Some((new_parent(*parent)?, rows.iter().filter_map(new_row).collect()))
            });
            // Rows with records keep their order. Placeholders have no parent.
            let parents = (0..).zip(&level.parents).filter_map(|(row, parent)| {
                renumbering.rows[*entity as usize].rank(row)?;
                Some(parent.and_then(new_parent))
            });
            let by_id = level.by_id.iter().filter_map(new_row).collect();
            let (children, parents) = (children.collect(), parents.collect());
            (*entity, LevelRows { by_id, children, parents })
        };
        TaxonomyTree(self.0.iter().map(of_level).collect())
    }

    /// Topics are siblings within their subfield; on the levels above, all nodes are siblings.
    fn siblings(&self, entity: Entity, row: u32) -> Vec<u32> {
        let Some(level) = self.0.get(&entity) else { return Vec::new() };
        let others = |rows: &[u32]| rows.iter().copied().filter(|other| *other != row).collect();
        if entity != Entity::Topic {
            return others(&level.by_id);
        }
        let parent = level.parents.get(row as usize).copied().flatten();
        let children = parent.and_then(|parent| level.children.get(&parent));
        children.map_or_else(Vec::new, |rows| others(rows))
    }

    fn children(&self, entity: Entity, row: u32) -> &[u32] {
        let below = entity.taxonomy_child().and_then(|level| self.0.get(&level));
        below.and_then(|level| level.children.get(&row)).map_or(&[], Vec::as_slice)
    }

    /// Fills in a packed record's null members: relatives from the tree, counts from `sum`.
    pub(crate) fn complete(
        &self,
        entity: Entity,
        row: u32,
        packed: &[u8],
        sum: Option<Sum>,
    ) -> Result<Vec<u8>> {
        let children = self.children(entity, row);
        complete(entity, packed, sum, || self.siblings(entity, row), children)
    }
}
