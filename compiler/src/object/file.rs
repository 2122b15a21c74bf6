//! An object's file: segments and, between them, beginnings of lines; then a directory, its place
//! and the hash of all before it.
//!
//! ```text
//! segment or line | … | directory (JSON) | directory_from u64 | version u64 | BLAKE3 of all before, 32 bytes
//! ```

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::storage::mmap::Map;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::object::bytes::{Held, MAPPED_MAX};
use crate::object::key::{KEY_BYTES, Key};
use crate::object::segment::{SegmentBuilder, SegmentShape};
use crate::object::side::{SideBuilder, SideSegment, SideShape};
use crate::object::side_table::SideTable;
use crate::object::symbols::SymbolTable;
use crate::read::lenient::LinePosition;
use crate::read::lines::{Line, RAW_BYTES_MAX};

/// Raised whenever an object's bytes or their meaning change; another version is compiled anew.
pub const OBJECT_VERSION: u64 = 5;
const FOOTER_BYTES: usize = 48;

/// What became of one part's lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartReport {
    /// Lines or rows read, by entity or side table.
    pub read: BTreeMap<String, u64>,
    /// Lines set aside, by entity or side table.
    pub quarantined: BTreeMap<String, u64>,
    /// What was bad but cost no record, by code.
    pub warnings: BTreeMap<String, u64>,
    /// Where the first of each code stands.
    pub first_warnings: BTreeMap<String, LinePosition>,
    /// Lines set aside, by code.
    pub bad_by_code: BTreeMap<String, u64>,
    /// Of the lines set aside the first, up to [`BAD_LINES_MAX`].
    pub bad_lines: Vec<BadLine>,
    /// Where the topics stand: linking may yet set one aside, whose parent no part names.
    pub topics: Vec<KeptLine>,
    /// The newest `updated_date` of its records, in microseconds since 1970.
    pub newest_updated_micros: Option<i64>,
}

impl PartReport {
    /// Counts a line or row read, of an entity by its plural or of a side table by its name.
    pub fn count_read(&mut self, of: &str) {
        count(&mut self.read, of);
    }

    /// Counts a line or row set aside for what `code` says.
    pub fn count_quarantined(&mut self, of: &str, code: &str) {
        count(&mut self.quarantined, of);
        count(&mut self.bad_by_code, code);
    }
}

fn count(counts: &mut BTreeMap<String, u64>, of: &str) {
    match counts.get_mut(of) {
        Some(count) => *count += 1,
        None => {
            counts.insert(of.to_string(), 1);
        }
    }
}

/// A line set aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// Where it begins in the uncompressed part.
    pub byte_offset: u64,
    /// Why.
    pub code: String,
    /// The id it gives itself, where that much could be read.
    pub id: Option<String>,
    /// Its bytes, as far as they are kept in the object.
    pub raw: Raw,
}

/// A line that was kept, and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptLine {
    /// The first 16 bytes of the BLAKE3 hash of its bytes.
    pub line_hash: [u8; 16],
    /// Its number, from 1.
    pub line: u64,
    /// Where it begins in the uncompressed part.
    pub byte_offset: u64,
    /// Its bytes, as far as they are kept in the object.
    pub raw: Raw,
}

/// The beginning of a line, as it lies in an object between the segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Raw {
    /// Where it begins in the object.
    pub from: u64,
    /// Bytes of it, at most [`RAW_BYTES_MAX`].
    pub bytes: u64,
}

/// Lines of one part whose places are kept; the rest are only counted.
pub const BAD_LINES_MAX: usize = 10_000;
/// Bytes of lines that one object keeps altogether; of what is beyond, only the excerpt.
const RAW_BYTES_SUM_MAX: u64 = 64 << 20;
/// Bytes of a line that are shown.
pub const EXCERPT_BYTES_MAX: usize = 200;

/// An id merged into another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merge {
    /// The discriminant of the entity.
    pub entity: u8,
    /// The id that is gone.
    pub from: u64,
    /// The id it lives in.
    pub to: u64,
    /// The midnight of the day it happened, in microseconds since 1970.
    pub micros: i64,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Directory {
    part: String,
    segments: Vec<SegmentShape>,
    sides: Vec<SideShape>,
    merges: Vec<Merge>,
    report: PartReport,
}

/// Writes an object; it is there, whole, only after [`ObjectWriter::finish`].
pub struct ObjectWriter {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<HashingFile>,
    builders: Vec<Option<SegmentBuilder>>,
    segments: Vec<SegmentShape>,
    side: Option<SideBuilder>,
    sides: Vec<SideShape>,
    /// Ids merged into others, to be kept with the segments.
    pub merges: Vec<Merge>,
    /// What became of the part's lines.
    pub report: PartReport,
    raw_bytes: u64,
}

/// Hashes what is written through it and counts its bytes.
struct HashingFile {
    file: File,
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
    /// Begins the object at `path`.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn create(path: &Path) -> Result<ObjectWriter> {
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        let file = File::create(&temporary).map_err(Error::output(&temporary))?;
        let file = HashingFile { file, hasher: blake3::Hasher::new(), bytes: 0 };
        Ok(ObjectWriter {
            path: path.to_path_buf(),
            temporary,
            file: BufWriter::with_capacity(1 << 18, file),
            builders: Entity::all().map(|_| None).collect(),
            segments: Vec::new(),
            side: None,
            sides: Vec::new(),
            merges: Vec::new(),
            report: PartReport::default(),
            raw_bytes: 0,
        })
    }

    /// The segment that records of an entity go to now.
    ///
    /// # Errors
    ///
    /// Where a full one cannot be written.
    pub fn segment(&mut self, entity: Entity) -> Result<&mut SegmentBuilder> {
        let slot = entity as usize;
        if self.builders[slot].as_ref().is_some_and(SegmentBuilder::is_full) {
            self.close(slot)?;
        }
        Ok(self.builders[slot].get_or_insert_with(|| SegmentBuilder::new(entity)))
    }

    /// Keeps the beginning of a line: 64 KiB of it, or an excerpt where the object has enough.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn keep_raw(&mut self, line: &[u8]) -> Result<Raw> {
        let is_full = self.raw_bytes >= RAW_BYTES_SUM_MAX;
        let kept = line.len().min(if is_full { EXCERPT_BYTES_MAX } else { RAW_BYTES_MAX });
        let raw = Raw { from: self.position(), bytes: kept as u64 };
        self.file.write_all(&line[..kept]).map_err(Error::output(&self.temporary))?;
        self.raw_bytes += raw.bytes;
        Ok(raw)
    }

    /// Counts and lists a line or row that is set aside, of an entity by its plural or of a side table
    /// by its name.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn set_aside(
        &mut self,
        of: &str,
        line: &Line<'_>,
        code: &str,
        id: Option<String>,
    ) -> Result<()> {
        self.report.count_quarantined(of, code);
        if self.report.bad_lines.len() < BAD_LINES_MAX {
            let raw = self.keep_raw(line.bytes)?;
            self.report.bad_lines.push(BadLine {
                line: line.number,
                byte_offset: line.byte_offset,
                code: code.to_string(),
                id,
                raw,
            });
        }
        Ok(())
    }

    /// Where in the object the next byte goes.
    fn position(&self) -> u64 {
        self.file.get_ref().bytes + self.file.buffer().len() as u64
    }

    fn close(&mut self, slot: usize) -> Result<()> {
        let from = self.position();
        let Some(builder) = self.builders[slot].as_mut().filter(|builder| !builder.is_empty())
        else {
            return Ok(());
        };
        let shape = builder.write(from, &mut self.file).map_err(Error::output(&self.temporary))?;
        self.segments.push(shape);
        Ok(())
    }

    /// The segment that rows of a side table go to now; a part holds rows of one table.
    ///
    /// # Errors
    ///
    /// Where a full one cannot be written.
    pub fn side(&mut self, table: SideTable) -> Result<&mut SideBuilder> {
        if self.side.as_ref().is_some_and(SideBuilder::is_full) {
            self.close_side()?;
        }
        Ok(self.side.get_or_insert_with(|| SideBuilder::new(table)))
    }

    fn close_side(&mut self) -> Result<()> {
        let Some(builder) = &mut self.side else { return Ok(()) };
        let from = self.file.get_ref().bytes + self.file.buffer().len() as u64;
        let shape = builder.write(from, &mut self.file).map_err(Error::output(&self.temporary))?;
        self.sides.push(shape);
        Ok(())
    }

    /// Writes what is left, and puts the object in its place.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn finish(mut self, part: &str) -> Result<()> {
        for slot in 0..self.builders.len() {
            self.close(slot)?;
        }
        self.close_side()?;
        let directory = Directory {
            part: part.to_string(),
            segments: std::mem::take(&mut self.segments),
            sides: std::mem::take(&mut self.sides),
            merges: std::mem::take(&mut self.merges),
            report: std::mem::take(&mut self.report),
        };
        let text = serde_json::to_vec(&directory)
            .map_err(|error| Error::Internal(format!("an object's directory: {error}")))?;
        let written = self.write_directory(&text);
        written.map_err(Error::output(&self.temporary))?;
        std::fs::rename(&self.temporary, &self.path).map_err(Error::output(&self.path))
    }

    fn write_directory(&mut self, text: &[u8]) -> io::Result<()> {
        let from = self.position();
        self.file.write_all(text)?;
        self.file.write_all(&from.to_le_bytes())?;
        self.file.write_all(&OBJECT_VERSION.to_le_bytes())?;
        self.file.flush()?;
        let hash = self.file.get_ref().hasher.finalize();
        self.file.write_all(hash.as_bytes())?;
        self.file.flush()
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        // After finish there is none; after a failure half an object is of no use to anybody.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// A written object.
pub struct Object {
    held: Held,
    directory: Directory,
}

/// One segment of an object.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    blobs: &'a [u8],
    keys: &'a [u8],
    /// Its symbols.
    pub symbols: SymbolTable<'a>,
}

impl Object {
    /// Opens an object and checks every byte of it against its hash. Where very many are open,
    /// only its report can be read until it is gathered ([`crate::object::gather`]).
    ///
    /// `None` where it is damaged, or of another version: it is to be compiled anew.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn open(path: &Path) -> io::Result<Option<Object>> {
        Object::open_within(path, MAPPED_MAX)
    }

    /// Opens an object, unless so many are open, as one that is to be gathered.
    pub(crate) fn open_within(path: &Path, mapped_max: usize) -> io::Result<Option<Object>> {
        let map = match File::open(path) {
            Ok(file) => Map::open(&file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let directory = read_directory(&map).filter(|directory| is_whole(directory, &map));
        let held = Held::hold(map, path, mapped_max);
        Ok(directory.map(|directory| Object { held, directory }))
    }

    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Takes the object's bytes from elsewhere; whether they are its own.
    pub(crate) fn take(&mut self, held: Held) -> bool {
        let is_own = read_directory(&held).is_some_and(|directory| directory == self.directory);
        self.held = held;
        is_own
    }

    /// The BLAKE3 hash of the part it was compiled from, in hex.
    pub fn part(&self) -> &str {
        &self.directory.part
    }

    /// What became of the part's lines.
    pub fn report(&self) -> &PartReport {
        &self.directory.report
    }

    /// The bytes of a line that were kept; none where there are none such.
    pub fn raw(&self, raw: Raw) -> Vec<u8> {
        let range = || {
            let from = usize::try_from(raw.from).ok()?;
            Some(from..from.checked_add(usize::try_from(raw.bytes).ok()?)?)
        };
        range().map(|range| self.held.read(range)).unwrap_or_default()
    }

    /// Ids merged into others.
    pub fn merges(&self) -> &[Merge] {
        &self.directory.merges
    }

    fn sides(&self) -> impl Iterator<Item = (u8, Option<SideSegment<'_>>)> {
        let sides = self.directory.sides.iter();
        sides.map(|shape| (shape.table, SideSegment::read(&self.held, shape)))
    }

    /// The segments of one side table.
    pub fn sides_of(&self, table: SideTable) -> impl Iterator<Item = SideSegment<'_>> {
        self.sides().filter(move |(of, _)| *of == table as u8).filter_map(|(_, side)| side)
    }

    /// The segments of one entity.
    pub fn segments_of(&self, entity: Entity) -> impl Iterator<Item = Segment<'_>> {
        self.directory
            .segments
            .iter()
            .filter(move |shape| shape.entity == entity as u8)
            .filter_map(|shape| Segment::read(&self.held, shape))
    }
}

/// Whether all that a directory lists is there.
fn is_whole(directory: &Directory, object: &[u8]) -> bool {
    directory.segments.iter().all(|shape| Segment::read(object, shape).is_some())
        && directory.sides.iter().all(|shape| SideSegment::read(object, shape).is_some())
}

fn read_directory(bytes: &[u8]) -> Option<Directory> {
    let (hashed, hash) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    let (body, footer) = hashed.split_at_checked(hashed.len().checked_sub(FOOTER_BYTES - 32)?)?;
    let (from, version) = footer.split_first_chunk::<8>()?;
    if *version != OBJECT_VERSION.to_le_bytes() || blake3::hash(hashed) != *hash {
        return None;
    }
    let from = usize::try_from(u64::from_le_bytes(*from)).ok()?;
    serde_json::from_slice(body.get(from..)?).ok()
}

/// The BLAKE3 hash of the part that an object was compiled from, in hex, without a look at its other
/// bytes; `None` where it says none, or cannot be read.
pub fn part_of(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        part: String,
    }
    let map = Map::open(&File::open(path).ok()?).ok()?;
    let (body, footer) = map.split_at_checked(map.len().checked_sub(FOOTER_BYTES)?)?;
    let (from, version) = footer.split_first_chunk::<8>()?;
    let from = usize::try_from(u64::from_le_bytes(*from)).ok()?;
    let directory = body.get(from..).filter(|_| version.starts_with(&OBJECT_VERSION.to_le_bytes()));
    serde_json::from_slice::<Named>(directory?).ok().map(|named| named.part)
}

impl<'a> Segment<'a> {
    /// Reads the segment of a given shape; `None` where the bytes are too few.
    fn read(object: &'a [u8], shape: &SegmentShape) -> Option<Segment<'a>> {
        let bytes = object.get(usize::try_from(shape.from).ok()?..)?;
        let (blobs, rest) = bytes.split_at_checked(usize::try_from(shape.blobs_bytes).ok()?)?;
        let keys_bytes = usize::try_from(shape.records).ok()?.checked_mul(KEY_BYTES)?;
        let (keys, rest) = rest.split_at_checked(keys_bytes)?;
        let symbols_bytes = usize::try_from(shape.symbols.bytes()?).ok()?;
        let symbols = SymbolTable::read(rest.get(..symbols_bytes)?, shape.symbols)?;
        Some(Segment { blobs, keys, symbols })
    }

    /// How many records it has.
    pub fn count(&self) -> usize {
        self.keys.len() / KEY_BYTES
    }

    /// The key at `index`, ascending by id.
    pub fn key(&self, index: usize) -> Option<Key> {
        let from = index.checked_mul(KEY_BYTES)?;
        Key::decode(self.keys.get(from..from.checked_add(KEY_BYTES)?)?)
    }

    /// The blob of a key.
    pub fn blob(&self, key: &Key) -> Option<&'a [u8]> {
        let from = usize::try_from(key.blob_from).ok()?;
        self.blobs.get(from..from.checked_add(key.blob_bytes as usize)?)
    }
}
