//! Writing an entity's archives: each record copied once, in row order, its mentions replaced.

use std::{collections::BTreeMap, path::Path};

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::record::value::{NO_CODE, Slot, Slots, TABLE_FIRST};
use pinakes_format::record::{ArchivedRecord, Source};
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::{archive_path, split_blob};
use pinakes_format::storage::blobs::BlobsWriter;
use pinakes_format::storage::header::{Header, Kind, Written};
use pinakes_format::storage::ids::ColumnsWriter;
use pinakes_format::{record, with_record};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::link::enrich::SideTables;
use crate::link::merge::{Rows, Sums};
use crate::link::resolve::Resolved;
use crate::link::resolve::source_types::{TypeList, TypeSums, add_institution};
use crate::link::resolve::taxonomy::Tree;
use crate::link::{Segments, broken};
use crate::object::Origin;
use crate::object::file::Segment;
use crate::object::symbols::Mention;

/// Rows linked by one thread at a time.
const BATCH_ROWS: usize = 1_024;

/// Everything linking a record needs to know.
pub(crate) struct Plan<'a, 'o> {
    pub segments: &'a [Segments<'o>],
    pub rows: &'a [Rows],
    pub resolved: &'a Resolved,
    pub side: &'a SideTables<'o>,
    /// Sums by the ids of the taxonomy's nodes.
    pub sums: &'a BTreeMap<Entity, Sums>,
    pub tree: Tree,
    /// For each row of sources, the code of its type.
    pub source_kinds: Vec<u32>,
    /// The same of rows in place of sources that are withheld: what refers to them says no less.
    pub withheld_kinds: BTreeMap<u32, u32>,
    /// The sums of institutions by type: of those written so far, or of the whole.
    pub type_sums: TypeSums,
    /// Whether a part of all there is is written, whose sums are those of the whole.
    pub is_part: bool,
    pub newest_micros: Option<i64>,
    /// By entity.
    pub dangling: Vec<u64>,
}

/// Linked records of consecutive rows.
#[derive(Default)]
struct Batch {
    blobs: Vec<u8>,
    lengths: Vec<u32>,
    ids: Vec<u64>,
    names: Vec<Option<String>>,
    dangling: u64,
}

/// One linked record, and what linking it told.
pub(crate) struct Linked {
    pub blob: Vec<u8>,
    id: u64,
    name: Option<String>,
    dangling: u64,
}

/// A written file and its path in the snapshot.
pub(crate) type WrittenFile = (String, Written);

impl<'a, 'o> Plan<'a, 'o> {
    /// A plan for everything in these rows, of which nothing is known yet.
    pub(crate) fn new(
        segments: &'a [Segments<'o>],
        rows: &'a [Rows],
        resolved: &'a Resolved,
        side: &'a SideTables<'o>,
        sums: &'a BTreeMap<Entity, Sums>,
        newest_micros: Option<i64>,
    ) -> Plan<'a, 'o> {
        Plan {
            segments,
            rows,
            resolved,
            side,
            sums,
            tree: Tree::default(),
            source_kinds: Vec::new(),
            withheld_kinds: BTreeMap::new(),
            type_sums: BTreeMap::new(),
            is_part: false,
            newest_micros,
            dangling: vec![0; Entity::COUNT],
        }
    }
}

impl Plan<'_, '_> {
    /// Copies the record in a row, with its mentions replaced by rows.
    pub(crate) fn link(&self, entity: Entity, row: usize) -> Result<Linked> {
        let segments = &self.segments[entity as usize];
        let (segment_at, segment, key) =
            self.rows[entity as usize].place(row, segments).ok_or_else(broken)?;
        let blob = segment.blob(&key).ok_or_else(broken)?;
        let row_of = |mention: u32| self.resolved.number(entity, segment_at, segment, mention);

        let (archived, _) = split_blob(blob).ok_or_else(broken)?;
        let mut linked = Linked { blob: blob.to_vec(), id: key.id, name: None, dangling: 0 };
        let mut is_whole = true;
        let mut replace = |at: &rkyv::primitive::ArchivedU32, number: Option<u32>| {
            // The slot is a part of the archived record, so its place is the distance to its start.
            let from = std::ptr::from_ref(at).addr().wrapping_sub(blob.as_ptr().addr());
            match (number, linked.blob.get_mut(from..from + 4)) {
                (Some(number), Some(slot)) => slot.copy_from_slice(&number.to_le_bytes()),
                _ => is_whole = false,
            }
        };
        let mut dangling = 0;
        let mut name = None;
        with_record!(entity, R => {
            let record = record::access::<R>(archived).ok_or_else(broken)?;
            if entity.facts().is_referenced {
                name = record.name().map(str::to_owned);
            }
            record.slots(&mut |slot| match slot {
                Slot::Target(at) => {
                    let row = row_of(at.to_native());
                    dangling += u64::from(self.is_dangling(segment, at.to_native(), row));
                    replace(at, row);
                }
                Slot::Copy(at) => replace(at, row_of(at.to_native())),
                Slot::SourceType { source, code } => {
                    let row = row_of(source.to_native());
                    let own = row.and_then(|row| self.source_kind(row));
                    let given = match code.to_native() {
                        NO_CODE => Some(NO_CODE),
                        given => row_of(given),
                    };
                    replace(source, row);
                    replace(code, own.filter(|own| *own != NO_CODE).or(given));
                }
            });
        });
        if !is_whole {
            return Err(broken());
        }
        linked.dangling = dangling;
        linked.name = name;
        if entity.facts().taxonomy_level.is_some() {
            linked.blob = self.complete(entity, row, &key, &linked.blob)?;
        }
        if let Some(blob) = self.side.complete(entity, &linked.blob, &self.resolved.strays)? {
            linked.blob = blob;
        }
        Ok(linked)
    }

    fn complete(
        &self,
        entity: Entity,
        row: usize,
        key: &crate::object::Key,
        blob: &[u8],
    ) -> Result<Vec<u8>> {
        let row = u32::try_from(row).map_err(|_| broken())?;
        let sums = self.sums.get(&entity).and_then(|sums| sums.get(&key.id));
        let sum = (key.origin != Origin::Own).then(|| sums.copied().unwrap_or_default());
        self.tree.complete(entity, row, blob, sum)
    }

    /// The code of a source's type, withheld or not.
    fn source_kind(&self, row: u32) -> Option<u32> {
        let own = self.source_kinds.get(row as usize);
        own.or_else(|| self.withheld_kinds.get(&row)).copied()
    }

    fn is_dangling(&self, segment: &Segment<'_>, mention: u32, row: Option<u32>) -> bool {
        let Some((kind, id)) = segment.mentions.subject(mention) else { return false };
        let Some(rows) = self.rows.get(usize::from(kind)) else { return false };
        id != NO_ID && row.is_some_and(|row| row as usize >= rows.order.len())
    }

    /// Reads the taxonomy's linked records, so that relatives can be filled in.
    pub(crate) fn read_tree(&mut self) -> Result<()> {
        let mut tree = Tree::default();
        for entity in Entity::taxonomy() {
            let rows = &self.rows[entity as usize];
            // Without a tree nothing is filled in yet, so these are the records as given.
            let blobs = (0..rows.order.len())
                .map(|row| self.link(entity, row).map(|linked| linked.blob))
                .collect::<Result<Vec<_>>>()?;
            let by_id = (0..rows.by_id.len()).filter_map(|at| {
                let pair = rows.by_id.get(at)?;
                pair.get(8..12)?.try_into().ok().map(u32::from_le_bytes)
            });
            tree.take(entity, by_id, &blobs)?;
        }
        self.tree = tree;
        Ok(())
    }

    /// Takes note of the types of all sources, before any is written.
    pub(crate) fn read_source_kinds(&mut self) -> Result<()> {
        let sources = self.rows[Entity::Source as usize].order.len();
        let kind_of = |row| kind_of_source(&self.link(Entity::Source, row)?.blob);
        self.source_kinds = (0..sources).into_par_iter().map(kind_of).collect::<Result<_>>()?;
        Ok(())
    }

    /// The sums of all institutions by type, written or not.
    pub(crate) fn sums_of_types(&self) -> Result<TypeSums> {
        let mut sums = TypeSums::new();
        for row in 0..self.rows[Entity::Institution as usize].order.len() {
            add_institution(&mut sums, &self.link(Entity::Institution, row)?.blob)?;
        }
        Ok(sums)
    }

    /// What stands in a row without a record.
    pub(crate) fn stray(&self, entity: Entity, row: u32) -> Option<Mention<'_>> {
        let at = (row as usize).checked_sub(self.rows[entity as usize].order.len())?;
        let places = self.resolved.strays.of(entity as u8);
        (at < places.len()).then(|| self.resolved.strays.get(places.start + at)).flatten()
    }

    fn batch(&self, entity: Entity, from: usize, to: usize) -> Result<Batch> {
        let mut batch = Batch::default();
        for row in from..to {
            let Linked { blob, id, name, dangling } = self.link(entity, row)?;
            batch.ids.push(id);
            batch.names.push(name);
            batch.lengths.push(u32::try_from(blob.len()).map_err(|_| broken())?);
            batch.blobs.extend_from_slice(&blob);
            batch.dangling += dangling;
        }
        Ok(batch)
    }

    /// Links `count` batches from a row on, in parallel.
    fn wave(&self, entity: Entity, from: usize, count: usize) -> Result<Vec<Batch>> {
        let rows = self.rows[entity as usize].order.len();
        (0..count)
            .into_par_iter()
            .map(|at| {
                let from = (from + at * BATCH_ROWS).min(rows);
                self.batch(entity, from, (from + BATCH_ROWS).min(rows))
            })
            .collect()
    }

    /// Writes every archive of an entity.
    pub(crate) fn write(&mut self, entity: Entity, directory: &Path) -> Result<Vec<WrittenFile>> {
        if entity.facts().is_generated {
            return self.write_types(entity, directory);
        }
        let published = self.rows[entity as usize].order.len();
        let mut writer = EntityWriter::create(self, entity, published, directory)?;
        let wave_batches = rayon::current_num_threads() * 2;
        let wave_rows = wave_batches * BATCH_ROWS;
        let mut done = Vec::new();
        for from in (0..published + wave_rows).step_by(wave_rows) {
            // While one wave is written, the next is linked.
            let (written, next) = rayon::join(
                || done.iter().try_for_each(|batch| writer.push(batch)),
                || self.wave(entity, from, wave_batches),
            );
            written?;
            for batch in &done {
                self.note(entity, batch)?;
            }
            done = next?;
        }
        writer.finish(self)
    }

    /// Takes note of what later entities need of a written batch.
    fn note(&mut self, entity: Entity, batch: &Batch) -> Result<()> {
        self.dangling[entity as usize] += batch.dangling;
        let mut from = 0;
        for length in &batch.lengths {
            let to = from + *length as usize;
            let blob = &batch.blobs[from..to];
            match entity {
                Entity::Source => self.source_kinds.push(kind_of_source(blob)?),
                Entity::Institution if !self.is_part => {
                    add_institution(&mut self.type_sums, blob)?;
                }
                _ => return Ok(()),
            }
            from = to;
        }
        Ok(())
    }

    fn write_types(&mut self, entity: Entity, directory: &Path) -> Result<Vec<WrittenFile>> {
        let dump = (0..self.rows[entity as usize].order.len())
            .map(|row| self.link(entity, row).map(|linked| linked.blob))
            .collect::<Result<Vec<_>>>()?;
        let strays = &self.resolved.strays;
        let list = TypeList::make(&dump, &self.type_sums, strays, self.newest_micros)?;
        let mut batch = Batch::default();
        for (id, blob) in &list.types {
            batch.ids.push(*id);
            batch.lengths.push(u32::try_from(blob.len()).map_err(|_| broken())?);
            batch.blobs.extend_from_slice(blob);
        }
        let mut writer = EntityWriter::create(self, entity, list.types.len(), directory)?;
        writer.own_ids = Some(batch.ids.clone());
        writer.push(&batch)?;
        writer.finish(self)
    }
}

/// The code of a source's own type.
fn kind_of_source(blob: &[u8]) -> Result<u32> {
    let (archived, _) = split_blob(blob).ok_or_else(broken)?;
    let source = record::access::<Source>(archived).ok_or_else(broken)?;
    Ok(source.kind.as_ref().map_or(NO_CODE, |kind| kind.0.to_native()))
}

/// The files of one entity under way.
struct EntityWriter {
    entity: Entity,
    directory: std::path::PathBuf,
    records: BlobsWriter,
    ids: ColumnsWriter,
    names: Option<BlobsWriter>,
    /// Ids in row order, where the map from id to row was not made by the merge.
    own_ids: Option<Vec<u64>>,
}

impl EntityWriter {
    fn create(
        plan: &Plan<'_, '_>,
        entity: Entity,
        published: usize,
        directory: &Path,
    ) -> Result<EntityWriter> {
        let strays = plan.resolved.strays.of(entity as u8).len();
        let header = |kind| Header {
            kind,
            entity: Some(entity),
            published: published as u64,
            rows: (published + strays) as u64,
            schema_hash: schema_hash(),
        };
        let path = |kind| directory.join(archive_path(kind, Some(entity)));
        let folder = directory.join(entity.facts().plural);
        std::fs::create_dir(&folder).map_err(Error::output(&folder))?;
        let blobs = |kind| {
            let path = path(kind);
            BlobsWriter::create(&path, header(kind), &[]).map_err(Error::output(path))
        };
        let ids = ColumnsWriter::create(&path(Kind::Ids), header(Kind::Ids));
        Ok(EntityWriter {
            entity,
            directory: directory.to_path_buf(),
            records: blobs(Kind::Records)?,
            ids: ids.map_err(Error::output(path(Kind::Ids)))?,
            names: entity.facts().is_referenced.then(|| blobs(Kind::Names)).transpose()?,
            own_ids: None,
        })
    }

    fn push(&mut self, batch: &Batch) -> Result<()> {
        let refused = || Error::output(self.directory.join(self.entity.facts().plural));
        self.records.push_all(&batch.blobs, &batch.lengths).map_err(refused())?;
        batch.ids.iter().try_for_each(|id| self.ids.push(*id)).map_err(refused())?;
        if let Some(names) = &mut self.names {
            for name in &batch.names {
                names.push(name.as_deref().map(str::as_bytes)).map_err(refused())?;
            }
        }
        Ok(())
    }

    /// Ends the files: strays after the records, the map from id to row, the redirects.
    fn finish(mut self, plan: &Plan<'_, '_>) -> Result<Vec<WrittenFile>> {
        let strays = &plan.resolved.strays;
        let refused = || Error::output(self.directory.join(self.entity.facts().plural));
        for at in strays.of(self.entity as u8) {
            let stray = strays.get(at).ok_or_else(broken)?;
            self.ids.push(stray.id).map_err(refused())?;
            if let Some(names) = &mut self.names {
                names.push(stray.name.map(str::as_bytes)).map_err(refused())?;
            }
        }
        let rows = &plan.rows[self.entity as usize];
        match &self.own_ids {
            Some(ids) => {
                for (row, id) in (0u32..).zip(ids) {
                    self.ids.push_pair(*id, &row.to_le_bytes()).map_err(refused())?;
                }
            }
            None => {
                for at in 0..rows.by_id.len() {
                    let pair = rows.by_id.get(at).ok_or_else(broken)?;
                    let id = rows.by_id.u64(at).ok_or_else(broken)?;
                    self.ids.push_pair(id, &pair[8..]).map_err(refused())?;
                }
            }
        }
        let mut written = vec![
            (archive_path(Kind::Records, Some(self.entity)), self.records.finish()),
            (archive_path(Kind::Ids, Some(self.entity)), self.ids.finish()),
        ];
        if let Some(names) = self.names {
            written.push((archive_path(Kind::Names, Some(self.entity)), names.finish()));
        }
        let redirects = write_redirects(plan, self.entity, &self.directory);
        written.push((archive_path(Kind::Redirects, Some(self.entity)), redirects));
        let refused = |path: &String| Error::output(self.directory.join(path));
        written
            .into_iter()
            .map(|(path, file)| file.map_err(refused(&path)).map(|file| (path, file)))
            .collect()
    }
}

/// Writes where merged ids went, a record there or not: references follow them either way. Of a
/// part, those that lead to something in it.
fn write_redirects(
    plan: &Plan<'_, '_>,
    entity: Entity,
    directory: &Path,
) -> std::io::Result<Written> {
    let (rows, strays) = (&plan.rows[entity as usize], &plan.resolved.strays);
    let leads = |to: u64| {
        !plan.is_part
            || rows.by_id.find(to).is_some()
            || !strays.with_id(entity as u8, to).is_empty()
    };
    let redirects = || rows.redirects.all().filter(|(_, to)| leads(*to));
    let count = redirects().count() as u64;
    let header = Header {
        kind: Kind::Redirects,
        entity: Some(entity),
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let path = directory.join(archive_path(Kind::Redirects, Some(entity)));
    let mut writer = ColumnsWriter::create(&path, header)?;
    for (from, to) in redirects() {
        writer.push_pair(from, &to.to_le_bytes())?;
    }
    writer.finish()
}

/// Writes every table of codes, each code with its name.
pub(crate) fn write_strings(resolved: &Resolved, directory: &Path) -> Result<WrittenFile> {
    use pinakes_format::record::value::TABLE_NAMES;
    let strays = &resolved.strays;
    let tables = TABLE_FIRST..TABLE_FIRST + TABLE_NAMES.len() as u8;
    let first = strays.of(TABLE_FIRST).start;
    let mut prefix = Vec::new();
    for table in tables.clone() {
        prefix.extend_from_slice(&((strays.of(table).start - first) as u64).to_le_bytes());
    }
    let count = (strays.of(tables.end - 1).end - first) as u64;
    prefix.extend_from_slice(&count.to_le_bytes());
    let name = archive_path(Kind::Strings, None);
    let path = directory.join(&name);
    let header = Header {
        kind: Kind::Strings,
        entity: None,
        published: count,
        rows: count,
        schema_hash: schema_hash(),
    };
    let refused = || Error::output(&path);
    let mut writer = BlobsWriter::create(&path, header, &prefix).map_err(refused())?;
    for at in first..first + count as usize {
        let code = strays.get(at).ok_or_else(broken)?;
        let text = code.name.ok_or_else(broken)?;
        writer.push(Some(text.as_bytes())).map_err(refused())?;
        let name = crate::read::iso::name(code.kind, text);
        writer.push(name.map(str::as_bytes)).map_err(refused())?;
    }
    Ok((name, writer.finish().map_err(refused())?))
}
