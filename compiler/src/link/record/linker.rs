//! Copies one record, replaces its symbols by rows and completes it.

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::render::RecordBytes;
use pinakes_format::record::{self, NO_CODE, Record, RenumberedCopy, Slot, SlotNumber};
use pinakes_format::with_record;
use rkyv::ser::allocator::Arena;

use crate::error::Result;
use crate::link::context::{broken_object, inconsistent_object};
use crate::link::record::inputs::LinkInputs;
use crate::link::record::source_types::SourceTypes;
use crate::link::resolve::changes::Changes;
use crate::link::resolve::taxonomy_tree::TaxonomyTree;
use crate::object::{Origin, RecordPlace, Segment};
use crate::parallel;

/// Rows of the taxonomy that a task links.
const RANGE_ROWS: u32 = 256;

/// Links records of merged and resolved inputs. Immutable, so that all threads share it.
pub(crate) struct RecordLinker<'a, 'o> {
    pub inputs: &'a LinkInputs<'o>,
    tree: TaxonomyTree,
    source_types: SourceTypes,
}

/// Appends a linked record.
pub(crate) fn append_record(packed: &[u8], long_texts: &[u8], blobs: &mut Vec<u8>) -> Result<()> {
    let stored = record::store(packed, long_texts, &mut Arena::new(), blobs);
    stored.map_err(|_| inconsistent_object())
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
    /// Whether the record refers to a row that the previous snapshot called something else.
    pub refers_to_altered: bool,
}

impl<'a, 'o> RecordLinker<'a, 'o> {
    /// Links the taxonomy and keeps its tree. `source_types` come from an earlier pass.
    pub(crate) fn new(
        inputs: &'a LinkInputs<'o>,
        source_types: SourceTypes,
    ) -> Result<RecordLinker<'a, 'o>> {
        // An empty tree fills in no relatives, so these are the relatives the sources give.
        let tree = TaxonomyTree::default();
        let bare = RecordLinker { inputs, tree, source_types };
        let tree = bare.read_tree()?;
        Ok(RecordLinker { tree, ..bare })
    }

    /// Makes a linker with a given tree, which may have nodes without a record.
    pub(crate) fn with_tree(
        inputs: &'a LinkInputs<'o>,
        source_types: SourceTypes,
        tree: TaxonomyTree,
    ) -> RecordLinker<'a, 'o> {
        RecordLinker { inputs, tree, source_types }
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
            let ranges = parallel::ranges(0..self.inputs.record_count(entity) as u32, RANGE_ROWS);
            let blobs = parallel::try_map(ranges, |rows| {
                rows.map(|row| self.blob(entity, row as usize)).collect::<Result<Vec<_>>>()
            })?
            .concat();
            let by_id = self.inputs.rows[entity as usize].by_id.iter().map(|pair| pair.row);
            tree.add_level(entity, by_id, &blobs)?;
        }
        Ok(tree)
    }

    /// Links the record of a row and returns its bytes.
    pub(crate) fn blob(&self, entity: Entity, row: usize) -> Result<Vec<u8>> {
        let mut blob = Vec::new();
        self.link(entity, &self.locate(entity, row)?, None, &mut blob)?;
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

    /// Loads the rows of the symbols of records, before they are linked one after another.
    pub(crate) fn load_rows<'l>(
        &self,
        entity: Entity,
        records: impl Iterator<Item = &'l LocatedRecord<'a, 'o>>,
    ) -> Result<()>
    where
        'a: 'l,
        'o: 'l,
    {
        let mut symbols = Vec::new();
        for LocatedRecord { row, segment_at, blob, .. } in records {
            let mut add = |slot| match slot {
                Slot::Reference(_, symbol) | Slot::Code(symbol) => {
                    symbols.push((*segment_at, SlotNumber::number(symbol)));
                }
                // A copy has the symbol of a reference, and venues have few sources.
                Slot::Copy(..) | Slot::SourceType { .. } => {}
            };
            with_record!(entity, R => {
                record::access(blob)
                    .and_then(|stored| record::visit_slots::<R>(stored.packed, &mut add))
                    .map_err(broken_object(entity, *row))?;
            });
        }
        self.inputs.resolved.load_together(entity, &symbols);
        Ok(())
    }

    /// Copies a record to the end of `blobs`, replaces its symbols by rows and completes it. `changes` are the
    /// differences from the previous snapshot, if the link takes anything over.
    pub(crate) fn link(
        &self,
        entity: Entity,
        located: &LocatedRecord<'_, '_>,
        changes: Option<&Changes>,
        blobs: &mut Vec<u8>,
    ) -> Result<LinkedRecord> {
        let LocatedRecord { row, segment_at, segment, place, blob } = *located;
        let resolved = &self.inputs.resolved;
        let row_of = |symbol: u32| resolved.number(entity, segment_at, segment, symbol);
        let is_altered = |target: Entity, row: Option<u32>| {
            changes.zip(row).is_some_and(|(changes, row)| changes.is_altered(target, row))
        };

        let RecordBytes { packed, long_texts } =
            record::access(blob).map_err(broken_object(entity, row))?;
        let mut copy = RenumberedCopy::new(packed).map_err(broken_object(entity, row))?;
        let mut is_complete = true;
        let mut replace = |slot: SlotNumber, number: Option<u32>| match number {
            Some(number) => copy.put(slot, number),
            None => is_complete = false,
        };
        let (mut dangling, mut refers_to_altered, mut name) = (0, false, None);
        with_record!(entity, R => {
            // The names file holds what other records call this one.
            if entity.facts().is_referenced {
                let found = <R as Record>::name(packed).map_err(broken_object(entity, row))?;
                name = found.map(str::to_owned);
            }
            // Every number of a row or a code in the record is a symbol of its segment.
            let visited = record::visit_slots::<R>(packed, &mut |slot| match slot {
                Slot::Reference(target, symbol) => {
                    let row = row_of(symbol.number());
                    refers_to_altered |= is_altered(target, row);
                    let is_dangling = self.is_dangling(segment, symbol.number(), target, row);
                    dangling += u64::from(is_dangling);
                    replace(symbol, row);
                }
                Slot::Code(symbol) | Slot::Copy(_, symbol) => replace(symbol, row_of(symbol.number())),
                Slot::SourceType { source, code } => {
                    // A venue repeats the type of its source. The source's own record knows better.
                    let row = row_of(source.number());
                    let own = row.and_then(|row| self.source_types.get(row));
                    refers_to_altered |= is_altered(Entity::Source, row);
                    let given = match code.number() {
                        NO_CODE => Some(NO_CODE),
                        given => row_of(given),
                    };
                    replace(source, row);
                    replace(code, own.filter(|own| *own != NO_CODE).or(given));
                }
            });
            visited.map_err(broken_object(entity, row))?;
        });
        if !is_complete {
            return Err(inconsistent_object());
        }
        let mut linked = Vec::new();
        copy.finish(&mut linked);
        // Taxonomy and side tables add members, which changes the length of the record.
        let linked = self.complete(entity, row, &place, linked)?;
        append_record(&linked, long_texts, blobs)?;
        Ok(LinkedRecord { id: place.id, name, dangling, refers_to_altered })
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
