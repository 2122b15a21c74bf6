//! What lists of journals add to a source.

use pinakes_format::record::{Doaj, Metrics, Source};

use crate::error::Result;
use crate::frontend::side::{CombineRows, SideValue, fill_scopus};
use crate::link::enrich::SideTables;
use crate::object::side_table::SideTable;

impl SideTables<'_> {
    /// The combined rows of a journal in one list.
    fn combined<V: SideValue + CombineRows>(&self, table: SideTable, keys: &[u64]) -> Result<V> {
        Ok(V::combine(self.take(table, keys)?))
    }

    /// The metrics of the source with these ISSNs. What the Scopus list and SCImago both give is
    /// the Scopus list's.
    pub(crate) fn metrics(&self, keys: &[u64]) -> Result<Metrics> {
        let mut both = self.combined(SideTable::Scopus, keys)?;
        fill_scopus(&mut both, &self.combined(SideTable::Scimago, keys)?);
        Ok(Metrics {
            scopus: known(both),
            web_of_science: known(self.combined(SideTable::Jcr, keys)?),
            abdc: known(self.combined(SideTable::Abdc, keys)?),
        })
    }

    /// What DOAJ says of the source with these ISSNs.
    pub(crate) fn doaj(&self, keys: &[u64]) -> Result<Option<Doaj>> {
        Ok(known(self.combined(SideTable::Doaj, keys)?))
    }
}

/// What was found, unless that is nothing.
fn known<V: Default + PartialEq>(found: V) -> Option<V> {
    (found != V::default()).then_some(found)
}

/// Gives a source what the lists say, each group whole, before what its record says; whether that
/// is anything.
pub(crate) fn fill(source: &mut Source, metrics: Metrics, doaj: Option<Doaj>) -> bool {
    let has_metrics = metrics != Metrics::default();
    if has_metrics {
        let own = source.metrics.take().unwrap_or_default();
        source.metrics = Some(Metrics {
            scopus: metrics.scopus.or(own.scopus),
            web_of_science: metrics.web_of_science.or(own.web_of_science),
            abdc: metrics.abdc.or(own.abdc),
        });
    }
    let has_doaj = doaj.is_some();
    if has_doaj {
        source.doaj = doaj;
    }
    has_metrics || has_doaj
}
