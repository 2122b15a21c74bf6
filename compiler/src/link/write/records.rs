//! Links all records of an entity in batches and writes the entity's files.

use std::{ops::Range, path::Path};

use pinakes_format::entity::Entity;

use crate::error::Result;
use crate::link::atomic_bitset::AtomicBitset;
use crate::link::column::{IdRow, KeyColumn};
use crate::link::context::{WrittenFile, inconsistent_object};
use crate::link::record::copier::{CopyFrom, RecordCopier};
use crate::link::record::type_sums::TypeSums;
use crate::link::write::entity_files::EntityFiles;
use crate::link::write::institution_types::list_institution_types;
use crate::parallel;

/// Rows in one thread's batch.
const BATCH_ROWS: usize = 1_024;
pub(crate) const WAVE_BATCHES: usize = 64;
/// Records of a batch that are located, and loaded from memory, together.
const GROUP_ROWS: usize = 32;
/// Bytes reserved for the records of a batch. Growth by doubling would copy the records again.
const RESERVED_BYTES: usize = 1 << 20;

/// Linked records of consecutive rows.
#[derive(Default)]
struct Batch {
    blobs: Vec<u8>,
    lengths: Vec<u32>,
    ids: Vec<u64>,
    names: Vec<Option<String>>,
    dangling: u64,
    /// The records that refer to an altered row, ascending.
    changed: Vec<u32>,
    /// The rows that follow, of a batch that ended early.
    left: Range<usize>,
}

/// Writes the files of a snapshot's entities.
pub(crate) struct RecordsWriter<'w, 'a, 'o> {
    pub copier: RecordCopier<'w, 'a, 'o>,
    pub directory: &'w Path,
    /// Sums of all institutions by type, also of institutions outside the subset.
    pub type_sums: &'w TypeSums,
    /// Whether redirects to records outside the snapshot are dropped.
    pub is_subset: bool,
    /// The date of institution types that have none, in microseconds since 1970.
    pub newest_micros: Option<i64>,
    /// Bytes of records after which a batch ends.
    pub batch_bytes: usize,
}

/// The written files of an entity, and facts gathered on the way.
pub(crate) struct WrittenRecords {
    pub files: Vec<WrittenFile>,
    /// References to records that do not exist.
    pub dangling: u64,
    /// The records that changed because they refer to an altered row. `None` if nothing is taken over.
    pub changed: Option<AtomicBitset>,
}

impl RecordsWriter<'_, '_, '_> {
    /// Writes the files of an entity.
    ///
    /// `referred` are the ids without a record in the citation graph, if the entity has one.
    pub(crate) fn write(
        &self,
        entity: Entity,
        referred: Option<&KeyColumn>,
    ) -> Result<WrittenRecords> {
        if entity.facts().is_generated {
            let files = self.write_institution_types(entity)?;
            return Ok(WrittenRecords { files, dangling: 0, changed: None });
        }
        let inputs = self.copier.linker.inputs;
        let published = inputs.record_count(entity);
        let mut files = EntityFiles::create(inputs, entity, published, referred, self.directory)?;
        let mut linked: Vec<Batch> = Vec::new();
        let changed = self.copier.old.map(|_| AtomicBitset::new(published));
        let mut dangling = 0;
        let mut from = 0;
        while from < published || !linked.is_empty() {
            // Writes one wave while the other threads link the next.
            let (written, next) = parallel::join(
                || {
                    parallel::step("write records", || {
                        self.write_wave(entity, linked, changed.as_ref(), &mut files)
                    })
                },
                || self.link_wave(entity, from..published),
            );
            dangling += written?;
            (from, linked) = next?;
        }
        let by_id = &inputs.rows[entity as usize].by_id;
        let finish = || files.finish(inputs, by_id.iter(), referred, self.is_subset);
        let files = parallel::step("close records", finish)?;
        Ok(WrittenRecords { files, dangling, changed })
    }

    /// Writes batches, and the rows that they leave. Adds their changed records. Returns the number of dangling
    /// references.
    fn write_wave(
        &self,
        entity: Entity,
        wave: Vec<Batch>,
        changed: Option<&AtomicBitset>,
        files: &mut EntityFiles,
    ) -> Result<u64> {
        let mut dangling = 0;
        for mut batch in wave {
            loop {
                batch.write(files)?;
                dangling += batch.dangling;
                if let Some(changed) = changed {
                    batch.changed.iter().for_each(|row| _ = changed.insert(*row as usize));
                }
                if batch.left.is_empty() {
                    break;
                }
                let left = std::mem::take(&mut batch.left);
                // Frees the batch before it links the next.
                drop(batch);
                batch = self.link_batch(entity, left)?;
            }
        }
        Ok(dangling)
    }

    /// Links the first batches of `rows`, in parallel. Returns the row after them.
    fn link_wave(&self, entity: Entity, rows: Range<usize>) -> Result<(usize, Vec<Batch>)> {
        let inputs = self.copier.linker.inputs;
        let (mut ranges, mut from, mut bytes) = (Vec::new(), rows.start, 0);
        for row in rows.clone() {
            let located = u32::try_from(row).ok().and_then(|row| inputs.locate(entity, row));
            let (_, _, place) = located.ok_or_else(inconsistent_object)?;
            bytes += place.blob_bytes as usize;
            // A linked record may be a little larger than that of the object.
            let is_full = row + 1 - from == BATCH_ROWS || bytes * 4 / 3 >= self.batch_bytes;
            if is_full || row + 1 == rows.end {
                ranges.push(from..row + 1);
                (from, bytes) = (row + 1, 0);
            }
            if ranges.len() == WAVE_BATCHES {
                break;
            }
        }
        let linked = parallel::try_map(ranges, |rows| self.link_batch(entity, rows))?;
        Ok((from, linked))
    }

    /// Copies or links rows until [`Self::batch_bytes`] are reached.
    fn link_batch(&self, entity: Entity, mut rows: Range<usize>) -> Result<Batch> {
        let mut batch = Batch::default();
        // The rest of a batch is short, and would reserve far more than its records need.
        if rows.len() > BATCH_ROWS / 2 {
            batch.blobs.reserve(RESERVED_BYTES.min(self.batch_bytes));
        }
        while batch.blobs.len() < self.batch_bytes && !rows.is_empty() {
            let group = rows.start..rows.end.min(rows.start + GROUP_ROWS);
            let places: Result<Vec<_>> =
                group.map(|row| self.copier.copy_from(entity, row)).collect();
            let places = places?;
            // The reads of neighbouring records are started together, so their waits overlap.
            load_together(&places);
            let located = places.iter().filter_map(CopyFrom::located);
            self.copier.linker.load_rows(entity, located)?;
            for place in &places {
                let from = batch.blobs.len();
                // The rows that are left begin the next batch, which locates them again.
                if from >= self.batch_bytes {
                    break;
                }
                let linked = self.copier.copy(entity, rows.start, place, &mut batch.blobs)?;
                batch.dangling += linked.dangling;
                if linked.refers_to_altered {
                    batch.changed.push(rows.start as u32);
                }
                batch.end_record(linked.id, linked.name, from)?;
                rows.start += 1;
            }
        }
        batch.left = rows;
        Ok(batch)
    }

    fn write_institution_types(&self, entity: Entity) -> Result<Vec<WrittenFile>> {
        let inputs = self.copier.linker.inputs;
        let dump = (0..inputs.record_count(entity))
            .map(|row| self.copier.linker.blob(entity, row))
            .collect::<Result<Vec<_>>>()?;
        let codes = &inputs.resolved.unresolved;
        let types = list_institution_types(&dump, self.type_sums, codes, self.newest_micros)?;
        let mut batch = Batch::default();
        for (id, blob) in &types {
            let from = batch.blobs.len();
            batch.blobs.extend_from_slice(blob);
            batch.end_record(*id, None, from)?;
        }
        let mut files = EntityFiles::create(inputs, entity, types.len(), None, self.directory)?;
        batch.write(&mut files)?;
        let by_id = (0u32..).zip(&batch.ids).map(|(row, id)| IdRow { id: *id, row });
        files.finish(inputs, by_id, None, self.is_subset)
    }
}

/// Reads a byte at both ends of each record of an object. Neighbouring rows are in many segments, so each record is
/// a wait for memory. In a loop without other work the processor waits for several records at once.
fn load_together(places: &[CopyFrom<'_, '_>]) {
    let blobs = places.iter().filter_map(CopyFrom::located).map(|located| located.blob);
    let bytes = blobs.map(|blob| {
        blob.first().copied().unwrap_or_default() ^ blob.last().copied().unwrap_or_default()
    });
    std::hint::black_box(bytes.fold(0, |sum: u8, byte| sum ^ byte));
}

impl Batch {
    /// Ends a record, whose bytes are `blobs` from `from` on.
    fn end_record(&mut self, id: u64, name: Option<String>, from: usize) -> Result<()> {
        self.ids.push(id);
        self.names.push(name);
        let length = u32::try_from(self.blobs.len() - from);
        self.lengths.push(length.map_err(|_| inconsistent_object())?);
        Ok(())
    }

    fn write(&self, files: &mut EntityFiles) -> Result<()> {
        files.push(&self.blobs, &self.lengths, &self.ids, &self.names)
    }
}
