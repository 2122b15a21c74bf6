//! Selected: the rows that `--where` and `--suppress` keep.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::link::context::Linker;
use crate::link::record::inputs::LinkInputs;
use crate::link::record::linker::RecordLinker;
use crate::link::record::source_types::SourceTypes;
use crate::link::record::type_sums::{TypeSums, read_type_sums};
use crate::link::resolve::taxonomy_tree::TaxonomyTree;
use crate::link::select::subset::Subset;
use crate::link::selection::RecordSelection;
use crate::link::stages::merged::{MergeFacts, Resolved};
use crate::parallel::cost::Phase;

/// The rows have their final numbers.
pub(super) struct Selected<'l, 'o> {
    pub linker: &'l Linker<'o>,
    pub inputs: LinkInputs<'o>,
    pub facts: MergeFacts,
    pub kept: Kept,
}

/// Facts about the full records that the records of a subset do not tell. Empty without a selection.
#[derive(Default)]
pub(super) struct Kept {
    pub is_subset: bool,
    /// Sums of all institutions by type, with the code numbers of the subset.
    type_sums: Option<TypeSums>,
    /// By the row of a suppressed source's placeholder, the code of the source's type.
    placeholder_types: BTreeMap<u32, u32>,
    /// The taxonomy with the places of placeholders, if there are any.
    tree: Option<TaxonomyTree>,
    /// Suppressed records by entity.
    pub suppressed: BTreeMap<String, u64>,
    /// Listed ids that `--suppress` did not find.
    pub unknown_ids: u64,
}

impl<'l, 'o> Resolved<'l, 'o> {
    /// Drops the rows that the selection does not keep, and numbers the others again.
    pub(super) fn select(self, selection: Option<&RecordSelection>) -> Result<Selected<'l, 'o>> {
        let Resolved { linker, inputs, facts } = self;
        let Some(selection) = selection else {
            return Ok(Selected { linker, inputs, facts, kept: Kept::default() });
        };
        let total = inputs.total_records();
        let bar = linker.progress.begin("select", "records", total, total).recorded(Phase::Link);
        // Filters see the records as a full snapshot would have them, so that all can be linked first.
        let full = RecordLinker::new(&inputs, SourceTypes::read(&inputs, BTreeMap::new())?)?;
        let subset = linker.select(selection, &full)?;
        let Subset { renumbering, type_sums, placeholder_types, unknown_ids } = subset;
        let has_placeholders = renumbering.has_placeholders();
        let kept = Kept {
            is_subset: true,
            type_sums: Some(type_sums),
            placeholder_types,
            tree: has_placeholders.then(|| full.tree().renumbered(&renumbering)),
            suppressed: renumbering.count_suppressed(),
            unknown_ids,
        };
        let LinkInputs { segments, rows, resolved, side_tables: _, sums } = inputs;
        let (rows, resolved) = linker.keep_subset(rows, resolved, renumbering, &segments)?;
        // The side tables refer to institutions by their rows in the full records.
        let side_tables = linker.side_tables(&segments, &rows)?;
        bar.end();
        let inputs = LinkInputs { segments, rows, resolved, side_tables, sums };
        Ok(Selected { linker, inputs, facts, kept })
    }
}

impl Kept {
    /// Makes the linker of the records that are written.
    pub(super) fn record_linker<'a, 'o>(
        &mut self,
        inputs: &'a LinkInputs<'o>,
    ) -> Result<RecordLinker<'a, 'o>> {
        let types = std::mem::take(&mut self.placeholder_types);
        let source_types = SourceTypes::read(inputs, types)?;
        match self.tree.take() {
            // Placeholders keep their position in the taxonomy, which no record states.
            Some(tree) => Ok(RecordLinker::with_tree(inputs, source_types, tree)),
            None => RecordLinker::new(inputs, source_types),
        }
    }

    /// The sums of institutions by type: those of the full records.
    pub(super) fn type_sums(&mut self, inputs: &LinkInputs<'_>) -> Result<TypeSums> {
        self.type_sums.take().map_or_else(|| read_type_sums(inputs), Ok)
    }
}
