//! The four levels of the taxonomy as one trait, and stored blobs of such records.

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record;
use pinakes_format::record::{Domain, Field, Record, RecordWriter, Ref, Subfield, Topic};

use crate::error::Result;
use crate::link::context::{broken_object, inconsistent_object};
use crate::object::Segment;
use crate::read::lenient::COUNT_MAX;

/// Outputs, and the citations of these outputs. Each is at most [`COUNT_MAX`].
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub outputs: u64,
    pub citations: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, other: Sum) {
        self.outputs = self.outputs.saturating_add(other.outputs).min(COUNT_MAX);
        self.citations = self.citations.saturating_add(other.citations).min(COUNT_MAX);
    }
}

/// A record of one level.
pub(crate) trait Level: Record {
    /// The parent node: a symbol before linking, a row after.
    fn parent(&self) -> Option<u32>;

    /// Sets counts that are null.
    fn fill_counts(&mut self, outputs: u64, citations: u64);

    /// Sets siblings and children that are null.
    fn fill_relatives(&mut self, siblings: impl FnOnce() -> Vec<u32>, children: &[u32]);

    /// The rows of the siblings, and the rows of the children.
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

/// Evaluates `$body` with `$type` bound to the record type of a level; `$other` for other entities.
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

/// Reads the record of a blob.
fn read<L: Level>(blob: &[u8]) -> Option<L> {
    record::read(record::access(blob).ok()?.packed).ok()
}

/// The parent's id in a blob that is not linked yet.
pub(crate) fn parent_id(entity: Entity, blob: &[u8], segment: &Segment<'_>) -> Option<u64> {
    let symbol = with_level!(entity, L => read::<L>(blob)?.parent(), None)?;
    Some(segment.symbols.subject(symbol)?.1).filter(|id| *id != NO_ID)
}

/// The parent's row in a linked blob; the outer `None` stands for a blob that does not validate.
pub(crate) fn parent_row(entity: Entity, blob: &[u8]) -> Option<Option<u32>> {
    with_level!(entity, L => read::<L>(blob).map(|level| level.parent()), None)
}

/// The siblings and children in a linked blob that [`complete`] has filled in.
pub(crate) fn relatives(entity: Entity, blob: &[u8]) -> Option<Vec<(Entity, u32)>> {
    let [siblings, children] = with_level!(entity, L => read::<L>(blob)?.relatives(), return None);
    let siblings = siblings.into_iter().map(|row| (entity, row));
    let below = entity.taxonomy_child().into_iter();
    let children = below.flat_map(|below| children.iter().map(move |row| (below, *row)));
    Some(siblings.chain(children).collect())
}

/// Returns a packed, linked record with null members filled in: counts from `sum`, and relatives.
pub(crate) fn complete(
    entity: Entity,
    packed: &[u8],
    sum: Option<Sum>,
    siblings: impl FnOnce() -> Vec<u32>,
    children: &[u32],
) -> Result<Vec<u8>> {
    with_level!(entity, L => {
        let mut level: L = record::read(packed).map_err(broken_object(entity, None))?;
        if let Some(Sum { outputs, citations }) = sum {
            level.fill_counts(outputs, citations);
        }
        level.fill_relatives(siblings, children);
        Ok(record::pack(&level, &mut RecordWriter::default()))
    }, Err(inconsistent_object()))
}
