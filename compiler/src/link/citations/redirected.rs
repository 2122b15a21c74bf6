//! Finds the records whose references lead elsewhere because a merge is new, undone or another.

use pinakes_format::entity::Entity;
use pinakes_format::schema::{Direction, keys_of};
use pinakes_format::storage::ReadError;

use crate::error::Result;
use crate::link::atomic_bitset::AtomicBitset;
use crate::link::context::{Linker, inconsistent_object};
use crate::link::record::inputs::LinkInputs;
use crate::link::record::old_records::{OldRecords, former_ends};
use crate::link::take_over::{TakeOver, TakenPart};
use crate::parallel;

/// Rows of a task.
const RANGE_ROWS: u32 = 4_096;

impl Linker<'_> {
    /// Finds the records of an entity that refer to an id whose merge differs. They count as changed, because the number
    /// of a record's references is an order. `None` if no merge differs.
    pub(crate) fn find_redirected(
        &self,
        inputs: &LinkInputs<'_>,
        entity: Entity,
        old: &OldRecords<'_>,
    ) -> Result<Option<AtomicBitset>> {
        let changes = old.changes.of(entity);
        if !keys_of(entity).has_citations() || changes.redirected.is_empty() {
            return Ok(None);
        }
        let count = inputs.record_count(entity);
        // Few records referred to these ids. If the previous snapshot cannot tell which, all records are read.
        let citing = citing_rows(old, entity, count);
        let citing = citing.map_err(TakeOver::at(entity, None::<u32>));
        let citing = self.not_taken_over.or_note(TakenPart::References, entity, citing)?;
        let may_refer = |row: &u32| citing.as_ref().is_none_or(|rows| rows.contains(*row as usize));
        let found = AtomicBitset::new(count);
        let find = |row| {
            let (_, segment, place) = inputs.locate(entity, row).ok_or_else(inconsistent_object)?;
            let mut ids = Vec::new();
            segment.references(&place, &mut ids).ok_or_else(inconsistent_object)?;
            if changes.has_redirected(&ids) {
                found.insert(row as usize);
            }
            Ok::<_, crate::error::Error>(())
        };
        let ranges = parallel::ranges(0..count as u32, RANGE_ROWS);
        parallel::try_map(ranges, |rows| rows.filter(may_refer).try_for_each(find))?;
        Ok(Some(found))
    }
}

/// The records, of `count`, that referred to an id that leads elsewhere now. A record with other references than
/// before has changed anyway.
fn citing_rows(
    old: &OldRecords<'_>,
    entity: Entity,
    count: usize,
) -> std::result::Result<AtomicBitset, ReadError> {
    let changes = old.changes.of(entity);
    let citations = old.snapshot.citations(entity)?;
    let citing = AtomicBitset::new(count);
    for row in former_ends(old.snapshot, entity, &changes.redirected)? {
        citations.rows(Direction::Citations, row)?.each(|old| {
            changes.new_row(old).inspect(|row| _ = citing.insert(*row as usize));
            true
        })?;
    }
    Ok(citing)
}
