//! Adds the members of side tables to one linked record.

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::{Author, Institution, Record, Source};
use pinakes_format::snapshot::split_blob;

use crate::error::Result;
use crate::frontend::side::join_keys::JoinKeys;
use crate::link::context::inconsistent_object;
use crate::link::enrich::tables::SideTables;
use crate::link::enrich::{author, institution, source};
use crate::link::resolve::unresolved::UnresolvedSymbols;
use crate::link::taxonomy::frame;
use crate::object::side_table::SideTable;

impl SideTables<'_> {
    /// Returns a linked blob with the members of side tables; `None` if they add nothing.
    pub(crate) fn complete(
        &self,
        entity: Entity,
        blob: &[u8],
        codes: &UnresolvedSymbols,
    ) -> Result<Option<Vec<u8>>> {
        if !self.has_table_of(entity) {
            return Ok(None);
        }
        let (archived, _) = split_blob(blob).ok_or_else(inconsistent_object)?;
        match entity {
            Entity::Source => {
                let source = record::access::<Source>(archived).ok_or_else(inconsistent_object)?;
                let metrics = self.metrics(&source.join_keys())?;
                let doaj = self.doaj(&source.join_keys())?;
                rewrite::<Source>(blob, |source| source::fill(source, metrics, doaj))
            }
            Entity::Author => {
                let author = record::access::<Author>(archived).ok_or_else(inconsistent_object)?;
                let profiles = self.join(SideTable::Orcid, &author.join_keys())?;
                rewrite::<Author>(blob, |author| author::fill(author, profiles.into_iter().next()))
            }
            Entity::Institution => {
                let institution = record::access::<Institution>(archived);
                let keys = institution.ok_or_else(inconsistent_object)?.join_keys();
                let found = self.join(SideTable::Ror, &keys)?;
                let Some(organisation) = found.first() else { return Ok(None) };
                let addition = institution::Addition { organisation, tables: self, codes };
                rewrite::<Institution>(blob, |institution| addition.fill(institution))
            }
            _ => Ok(None),
        }
    }
}

/// Archives a blob's record again after `change`; `None` if `change` returns false.
fn rewrite<R: Record>(blob: &[u8], change: impl FnOnce(&mut R) -> bool) -> Result<Option<Vec<u8>>>
where
    R::Archived: rkyv::Deserialize<R, rkyv::api::high::HighDeserializer<rkyv::rancor::Error>>,
{
    let (archived, long_texts) = split_blob(blob).ok_or_else(inconsistent_object)?;
    let archived = record::access::<R>(archived).ok_or_else(inconsistent_object)?;
    let record = rkyv::deserialize::<R, rkyv::rancor::Error>(archived);
    let mut record = record.map_err(|_| inconsistent_object())?;
    if !change(&mut record) {
        return Ok(None);
    }
    let mut arena = rkyv::ser::allocator::Arena::new();
    let archived = record::archive(&record, &mut arena, vec![0; 4]);
    let mut blob = frame(archived.map_err(|_| inconsistent_object())?)?;
    blob.extend_from_slice(long_texts);
    Ok(Some(blob))
}
