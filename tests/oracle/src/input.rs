//! Reads files into lines: detects the kind of each file and parses each line by itself.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::entity::{ALL, Entity};
use crate::{Error, json, values};

/// Longest accepted line, in bytes; a longer line is quarantined.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// The BLAKE3-256 of a line; among copies of one date the greatest hash wins.
pub type Hash = [u8; 16];

/// One accepted line of an entity, not yet compared with other lines of the same id.
#[derive(Clone, Debug)]
pub struct Copy {
    /// The number of the record's id.
    pub number: u64,
    /// `updated_date` in microseconds; `None` is older than any date.
    pub updated: Option<i64>,
    /// The hash of the line as read.
    pub hash: Hash,
    /// The line, or the record made from a row of the taxonomy CSV.
    pub record: LineOrRow,
}

/// A record before it is known to win.
#[derive(Clone, Debug)]
pub enum LineOrRow {
    /// JSON text, parsed once before.
    Line(String),
    /// A record made from a CSV row.
    Row(Value),
}

/// One row of a merged-ids table.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The entity of both ids.
    pub entity: Entity,
    /// The number of the merged id.
    pub from: u64,
    /// The number of the id that replaces `from`.
    pub into: u64,
    /// The day of the merge in microseconds.
    pub merged: Option<i64>,
    /// The hash of the row's cells; among rows of one day the greatest hash wins.
    pub hash: Hash,
}

/// Every accepted line of the inputs.
#[derive(Default)]
pub struct Lines {
    /// Accepted lines and counts of quarantined lines, per entity in the order of [`ALL`].
    pub entities: [EntityLines; 10],
    /// Rows of the taxonomy CSV, as topics.
    pub taxonomy: EntityLines,
    /// Records of an `institution-types` folder: code, copy.
    pub institution_types: Vec<(String, Copy)>,
    /// Rows of merged-ids tables.
    pub merges: Vec<Merge>,
    /// Unrecognised files inside directories.
    pub skipped: Vec<PathBuf>,
}

/// The lines of one entity.
#[derive(Default)]
pub struct EntityLines {
    /// Lines with an id and, except for outputs, a name.
    pub copies: Vec<Copy>,
    /// Number of lines that are not blank.
    pub read: u64,
    /// Number of lines that are not a record of the entity.
    pub quarantined: u64,
}

/// Reads every file of every path.
///
/// # Errors
///
/// An unreadable path, a damaged file, or an unrecognised file that is named as input.
pub fn read(inputs: &[PathBuf]) -> Result<Lines, Error> {
    let mut lines = Lines::default();
    let mut seen = BTreeSet::new();
    for input in inputs {
        let is_directory = fs::metadata(input).map_err(|source| Error::io(input, source))?.is_dir();
        let mut files = Vec::new();
        if is_directory {
            walk(input, &mut files)?;
        } else {
            files.push(input.clone());
        }
        for file in files {
            let whole = fs::canonicalize(&file).map_err(|source| Error::io(&file, source))?;
            if !seen.insert(whole.clone()) || read_file(&whole, &mut lines)? {
                continue;
            }
            if !is_directory {
                return Err(Error::Unrecognised(file));
            }
            lines.skipped.push(file);
        }
    }
    Ok(lines)
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::io(directory, source);
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads one file; `false` if its kind is unknown.
fn read_file(path: &Path, lines: &mut Lines) -> Result<bool, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if matches!(&*name, "manifest" | "manifest.json") {
        return Ok(true);
    }
    let bytes = inflate(fs::read(path).map_err(|source| Error::io(path, source))?)
        .map_err(|source| Error::io(path, source))?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if name.trim_end_matches(".gz").ends_with(".csv") {
        return Ok(read_csv(path, bytes, lines));
    }
    let Some(first) = split_lines(bytes).next() else {
        return Ok(kind_of_path(path).is_some());
    };
    if first.trim_ascii_start().first() != Some(&b'{') && kind_of_path(path).is_none() {
        return Ok(false);
    }
    let kind = kind_of_path(path).or_else(|| {
        let record = json::parse(std::str::from_utf8(first).ok()?).ok()?;
        Entity::of_id(&record["id"]).map(Kind::Entity)
    });
    match kind {
        Some(Kind::Entity(entity)) => read_entity(entity, bytes, lines),
        Some(Kind::InstitutionTypes) => read_institution_types(bytes, lines),
        None => return Ok(false),
    }
    Ok(true)
}

/// Decompresses all gzip members in order; returns other bytes unchanged. Zeros after the last member are padding.
fn inflate(bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(bytes);
    }
    let mut rest: &[u8] = &bytes;
    let mut inflated = Vec::new();
    while rest.iter().any(|byte| *byte != 0) {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        member.read_to_end(&mut inflated)?;
        rest = member.into_inner();
    }
    Ok(inflated)
}

/// Splits bytes into lines without `\n` or `\r\n`, and drops blank lines.
fn split_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii().is_empty())
}

enum Kind {
    Entity(Entity),
    InstitutionTypes,
}

/// Detects the kind by the nearest known name on the path: the file's name up to the first dot, then its folders.
fn kind_of_path(path: &Path) -> Option<Kind> {
    let names: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let (file, folders) = names.split_last()?;
    let stem = file.split('.').next().unwrap_or_default();
    std::iter::once(stem).chain(folders.iter().rev().map(String::as_str)).find_map(
        |name| match name {
            "institution-types" => Some(Kind::InstitutionTypes),
            _ => ALL.into_iter().find(|entity| entity.folder() == name).map(Kind::Entity),
        },
    )
}

fn hash(bytes: &[u8]) -> Hash {
    twox_hash::XxHash3_128::oneshot(bytes).to_be_bytes()
}

fn parse_line(line: &[u8]) -> Option<(String, Value)> {
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    let record = json::parse(text).ok()?;
    record.is_object().then(|| (text.to_owned(), record))
}

fn updated(record: &Value) -> Option<i64> {
    values::moment(&record["updated_date"]).map(|moment| moment.micros)
}

fn read_entity(entity: Entity, bytes: &[u8], lines: &mut Lines) {
    let lines = &mut lines.entities[entity as usize];
    for line in split_lines(bytes) {
        lines.read += 1;
        let copy = parse_line(line).and_then(|(text, record)| {
            let number = entity.number(&record["id"])?;
            let has_name = values::words(&record["display_name"]).is_some();
            (has_name || entity == Entity::Outputs).then(|| Copy {
                number,
                updated: updated(&record),
                hash: hash(line),
                record: LineOrRow::Line(text),
            })
        });
        match copy {
            Some(copy) => lines.copies.push(copy),
            None => lines.quarantined += 1,
        }
    }
}

fn read_institution_types(bytes: &[u8], lines: &mut Lines) {
    for line in split_lines(bytes) {
        let found = parse_line(line).and_then(|(_, record)| {
            let id = values::words(&record["id"]);
            let of_id = id.as_deref().and_then(|id| id.rsplit('/').next());
            let given = values::words(&record["code"]);
            let code = given.or_else(|| of_id.map(str::to_owned))?;
            let copy = Copy {
                number: 0,
                updated: updated(&record),
                hash: hash(line),
                record: LineOrRow::Row(record),
            };
            Some((code, copy))
        });
        lines.institution_types.extend(found);
    }
}

/// Reads a table; `false` if its header is not the header of a known table.
fn read_csv(path: &Path, bytes: &[u8], lines: &mut Lines) -> bool {
    let header = split_lines(bytes).next().unwrap_or_default();
    let delimiter = [b',', b';', b'\t']
        .into_iter()
        .max_by_key(|delimiter| header.iter().filter(|byte| *byte == delimiter).count())
        .unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(bytes);
    let Ok(header) = reader.headers().cloned() else {
        return false;
    };
    let column = |name: &str| header.iter().position(|cell| cell.trim() == name);
    if let (Some(from), Some(into)) = (column("id"), column("merge_into_id")) {
        read_merges(path, reader, [column("merge_date"), Some(from), Some(into)], lines);
        return true;
    }
    if column("topic_id").is_some() {
        read_taxonomy(reader, &header, &mut lines.taxonomy);
        return true;
    }
    false
}

fn read_merges(
    path: &Path,
    mut reader: csv::Reader<&[u8]>,
    columns: [Option<usize>; 3],
    lines: &mut Lines,
) {
    let folder = kind_of_path(path);
    for row in reader.records().flatten() {
        let cell = |column: usize| {
            let cell = columns[column].and_then(|column| row.get(column));
            Value::from(cell.unwrap_or_default().trim())
        };
        let (merged, from, into) = (cell(0), cell(1), cell(2));
        let entity = match folder {
            Some(Kind::Entity(entity)) => Some(entity),
            _ => Entity::of_id(&from),
        };
        let Some(entity) = entity else { continue };
        if let (Some(from), Some(into)) = (entity.number(&from), entity.number(&into)) {
            lines.merges.push(Merge {
                entity,
                from,
                into,
                merged: values::moment(&merged).map(|moment| moment.micros),
                hash: hash(row.iter().collect::<Vec<_>>().join(",").as_bytes()),
            });
        }
    }
}

fn read_taxonomy(
    mut reader: csv::Reader<&[u8]>,
    header: &csv::StringRecord,
    lines: &mut EntityLines,
) {
    for row in reader.records() {
        lines.read += 1;
        let copy = row.ok().and_then(|row| {
            let record = topic_of_row(header, &row);
            let number = Entity::Topics.number(&record["id"])?;
            values::words(&record["display_name"])?;
            Some(Copy {
                number,
                updated: None,
                hash: hash(row.iter().collect::<Vec<_>>().join(",").as_bytes()),
                record: LineOrRow::Row(record),
            })
        });
        match copy {
            Some(copy) => lines.copies.push(copy),
            None => lines.quarantined += 1,
        }
    }
}

/// Writes a row of the taxonomy CSV as a topic object in the dump's shape.
fn topic_of_row(header: &csv::StringRecord, row: &csv::StringRecord) -> Value {
    let cell = |name: &str| {
        let column = header.iter().position(|cell| cell.trim() == name);
        values::text(&column.and_then(|column| row.get(column)).into())
    };
    let node = |level: &str| match cell(&format!("{level}_id")) {
        Value::Null => Value::Null,
        id => values::object([("id", id), ("display_name", cell(&format!("{level}_name")))]),
    };
    let id = match cell("topic_id") {
        Value::String(id) if id.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("T{id}").into()
        }
        id => id,
    };
    let name = match cell("topic_name") {
        Value::Null => cell("new_topic_label"),
        name => name,
    };
    let keywords = match cell("keywords") {
        Value::String(text) => text.split(';').map(str::trim).collect(),
        _ => Value::Null,
    };
    values::object([
        ("id", id),
        ("display_name", name),
        ("description", cell("summary")),
        ("keywords", keywords),
        ("ids", values::object([("wikipedia", cell("wikipedia_url"))])),
        ("subfield", node("subfield")),
        ("field", node("field")),
        ("domain", node("domain")),
    ])
}
