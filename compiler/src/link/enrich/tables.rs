//! All side tables of a run.

use std::collections::{BTreeMap, BTreeSet};

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::Institution;
use pinakes_format::record::value::Table;
use pinakes_format::snapshot::split_blob;

use crate::error::{Error, Result};
use crate::frontend::side::join_keys::JoinKeys;
use crate::frontend::side::ror::Organisation;
use crate::frontend::side::value::SideValue;
use crate::link::column::{IdRow, IdRows};
use crate::link::context::{Linker, Segments, inconsistent_object};
use crate::link::enrich::side_rows::SideRows;
use crate::link::external_sort::Sorter;
use crate::link::merge::rows::Rows;
use crate::link::tally::SideTally;
use crate::object::side::SideSegment;
use crate::object::side_table::SideTable;

/// Every side table of a run.
pub(crate) struct SideTables<'o> {
    tables: BTreeMap<SideTable, SideRows<'o>>,
    /// ROR ids of institutions and their rows, if the run has a ROR table.
    by_ror: Option<IdRows>,
}

impl<'o> Linker<'o> {
    /// Sorts the keys of every side table.
    pub(crate) fn side_tables(
        &self,
        segments: &[Segments<'_>],
        rows: &[Rows],
    ) -> Result<SideTables<'o>> {
        let mut tables = BTreeMap::new();
        for table in SideTable::all() {
            let of_table: Vec<SideSegment<'o>> =
                self.objects.iter().flat_map(|object| object.sides_of(table)).collect();
            if !of_table.is_empty() {
                tables.insert(table, self.side_rows(of_table)?);
            }
        }
        let has_ror = tables.contains_key(&SideTable::Ror);
        let by_ror = has_ror.then(|| self.institutions_by_ror(segments, rows)).transpose()?;
        Ok(SideTables { tables, by_ror })
    }

    /// Maps the ROR ids of institutions, as join keys, to rows.
    fn institutions_by_ror(&self, segments: &[Segments<'_>], rows: &[Rows]) -> Result<IdRows> {
        let (segments, rows) =
            (&segments[Entity::Institution as usize], &rows[Entity::Institution as usize]);
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        for row in 0..rows.order.len() {
            let (_, segment, key) = rows.locate(row, segments).ok_or_else(inconsistent_object)?;
            let blob = segment.blob(&key).ok_or_else(inconsistent_object)?;
            let (archived, _) = split_blob(blob).ok_or_else(inconsistent_object)?;
            let institution = record::access::<Institution>(archived);
            let institution = institution.ok_or_else(inconsistent_object)?;
            let row = u32::try_from(row).map_err(|_| inconsistent_object())?;
            for id in institution.join_keys() {
                self.scratch_result(sorter.push(IdRow { id, row }))?;
            }
        }
        self.scratch_result(sorter.write_sorted().and_then(IdRows::map))
    }
}

impl SideTables<'_> {
    /// Whether a table adds to records of the entity.
    pub(crate) fn has_table_of(&self, entity: Entity) -> bool {
        self.tables.keys().any(|table| table.entity() == entity)
    }

    /// Joins the rows of a table that have one of `keys`; see [`SideRows::join`].
    pub(crate) fn join<V: SideValue>(&self, table: SideTable, keys: &[u64]) -> Result<Vec<V>> {
        self.tables.get(&table).map_or(Ok(Vec::new()), |table| table.join(keys))
    }

    /// The row of the institution with a ROR id.
    pub(crate) fn institution_row(&self, key: u64) -> Option<u32> {
        self.by_ror.as_ref()?.row_of(key)
    }

    /// Lists the codes that ROR rows of published institutions use: the table and the text.
    pub(crate) fn codes(&self) -> Result<BTreeSet<(u8, String)>> {
        let mut codes = BTreeSet::new();
        let Some(table) = self.tables.get(&SideTable::Ror) else { return Ok(codes) };
        for segment in &table.segments {
            for at in 0..segment.count() {
                let entry = segment.entry(at).ok_or_else(inconsistent_object)?;
                if self.institution_row(entry.key).is_none() {
                    continue;
                }
                let value = segment.value(&entry).ok_or_else(inconsistent_object)?;
                let organisation = Organisation::decode(value).ok_or_else(inconsistent_object)?;
                let country = organisation.location.and_then(|location| location.country_code);
                codes.extend(country.map(|code| (Table::Country as u8, code)));
                let relations = organisation.relations.into_iter();
                let known = relations.filter(|of| self.institution_row(of.key).is_some());
                codes.extend(known.map(|of| (Table::Relationship as u8, of.kind)));
            }
        }
        Ok(codes)
    }

    /// The accounting of every table that was read. Fails if a table's accounting does not close.
    pub(crate) fn tallies(
        &self,
        objects: &[&crate::object::Object],
    ) -> Result<BTreeMap<String, SideTally>> {
        let mut tallies = BTreeMap::new();
        for table in SideTable::all() {
            let name = table.name();
            let mut tally = SideTally::default();
            for object in objects {
                let report = object.report();
                tally.read += report.read.get(name).copied().unwrap_or(0);
                tally.quarantined += report.quarantined.get(name).copied().unwrap_or(0);
            }
            if let Some(rows) = self.tables.get(&table) {
                tally.joined = rows.joined_count();
                tally.unmatched = rows.count() - tally.joined;
            }
            if !tally.closes() {
                return Err(Error::Internal(format!(
                    "the accounting of {name} does not close: {tally:?}"
                )));
            }
            if tally != SideTally::default() {
                tallies.insert(name.to_string(), tally);
            }
        }
        Ok(tallies)
    }
}
