//! The code of each source's type, which the venues of outputs repeat.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;
use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::record;
use pinakes_format::record::{Code, NO_CODE, Source, Stored, StoredObject, Table};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::error::Result;
use crate::link::context::{broken_object, inconsistent_object};
use crate::link::record::inputs::LinkInputs;
use crate::link::record::linker::RecordLinker;
use crate::link::take_over::TakeOver;
use crate::parallel;

/// Rows of a task.
const RANGE_ROWS: u32 = 4_096;

type SourceType = Code<{ Table::SourceType as u8 }>;

/// The code of each source's type, or [`NO_CODE`].
#[derive(Default)]
pub(crate) struct SourceTypes {
    by_row: Vec<u32>,
    /// The same for placeholders of suppressed sources: venues keep showing the type.
    by_placeholder: BTreeMap<u32, u32>,
}

/// The code of the type in a record, or [`NO_CODE`].
fn code_of(record: &mut RecordReader<'_>) -> std::result::Result<u32, ReadError> {
    let mut members = Source::locate(record)?;
    let kind = <Option<SourceType>>::read(&mut members[const { Source::index_of("kind") }])?;
    Ok(kind.map_or(NO_CODE, |kind| kind.0))
}

impl RecordLinker<'_, '_> {
    /// Whether a row has another type than a row of an earlier snapshot. False for all but sources.
    pub(crate) fn has_other_source_type(
        &self,
        entity: Entity,
        row: u32,
        earlier: &Snapshot,
        earlier_row: u32,
    ) -> std::result::Result<bool, TakeOver> {
        if entity != Entity::Source {
            return Ok(false);
        }
        let codes = &self.inputs.resolved.unresolved;
        let code = self.source_type(row).filter(|code| *code != NO_CODE);
        let text = code.map(|code| codes.code_text(code).ok_or_else(inconsistent_object));
        let earlier_text = earlier_type(earlier, earlier_row);
        Ok(text.transpose()? != earlier_text.map_err(TakeOver::at(entity, earlier_row))?)
    }
}

/// The text of the type of a source in an earlier snapshot.
fn earlier_type(earlier: &Snapshot, row: u32) -> std::result::Result<Option<&str>, ReadError> {
    let record = earlier.reader(Entity::Source, row)?;
    let mut record = record.ok_or(ReadError::corrupt("records", "a source has no record"))?;
    let code = Some(code_of(&mut record)?).filter(|code| *code != NO_CODE);
    code.map(|code| earlier.code(code)).transpose()
}

impl SourceTypes {
    /// Reads the type of every source. One pass over the sources, before any record is linked.
    pub(crate) fn read(
        inputs: &LinkInputs<'_>,
        by_placeholder: BTreeMap<u32, u32>,
    ) -> Result<SourceTypes> {
        let type_of = |row| {
            let (segment_at, segment, place) =
                inputs.locate(Entity::Source, row).ok_or_else(inconsistent_object)?;
            let blob = segment.blob(&place).ok_or_else(inconsistent_object)?;
            let code = record::access(blob)
                .and_then(|stored| code_of(&mut RecordReader::new(stored.packed)?))
                .map_err(broken_object(Entity::Source, row))?;
            if code == NO_CODE {
                return Ok(NO_CODE);
            }
            let number = inputs.resolved.number(Entity::Source, segment_at, segment, code);
            number.ok_or_else(inconsistent_object)
        };
        let ranges = parallel::ranges(0..inputs.record_count(Entity::Source) as u32, RANGE_ROWS);
        let by_range =
            parallel::try_map(ranges, |rows| rows.map(type_of).collect::<Result<Vec<_>>>())?;
        Ok(SourceTypes { by_row: by_range.concat(), by_placeholder })
    }

    /// The code of the type of the source, or of the suppressed source, in a row. `None` for other
    /// rows without a record.
    pub(crate) fn get(&self, row: u32) -> Option<u32> {
        let own = self.by_row.get(row as usize);
        own.or_else(|| self.by_placeholder.get(&row)).copied()
    }
}
