//! A written object: its segments, report and kept lines.

use std::{fs::File, io, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::storage::mmap::Map;

use crate::object::bytes::{MAPPED_MAX, ObjectBytes};
use crate::object::directory::{Directory, ObjectHash, is_intact};
use crate::object::id_blocks::{Deletion, IdBlock, IdBlockShape, ListedId, Merge};
use crate::object::part_report::{PartReport, Raw};
use crate::object::read_ahead::ReadAhead;
use crate::object::segment::{Segment, SegmentShape};
use crate::object::side::SideSegment;

pub struct Object {
    bytes: ObjectBytes,
    directory: Directory,
    hash: ObjectHash,
}

/// How much of an object is checked when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// All bytes.
    Whole,
    /// The directory. Before anything else of the object is read, [`Object::is_intact`] checks the rest.
    Directory,
}

impl Object {
    /// Opens an object and checks it; `None` if there is no file, a hash differs or the version is another one.
    ///
    /// Beyond [`MAPPED_MAX`] open objects only report and kept lines can be read, until
    /// [`gather`](crate::object::gather) maps the segments.
    pub fn open(path: &Path, check: Check) -> io::Result<Option<Object>> {
        Object::open_within(path, check, MAPPED_MAX)
    }

    /// Opens an object like [`Object::open`], with another limit of mapped objects.
    pub(crate) fn open_within(
        path: &Path,
        check: Check,
        mapped_max: usize,
    ) -> io::Result<Option<Object>> {
        let map = match File::open(path) {
            Ok(file) => Map::open(&file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let read = match check {
            Check::Whole => Directory::read_verified(&map),
            Check::Directory => Directory::read(&map),
        };
        let Some((directory, hash)) = read.filter(|(directory, _)| directory.is_complete(&map))
        else {
            return Ok(None);
        };
        let bytes = ObjectBytes::new(map, path, mapped_max);
        Ok(Some(Object { bytes, directory, hash }))
    }

    /// Checks all bytes. An object that is not mapped must still be in its file.
    pub fn is_intact(&self) -> bool {
        let ObjectBytes::InFile(path) = &self.bytes else { return is_intact(&self.bytes) };
        File::open(path).and_then(|file| Map::open(&file)).is_ok_and(|map| is_intact(&map))
    }

    /// From now on, lets the system read only the pages of the object that are asked for.
    pub(crate) fn read_by_page(&self) {
        if let Some(map) = self.bytes.map() {
            map.read_by_page();
        }
    }

    /// The hash of all bytes.
    pub fn hash(&self) -> &ObjectHash {
        &self.hash
    }

    pub(crate) fn bytes(&self) -> &ObjectBytes {
        &self.bytes
    }

    /// Number of bytes of the object, also of an unmapped one.
    pub fn size_bytes(&self) -> u64 {
        self.bytes.size_bytes()
    }

    /// Whether the object is mapped; [`gather`](crate::object::gather) copies the others.
    pub fn is_mapped(&self) -> bool {
        !matches!(self.bytes, ObjectBytes::InFile(_))
    }

    /// Replaces the object's bytes. Returns whether they have the hash and directory of the object.
    pub(crate) fn replace_bytes(&mut self, bytes: ObjectBytes) -> bool {
        let read = Directory::read_verified(&bytes);
        self.bytes = bytes;
        read.is_some_and(|(directory, hash)| directory == self.directory && hash == self.hash)
    }

    /// The BLAKE3 hash, in hex, of the part that the object was compiled from.
    pub fn part(&self) -> &str {
        &self.directory.part
    }

    pub fn report(&self) -> &PartReport {
        &self.directory.report
    }

    /// Reads the kept bytes of a line; empty if they cannot be read.
    pub fn raw(&self, raw: Raw) -> Vec<u8> {
        let range = || {
            let from = usize::try_from(raw.from).ok()?;
            Some(from..from.checked_add(usize::try_from(raw.bytes).ok()?)?)
        };
        range().map(|range| self.bytes.read(range)).unwrap_or_default()
    }

    /// The blocks of merged ids of one entity.
    pub fn merges_of(&self, entity: Entity) -> impl Iterator<Item = IdBlock<'_, Merge>> {
        self.id_blocks(&self.directory.merges, entity)
    }

    /// The blocks of deleted ids of one entity.
    pub fn deletions_of(&self, entity: Entity) -> impl Iterator<Item = IdBlock<'_, Deletion>> {
        self.id_blocks(&self.directory.deletions, entity)
    }

    fn id_blocks<'o, T: ListedId + 'o>(
        &'o self,
        shapes: &'o [IdBlockShape],
        entity: Entity,
    ) -> impl Iterator<Item = IdBlock<'o, T>> {
        let of_entity = shapes.iter().filter(move |shape| shape.entity == entity as u8);
        of_entity.filter_map(|shape| IdBlock::read(&self.bytes, shape))
    }

    /// The side segments, each with the name of its table.
    pub fn sides(&self) -> impl Iterator<Item = (&str, SideSegment<'_>)> {
        let sides = self.directory.sides.iter();
        sides.filter_map(|shape| Some((&*shape.table, SideSegment::read(&self.bytes, shape)?)))
    }

    /// The shapes of all segments.
    pub(crate) fn segment_shapes(&self) -> &[SegmentShape] {
        &self.directory.segments
    }

    /// Reads a segment of this object.
    pub(crate) fn segment(&self, shape: &SegmentShape) -> Option<Segment<'_>> {
        Segment::read(&self.bytes, ReadAhead::new(self.bytes.map()), shape)
    }

    /// The segments of one entity.
    pub fn segments_of(&self, entity: Entity) -> impl Iterator<Item = Segment<'_>> {
        self.directory
            .segments
            .iter()
            .filter(move |shape| shape.entity == entity as u8)
            .filter_map(|shape| self.segment(shape))
    }
}
