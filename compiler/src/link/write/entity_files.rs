//! The archives of one entity: records, ids, names and redirects.

use std::io;
use std::path::{Path, PathBuf};

use pinakes_format::entity::Entity;
use pinakes_format::schema::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::{
    BlobsWriter, Chunks, ColumnsWriter, FileKind, Header, NamesWriter, Written,
};

use crate::error::{Error, Result};
use crate::link::column::{IdRow, KeyColumn};
use crate::link::context::{WrittenFile, inconsistent_object};
use crate::link::record::inputs::LinkInputs;
use crate::parallel;

/// The open files of one entity.
pub(crate) struct EntityFiles {
    entity: Entity,
    directory: PathBuf,
    records: BlobsWriter,
    ids: ColumnsWriter,
    /// For entities that records refer to.
    names: Option<NamesWriter>,
}

impl EntityFiles {
    /// Creates the entity's files, in its folder, for `published` records. `referred` are the ids without a
    /// record in the citation graph.
    pub(crate) fn create(
        inputs: &LinkInputs<'_>,
        entity: Entity,
        published: usize,
        referred: Option<&KeyColumn>,
        directory: &Path,
    ) -> Result<EntityFiles> {
        // Rows of ids without a record follow the rows of records.
        let unresolved = inputs.resolved.unresolved.range(entity as u8).len();
        let unresolved = unresolved + referred.map_or(0, |ids| ids.len());
        let header = |kind| Header {
            kind,
            entity: Some(entity),
            published: published as u64,
            rows: (published + unresolved) as u64,
            schema_hash: schema_hash(),
        };
        let path = |kind| directory.join(archive_path(kind, Some(entity)));
        let refused = |kind| Error::output(path(kind));
        let records = BlobsWriter::create(&path(FileKind::Records), header(FileKind::Records), &[]);
        let ids = ColumnsWriter::create(&path(FileKind::Ids), header(FileKind::Ids));
        let names = || NamesWriter::create(&path(FileKind::Names), header(FileKind::Names));
        let names = entity.facts().is_referenced.then(names).transpose();
        Ok(EntityFiles {
            entity,
            directory: directory.to_path_buf(),
            records: records.map_err(refused(FileKind::Records))?,
            ids: ids.map_err(refused(FileKind::Ids))?,
            names: names.map_err(refused(FileKind::Names))?,
        })
    }

    fn folder(&self) -> PathBuf {
        self.directory.join(self.entity.facts().plural)
    }

    /// Appends records in row order. `blobs` holds their bytes, one record after another.
    pub(crate) fn push(
        &mut self,
        blobs: &[u8],
        lengths: &[u32],
        ids: &[u64],
        record_names: &[Option<String>],
    ) -> Result<()> {
        let folder = self.folder();
        let EntityFiles { records, ids: all_ids, names, .. } = self;
        let hash = |pieces: Vec<Chunks<'_>>| parallel::map(pieces, Chunks::values);
        let push_names = || {
            ids.iter().try_for_each(|id| all_ids.push(*id))?;
            let Some(names) = names else { return Ok(()) };
            ids.iter().zip(record_names).try_for_each(|(id, name)| names.push(*id, name.as_deref()))
        };
        let (records, names) =
            parallel::join(|| records.push_all(blobs, lengths, hash), push_names);
        records.and(names).map_err(Error::output(&folder))
    }

    /// Appends the unresolved references and `by_id`, and closes the files. Writes the redirects.
    pub(crate) fn finish(
        mut self,
        inputs: &LinkInputs<'_>,
        by_id: impl Iterator<Item = IdRow>,
        referred: Option<&KeyColumn>,
        is_subset: bool,
    ) -> Result<Vec<WrittenFile>> {
        let unresolved = &inputs.resolved.unresolved;
        let folder = self.folder();
        let refused = || Error::output(&folder);
        // Rows after the records: references without a record, and then those of the citation graph.
        for index in unresolved.range(self.entity as u8) {
            let symbol = unresolved.get(index).ok_or_else(inconsistent_object)?;
            self.ids.push(symbol.id).map_err(refused())?;
            if let Some(names) = &mut self.names {
                names.push(symbol.id, symbol.name).map_err(refused())?;
            }
        }
        for at in 0..referred.map_or(0, |ids| ids.len()) {
            let id = referred.and_then(|ids| ids.u64(at)).ok_or_else(inconsistent_object)?;
            self.ids.push(id).map_err(refused())?;
        }
        // Only records are found by id, so that the other rows are not in this column.
        for IdRow { id, row } in by_id {
            self.ids.push_pair(id, &row.to_le_bytes()).map_err(refused())?;
        }
        let mut written = vec![
            (archive_path(FileKind::Records, Some(self.entity)), self.records.finish()),
            (archive_path(FileKind::Ids, Some(self.entity)), self.ids.finish()),
        ];
        if let Some(names) = self.names {
            written.push((archive_path(FileKind::Names, Some(self.entity)), names.finish()));
        }
        let is_referred = |id| referred.is_some_and(|ids| ids.find(id).is_some());
        let redirects =
            write_redirects(inputs, self.entity, is_subset, is_referred, &self.directory);
        written.push((archive_path(FileKind::Redirects, Some(self.entity)), redirects));
        let refused = |path: &String| Error::output(self.directory.join(path));
        written
            .into_iter()
            .map(|(path, file)| file.map_err(refused(&path)).map(|file| (path, file)))
            .collect()
    }
}

/// Writes every merged id and the end of its chain. In a full snapshot the end may have no record,
/// because references follow the chain anyway. A subset has no redirects out of it.
fn write_redirects(
    inputs: &LinkInputs<'_>,
    entity: Entity,
    is_subset: bool,
    is_referred: impl Fn(u64) -> bool,
    directory: &Path,
) -> io::Result<Written> {
    let (rows, unresolved) = (&inputs.rows[entity as usize], &inputs.resolved.unresolved);
    let is_kept = |to: u64| {
        !is_subset
            || rows.by_id.has(to)
            || is_referred(to)
            || !unresolved.with_id(entity as u8, to).is_empty()
    };
    // Counted before they are written, because the header states the number.
    let redirects = || rows.redirects.all().filter(|(_, to)| is_kept(*to));
    let count = redirects().count() as u64;
    let header = Header {
        kind: FileKind::Redirects,
        entity: Some(entity),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let path = directory.join(archive_path(FileKind::Redirects, Some(entity)));
    let mut writer = ColumnsWriter::create(&path, header)?;
    for (from, to) in redirects() {
        writer.push_pair(from, &to.to_le_bytes())?;
    }
    writer.finish()
}
