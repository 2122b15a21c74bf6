//! Records of objects from earlier runs, found by the hash of their line.
//!
//! A release may write every part anew although few records change. A line of such a part is then equal to a line
//! of another part, whose object is still there. The record is copied from that object, and the line is not parsed.
//! The new object has the same bytes as one of parsed lines.
//!
//! [`line_table`] finds a record by the hash of its line.

pub(crate) mod line_table;

use std::{fs, path::Path, sync::OnceLock};

use pinakes_format::entity::Entity;
use pinakes_format::with_record;
use rayon::prelude::*;

use crate::compile::earlier::line_table::{LinePlace, LineTable, LineTableBuilder};
use crate::compile::input::{Part, PartKind};
use crate::compile::object_name;
use crate::error::{Error, Result};
use crate::object::bytes::MAPPED_MAX;
use crate::object::segment::{Segment, SegmentShape};
use crate::object::{Check, Key, Object, ObjectStore, ObjectWriter};
use crate::read::limits::ReadLimits;
use crate::terminal::progress::Progress;

/// The records of earlier objects are looked for if the parts to read have this share of the objects' bytes.
/// For less, finding them would take longer than parsing.
const READ_SHARE_MIN: u64 = 16;

/// The most objects with a mapping while earlier objects are opened: new objects need mappings too.
const MAPPED_EARLIER_MAX: usize = MAPPED_MAX / 2;

/// The copyable records of the objects of earlier runs.
pub(crate) struct EarlierRecords {
    objects: Vec<EarlierObject>,
    /// The segments that the table numbers, each with the number of its object.
    segments: Vec<(usize, SegmentShape)>,
    lines: LineTable,
}

struct EarlierObject {
    object: Object,
    kind: PartKind,
    /// Whether all bytes are as they were written; checked before the first record is copied.
    is_intact: OnceLock<bool>,
}

impl EarlierObject {
    fn is_intact(&self) -> bool {
        *self.is_intact.get_or_init(|| self.object.is_intact())
    }
}

/// A record that an earlier run made of an equal line.
pub(crate) struct EarlierRecord<'a> {
    segment: Segment<'a>,
    key: Key,
}

impl EarlierRecords {
    /// Finds the records of lines in the objects of a directory; `None` if too few parts are `unread`, or if no
    /// object was made of a part of their kinds.
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
        let bar = progress.begin("recall", "objects", names.len() as u64, objects_bytes);
        let open = |name: &String| {
            let path = objects.object_path(name);
            let object = Object::open_within(&path, Check::Directory, MAPPED_EARLIER_MAX);
            let object = object.map_err(Error::input(&path))?;
            bar.advance(object.as_ref().map_or(0, Object::size_bytes));
            Ok(object.and_then(|object| EarlierObject::new(object, name, &kinds, limits)))
        };
        let opened: Result<Vec<_>> = names.par_iter().map(open).collect();
        let objects: Vec<EarlierObject> = opened?.into_iter().flatten().collect();
        let (mut segments, mut lines) = (Vec::new(), LineTableBuilder::new(directory));
        for (number, earlier) in objects.iter().enumerate() {
            for shape in earlier.object.segment_shapes() {
                let Some(segment) = earlier.object.segment(shape) else { continue };
                for (key, line_hash) in segment.copyable_lines() {
                    let place = LinePlace { segment: segments.len() as u32, key };
                    lines.push(line_hash, place).map_err(Error::output(directory))?;
                }
                segments.push((number, *shape));
            }
        }
        let lines = lines.finish().map_err(Error::output(directory))?;
        bar.end();
        Ok((!segments.is_empty()).then_some(EarlierRecords { objects, segments, lines }))
    }

    /// Returns the record of a line of a part of some kind.
    pub(crate) fn get(&self, kind: PartKind, line_hash: [u8; 16]) -> Option<EarlierRecord<'_>> {
        self.lines.find(line_hash).find_map(|LinePlace { segment, key }| {
            let (object, shape) = self.segments.get(segment as usize)?;
            let earlier = self.objects.get(*object).filter(|earlier| earlier.kind == kind)?;
            let segment = earlier.object.segment(shape)?;
            let key = segment.key(key as usize)?;
            let is_equal = key.is_copyable && key.line_hash == line_hash;
            (is_equal && earlier.is_intact()).then_some(EarlierRecord { segment, key })
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
