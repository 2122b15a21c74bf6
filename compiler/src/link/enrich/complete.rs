//! Adds the members of side tables to one linked record.

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::value::Table;
use pinakes_format::record::{Author, Institution, Source};
use pinakes_format::snapshot::split_blob;

use crate::error::Result;
use crate::frontend::side::join_keys::JoinKeys;
use crate::frontend::side::table::{CodeLookup, ExtensibleRecord, IdLookup, JoinedRows};
use crate::link::context::inconsistent_object;
use crate::link::enrich::tables::SideTables;
use crate::link::resolve::unresolved::UnresolvedSymbols;
use crate::link::taxonomy::frame;

/// The institutions and codes of the snapshot.
struct Lookup<'a> {
    tables: &'a SideTables<'a>,
    codes: &'a UnresolvedSymbols,
}

impl IdLookup for Lookup<'_> {
    fn institution_row(&self, ror: u64) -> Option<u32> {
        self.tables.institution_row(ror)
    }
}

impl CodeLookup for Lookup<'_> {
    fn code(&self, table: Table, text: &str) -> Option<u32> {
        self.codes.code(table, text)
    }
}

impl SideTables<'_> {
    /// Returns a linked blob with the members of side tables; `None` if they add nothing.
    pub(crate) fn complete(
        &self,
        entity: Entity,
        blob: &[u8],
        codes: &UnresolvedSymbols,
    ) -> Result<Option<Vec<u8>>> {
        match entity {
            Entity::Source => self.extend::<Source>(blob, codes),
            Entity::Author => self.extend::<Author>(blob, codes),
            Entity::Institution => self.extend::<Institution>(blob, codes),
            _ => Ok(None),
        }
    }

    fn extend<R: ExtensibleRecord>(
        &self,
        blob: &[u8],
        codes: &UnresolvedSymbols,
    ) -> Result<Option<Vec<u8>>>
    where
        R::Archived:
            JoinKeys + rkyv::Deserialize<R, rkyv::api::high::HighDeserializer<rkyv::rancor::Error>>,
    {
        if !self.has_table_of(R::ENTITY) {
            return Ok(None);
        }
        let (archived, long_texts) = split_blob(blob).ok_or_else(inconsistent_object)?;
        let archived = record::access::<R>(archived).ok_or_else(inconsistent_object)?;
        let rows = self.join(R::ENTITY, &archived.join_keys())?;
        if rows.is_empty() {
            return Ok(None);
        }
        let rows = JoinedRows { rows, lookup: &Lookup { tables: self, codes } };
        let record = rkyv::deserialize::<R, rkyv::rancor::Error>(archived);
        let mut record = record.map_err(|_| inconsistent_object())?;
        let mut is_changed = false;
        for (table, _) in &rows.rows {
            let add = R::addition(&table.extend).ok_or_else(inconsistent_object)?;
            is_changed |= add(&mut record, &rows).ok_or_else(inconsistent_object)?;
        }
        if !is_changed {
            return Ok(None);
        }
        let mut arena = rkyv::ser::allocator::Arena::new();
        let archived = record::archive(&record, &mut arena, vec![0; 4]);
        let mut blob = frame(archived.map_err(|_| inconsistent_object())?)?;
        blob.extend_from_slice(long_texts);
        Ok(Some(blob))
    }
}
