//! The first stage: each part becomes an object, unless its object is there already.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use pinakes_format::entity::Entity;
use rayon::prelude::*;

use crate::{
    derived::Derived,
    error::{Error, Result},
    identifier,
    input::{Part, PartKind},
    lenient,
    lines::{Line, Lines},
    object::{
        Object, ObjectWriter,
        file::{BadLine, Merge, OBJECT_VERSION},
    },
    openalex::{self, BadRecord, Reader},
    progress::Progress,
    taxonomy_table, times,
};

/// Bad lines of one part whose places are kept; the rest are only counted.
const BAD_LINES_MAX: usize = 10_000;
/// Bytes of a bad line that are shown.
const EXCERPT_BYTES_MAX: usize = 200;

/// A part and its object.
pub struct Compiled {
    /// The part.
    pub part: Part,
    /// Its object.
    pub object: Object,
    /// Whether it was there already.
    pub was_cached: bool,
}

/// What the first stage did.
pub struct Stage {
    /// Every part, by path.
    pub parts: Vec<Compiled>,
    /// Bytes of uncompressed input that were parsed.
    pub parsed_bytes: u64,
    /// Parts left out for being the same as another.
    pub same_parts: u64,
}

/// Compiles every part whose object is not in `objects` yet. Of parts that are the same bytes of
/// the same kind, the first is taken and the others are counted in `same_parts`.
///
/// # Errors
///
/// The first part's that could not be compiled; objects made before it stay.
pub fn compile(parts: Vec<Part>, objects: &Path, progress: Progress) -> Result<Stage> {
    fs::create_dir_all(objects).map_err(Error::output(objects))?;
    remove_remains(objects)?;
    let mut named = parts.into_par_iter().map(name_part).collect::<Result<Vec<NamedPart>>>()?;
    named.sort_by(|a, b| (&a.name, &a.part.path).cmp(&(&b.name, &b.part.path)));
    let all = named.len();
    named.dedup_by(|a, b| a.name == b.name);
    let same_parts = (all - named.len()) as u64;

    let parsed_bytes = AtomicU64::new(0);
    let total = named.iter().map(|named| named.part.size_bytes).sum();
    let bar = progress.begin("compile", "parts", named.len() as u64, total);
    // The largest first, so that no thread is left alone with one at the end.
    named.sort_by(|a, b| {
        b.part.size_bytes.cmp(&a.part.size_bytes).then_with(|| a.part.path.cmp(&b.part.path))
    });
    let mut compiled = named
        .into_par_iter()
        .map(|named| {
            let compiled = compile_part(named, objects, &parsed_bytes)?;
            bar.advance(compiled.part.size_bytes);
            Ok(compiled)
        })
        .collect::<Result<Vec<Compiled>>>()?;
    bar.end();
    compiled.sort_by(|a, b| a.part.path.cmp(&b.part.path));
    Ok(Stage { parts: compiled, parsed_bytes: parsed_bytes.into_inner(), same_parts })
}

/// A part, what it was when its hash was taken, and the name of its object.
struct NamedPart {
    part: Part,
    metadata: fs::Metadata,
    hash: String,
    name: String,
}

fn name_part(part: Part) -> Result<NamedPart> {
    let metadata = fs::metadata(&part.path).map_err(Error::input(&part.path))?;
    let hash = hash_of(&part.path)?;
    let name = object_name(&part, &hash);
    Ok(NamedPart { part, metadata, hash, name })
}

/// Removes half-written objects of processes that are no more.
fn remove_remains(objects: &Path) -> Result<()> {
    for entry in fs::read_dir(objects).map_err(Error::output(objects))? {
        let path = entry.map_err(Error::output(objects))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let pid = name.strip_suffix(".tmp").and_then(|name| name.rsplit('.').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            fs::remove_file(&path).map_err(Error::output(&path))?;
        }
    }
    Ok(())
}

fn compile_part(named: NamedPart, objects: &Path, parsed_bytes: &AtomicU64) -> Result<Compiled> {
    let NamedPart { part, metadata, hash, name } = named;
    let path = objects.join(format!("{name}.object"));
    let known = Object::open(&path).map_err(Error::input(&path))?;
    let was_cached = known.is_some();
    let object = match known {
        Some(known) => known,
        None => {
            let mut writer = ObjectWriter::create(&path)?;
            let parsed = read_part(&part, &mut writer)?;
            parsed_bytes.fetch_add(parsed, Ordering::Relaxed);
            writer.finish(&hash)?;
            if !is_unchanged(&part.path, &metadata)? {
                let reason = "it changed while it was read; run again when it is still".into();
                return Err(Error::Damaged { path: part.path, reason });
            }
            let written = Object::open(&path).map_err(Error::input(&path))?;
            written.ok_or_else(|| Error::Damaged {
                path,
                reason: "it does not read back as written; check the disk".into(),
            })?
        }
    };
    check_listed(&part, &object)?;
    Ok(Compiled { part, object, was_cached })
}

/// Whether a file is still the one it was, as far as its size, time and place tell.
fn is_unchanged(path: &Path, before: &fs::Metadata) -> Result<bool> {
    let after = fs::metadata(path).map_err(Error::input(path))?;
    let told = |of: &fs::Metadata| (of.dev(), of.ino(), of.size(), of.mtime(), of.mtime_nsec());
    Ok(told(before) == told(&after))
}

/// The hash of a part's bytes as they lie on disk, in hex.
fn hash_of(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(Error::input(path))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(Error::input(path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// An object's name: the hash of all that its bytes depend on.
fn object_name(part: &Part, hash: &str) -> String {
    let schema = pinakes_format::layout::schema_hash();
    let name = format!("{OBJECT_VERSION} {schema:016x} {:?} {hash}", part.kind);
    blake3::hash(name.as_bytes()).to_hex()[..32].to_string()
}

/// Holds what was read against what the manifest says.
fn check_listed(part: &Part, object: &Object) -> Result<()> {
    let Some(listed) = part.listed_records else { return Ok(()) };
    let read: u64 = object.report().read.values().sum();
    if read == listed {
        return Ok(());
    }
    let reason = format!("{read} records, expected {listed} by its manifest; fetch it again");
    Err(Error::Damaged { path: part.path.clone(), reason })
}

/// Uncompresses and parses a part, line by line, and throws it away; how many bytes it had.
///
/// This is the least that reading a dump costs, and what the compiler's speed is held against.
///
/// # Errors
///
/// Where the part cannot be read.
pub fn parse_only(part: &Part) -> Result<u64> {
    let PartKind::Records(entity) = part.kind else { return Ok(0) };
    let mut lines = Lines::open(&part.path)?;
    let mut bytes = 0;
    while let Some(line) = lines.next_line()? {
        let text = line.bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        bytes = line.byte_offset + text.len() as u64;
        // A bad line costs what it costs; it is the compiler's to report.
        let _ = openalex::parse_line(entity, text);
    }
    Ok(bytes)
}

/// Reads a part into its object; how many uncompressed bytes it had.
fn read_part(part: &Part, object: &mut ObjectWriter) -> Result<u64> {
    lenient::take_warnings();
    let mut derived = Derived::default();
    let bytes = match part.kind {
        PartKind::Records(entity) => read_records(part, entity, object, &mut derived)?,
        PartKind::Merges(entity) => read_merges(part, entity, object)?,
        PartKind::Taxonomy => read_taxonomy(part, object, &mut derived)?,
    };
    derived.write(object)?;
    let warnings = lenient::take_warnings();
    for (code, count) in warnings {
        *object.report.warnings.entry(code.to_string()).or_default() += count;
    }
    Ok(bytes)
}

fn read_records(
    part: &Part,
    entity: Entity,
    object: &mut ObjectWriter,
    derived: &mut Derived,
) -> Result<u64> {
    let mut lines = Lines::open(&part.path)?;
    let mut bytes = 0;
    while let Some(line) = lines.next_line()? {
        bytes = line.byte_offset + line.bytes.map_or(0, <[u8]>::len) as u64;
        count(&mut object.report.read, entity);
        let outcome = read_line(&line, entity, object, derived);
        set_aside(outcome, &line, entity, object)?;
    }
    Ok(bytes)
}

fn read_line(
    line: &Line<'_>,
    entity: Entity,
    object: &mut ObjectWriter,
    derived: &mut Derived,
) -> std::result::Result<(), BadRecord> {
    let quarantine = |code| BadRecord::Quarantine { code, id: None };
    let bytes = line.bytes.ok_or(quarantine("line_too_long"))?;
    let text = std::str::from_utf8(bytes).map_err(|_| quarantine("not_utf8"))?;
    let mut line_hash = [0; 16];
    line_hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    openalex::read_line(entity, text, &mut Reader { object, derived, line_hash })
}

/// Notes a line that was set aside.
fn set_aside(
    outcome: std::result::Result<(), BadRecord>,
    line: &Line<'_>,
    entity: Entity,
    object: &mut ObjectWriter,
) -> Result<()> {
    let (code, id) = match outcome {
        Ok(()) => return Ok(()),
        Err(BadRecord::Fatal(error)) => return Err(error),
        Err(BadRecord::Quarantine { code, id }) => (code, id),
    };
    count(&mut object.report.quarantined, entity);
    if object.report.bad_lines.len() < BAD_LINES_MAX {
        let shown = line.bytes.unwrap_or_default();
        let shown = &shown[..shown.len().min(EXCERPT_BYTES_MAX)];
        object.report.bad_lines.push(BadLine {
            line: line.number,
            byte_offset: line.byte_offset,
            code: code.to_string(),
            id,
            excerpt: String::from_utf8_lossy(shown).into_owned(),
        });
    }
    Ok(())
}

fn count(counts: &mut BTreeMap<String, u64>, entity: Entity) {
    match counts.get_mut(entity.facts().plural) {
        Some(count) => *count += 1,
        None => {
            counts.insert(entity.facts().plural.to_string(), 1);
        }
    }
}

/// The rows of a table in a part.
fn rows(part: &Part) -> Result<csv::Reader<Box<dyn std::io::Read>>> {
    let reader = Lines::open(&part.path)?.into_reader();
    Ok(csv::ReaderBuilder::new().has_headers(false).from_reader(reader))
}

fn bad_table(part: &Part) -> impl Fn(csv::Error) -> Error + '_ {
    |error| Error::Damaged { path: part.path.clone(), reason: error.to_string() }
}

fn read_taxonomy(part: &Part, object: &mut ObjectWriter, derived: &mut Derived) -> Result<u64> {
    let mut columns = None;
    let mut bytes = 0;
    for row in rows(part)?.into_records() {
        let row = row.map_err(bad_table(part))?;
        bytes = row.position().map_or(0, csv::Position::byte);
        let Some(columns) = &columns else {
            columns = Some(taxonomy_table::columns(&row, &part.path)?);
            continue;
        };
        count(&mut object.report.read, Entity::Topic);
        let line_hash = taxonomy_table::row_hash(&row);
        let outcome = columns.read(&row, &mut Reader { object, derived, line_hash });
        let text = row.iter().collect::<Vec<_>>().join(",");
        let number = row.position().map_or(0, csv::Position::line);
        let line = Line { number, byte_offset: bytes, bytes: Some(text.as_bytes()) };
        set_aside(outcome, &line, Entity::Topic, object)?;
    }
    Ok(bytes)
}

/// Reads `merge_date,id,merge_into_id`.
fn read_merges(part: &Part, entity: Entity, object: &mut ObjectWriter) -> Result<u64> {
    let mut columns = None;
    let mut bytes = 0;
    for row in rows(part)?.into_records() {
        let row = row.map_err(bad_table(part))?;
        bytes = row.position().map_or(0, csv::Position::byte);
        let Some((date, from, to)) = columns else {
            let column = |name: &str| row.iter().position(|cell| cell.trim() == name);
            let found = (column("merge_date"), column("id"), column("merge_into_id"));
            let (date, Some(from), Some(to)) = found else {
                return Err(Error::Input {
                    path: part.path.clone(),
                    reason: "is no list of merged ids; expected the columns `merge_date`, `id` \
                             and `merge_into_id`"
                        .into(),
                });
            };
            columns = Some((date, from, to));
            continue;
        };
        let cell = |column: usize| row.get(column).unwrap_or_default();
        let id = |column: usize| identifier::parse(entity, cell(column).trim()).ok();
        let day = date.and_then(|date| times::parse_moment(cell(date).trim()));
        match (id(from), id(to)) {
            (Some(from), Some(to)) => object.merges.push(Merge {
                entity: entity as u8,
                from,
                to,
                micros: day.map_or(i64::MIN, |day| day.micros),
            }),
            _ => lenient::warn("bad_merge"),
        }
    }
    Ok(bytes)
}
