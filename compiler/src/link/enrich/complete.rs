//! Adds the members of side tables to one linked record.

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::{Author, Institution, RecordWriter, Source};

use crate::error::Result;
use crate::frontend::side::join_keys::JoinKeys;
use crate::frontend::side::table::{ExtensibleRecord, JoinedRows};
use crate::link::context::{broken_object, inconsistent_object};
use crate::link::enrich::tables::SideTables;
use crate::link::resolve::unresolved::UnresolvedSymbols;

impl SideTables<'_> {
    /// Returns a packed, linked record with the members of side tables; `None` if they add nothing.
    pub(crate) fn complete(
        &self,
        entity: Entity,
        packed: &[u8],
        codes: &UnresolvedSymbols,
    ) -> Result<Option<Vec<u8>>> {
        match entity {
            Entity::Source => self.extend::<Source>(packed, codes),
            Entity::Author => self.extend::<Author>(packed, codes),
            Entity::Institution => self.extend::<Institution>(packed, codes),
            _ => Ok(None),
        }
    }

    fn extend<R: ExtensibleRecord + JoinKeys>(
        &self,
        packed: &[u8],
        codes: &UnresolvedSymbols,
    ) -> Result<Option<Vec<u8>>> {
        if !self.has_table_of(R::ENTITY) {
            return Ok(None);
        }
        let keys = R::join_keys(packed).map_err(broken_object(R::ENTITY, None))?;
        let rows = self.join(R::ENTITY, &keys)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let institution_row = &|ror| self.institution_row(ror);
        let code = &|table, text: &str| codes.code(table, text);
        let rows = JoinedRows { rows, institution_row, code };
        let mut record: R = record::read(packed).map_err(broken_object(R::ENTITY, None))?;
        let mut is_changed = false;
        for (table, _) in &rows.rows {
            let add = R::addition(&table.extend).ok_or_else(inconsistent_object)?;
            is_changed |= add(&mut record, &rows).ok_or_else(inconsistent_object)?;
        }
        Ok(is_changed.then(|| record::pack(&record, &mut RecordWriter::default())))
    }
}
