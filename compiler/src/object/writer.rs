//! Writes an object: segments, the first bytes of bad lines between them, and the directory.

use std::io;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use pinakes_format::entity::Entity;

use crate::error::{Error, Result};
use crate::object::Origin;
use crate::object::chains::{NamedBy, NodeRef};
use crate::object::derived::DerivedNodes;
use crate::object::directory::{Directory, OBJECT_VERSION};
use crate::object::id_blocks::{Deletion, IdBlockBuilder, Merge};
use crate::object::part_report::{
    BAD_LINES_MAX, BadLine, EXCERPT_BYTES_MAX, PartReport, Raw, excerpt_of,
};
use crate::object::segment::{SegmentBuilder, SegmentShape};
use crate::object::side::{SideBuilder, SideShape};
use crate::object::unfinished::UnfinishedFile;
use crate::read::{Line, RAW_BYTES_MAX};

/// Bytes of lines that one object keeps; of further lines it keeps an excerpt.
const RAW_BYTES_SUM_MAX: u64 = 64 << 20;

/// Writes an object to an unfinished file; [`ObjectWriter::finish`] gives the file its name.
pub struct ObjectWriter {
    temporary: PathBuf,
    file: BufWriter<HashingFile>,
    builders: Vec<Option<SegmentBuilder>>,
    /// A builder whose memory the first segment uses.
    spare: Option<SegmentBuilder>,
    segments: Vec<SegmentShape>,
    side: Option<SideBuilder>,
    sides: Vec<SideShape>,
    merges: IdBlockBuilder<Merge>,
    deletions: IdBlockBuilder<Deletion>,
    pub report: PartReport,
    derived: DerivedNodes,
    /// Bytes of lines kept so far.
    raw_bytes: u64,
}

/// A file that hashes and counts the bytes written to it.
struct HashingFile {
    file: UnfinishedFile,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl ObjectWriter {
    /// Creates the unfinished file of the object at `path`. `spare` is the builder that [`ObjectWriter::finish`] has
    /// returned for another object.
    pub fn create(path: &Path, spare: Option<SegmentBuilder>) -> Result<ObjectWriter> {
        let file = UnfinishedFile::create(path)?;
        let temporary = file.path().to_path_buf();
        let file = HashingFile { file, hasher: blake3::Hasher::new(), bytes: 0 };
        Ok(ObjectWriter {
            temporary,
            file: BufWriter::with_capacity(1 << 18, file),
            builders: Entity::all().map(|_| None).collect(),
            spare,
            segments: Vec::new(),
            side: None,
            sides: Vec::new(),
            merges: IdBlockBuilder::new(),
            deletions: IdBlockBuilder::new(),
            report: PartReport::default(),
            derived: DerivedNodes::default(),
            raw_bytes: 0,
        })
    }

    /// The open segment of an entity. Writes a full segment and opens the next.
    pub fn segment(&mut self, entity: Entity) -> Result<&mut SegmentBuilder> {
        let slot = entity as usize;
        if self.builders[slot].as_ref().is_some_and(SegmentBuilder::is_full) {
            self.close(slot)?;
        }
        Ok(self.builders[slot].get_or_insert_with(|| match self.spare.take() {
            Some(spare) => spare.reused(entity),
            None => SegmentBuilder::new(entity),
        }))
    }

    /// Lets the last record of an entity be copied where another part has an equal line. A full segment stays open,
    /// as it does after a copy.
    pub fn mark_copyable(&mut self, entity: Entity) {
        if let Some(builder) = &mut self.builders[entity as usize] {
            builder.mark_copyable();
        }
    }

    /// Keeps the first 64 KiB of a line, or an excerpt once the object has kept 64 MiB of lines.
    pub fn keep_raw(&mut self, line: &[u8]) -> Result<Raw> {
        let is_full = self.raw_bytes >= RAW_BYTES_SUM_MAX;
        let kept = line.len().min(if is_full { EXCERPT_BYTES_MAX } else { RAW_BYTES_MAX });
        let raw = Raw { from: self.position(), bytes: kept as u64 };
        self.file.write_all(&line[..kept]).map_err(Error::output(&self.temporary))?;
        self.raw_bytes += raw.bytes;
        Ok(raw)
    }

    /// Quarantines a line or row. `kind` is the plural of an entity or the name of a side table.
    pub fn set_aside(
        &mut self,
        kind: &str,
        line: &Line<'_>,
        code: &str,
        id: Option<String>,
    ) -> Result<()> {
        self.report.count_quarantined(kind, code);
        if self.report.bad_lines.len() < BAD_LINES_MAX {
            let raw = self.keep_raw(line.bytes)?;
            self.report.bad_lines.push(BadLine {
                line: line.number,
                byte_offset: line.byte_offset,
                code: code.to_string(),
                // A copy, because a line may state an id of 16 MiB.
                id: id.map(|id| excerpt_of(&id).to_owned()),
                raw,
            });
        }
        Ok(())
    }

    /// The offset of the next byte in the object.
    fn position(&self) -> u64 {
        self.file.get_ref().bytes + self.file.buffer().len() as u64
    }

    fn close(&mut self, slot: usize) -> Result<()> {
        let from = self.position();
        let Some(builder) = self.builders[slot].as_mut().filter(|builder| !builder.is_empty())
        else {
            return Ok(());
        };
        for (nodes, named_by) in builder.chains() {
            self.derived.add(&nodes, Origin::OutputTopic, named_by);
        }
        let shape = builder.write(from, &mut self.file).map_err(Error::output(&self.temporary))?;
        self.segments.push(shape);
        if self.derived.is_full() { self.write_derived() } else { Ok(()) }
    }

    /// Derives taxonomy nodes from what a line says of the levels above a topic or another node.
    pub fn derive(
        &mut self,
        nodes: &[Option<NodeRef<'_>>],
        origin: Origin,
        named_by: NamedBy,
    ) -> Result<()> {
        self.derived.add(nodes, origin, named_by);
        if self.derived.is_full() { self.write_derived() } else { Ok(()) }
    }

    fn write_derived(&mut self) -> Result<()> {
        for ((entity, id), node) in self.derived.take() {
            node.push(entity, id, self.segment(entity)?)
                .map_err(|error| Error::Internal(format!("a derived node: {error}")))?;
        }
        Ok(())
    }

    /// The open segment of a side table. Writes a full segment and opens the next. A part has rows of
    /// one table only.
    pub fn side(&mut self, table: &str) -> Result<&mut SideBuilder> {
        if self.side.as_ref().is_some_and(SideBuilder::is_full) {
            self.close_side()?;
        }
        Ok(self.side.get_or_insert_with(|| SideBuilder::new(table)))
    }

    fn close_side(&mut self) -> Result<()> {
        let from = self.position();
        let Some(builder) = &mut self.side else { return Ok(()) };
        let shape = builder.write(from, &mut self.file).map_err(Error::output(&self.temporary))?;
        self.sides.push(shape);
        Ok(())
    }

    /// Adds a merged id.
    pub fn merge(&mut self, entity: Entity, merge: Merge) -> Result<()> {
        self.merges.push(entity, merge);
        if self.merges.is_full() { self.close_merges() } else { Ok(()) }
    }

    fn close_merges(&mut self) -> Result<()> {
        let written = self.merges.write(self.position(), &mut self.file);
        written.map_err(Error::output(&self.temporary))
    }

    /// Adds a deleted id.
    pub fn delete(&mut self, entity: Entity, deletion: Deletion) -> Result<()> {
        self.deletions.push(entity, deletion);
        if self.deletions.is_full() { self.close_deletions() } else { Ok(()) }
    }

    fn close_deletions(&mut self) -> Result<()> {
        let written = self.deletions.write(self.position(), &mut self.file);
        written.map_err(Error::output(&self.temporary))
    }

    /// Changes the path of the object, within the same directory.
    pub(crate) fn set_path(&mut self, path: &Path) {
        self.file.get_mut().file.set_place(path);
    }

    /// Writes the open segments and the directory, and renames the file to its final name. `part` is
    /// the BLAKE3 hash of the part, in hex. Returns the builder that has taken most memory.
    pub fn finish(mut self, part: &str) -> Result<Option<SegmentBuilder>> {
        // Segments that hold topics come first: closing them derives nodes, which are records of other segments.
        for entity in Entity::all().filter(|entity| entity.facts().taxonomy_level.is_none()) {
            self.close(entity as usize)?;
        }
        self.write_derived()?;
        for entity in Entity::taxonomy() {
            self.close(entity as usize)?;
        }
        self.close_side()?;
        self.close_merges()?;
        self.close_deletions()?;
        let directory = Directory {
            part: part.to_string(),
            segments: std::mem::take(&mut self.segments),
            sides: std::mem::take(&mut self.sides),
            merges: self.merges.take_shapes(),
            deletions: self.deletions.take_shapes(),
            report: std::mem::take(&mut self.report),
        };
        let text = serde_json::to_vec(&directory).map_err(|error| {
            Error::Internal(format!("cannot encode an object's directory: {error}"))
        })?;
        let written = self.write_directory(&text);
        let hashing = written.and_then(|()| Ok(self.file.into_inner()?));
        hashing.map_err(Error::output(self.temporary))?.file.finish()?;
        let builders = self.builders.into_iter().flatten().chain(self.spare);
        Ok(builders.max_by_key(SegmentBuilder::reserved_bytes))
    }

    fn write_directory(&mut self, text: &[u8]) -> io::Result<()> {
        let (from, version) = (self.position().to_le_bytes(), OBJECT_VERSION.to_le_bytes());
        let mut hasher = blake3::Hasher::new();
        for bytes in [text, &from, &version] {
            hasher.update(bytes);
            self.file.write_all(bytes)?;
        }
        self.file.write_all(hasher.finalize().as_bytes())?;
        self.file.flush()?;
        let hash = self.file.get_ref().hasher.finalize();
        self.file.write_all(hash.as_bytes())?;
        self.file.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::record::Funder;
    use pinakes_format::record::value::Id;

    use super::*;
    use crate::object::segment::{Provenance, SEGMENT_BYTES};
    use crate::object::{Check, Object};

    #[test]
    fn a_bad_line_keeps_the_first_bytes_of_a_long_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("object");
        let mut writer = ObjectWriter::create(&path, None).unwrap();
        let line = Line { number: 1, byte_offset: 0, bytes: b"{}", is_too_long: false };
        for id in ["W1".to_owned(), "x".repeat(1 << 20), format!("x{}", "é".repeat(1 << 20))] {
            writer.set_aside("outputs", &line, "bad_id", Some(id)).unwrap();
        }
        let kept = writer.report.bad_lines.iter().map(|line| line.id.as_ref().unwrap());
        assert!(kept.clone().all(|id| id.capacity() <= EXCERPT_BYTES_MAX));
        writer.finish("").unwrap();
        let object = Object::open(&path, Check::Whole).unwrap().unwrap();
        let ids = object.report().bad_lines.iter().map(|line| line.id.clone().unwrap());
        let expected = ["W1".to_owned(), "x".repeat(200), format!("x{}", "é".repeat(99))];
        assert_eq!(ids.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_record_that_fills_a_segment_is_marked_like_all_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("object");
        let mut writer = ObjectWriter::create(&path, None).unwrap();
        let provenance =
            Provenance { origin: Origin::Own, updated_micros: 1, line_hash: None, group: None };
        let name = Some("x".repeat(SEGMENT_BYTES / 4));
        for id in 1..=6 {
            let funder = Funder { id: Id(id), name: name.clone(), ..Funder::default() };
            writer.segment(Entity::Funder).unwrap().push(&funder, provenance).unwrap();
            writer.mark_copyable(Entity::Funder);
        }
        writer.finish("").unwrap();
        let object = Object::open(&path, Check::Whole).unwrap().unwrap();
        let marked = object.segments_of(Entity::Funder).map(|of| of.copyable_lines().count());
        assert_eq!(marked.collect::<Vec<_>>(), [4, 2]);
    }
}
