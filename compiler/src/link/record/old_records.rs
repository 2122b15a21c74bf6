//! Copies unchanged records from the previous snapshot.
//!
//! ```text
//! previous snapshot    row 4: "Tides" by author 7, in language 3
//! this link            row 5: "Tides" by author 9, in language 2      author 7 → 9, language 3 → 2
//! ```
//!
//! A copy has the bytes that linking the record again would give. Old rows lie in the order of the new ones, and one
//! table of each entity tells where rows moved. Linking reads records from all over the objects, and looks each
//! symbol up in a table of its segment.

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::render::RecordBytes;
use pinakes_format::record;
use pinakes_format::record::{NO_CODE, Record, RenumberedCopy, Slot, TABLE_FIRST, TABLE_NAMES};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::ReadError;
use pinakes_format::with_record;

use crate::link::record::inputs::LinkInputs;
use crate::link::record::linker::{LinkedRecord, append_record};
use crate::link::resolve::changes::Changes;
use crate::link::resolve::unresolved::UnresolvedSymbols;
use crate::link::take_over::TakeOver;
use crate::object::Symbol;

/// The records of the previous snapshot.
pub(crate) struct OldRecords<'a> {
    pub snapshot: &'a Snapshot,
    /// The differences from the previous snapshot. Writing the records of an entity finds more changed ones.
    pub changes: Changes,
    /// For each code of the previous snapshot, its number now; `None` if there is no such code any more.
    codes: Vec<Option<u32>>,
}

impl<'a> OldRecords<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        changes: Changes,
        codes: &UnresolvedSymbols,
    ) -> Result<OldRecords<'a>, ReadError> {
        let mut numbers = Vec::with_capacity(snapshot.codes() as usize);
        for kind in (TABLE_FIRST..).take(TABLE_NAMES.len()) {
            for code in snapshot.codes_of(kind)? {
                let symbol = Symbol { kind, id: NO_ID, name: Some(snapshot.code(code)?) };
                numbers.push(codes.find(symbol).map(|index| codes.code_number(index)));
            }
        }
        Ok(OldRecords { snapshot, changes, codes: numbers })
    }

    /// The row of a record in the previous snapshot, if the record is unchanged.
    pub(crate) fn row(&self, entity: Entity, row: usize) -> Option<u32> {
        self.changes.of(entity).old_row(u32::try_from(row).ok()?)
    }

    /// Copies the record of an old row to the end of `blobs`. `None`, with `blobs` as before, if the record refers to
    /// a row that is altered or no more.
    pub(crate) fn copy(
        &self,
        inputs: &LinkInputs<'_>,
        entity: Entity,
        old_row: u32,
        blobs: &mut Vec<u8>,
    ) -> Result<Option<LinkedRecord>, TakeOver> {
        let mut renumbered = Vec::new();
        let copied = self.renumber(inputs, entity, old_row, &mut renumbered);
        let Some((linked, long_texts)) = copied.map_err(TakeOver::at(entity, old_row))? else {
            return Ok(None);
        };
        append_record(&renumbered, long_texts, blobs)?;
        Ok(Some(linked))
    }

    /// Copies the members of an old record. Returns the frame of its long texts, too.
    fn renumber(
        &self,
        inputs: &LinkInputs<'_>,
        entity: Entity,
        old_row: u32,
        renumbered: &mut Vec<u8>,
    ) -> Result<Option<(LinkedRecord, &'a [u8])>, ReadError> {
        let RecordBytes { packed, long_texts } = self.snapshot.stored(entity, old_row)?;
        let mut copy = RenumberedCopy::new(packed)?;
        let (mut is_whole, mut dangling, mut name) = (true, 0, None);
        with_record!(entity, R => {
            if entity.facts().is_referenced {
                name = <R as Record>::name(packed)?.map(str::to_owned);
            }
            record::visit_slots::<R>(packed, &mut |slot| {
                let mut put = |slot, number: Option<u32>| match number {
                    Some(number) => copy.put(slot, number),
                    // The record says something else now: it must be linked again.
                    None => is_whole = false,
                };
                match slot {
                    Slot::Reference(target, old) => {
                        let row = self.target(target, old.number());
                        dangling += u64::from(row.is_some_and(|row| is_dangling(inputs, target, row)));
                        put(old, row);
                    }
                    Slot::Copy(target, old) => put(old, self.target(target, old.number())),
                    Slot::Code(old) => put(old, self.code(old.number())),
                    Slot::SourceType { source, code } => {
                        put(source, self.target(Entity::Source, source.number()));
                        put(code, match code.number() {
                            NO_CODE => Some(NO_CODE),
                            old => self.code(old),
                        });
                    }
                }
            })?;
        });
        if !is_whole {
            return Ok(None);
        }
        let id = self.snapshot.row_id(entity, old_row)?;
        copy.finish(renumbered);
        let linked = LinkedRecord { id, name, dangling, refers_to_altered: false };
        Ok(Some((linked, long_texts)))
    }

    /// The row that a record refers to, if it looks as before.
    fn target(&self, entity: Entity, old: u32) -> Option<u32> {
        let changes = self.changes.of(entity);
        let is_same = |row: &u32| {
            let row = *row as usize;
            !changes.altered.contains(row) && !changes.former_ends.contains(row)
        };
        changes.new_row(old).filter(is_same)
    }

    fn code(&self, old: u32) -> Option<u32> {
        self.codes.get(old as usize).copied().flatten()
    }
}

/// The rows of a snapshot to which ids led: those of the ids' merges, or else of the ids themselves. Ascending, each
/// once.
pub(crate) fn former_ends(
    snapshot: &Snapshot,
    entity: Entity,
    ids: &[u64],
) -> Result<Vec<u32>, ReadError> {
    let end_of = |id: &u64| match snapshot.find(entity, *id)? {
        LookupResult::Merged(end) => Ok(end),
        LookupResult::Row(_) | LookupResult::Absent => Ok(*id),
    };
    let mut ends = ids.iter().map(end_of).collect::<Result<Vec<u64>, ReadError>>()?;
    // Many ids may have been merged into one, which may have a row for each spelling of its name.
    ends.sort_unstable();
    ends.dedup();
    let mut rows = Vec::new();
    for end in ends {
        match snapshot.find(entity, end)? {
            LookupResult::Row(row) => rows.push(row),
            LookupResult::Merged(_) | LookupResult::Absent => {
                rows.extend(snapshot.unresolved_rows(entity, end)?);
            }
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

/// Whether a row has an id, but no record.
fn is_dangling(inputs: &LinkInputs<'_>, entity: Entity, row: u32) -> bool {
    inputs.unresolved(entity, row).is_some_and(|symbol| symbol.id != NO_ID)
}
