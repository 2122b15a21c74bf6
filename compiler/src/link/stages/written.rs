//! Written: the records of every entity, the citation graph and the codes, as files.

use std::{fs, path::Path};

use pinakes_format::entity::Entity;

use crate::error::{Error, Result};
use crate::link::citations::ResolvedReferences;
use crate::link::context::{Linker, WrittenFile};
use crate::link::enrich::tables::SideTables;
use crate::link::merge::entity_rows::EntityRows;
use crate::link::previous::Previous;
use crate::link::record::copier::RecordCopier;
use crate::link::record::inputs::LinkInputs;
use crate::link::record::linker::RecordLinker;
use crate::link::record::old_records::OldRecords;
use crate::link::record::type_sums::TypeSums;
use crate::link::resolve::changes::Changes;
use crate::link::stages::merged::MergeFacts;
use crate::link::stages::selected::{Kept, Selected};
use crate::link::take_over::{TakeOver, TakenPart};
use crate::link::write::codes::write_codes;
use crate::link::write::records::{RecordsWriter, WAVE_BATCHES, WrittenRecords};
use crate::parallel;
use crate::parallel::cost::Phase;

/// Every file but the indexes and those that describe the others.
pub(super) struct Written<'l, 'o> {
    pub linker: &'l Linker<'o>,
    pub rows: Vec<EntityRows>,
    pub side_tables: SideTables<'o>,
    pub facts: MergeFacts,
    pub kept: Kept,
    pub files: Vec<WrittenFile>,
    pub links: Vec<EntityLinks>,
    /// The previous snapshot and all differences from it, if anything is taken over.
    pub earlier: Option<(Previous, Changes)>,
}

/// References of an entity's records that lead to no record.
#[derive(Clone, Copy, Default)]
pub(super) struct EntityLinks {
    /// In records.
    pub dangling: u64,
    /// In the citation graph.
    pub unresolved_references: u64,
}

impl<'l, 'o> Selected<'l, 'o> {
    /// Writes the records into a directory. Takes unchanged records and references over from `previous`.
    pub(super) fn write(
        self,
        previous: Option<Previous>,
        directory: &Path,
    ) -> Result<Written<'l, 'o>> {
        let Selected { linker, inputs, facts, mut kept } = self;
        let total = inputs.total_records();
        let bar = linker.progress.begin("write", "records", total, total).recorded(Phase::Link);
        let records = kept.record_linker(&inputs)?;
        let old = match &previous {
            Some(previous) => linker.find_unchanged(previous, &records)?,
            None => None,
        };
        let mut writing = Writing {
            linker,
            records: &records,
            type_sums: kept.type_sums(&inputs)?,
            is_subset: kept.is_subset,
            newest_micros: facts.newest_micros,
            directory,
            old,
            files: Vec::new(),
        };
        let links = Entity::all().map(|entity| writing.write(entity)).collect::<Result<_>>()?;
        let Writing { old, mut files, .. } = writing;
        files.push(write_codes(&inputs.resolved.unresolved, directory)?);
        let changes = old.map(|old| old.changes);
        bar.end();
        // The symbols' rows are on disk, and nothing needs them any more.
        let LinkInputs { rows, side_tables, .. } = inputs;
        let earlier = previous.zip(changes);
        Ok(Written { linker, rows, side_tables, facts, kept, files, links, earlier })
    }
}

impl Linker<'_> {
    /// Compares the rows with the previous snapshot; `None` if too much differs, or if the snapshot is damaged.
    fn find_unchanged<'p>(
        &self,
        previous: &'p Previous,
        records: &RecordLinker<'_, '_>,
    ) -> Result<Option<OldRecords<'p>>> {
        let find = || {
            let Some(changes) = self.compare(previous, records)? else { return Ok(None) };
            let codes = &records.inputs.resolved.unresolved;
            let old = OldRecords::new(&previous.snapshot, changes, codes);
            old.map(Some).map_err(TakeOver::snapshot)
        };
        Ok(self.not_taken_over.or_note(TakenPart::Snapshot, None, find())?.flatten())
    }
}

/// The files of a snapshot while the records are written, entity by entity.
struct Writing<'w, 'l, 'o> {
    linker: &'l Linker<'o>,
    records: &'w RecordLinker<'w, 'o>,
    type_sums: TypeSums,
    is_subset: bool,
    newest_micros: Option<i64>,
    directory: &'w Path,
    old: Option<OldRecords<'w>>,
    files: Vec<WrittenFile>,
}

impl Writing<'_, '_, '_> {
    /// Writes the files of an entity and, if its records refer to each other, the citation graph.
    fn write(&mut self, entity: Entity) -> Result<EntityLinks> {
        let folder = self.directory.join(entity.facts().plural);
        fs::create_dir(&folder).map_err(Error::output(&folder))?;
        let (linker, inputs) = (self.linker, self.records.inputs);
        // A merge changes the number of references, so that the records count as changed before they are copied.
        if let Some(old) = &mut self.old
            && let Some(changed) = linker.find_redirected(inputs, entity, old)?
        {
            old.changes.add_changed(entity, &changed);
        }
        let references = linker.resolve_references(inputs, entity, self.old.as_ref())?;
        let writer = self.writer();
        let (written, unresolved_references) = match references {
            None => (writer.write(entity, None)?, 0),
            Some(ResolvedReferences { lists, unresolved, dangling }) => {
                // The citation graph takes one thread; the others write records meanwhile.
                let (written, citations) = parallel::join(
                    || writer.write(entity, Some(&unresolved)),
                    || linker.write_citations(lists, &unresolved, self.directory),
                );
                let written = written?;
                self.files.push(citations?);
                (written, dangling)
            }
        };
        let WrittenRecords { files, dangling, changed } = written;
        self.files.extend(files);
        // Records that call something else by its new name have other index entries.
        if let (Some(old), Some(changed)) = (&mut self.old, changed) {
            old.changes.add_changed(entity, &changed);
        }
        Ok(EntityLinks { dangling, unresolved_references })
    }

    fn writer(&self) -> RecordsWriter<'_, '_, '_> {
        let Writing { linker, records, type_sums, is_subset, newest_micros, directory, .. } = self;
        RecordsWriter {
            copier: RecordCopier {
                linker: records,
                old: self.old.as_ref(),
                not_taken_over: &linker.not_taken_over,
            },
            directory,
            type_sums,
            is_subset: *is_subset,
            newest_micros: *newest_micros,
            // Two waves are in memory.
            batch_bytes: linker.sorter_bytes() / (WAVE_BATCHES * 2),
        }
    }
}
