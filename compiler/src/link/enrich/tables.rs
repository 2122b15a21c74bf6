//! All side tables of a run.

use std::collections::{BTreeMap, BTreeSet};

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::Institution;

use crate::error::{Error, Result};
use crate::external_sort::Sorter;
use crate::frontend::side::SIDE_TABLES;
use crate::frontend::side::join_keys::JoinKeys;
use crate::frontend::side::table::{Extend, RowsByTable, SideTable};
use crate::link::column::{IdRow, IdRows};
use crate::link::context::{Linker, Segments, broken_object, inconsistent_object};
use crate::link::enrich::side_rows::SideRows;
use crate::link::merge::entity_rows::EntityRows;
use crate::link::tally::SideTally;
use crate::object::side::SideSegment;

/// Every side table of a run that has rows, in the order of [`SIDE_TABLES`].
pub(crate) struct SideTables<'o> {
    tables: Vec<(&'static SideTable, SideRows<'o>)>,
    /// ROR ids of institutions and their rows, if a table extends institutions.
    by_ror: Option<IdRows>,
}

impl<'o> Linker<'o> {
    /// Sorts the keys of every side table.
    pub(crate) fn side_tables(
        &self,
        segments: &[Segments<'_>],
        rows: &[EntityRows],
    ) -> Result<SideTables<'o>> {
        let mut by_name: BTreeMap<&str, Vec<SideSegment<'o>>> = BTreeMap::new();
        for (name, segment) in self.objects.iter().flat_map(|object| object.sides()) {
            by_name.entry(name).or_default().push(segment);
        }
        let mut tables = Vec::new();
        for table in SIDE_TABLES {
            if let Some(segments) = by_name.remove(table.name) {
                tables.push((table, self.side_rows(segments)?));
            }
        }
        if let Some(name) = by_name.keys().next() {
            return Err(Error::Internal(format!(
                "an object has rows of side table `{name}`, which this program does not know; \
                 remove the objects and build again"
            )));
        }
        let mut tables = SideTables { tables, by_ror: None };
        if tables.has_table_of(Entity::Institution) {
            tables.by_ror = Some(self.institutions_by_ror(segments, rows)?);
        }
        Ok(tables)
    }

    /// Maps the ROR ids of institutions, as join keys, to rows.
    fn institutions_by_ror(
        &self,
        segments: &[Segments<'_>],
        rows: &[EntityRows],
    ) -> Result<IdRows> {
        let (segments, rows) =
            (&segments[Entity::Institution as usize], &rows[Entity::Institution as usize]);
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        for row in 0..rows.order.len() {
            let (_, segment, place) = rows.locate(row, segments).ok_or_else(inconsistent_object)?;
            let blob = segment.blob(&place).ok_or_else(inconsistent_object)?;
            let keys =
                record::access(blob).and_then(|stored| Institution::join_keys(stored.packed));
            let row = u32::try_from(row).map_err(|_| inconsistent_object())?;
            for id in keys.map_err(broken_object(Entity::Institution, row))? {
                self.scratch_result(sorter.push(IdRow { id, row }))?;
            }
        }
        self.scratch_result(sorter.write_sorted().and_then(|file| IdRows::map(file, &self.scratch)))
    }
}

impl<'o> SideTables<'o> {
    /// The row of the institution with a ROR id, given as a join key.
    pub(crate) fn institution_row(&self, ror: u64) -> Option<u32> {
        self.by_ror.as_ref()?.row_of(ror)
    }

    /// Whether a table with rows adds to records of the entity.
    pub(crate) fn has_table_of(&self, entity: Entity) -> bool {
        self.tables.iter().any(|(table, _)| table.extend.entity() == entity)
    }

    /// Joins the rows that have one of `keys`, of each table that adds to records of the entity; see
    /// [`SideRows::join`]. Tables without such a row are left out.
    pub(crate) fn join(&self, entity: Entity, keys: &[u64]) -> Result<RowsByTable<'o>> {
        let mut joined = Vec::new();
        for (table, rows) in &self.tables {
            if table.extend.entity() == entity {
                let rows = rows.join(keys)?;
                if !rows.is_empty() {
                    joined.push((*table, rows));
                }
            }
        }
        Ok(joined)
    }

    /// Lists the codes that rows of published institutions use: the table and the text.
    pub(crate) fn codes(&self) -> Result<BTreeSet<(u8, String)>> {
        let mut all = BTreeSet::new();
        for (table, rows) in &self.tables {
            let Extend::Institution { codes, .. } = table.extend else { continue };
            for segment in &rows.segments {
                for at in 0..segment.count() {
                    let entry = segment.entry(at).ok_or_else(inconsistent_object)?;
                    if self.institution_row(entry.key).is_none() {
                        continue;
                    }
                    let value = segment.value(&entry).ok_or_else(inconsistent_object)?;
                    let codes = codes(value, &|ror| self.institution_row(ror))
                        .ok_or_else(inconsistent_object)?;
                    all.extend(codes.into_iter().map(|(table, text)| (table as u8, text)));
                }
            }
        }
        Ok(all)
    }

    /// The accounting of every table that was read. Fails if a table's accounting does not close.
    pub(crate) fn tallies(
        &self,
        objects: &[&crate::object::Object],
    ) -> Result<BTreeMap<String, SideTally>> {
        let mut tallies = BTreeMap::new();
        for table in SIDE_TABLES {
            let name = table.name;
            let mut tally = SideTally::default();
            for object in objects {
                let report = object.report();
                tally.read += report.read.get(name).copied().unwrap_or(0);
                tally.quarantined += report.quarantined.get(name).copied().unwrap_or(0);
            }
            if let Some((_, rows)) = self.tables.iter().find(|(of, _)| *of == table) {
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
