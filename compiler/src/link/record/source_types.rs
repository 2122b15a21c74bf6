//! The code of each source's type, which the venues of outputs repeat.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;
use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::record;
use pinakes_format::record::Source;
use pinakes_format::record::stored::{Object, Stored};
use pinakes_format::record::value::{Code, NO_CODE, Table};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use rayon::prelude::*;

use crate::error::Result;
use crate::link::context::{inconsistent_object, readable};
use crate::link::record::inputs::LinkInputs;
use crate::link::record::linker::RecordLinker;

/// The type of a source.
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
    ) -> Result<bool> {
        if entity != Entity::Source {
            return Ok(false);
        }
        let codes = &self.inputs.resolved.unresolved;
        let code = self.source_type(row).filter(|code| *code != NO_CODE);
        let text = code.map(|code| codes.code_text(code).ok_or_else(inconsistent_object));
        let mut record =
            readable(earlier.reader(entity, earlier_row))?.ok_or_else(inconsistent_object)?;
        let earlier_code = Some(readable(code_of(&mut record))?).filter(|code| *code != NO_CODE);
        let earlier_text = earlier_code.map(|code| readable(earlier.code(code)));
        Ok(text.transpose()? != earlier_text.transpose()?)
    }
}

impl SourceTypes {
    /// Reads the type of every source. One pass over the sources, before any record is linked.
    pub(crate) fn read(
        inputs: &LinkInputs<'_, '_>,
        by_placeholder: BTreeMap<u32, u32>,
    ) -> Result<SourceTypes> {
        let type_of = |row| {
            let (segment_at, segment, place) = inputs.locate(Entity::Source, row)?;
            let packed = record::access(segment.blob(&place)?).ok()?.packed;
            let code = code_of(&mut RecordReader::new(packed).ok()?).ok()?;
            if code == NO_CODE {
                return Some(NO_CODE);
            }
            inputs.resolved.number(Entity::Source, segment_at, segment, code)
        };
        let by_row = (0..inputs.record_count(Entity::Source) as u32)
            .into_par_iter()
            .map(|row| type_of(row).ok_or_else(inconsistent_object))
            .collect::<Result<_>>()?;
        Ok(SourceTypes { by_row, by_placeholder })
    }

    /// The code of the type of the source, or of the suppressed source, in a row. `None` for other
    /// rows without a record.
    pub(crate) fn get(&self, row: u32) -> Option<u32> {
        let own = self.by_row.get(row as usize);
        own.or_else(|| self.by_placeholder.get(&row)).copied()
    }
}
