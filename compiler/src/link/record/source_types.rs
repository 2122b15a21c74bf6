//! The code of each source's type, which the venues of outputs repeat.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::Source;
use pinakes_format::record::value::NO_CODE;
use pinakes_format::snapshot::split_blob;
use rayon::prelude::*;

use crate::error::Result;
use crate::link::context::inconsistent_object;
use crate::link::record::inputs::LinkInputs;

/// The code of each source's type, or [`NO_CODE`].
#[derive(Default)]
pub(crate) struct SourceTypes {
    by_row: Vec<u32>,
    /// The same for placeholders of suppressed sources: venues keep showing the type.
    by_placeholder: BTreeMap<u32, u32>,
}

impl SourceTypes {
    /// Reads the type of every source. One pass over the sources, before any record is linked.
    pub(crate) fn read(
        inputs: &LinkInputs<'_, '_>,
        by_placeholder: BTreeMap<u32, u32>,
    ) -> Result<SourceTypes> {
        let type_of = |row| {
            let (segment_at, segment, key) = inputs.locate(Entity::Source, row)?;
            let (archived, _) = split_blob(segment.blob(&key)?)?;
            let source = record::access::<Source>(archived)?;
            let Some(code) = source.kind.as_ref() else { return Some(NO_CODE) };
            inputs.resolved.number(Entity::Source, segment_at, segment, code.0.to_native())
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
