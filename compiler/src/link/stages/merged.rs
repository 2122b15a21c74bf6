//! Merged and resolved: from objects to rows, and from symbols to rows.

use crate::error::Result;
use crate::link::context::{Linker, Segments};
use crate::link::merge::levels::MergedRows;
use crate::link::merge::orphans::Orphans;
use crate::link::record::inputs::LinkInputs;
use crate::parallel::cost::Phase;

/// Every record has its row; the keys of all objects are read.
pub(super) struct Merged<'l, 'o> {
    linker: &'l Linker<'o>,
    segments: Vec<Segments<'o>>,
    merged: MergedRows,
}

/// Every symbol has its row. All records of the inputs can be linked.
pub(super) struct Resolved<'l, 'o> {
    pub linker: &'l Linker<'o>,
    pub inputs: LinkInputs<'o>,
    pub facts: MergeFacts,
}

/// Facts that the merge gathers for the report and the manifest.
pub(super) struct MergeFacts {
    /// The newest `updated_date`, in microseconds since 1970.
    pub newest_micros: Option<i64>,
    pub orphans: Orphans,
}

impl<'l, 'o> Merged<'l, 'o> {
    /// Picks one copy of each record and gives each picked record a row.
    pub(super) fn merge(linker: &'l Linker<'o>) -> Result<Merged<'l, 'o>> {
        let segments = linker.segments();
        let merged = linker.merge_all(&segments)?;
        Ok(Merged { linker, segments, merged })
    }

    /// Looks up the row of every symbol.
    pub(super) fn resolve(self) -> Result<Resolved<'l, 'o>> {
        let Merged { linker, segments, merged } = self;
        let MergedRows { rows, sums, newest_micros, orphans } = merged;
        let segment_count = segments.iter().flatten().count() as u64;
        let bar =
            linker.progress.begin("resolve", "segments", segment_count, 0).recorded(Phase::Link);
        // The side tables first: their rows name codes that no record has.
        let side_tables = linker.side_tables(&segments, &rows)?;
        let resolved = linker.resolve(&segments, &rows, side_tables.codes()?)?;
        bar.end();
        let inputs = LinkInputs { segments, rows, resolved, side_tables, sums };
        Ok(Resolved { linker, inputs, facts: MergeFacts { newest_micros, orphans } })
    }
}
