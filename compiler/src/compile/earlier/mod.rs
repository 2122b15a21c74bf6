//! Records of objects from earlier runs, found by the hash of their line.
//!
//! A release may write every part anew although few records change. A line of such a part is then equal to a line
//! of another part, whose object is still there. The record is copied from that object, and the line is not parsed.
//! The new object has the same bytes as one of parsed lines.
//!
//! [`line_table`] finds a record by the hash of its line. [`near`] keeps the copying from reading the disk in
//! random order.

pub(crate) mod line_table;
pub(crate) mod near;

use std::{fs, path::Path, sync::OnceLock};

use pinakes_format::entity::Entity;
use pinakes_format::with_record;

use crate::compile::earlier::line_table::{ENTRY_BYTES, LinePlace, LineTable, LineTableBuilder};
use crate::compile::earlier::near::{MissedBytes, NearSegments};
use crate::compile::input::{Part, PartKind};
use crate::compile::object_name;
use crate::error::{Error, Result};
use crate::object::bytes::MAPPED_MAX;
use crate::object::{Check, Object, ObjectStore, ObjectWriter, RecordKey, Segment, SegmentShape};
use crate::parallel;
use crate::parallel::cost::Phase;
use crate::read::ReadLimits;
use crate::terminal::progress::Progress;

/// The records of earlier objects are looked for if the parts to read have this share of the objects' bytes.
/// For less, finding them would take longer than parsing.
const READ_SHARE_MIN: u64 = 16;

/// The most objects with a mapping while earlier objects are opened: new objects need mappings too.
const MAPPED_EARLIER_MAX: usize = MAPPED_MAX / 2;

/// The copyable records of the objects of earlier runs.
pub(crate) struct EarlierRecords {
    objects: Vec<EarlierObject>,
    /// The segments that the table numbers.
    segments: Vec<EarlierSegment>,
    lines: LineTable,
    near: NearSegments,
}

struct EarlierSegment {
    /// The number of its object.
    object: usize,
    shape: SegmentShape,
}

struct EarlierObject {
    object: Object,
    kind: PartKind,
    /// Whether all bytes are as they were written; checked before the first record is copied.
    is_intact: OnceLock<bool>,
}

impl EarlierObject {
    /// Checks all bytes once. If memory does not hold all objects, the system reads single pages from then on.
    fn is_intact(&self, near: &NearSegments) -> bool {
        *self.is_intact.get_or_init(|| {
            let is_intact = self.object.is_intact();
            if !near.holds_all() {
                self.object.read_by_page();
            }
            is_intact
        })
    }
}

/// A record that an earlier run made of an equal line.
pub(crate) struct EarlierRecord<'a> {
    segment: Segment<'a>,
    key: RecordKey,
}

impl EarlierRecords {
    /// Finds the records of lines in the objects of a directory; `None` if too few parts are `unread`, if no
    /// object was made of a part of their kinds, or if memory does not hold the table of lines.
    pub(crate) fn find(
        objects: &ObjectStore,
        unread: &[&Part],
        limits: &ReadLimits,
        progress: Progress,
    ) -> Result<Option<EarlierRecords>> {
        let (mut kinds, mut unread_bytes) = (Vec::new(), 0);
        for part in unread.iter().filter(|part| is_copyable(part.kind)) {
            unread_bytes += part.size_bytes;
            if !kinds.contains(&part.kind) {
                kinds.push(part.kind);
            }
        }
        let directory = objects.directory();
        let (names, objects_bytes) = objects_in(directory)?;
        if kinds.is_empty() || names.is_empty() || unread_bytes < objects_bytes / READ_SHARE_MIN {
            return Ok(None);
        }
        let bar = progress
            .begin("recall", "objects", names.len() as u64, objects_bytes)
            .recorded(Phase::Compile);
        let open = |name: &String| {
            let path = objects.object_path(name);
            let object = Object::open_within(&path, Check::Directory, MAPPED_EARLIER_MAX);
            let object = object.map_err(Error::input(&path))?;
            bar.advance(object.as_ref().map_or(0, Object::size_bytes));
            Ok::<_, Error>(
                object.and_then(|object| EarlierObject::new(object, name, &kinds, limits)),
            )
        };
        let opened = parallel::try_map(names.iter().collect(), open)?;
        let objects: Vec<EarlierObject> = opened.into_iter().flatten().collect();
        let mut segments = Vec::new();
        for (number, earlier) in objects.iter().enumerate() {
            let shapes = earlier.object.segment_shapes().iter();
            segments.extend(shapes.map(|shape| EarlierSegment { object: number, shape: *shape }));
        }
        let memory_bytes =
            limits.part_memory_bytes.saturating_mul(rayon::current_num_threads() as u64);
        let records: u64 = segments.iter().map(|segment| segment.shape.records).sum();
        // A line would be a read of the disk, which takes longer than parsing it.
        let left_bytes = memory_bytes.checked_sub(records.saturating_mul(ENTRY_BYTES as u64));
        let Some(left_bytes) = left_bytes.filter(|_| !segments.is_empty()) else {
            bar.end();
            return Ok(None);
        };
        let mut lines = LineTableBuilder::new(directory);
        for (number, EarlierSegment { object, shape }) in (0..).zip(&segments) {
            let Some(segment) = objects[*object].object.segment(shape) else { continue };
            for (key, line_hash) in segment.copyable_lines() {
                let place = LinePlace { segment: number, key };
                lines.push(line_hash, place).map_err(Error::output(directory))?;
            }
        }
        let lines = lines.finish().map_err(Error::output(directory))?;
        bar.end();
        let near = NearSegments::new(segments.len(), objects_bytes, left_bytes);
        Ok(Some(EarlierRecords { objects, segments, lines, near }))
    }

    /// Returns the record of a line of a part of some kind; `None` also if reading it would take longer than
    /// parsing the line. `missed` belongs to the part.
    pub(crate) fn get(
        &self,
        kind: PartKind,
        line_hash: [u8; 16],
        line_bytes: usize,
        missed: &mut MissedBytes,
    ) -> Option<EarlierRecord<'_>> {
        // A record in a near segment is copied; else all segments with the record count as missed.
        let places = |is_near: bool| {
            let places = self.lines.find(line_hash);
            places.filter(move |place| self.near.is_near(place.segment) == is_near)
        };
        let mut places = places(true).chain(places(false));
        places.find_map(|LinePlace { segment: number, key }| {
            let EarlierSegment { object, shape } = self.segments.get(number as usize)?;
            let earlier = self.objects.get(*object).filter(|earlier| earlier.kind == kind)?;
            let segment = earlier.object.segment(shape)?;
            if !self.near.is_near(number) {
                let segment_bytes = segment.size_bytes();
                if !missed.earns(number, segment_bytes, line_bytes as u64) {
                    return None;
                }
                if earlier.is_intact(&self.near) {
                    segment.read_ahead();
                }
                self.near.add(number, segment_bytes);
            }
            let key = segment.key(key as usize)?;
            let is_equal = key.is_copyable && key.line_hash == line_hash;
            (is_equal && earlier.is_intact(&self.near)).then_some(EarlierRecord { segment, key })
        })
    }
}

impl EarlierRecord<'_> {
    /// Adds a copy of the record to an object.
    pub(crate) fn copy(&self, entity: Entity, object: &mut ObjectWriter) -> Result<()> {
        let EarlierRecord { segment, key } = self;
        let target = object.segment(entity)?;
        let copied = with_record!(entity, R => target.copy::<R>(segment, key));
        object.report.add_updated(key.updated_micros);
        copied
            .ok_or_else(|| Error::Internal("an object from an earlier run is inconsistent".into()))
    }
}

impl EarlierObject {
    /// An object that was made of a part of one of the kinds; `None` if its name tells of another kind, other
    /// limits or another version.
    fn new(
        object: Object,
        name: &str,
        kinds: &[PartKind],
        limits: &ReadLimits,
    ) -> Option<EarlierObject> {
        let is_named = |kind: &&PartKind| object_name(**kind, object.part(), limits) == name;
        let kind = *kinds.iter().find(is_named)?;
        object.is_mapped().then(|| EarlierObject { object, kind, is_intact: OnceLock::new() })
    }
}

/// The names of the objects of a directory, and the sum of their bytes.
fn objects_in(directory: &Path) -> Result<(Vec<String>, u64)> {
    let (mut names, mut bytes) = (Vec::new(), 0);
    for entry in fs::read_dir(directory).map_err(Error::input(directory))? {
        let entry = entry.map_err(Error::input(directory))?;
        let name = entry.file_name().into_string().unwrap_or_default();
        let Some(name) = name.strip_suffix(".object") else { continue };
        // A file that another process just removed has no size.
        bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        names.push(name.to_owned());
    }
    Ok((names, bytes))
}

/// Whether the lines of a part give records that may be copied. Lines of the taxonomy are few, and give more than
/// their records.
pub(crate) fn is_copyable(kind: PartKind) -> bool {
    kind.front_end().is_some_and(|(_, entity)| entity.facts().taxonomy_level.is_none())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::compile::input::{ManifestPolicy, find};

    const LINES: u64 = 2_000;
    const PARTS: u64 = 4;

    /// Compiles funders, of which line `number` is in part `part_of(number)`, with the objects of earlier calls and
    /// without, and compares. Returns the number of copied lines.
    fn copied(directory: &Path, part_memory_bytes: u64, part_of: fn(u64) -> u64) -> u64 {
        let input = directory.join("funders");
        let _ = fs::remove_dir_all(&input);
        fs::create_dir(&input).unwrap();
        for part in 0..PARTS {
            let line = |number| {
                let name = format!("{number} ").repeat(60);
                format!(
                    "{{\"id\":\"https://openalex.org/F{number}\",\"display_name\":\"{name}\"}}\n"
                )
            };
            let numbers = (0..LINES).rev().filter(|number| part_of(*number) == part);
            let lines: String = numbers.map(line).collect();
            fs::write(input.join(format!("part_{part}.jsonl")), lines).unwrap();
        }
        let parts = find(&[&input], ManifestPolicy::default()).unwrap().parts;
        let limits = ReadLimits { part_memory_bytes, ..ReadLimits::default() };
        let stage_in = |objects: &Path| {
            let store = ObjectStore::local(objects);
            compile(parts.clone(), &store, &limits, Check::Directory, Progress::Quiet).unwrap()
        };
        let (objects, fresh) = (directory.join("objects"), tempfile::tempdir().unwrap());
        let stage = stage_in(&objects);
        stage_in(fresh.path());
        for name in stage.object_names {
            let bytes_in =
                |directory: &Path| fs::read(directory.join(format!("{name}.object"))).unwrap();
            assert_eq!(bytes_in(&objects), bytes_in(fresh.path()), "{name}");
        }
        stage.copied_lines
    }

    #[test]
    fn with_little_memory_only_neighbours_are_copied() {
        let directory = tempfile::tempdir().unwrap();
        let copied = |memory, part_of| copied(directory.path(), memory, part_of);
        assert_eq!(copied(1 << 20, |number| number * PARTS / LINES), 0);
        let (_, objects_bytes) = objects_in(&directory.path().join("objects")).unwrap();
        let little = objects_bytes / 2 / rayon::current_num_threads() as u64;
        assert_eq!(copied(little, |number| number % PARTS), 0, "scattered lines");
        let neighbours = copied(little, |number| number.saturating_sub(20) * PARTS / LINES);
        assert!((LINES / 8..LINES).contains(&neighbours), "{neighbours} lines");
        assert_eq!(copied(1, |number| number / 2 % PARTS), 0, "no room for the table");
        assert_eq!(copied(1 << 30, |number| number / 3 % PARTS), LINES);
    }
}
