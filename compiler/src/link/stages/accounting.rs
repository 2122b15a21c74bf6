//! The accounting of a link: what became of every line read.

use std::collections::BTreeMap;

use pinakes_format::entity::Entity;
use pinakes_format::storage::Counts;

use crate::error::{Error, Result};
use crate::frontend::id_lists::DELETED_IDS;
use crate::link::context::Linker;
use crate::link::enrich::tables::SideTables;
use crate::link::merge::entity_rows::EntityRows;
use crate::link::stages::written::EntityLinks;
use crate::link::tally::{SideTally, Tally};
use crate::link::write::manifest::Accounting;
use crate::object::part_report::PartReport;

/// The warning code that counts ids of `--suppress` that the inputs do not have.
const UNKNOWN_IDS: &str = "suppressed_unknown";

/// The results of earlier stages that the accounting reads.
pub(super) struct Counted<'c> {
    pub rows: &'c [EntityRows],
    pub side_tables: &'c SideTables<'c>,
    pub links: &'c [EntityLinks],
    /// By the plural name of the entity.
    pub counts: &'c BTreeMap<String, Counts>,
    /// Ids of `--suppress` that the inputs do not have.
    pub unknown_ids: u64,
}

impl Linker<'_> {
    /// The accounting of every entity and side table, and the warnings. Fails if an accounting does not close.
    pub(super) fn accounting(&self, counted: &Counted<'_>) -> Result<Accounting> {
        let mut side_tables = counted.side_tables.tallies(self.objects)?;
        side_tables.extend(self.deleted_tally(counted.rows)?);
        let entities = Entity::all()
            .map(|entity| Ok((entity.facts().plural.to_owned(), self.tally(entity, counted)?)))
            .collect::<Result<_>>()?;
        Ok(Accounting { entities, side_tables, warnings: self.warnings(counted) })
    }

    /// The warnings of all objects and of the merge, by code.
    fn warnings(&self, counted: &Counted<'_>) -> BTreeMap<String, u64> {
        let mut warnings: BTreeMap<String, u64> = BTreeMap::new();
        let of_objects = self.objects.iter().flat_map(|object| &object.report().warnings);
        for (code, count) in of_objects {
            *warnings.entry(code.clone()).or_default() += count;
        }
        for (code, count) in counted.rows.iter().flat_map(EntityRows::warnings) {
            *warnings.entry(code.to_string()).or_default() += count;
        }
        if counted.unknown_ids > 0 {
            warnings.insert(UNKNOWN_IDS.to_owned(), counted.unknown_ids);
        }
        warnings
    }

    /// The accounting of one entity.
    fn tally(&self, entity: Entity, counted: &Counted<'_>) -> Result<Tally> {
        let name = entity.facts().plural;
        let mut tally = counted.rows[entity as usize].tally;
        let EntityLinks { dangling, unresolved_references } = counted.links[entity as usize];
        (tally.dangling, tally.unresolved_references) = (dangling, unresolved_references);
        let published = counted.counts.get(name).map_or(0, |counts| counts.published);
        // The list of institution types keeps one type of each code.
        let same = tally.published_from_input.saturating_sub(published);
        tally.superseded += same;
        tally.published_from_input -= same;
        tally.derived = published.saturating_sub(tally.published_from_input);
        for object in self.objects {
            let report = object.report();
            tally.read += report.read.get(name).copied().unwrap_or(0);
            tally.quarantined += report.quarantined.get(name).copied().unwrap_or(0);
        }
        match tally.closes() {
            true => Ok(tally),
            false => {
                Err(Error::Internal(format!("the accounting of {name} does not close: {tally:?}")))
            }
        }
    }

    /// The accounting of all lists of deleted ids, under their name; `None` without such a list.
    fn deleted_tally(&self, rows: &[EntityRows]) -> Result<Option<(String, SideTally)>> {
        let reports = || self.objects.iter().map(|object| object.report());
        let sum = |counts: fn(&PartReport) -> &BTreeMap<String, u64>| -> u64 {
            reports().filter_map(|report| counts(report).get(DELETED_IDS)).sum()
        };
        let (read, quarantined) = (sum(|report| &report.read), sum(|report| &report.quarantined));
        let joined: u64 = rows.iter().map(|rows| rows.deletions.joined).sum();
        let unmatched = read.checked_sub(joined + quarantined).ok_or_else(|| {
            Error::Internal(format!("the accounting of {DELETED_IDS} does not close: {read} rows"))
        })?;
        let tally = SideTally { read, joined, unmatched, quarantined };
        Ok((read > 0).then(|| (DELETED_IDS.to_owned(), tally)))
    }
}
