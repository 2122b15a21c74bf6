//! Every record of the inputs as a filter sees it: linked, in memory, before anything is written.

use std::{
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use pinakes_format::entity::Entity;
use pinakes_format::index::encoding::ReferenceLookup;
use pinakes_format::index::term_lists::{Term, text_term};
use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::json::render::RecordBytes;
use pinakes_format::record::{self, Gather, Gathered, NO_CODE, Output, PathTree, Record, Slot};
use pinakes_format::snapshot::RecordLookup;
use pinakes_format::storage::ReadError;
use pinakes_format::with_record;

use crate::error::Result;
use crate::link::atomic_bitset::AtomicBitset;
use crate::link::context::{broken_object, inconsistent_object};
use crate::link::merge::entity_rows::EntityRows;
use crate::link::record::linker::RecordLinker;
use crate::link::select::suppressed::Suppressed;
use crate::link::taxonomy::relatives;
use crate::parallel;

/// Rows of a task.
const RANGE_ROWS: u32 = 4_096;

/// Every record, suppressed ones included, which have no values and no names.
pub(crate) struct FullRecords<'p, 'a, 'o> {
    pub linker: &'p RecordLinker<'a, 'o>,
    /// By code, its text and its term.
    pub codes: Vec<(String, Term)>,
    pub suppressed: Suppressed,
    /// The outputs that others refer to. Filled on first use.
    cited: OnceLock<AtomicBitset>,
}

impl<'p, 'a, 'o> FullRecords<'p, 'a, 'o> {
    /// Reads the codes. Nothing is suppressed yet.
    pub(crate) fn new(linker: &'p RecordLinker<'a, 'o>) -> Result<FullRecords<'p, 'a, 'o>> {
        let unresolved = &linker.inputs.resolved.unresolved;
        let codes = unresolved.codes().map(|index| {
            let text = unresolved.get(index)?.name?;
            Some((text.to_string(), text_term(&text.to_ascii_lowercase())))
        });
        let codes = codes.collect::<Option<Vec<_>>>().ok_or_else(inconsistent_object)?;
        let (suppressed, cited) = (Suppressed::default(), OnceLock::new());
        Ok(FullRecords { linker, codes, suppressed, cited })
    }

    fn rows(&self, entity: Entity) -> &EntityRows {
        &self.linker.inputs.rows[entity as usize]
    }

    /// Counts an entity's rows, unresolved references included.
    pub(crate) fn all_rows(&self, entity: Entity) -> u32 {
        // The writer limits rows to u32.
        let unresolved = &self.linker.inputs.resolved.unresolved;
        self.count(entity) + unresolved.range(entity as u8).len() as u32
    }

    /// The rows of the unresolved references with an id. An empty range starts at the first one with
    /// a greater id.
    pub(crate) fn unresolved_with(&self, entity: Entity, id: u64) -> Range<u32> {
        let unresolved = &self.linker.inputs.resolved.unresolved;
        let indices = unresolved.with_id(entity as u8, id);
        let first = unresolved.range(entity as u8).start;
        let row = |index: usize| self.count(entity) + (index - first) as u32;
        row(indices.start)..row(indices.end)
    }

    /// Calls `visit` with each row a record refers to and its entity, and with each code and `None`.
    pub(crate) fn each_target(
        &self,
        entity: Entity,
        row: u32,
        mut visit: impl FnMut(Option<Entity>, u32) -> Result<()>,
    ) -> Result<()> {
        let inputs = &self.linker.inputs;
        let (segment_at, segment, place) =
            inputs.locate(entity, row).ok_or_else(inconsistent_object)?;
        let blob = segment.blob(&place).ok_or_else(inconsistent_object)?;
        let packed = record::access(blob).map_err(broken_object(entity, row))?.packed;
        let mut visit_symbol = |symbol: u32| {
            let (kind, _) = segment.symbols.subject(symbol).ok_or_else(inconsistent_object)?;
            let number = inputs.resolved.number(entity, segment_at, segment, symbol);
            let number = number.ok_or_else(inconsistent_object)?;
            visit(Entity::from_index(kind), number)
        };
        // A visitor of slots cannot fail, so that the first error is kept.
        let mut outcome = Ok(());
        let mut visit_until_error = |symbol: u32| {
            if outcome.is_ok() {
                outcome = visit_symbol(symbol);
            }
        };
        with_record!(entity, R => {
            let visited = record::visit_slots::<R>(packed, &mut |slot| match slot {
                Slot::Reference(_, at) | Slot::Code(at) | Slot::Copy(_, at) => {
                    visit_until_error(at.number());
                }
                Slot::SourceType { source, code } => {
                    visit_until_error(source.number());
                    if code.number() != NO_CODE {
                        visit_until_error(code.number());
                    }
                }
            });
            visited.map_err(broken_object(entity, row))?;
        });
        outcome?;
        if entity == Entity::Output {
            let (mut ids, award) = (Vec::new(), Entity::Award);
            named_awards(packed, &mut ids).map_err(broken_object(entity, row))?;
            let of_awards = self.rows(award);
            let rows = ids
                .into_iter()
                .filter_map(|id| of_awards.by_id.row_of(of_awards.redirects.end(id)));
            // A text needs no placeholder of a suppressed record.
            rows.filter(|row| !self.suppressed.has(award, *row))
                .try_for_each(|row| visit(Some(award), row))?;
        }
        // The siblings and children of a taxonomy node may come from the tree instead of the record.
        if entity.facts().taxonomy_level.is_some() {
            let blob = self.linker.blob(entity, row as usize)?;
            for (entity, row) in relatives(entity, &blob).ok_or_else(inconsistent_object)? {
                visit(Some(entity), row)?;
            }
        }
        Ok(())
    }
}

/// Appends the numbers of the awards that an output names. Outputs have the ids of awards as texts, because most awards of
/// older dumps have no record.
fn named_awards(packed: &[u8], numbers: &mut Vec<u64>) -> std::result::Result<(), ReadError> {
    static AWARDS: LazyLock<PathTree> =
        LazyLock::new(|| record::tree_of(Entity::Output, &["funders.awards.id"]));
    Output::gather(&mut RecordReader::new(packed)?, &AWARDS, &mut |_, value| {
        if let Gathered::Text(id) = value {
            numbers.extend(Entity::Award.parse_id(id));
        }
    })
}

fn no_record() -> ReadError {
    ReadError::corrupt("objects", "a row has no record")
}

impl ReferenceLookup for FullRecords<'_, '_, '_> {
    fn count(&self, entity: Entity) -> u32 {
        // The merge refuses entities with more rows than u32 has numbers.
        self.linker.inputs.record_count(entity) as u32
    }

    fn is_suppressed(&self, entity: Entity, row: u32) -> bool {
        self.suppressed.has(entity, row)
    }

    fn row_id(&self, entity: Entity, row: u32) -> std::result::Result<u64, ReadError> {
        let id = match self.linker.inputs.locate(entity, row) {
            Some((.., place)) => Some(place.id),
            None => self.linker.inputs.unresolved(entity, row).map(|symbol| symbol.id),
        };
        id.ok_or_else(no_record)
    }

    fn row_name(&self, entity: Entity, row: u32) -> std::result::Result<Option<&str>, ReadError> {
        if self.suppressed.has(entity, row) {
            return Ok(None);
        }
        let Some((_, segment, place)) = self.linker.inputs.locate(entity, row) else {
            let symbol = self.linker.inputs.unresolved(entity, row);
            return symbol.map(|symbol| symbol.name).ok_or_else(no_record);
        };
        let packed = record::access(segment.blob(&place).ok_or_else(no_record)?)?.packed;
        with_record!(entity, R => <R as Record>::name(packed))
    }

    fn code_term(&self, code: u32) -> std::result::Result<Term, ReadError> {
        let code = self.codes.get(code as usize);
        code.map(|(_, term)| *term).ok_or(ReadError::corrupt("objects", "a code is in no table"))
    }

    fn code_text(&self, code: u32) -> std::result::Result<&str, ReadError> {
        let code = self.codes.get(code as usize);
        code.map(|(text, _)| text.as_str())
            .ok_or(ReadError::corrupt("objects", "a code is in no table"))
    }
}

impl RecordLookup for FullRecords<'_, '_, '_> {
    fn merged_into(&self, entity: Entity, id: u64) -> std::result::Result<u64, ReadError> {
        Ok(self.rows(entity).redirects.end(id))
    }

    fn rows_with(&self, entity: Entity, id: u64) -> std::result::Result<Range<u32>, ReadError> {
        match self.rows(entity).by_id.row_of(id) {
            Some(row) => Ok(row..row + 1),
            None => Ok(self.unresolved_with(entity, id)),
        }
    }

    fn references(&self, entity: Entity, row: u32) -> std::result::Result<Vec<u64>, ReadError> {
        let mut ids = Vec::new();
        if !self.suppressed.has(entity, row) {
            self.linker.inputs.references(entity, row, &mut ids).ok_or_else(no_record)?;
        }
        Ok(ids)
    }

    fn is_cited(&self, entity: Entity, row: u32) -> std::result::Result<bool, ReadError> {
        if let Some(cited) = self.cited.get() {
            return Ok(cited.contains(row as usize));
        }
        let cited = AtomicBitset::new(self.count(entity) as usize);
        let mark_cited = |citing| {
            for id in self.references(entity, citing)? {
                if let Some(row) = self.rows(entity).by_id.row_of(id) {
                    cited.insert(row as usize);
                }
            }
            Ok::<_, ReadError>(())
        };
        let ranges = parallel::ranges(0..self.count(entity), RANGE_ROWS);
        parallel::try_map(ranges, |mut rows| rows.try_for_each(mark_cited))?;
        Ok(self.cited.get_or_init(|| cited).contains(row as usize))
    }

    fn gather(
        &self,
        entity: Entity,
        row: u32,
        tree: &PathTree,
        visit: &mut dyn FnMut(usize, Gathered<'_>),
    ) -> std::result::Result<(), ReadError> {
        if self.suppressed.has(entity, row) {
            return Ok(());
        }
        let unlinkable = |_| ReadError::corrupt("objects", "a record cannot be linked");
        let blob = self.linker.blob(entity, row as usize).map_err(unlinkable)?;
        let from = &mut RecordReader::new(record::access(&blob)?.packed)?;
        with_record!(entity, R => R::gather(from, tree, &mut |end, value| visit(end, value)))
    }

    fn record_bytes(
        &self,
        entity: Entity,
        row: u32,
        visit: &mut dyn FnMut(RecordBytes<'_>) -> std::result::Result<(), ReadError>,
    ) -> std::result::Result<(), ReadError> {
        if self.suppressed.has(entity, row) {
            return Ok(());
        }
        let unlinkable = |_| ReadError::corrupt("objects", "a record cannot be linked");
        let blob = self.linker.blob(entity, row as usize).map_err(unlinkable)?;
        visit(record::access(&blob)?)
    }
}
