//! Outputs and citations of institutions, summed by institution type.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::Institution;
use pinakes_format::snapshot::split_blob;

use crate::error::Result;
use crate::link::context::inconsistent_object;
use crate::link::merge::sums::add_up;
use crate::link::record::inputs::LinkInputs;

/// Outputs and citations by the code of the institutions' type.
pub(crate) type TypeSums = BTreeMap<u32, (u64, u64)>;

/// Sums up every institution by its type. One pass over the institutions, before any record is
/// linked.
pub(crate) fn read_type_sums(inputs: &LinkInputs<'_, '_>) -> Result<TypeSums> {
    let entity = Entity::Institution;
    let mut sums = TypeSums::new();
    for row in 0..inputs.record_count(entity) as u32 {
        let (segment_at, segment, key) =
            inputs.locate(entity, row).ok_or_else(inconsistent_object)?;
        let blob = segment.blob(&key).ok_or_else(inconsistent_object)?;
        let (archived, _) = split_blob(blob).ok_or_else(inconsistent_object)?;
        let institution = record::access::<Institution>(archived);
        let institution = institution.ok_or_else(inconsistent_object)?;
        let Some(code) = institution.kind.as_ref() else { continue };
        let code = inputs.resolved.number(entity, segment_at, segment, code.0.to_native());
        let count =
            |count: &rkyv::Archived<Option<u64>>| count.as_ref().map_or(0, |n| n.to_native());
        let sum = sums.entry(code.ok_or_else(inconsistent_object)?).or_default();
        let own = (count(&institution.outputs_count), count(&institution.cited_by_count));
        *sum = add_up(*sum, own);
    }
    Ok(sums)
}
