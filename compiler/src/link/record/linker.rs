//! Copies one record, replaces its symbols by rows and completes it.

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::render::RecordBytes;
use pinakes_format::record::slot::{RenumberedCopy, Slot, SlotNumber};
use pinakes_format::record::value::NO_CODE;
use pinakes_format::record::{self, Record};
use pinakes_format::with_record;
use rkyv::ser::allocator::Arena;

use crate::error::Result;
use crate::link::context::inconsistent_object;
use crate::link::record::inputs::LinkInputs;
use crate::link::record::old_records::OldRecords;
use crate::link::record::source_types::SourceTypes;
use crate::link::resolve::taxonomy_tree::TaxonomyTree;
use crate::object::Origin;
use crate::object::key::RecordPlace;
use crate::object::segment::Segment;

/// Links records of merged and resolved inputs. Immutable, so that all threads share it.
pub(crate) struct RecordLinker<'a, 'o> {
    pub inputs: LinkInputs<'a, 'o>,
    tree: TaxonomyTree,
    source_types: SourceTypes,
    /// The records of the previous snapshot, and where to mark the records that refer to altered rows.
    pub old: Option<OldRecords<'a>>,
}

/// Appends a linked record.
pub(crate) fn append_record(packed: &[u8], long_texts: &[u8], blobs: &mut Vec<u8>) -> Result<()> {
    let before = std::mem::take(blobs);
    *blobs = record::store(packed, long_texts, &mut Arena::new(), before)
        .map_err(|_| inconsistent_object())?;
    Ok(())
}

/// Where the record of a row is copied from.
pub(crate) enum CopyFrom<'a, 'o> {
    /// A row of the previous snapshot, whose record is the same.
    Previous(u32),
    /// A record of an object.
    Object(LocatedRecord<'a, 'o>),
}

/// The record of a row, in its segment.
pub(crate) struct LocatedRecord<'a, 'o> {
    row: u32,
    /// The number of the segment.
    segment_at: usize,
    segment: &'a Segment<'o>,
    place: RecordPlace,
    /// The bytes of the record, with symbols.
    pub blob: &'o [u8],
}

/// One linked record, without its bytes.
pub(crate) struct LinkedRecord {
    pub id: u64,
    /// The name, if records of the entity are referred to.
    pub name: Option<String>,
    /// References to records that do not exist.
    pub dangling: u64,
}

impl<'a, 'o> RecordLinker<'a, 'o> {
    /// Links the taxonomy and keeps its tree. `source_types` come from an earlier pass.
    pub(crate) fn new(
        inputs: LinkInputs<'a, 'o>,
        source_types: SourceTypes,
    ) -> Result<RecordLinker<'a, 'o>> {
        // An empty tree fills in no relatives, so these are the relatives the sources give.
        let tree = TaxonomyTree::default();
        let bare = RecordLinker { inputs, tree, source_types, old: None };
        let tree = bare.read_tree()?;
        Ok(RecordLinker { tree, ..bare })
    }

    /// Makes a linker with a given tree, which may have nodes without a record.
    pub(crate) fn with_tree(
        inputs: LinkInputs<'a, 'o>,
        source_types: SourceTypes,
        tree: TaxonomyTree,
    ) -> RecordLinker<'a, 'o> {
        RecordLinker { inputs, tree, source_types, old: None }
    }

    pub(crate) fn tree(&self) -> &TaxonomyTree {
        &self.tree
    }

    /// The code of the type of the source in a row.
    pub(crate) fn source_type(&self, row: u32) -> Option<u32> {
        self.source_types.get(row)
    }

    fn read_tree(&self) -> Result<TaxonomyTree> {
        let mut tree = TaxonomyTree::default();
        for entity in Entity::taxonomy() {
            let blobs = (0..self.inputs.record_count(entity))
                .map(|row| self.blob(entity, row))
                .collect::<Result<Vec<_>>>()?;
            let by_id = self.inputs.rows[entity as usize].by_id.iter().map(|pair| pair.row);
            tree.add_level(entity, by_id, &blobs)?;
        }
        Ok(tree)
    }

    /// Links the record of a row and returns its bytes.
    pub(crate) fn blob(&self, entity: Entity, row: usize) -> Result<Vec<u8>> {
        let mut blob = Vec::new();
        self.link(entity, &self.locate(entity, row)?, &mut blob)?;
        Ok(blob)
    }

    /// Finds the record of a row.
    pub(crate) fn locate(&self, entity: Entity, row: usize) -> Result<LocatedRecord<'a, 'o>> {
        let row = u32::try_from(row).map_err(|_| inconsistent_object())?;
        let (segment_at, segment, place) =
            self.inputs.locate(entity, row).ok_or_else(inconsistent_object)?;
        let blob = segment.blob(&place).ok_or_else(inconsistent_object)?;
        Ok(LocatedRecord { row, segment_at, segment, place, blob })
    }

    /// Finds where to copy the record of a row from.
    pub(crate) fn copy_from(&self, entity: Entity, row: usize) -> Result<CopyFrom<'a, 'o>> {
        match self.old.as_ref().and_then(|old| old.row(entity, row)) {
            Some(old_row) => Ok(CopyFrom::Previous(old_row)),
            None => self.locate(entity, row).map(CopyFrom::Object),
        }
    }

    /// Copies the record of a row to the end of `blobs`, from where it was found.
    pub(crate) fn copy(
        &self,
        entity: Entity,
        row: usize,
        from: &CopyFrom<'_, '_>,
        blobs: &mut Vec<u8>,
    ) -> Result<LinkedRecord> {
        let old_row = match from {
            CopyFrom::Object(located) => return self.link(entity, located, blobs),
            CopyFrom::Previous(old_row) => *old_row,
        };
        let old = self.old.as_ref();
        let copied = old.map(|old| old.copy(&self.inputs, entity, old_row, blobs)).transpose()?;
        match copied.flatten() {
            Some(copied) => Ok(copied),
            None => self.link(entity, &self.locate(entity, row)?, blobs),
        }
    }

    /// Copies a record to the end of `blobs`, replaces its symbols by rows and completes it.
    pub(crate) fn link(
        &self,
        entity: Entity,
        located: &LocatedRecord<'_, '_>,
        blobs: &mut Vec<u8>,
    ) -> Result<LinkedRecord> {
        let LocatedRecord { row, segment_at, segment, place, blob } = *located;
        let resolved = self.inputs.resolved;
        let row_of = |symbol: u32| resolved.number(entity, segment_at, segment, symbol);

        let stored = record::access(blob).map_err(|_| inconsistent_object())?;
        let RecordBytes { packed, long_texts } = stored;
        let mut copy = RenumberedCopy::new(packed).map_err(|_| inconsistent_object())?;
        let mut is_complete = true;
        let mut replace = |slot: SlotNumber, number: Option<u32>| match number {
            Some(number) => copy.put(slot, number),
            None => is_complete = false,
        };
        let mut dangling = 0;
        let mut name = None;
        with_record!(entity, R => {
            if entity.facts().is_referenced {
                let found = <R as Record>::name(packed).map_err(|_| inconsistent_object())?;
                name = found.map(str::to_owned);
            }
            let visited = record::visit_slots::<R>(packed, &mut |slot| match slot {
                Slot::Reference(target, symbol) => {
                    let row = row_of(symbol.number());
                    if let (Some(old), Some(target_row)) = (&self.old, row) {
                        old.changes.add_reference((entity, located.row), (target, target_row));
                    }
                    let is_dangling = self.is_dangling(segment, symbol.number(), target, row);
                    dangling += u64::from(is_dangling);
                    replace(symbol, row);
                }
                Slot::Code(symbol) | Slot::Copy(_, symbol) => replace(symbol, row_of(symbol.number())),
                Slot::SourceType { source, code } => {
                    let row = row_of(source.number());
                    let own = row.and_then(|row| self.source_types.get(row));
                    if let (Some(old), Some(row)) = (&self.old, row) {
                        old.changes.add_reference((entity, located.row), (Entity::Source, row));
                    }
                    let given = match code.number() {
                        NO_CODE => Some(NO_CODE),
                        given => row_of(given),
                    };
                    replace(source, row);
                    replace(code, own.filter(|own| *own != NO_CODE).or(given));
                }
            });
            visited.map_err(|_| inconsistent_object())?;
        });
        if !is_complete {
            return Err(inconsistent_object());
        }
        let mut linked = Vec::new();
        copy.finish(&mut linked);
        let linked = self.complete(entity, row, &place, linked)?;
        append_record(&linked, long_texts, blobs)?;
        Ok(LinkedRecord { id: place.id, name, dangling })
    }

    /// Fills in null members of a taxonomy node, and adds the members of side tables. Takes and returns
    /// packed records.
    fn complete(
        &self,
        entity: Entity,
        row: u32,
        place: &RecordPlace,
        packed: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let mut packed = packed;
        if entity.facts().taxonomy_level.is_some() {
            let sums = self.inputs.sums.get(&entity).and_then(|sums| sums.get(&place.id));
            let sum = (place.origin != Origin::Own).then(|| sums.copied().unwrap_or_default());
            packed = self.tree.complete(entity, row, &packed, sum)?;
        }
        let codes = &self.inputs.resolved.unresolved;
        Ok(self.inputs.side_tables.complete(entity, &packed, codes)?.unwrap_or(packed))
    }

    /// Whether a reference by id leads to a row without a record. Reads the symbol of such rows only.
    fn is_dangling(
        &self,
        segment: &Segment<'_>,
        symbol: u32,
        target: Entity,
        row: Option<u32>,
    ) -> bool {
        row.is_some_and(|row| row as usize >= self.inputs.record_count(target))
            && segment.symbols.subject(symbol).is_some_and(|(_, id)| id != NO_ID)
    }
}
