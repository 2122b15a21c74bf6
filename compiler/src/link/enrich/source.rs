//! Adds the metrics and the DOAJ entry of journal lists to a source.

use pinakes_format::record::{Doaj, Metrics, Source};

use crate::error::Result;
use crate::frontend::side::{CombineRows, SideValue, fill_scopus};
use crate::link::enrich::tables::SideTables;
use crate::object::side_table::SideTable;

impl SideTables<'_> {
    /// Combines the newest rows of a journal in one list.
    fn combined<V: SideValue + CombineRows>(&self, table: SideTable, keys: &[u64]) -> Result<V> {
        Ok(V::combine(self.join(table, keys)?))
    }

    /// Looks up the metrics of the source with these ISSN keys. The Scopus list takes precedence over
    /// SCImago.
    pub(crate) fn metrics(&self, keys: &[u64]) -> Result<Metrics> {
        let mut both = self.combined(SideTable::Scopus, keys)?;
        fill_scopus(&mut both, &self.combined(SideTable::Scimago, keys)?);
        Ok(Metrics {
            scopus: non_default(both),
            web_of_science: non_default(self.combined(SideTable::Jcr, keys)?),
            abdc: non_default(self.combined(SideTable::Abdc, keys)?),
        })
    }

    /// Looks up the DOAJ entry of the source with these ISSN keys.
    pub(crate) fn doaj(&self, keys: &[u64]) -> Result<Option<Doaj>> {
        Ok(non_default(self.combined(SideTable::Doaj, keys)?))
    }
}

fn non_default<V: Default + PartialEq>(value: V) -> Option<V> {
    (value != V::default()).then_some(value)
}

/// Replaces each group of metrics, and the DOAJ entry, that the lists have. Returns whether they
/// have any.
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
