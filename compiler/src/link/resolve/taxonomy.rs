//! What the taxonomy's records lack and the rest of the snapshot knows: counts, siblings, children.

use std::collections::BTreeMap;

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record;
use pinakes_format::record::value::Ref;
use pinakes_format::record::{Domain, Field, Record, Subfield, Topic};

use crate::error::Result;
use crate::link::broken;
use crate::link::resolve::Kept;
use crate::object::file::Segment;

/// A level of the taxonomy, as completion sees it.
pub(crate) trait Level: Record {
    /// The mention or row of the node above it.
    fn parent(&self) -> Option<u32>;

    /// Fills in counts.
    fn fill_counts(&mut self, outputs: u64, citations: u64);

    /// Fills in siblings and children where the source gave none.
    fn fill_relatives(&mut self, siblings: impl FnOnce() -> Vec<u32>, children: &[u32]);

    /// The rows of its siblings, and of its children.
    fn relatives(&self) -> [Vec<u32>; 2];
}

macro_rules! levels {
    ($($level:ident above $parent:ident below $children:ident;)*) => {
        $(impl Level for $level {
            fn parent(&self) -> Option<u32> {
                levels!(@parent self $parent)
            }

            fn fill_counts(&mut self, outputs: u64, citations: u64) {
                self.outputs_count = self.outputs_count.or(Some(outputs));
                self.cited_by_count = self.cited_by_count.or(Some(citations));
            }

            fn fill_relatives(&mut self, siblings: impl FnOnce() -> Vec<u32>, children: &[u32]) {
                self.siblings
                    .get_or_insert_with(|| siblings().into_iter().map(Ref).collect());
                levels!(@children self children $children);
            }

            fn relatives(&self) -> [Vec<u32>; 2] {
                let siblings = self.siblings.iter().flatten().map(|sibling| sibling.0).collect();
                [siblings, levels!(@below self $children)]
            }
        })*
    };
    (@parent $self:ident none) => { None };
    (@parent $self:ident $parent:ident) => { $self.$parent.map(|parent| parent.0) };
    (@below $self:ident none) => { Vec::new() };
    (@below $self:ident $children:ident) => {
        $self.$children.iter().flatten().map(|child| child.0).collect()
    };
    (@children $self:ident $rows:ident none) => { let _ = $rows; };
    (@children $self:ident $rows:ident $children:ident) => {
        $self.$children.get_or_insert_with(|| $rows.iter().copied().map(Ref).collect());
    };
}

levels! {
    Topic above subfield below none;
    Subfield above field below topics;
    Field above domain below subfields;
    Domain above none below fields;
}

/// Evaluates `$body` with `$type` naming the level of an entity; `$other` for all other entities.
macro_rules! with_level {
    ($entity:expr, $type:ident => $body:expr, $other:expr) => {
        match $entity {
            Entity::Topic => {
                type $type = Topic;
                $body
            }
            Entity::Subfield => {
                type $type = Subfield;
                $body
            }
            Entity::Field => {
                type $type = Field;
                $body
            }
            Entity::Domain => {
                type $type = Domain;
                $body
            }
            _ => $other,
        }
    };
}

/// Reads a blob's record whole.
fn read<L: Level>(blob: &[u8]) -> Option<L>
where
    L::Archived: rkyv::Deserialize<L, rkyv::api::high::HighDeserializer<rkyv::rancor::Error>>,
{
    let (archived, _) = pinakes_format::snapshot::split_blob(blob)?;
    rkyv::deserialize::<L, rkyv::rancor::Error>(record::access::<L>(archived)?).ok()
}

/// The id of the node above, as a blob not yet linked mentions it.
pub(crate) fn parent_id(entity: Entity, blob: &[u8], segment: &Segment<'_>) -> Option<u64> {
    let mention = with_level!(entity, L => read::<L>(blob)?.parent(), None)?;
    Some(segment.mentions.subject(mention)?.1).filter(|id| *id != NO_ID)
}

/// The siblings and children in a blob that is linked and complete, which may be the tree's rather
/// than the record's own.
pub(crate) fn relatives(entity: Entity, blob: &[u8]) -> Option<Vec<(Entity, u32)>> {
    let [siblings, children] = with_level!(entity, L => read::<L>(blob)?.relatives(), return None);
    let siblings = siblings.into_iter().map(|row| (entity, row));
    let children = entity
        .taxonomy_child()
        .into_iter()
        .flat_map(|below| children.iter().map(move |row| (below, *row)));
    Some(siblings.chain(children).collect())
}

/// One level's rows: ids, and the rows of the nodes above.
#[derive(Default)]
struct LevelRows {
    /// Rows ascending by id.
    by_id: Vec<u32>,
    /// For each row of the level above, the rows below it, ascending by id.
    below: BTreeMap<u32, Vec<u32>>,
    /// For each row, the row above it.
    parents: Vec<Option<u32>>,
}

/// The whole tree, by rows.
#[derive(Default)]
pub(crate) struct Tree(BTreeMap<Entity, LevelRows>);

impl Tree {
    /// Takes a level's rows: ids ascending with their rows, and each row's linked blob.
    pub(crate) fn take(
        &mut self,
        entity: Entity,
        by_id: impl Iterator<Item = u32>,
        blobs: &[Vec<u8>],
    ) -> Result<()> {
        let parents = blobs
            .iter()
            .map(|blob| with_level!(entity, L => read::<L>(blob).map(|level| level.parent()), None))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(broken)?;
        let mut level = LevelRows { by_id: by_id.collect(), below: BTreeMap::new(), parents };
        for row in &level.by_id {
            if let Some(parent) = level.parents.get(*row as usize).copied().flatten() {
                level.below.entry(parent).or_default().push(*row);
            }
        }
        self.0.insert(entity, level);
        Ok(())
    }

    /// The same tree by the numbers that its rows have in a part; what has none is not in it.
    pub(crate) fn in_part(&self, kept: &Kept) -> Tree {
        let of_level = |(entity, level): (&Entity, &LevelRows)| {
            let of = |row: &u32| kept.row(*entity, *row);
            let of_parent = |row: u32| kept.row(entity.taxonomy_parent()?, row);
            let below = level.below.iter().filter_map(|(parent, rows)| {
                Some((of_parent(*parent)?, rows.iter().filter_map(of).collect()))
            });
            // Those of records alone, which keep their order.
            let parents = (0..).zip(&level.parents).filter_map(|(row, parent)| {
                kept.rows[*entity as usize].of(row)?;
                Some(parent.and_then(of_parent))
            });
            let (by_id, below) = (level.by_id.iter().filter_map(of).collect(), below.collect());
            (*entity, LevelRows { by_id, below, parents: parents.collect() })
        };
        Tree(self.0.iter().map(of_level).collect())
    }

    fn siblings(&self, entity: Entity, row: u32) -> Vec<u32> {
        let Some(level) = self.0.get(&entity) else { return Vec::new() };
        let others = |rows: &[u32]| rows.iter().copied().filter(|other| *other != row).collect();
        // Topics are siblings within their subfield; on the levels above, all are.
        if entity != Entity::Topic {
            return others(&level.by_id);
        }
        let parent = level.parents.get(row as usize).copied().flatten();
        parent.and_then(|parent| level.below.get(&parent)).map_or_else(Vec::new, |of| others(of))
    }

    fn children(&self, entity: Entity, row: u32) -> &[u32] {
        let below = entity.taxonomy_child().and_then(|level| self.0.get(&level));
        below.and_then(|level| level.below.get(&row)).map_or(&[], Vec::as_slice)
    }

    /// A linked blob with what it lacks filled in; counts only where it has no object of its own.
    pub(crate) fn complete(
        &self,
        entity: Entity,
        row: u32,
        blob: &[u8],
        sum: Option<(u64, u64)>,
    ) -> Result<Vec<u8>> {
        let mut arena = rkyv::ser::allocator::Arena::new();
        let archived = with_level!(entity, L => {
            let mut level = read::<L>(blob).ok_or_else(broken)?;
            if let Some((outputs, citations)) = sum {
                level.fill_counts(outputs, citations);
            }
            level.fill_relatives(|| self.siblings(entity, row), self.children(entity, row));
            record::archive(&level, &mut arena, vec![0; 4]).map_err(|_| broken())?
        }, return Err(broken()));
        frame(archived)
    }
}

/// A blob without long texts, out of four spare bytes and an archived record.
pub(crate) fn frame(mut archived: Vec<u8>) -> Result<Vec<u8>> {
    let length = u32::try_from(archived.len() - 4).map_err(|_| broken())?;
    archived[..4].copy_from_slice(&length.to_le_bytes());
    Ok(archived)
}
