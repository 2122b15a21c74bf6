//! Outputs and citations of institutions, summed by institution type.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;
use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::record;
use pinakes_format::record::{Code, Institution, Stored, StoredObject, Table};
use pinakes_format::storage::ReadError;

use crate::error::Result;
use crate::link::context::{broken_object, inconsistent_object};
use crate::link::record::inputs::LinkInputs;
use crate::link::taxonomy::Sum;

/// Outputs and citations by the code of the institutions' type.
pub(crate) type TypeSums = BTreeMap<u32, Sum>;

/// Sums up every institution by its type. One pass over the institutions, before any record is
/// linked.
pub(crate) fn read_type_sums(inputs: &LinkInputs<'_>) -> Result<TypeSums> {
    let entity = Entity::Institution;
    let mut sums = TypeSums::new();
    for row in 0..inputs.record_count(entity) as u32 {
        let (segment_at, segment, place) =
            inputs.locate(entity, row).ok_or_else(inconsistent_object)?;
        let blob = segment.blob(&place).ok_or_else(inconsistent_object)?;
        let counts = record::access(blob).and_then(|stored| read_counts(stored.packed));
        let (code, own) = counts.map_err(broken_object(entity, row))?;
        let Some(code) = code else { continue };
        let code = inputs.resolved.number(entity, segment_at, segment, code);
        sums.entry(code.ok_or_else(inconsistent_object)?).or_default().add(own);
    }
    Ok(sums)
}

/// Reads the type of an institution, and its outputs and citations.
fn read_counts(packed: &[u8]) -> std::result::Result<(Option<u32>, Sum), ReadError> {
    const KIND: usize = Institution::index_of("kind");
    const OUTPUTS: usize = Institution::index_of("outputs_count");
    const CITATIONS: usize = Institution::index_of("cited_by_count");
    let mut members = Institution::locate(&mut RecordReader::new(packed)?)?;
    let kind = <Option<Code<{ Table::InstitutionType as u8 }>>>::read(&mut members[KIND])?;
    let outputs = <Option<u64>>::read(&mut members[OUTPUTS])?.unwrap_or_default();
    let citations = <Option<u64>>::read(&mut members[CITATIONS])?.unwrap_or_default();
    Ok((kind.map(|kind| kind.0), Sum { outputs, citations }))
}
