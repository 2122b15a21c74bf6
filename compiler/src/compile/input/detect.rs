//! Detection of a part's kind.
//!
//! In a directory, the name and the folders of a file decide, then its first line. A file that the
//! command line names is detected by its content too.

use std::io::{BufRead, Read};
use std::path::Path;

use pinakes_format::entity::Entity;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::compile::input::part::{EXPECTED, InputKind, Part, PartKind};
use crate::error::{Error, Result};
use crate::frontend::detect::{
    DetectedTable, LineDialect, detect_dialect, detect_side_table, has_native_columns,
    is_deleted_header, is_taxonomy_header, not_deleted_ids, require_side_table,
};
use crate::read::lines::Lines;
use crate::read::{Batch, Container, Diagnostics, ParquetRows, ReadLimits, Wanted, identifier};

/// Detects a file in a directory by its name, its folders and its first line; `None` for an unknown
/// kind.
pub(crate) fn detect_in_directory(root: &Path, path: &Path) -> Option<PartKind> {
    let name = &*path.file_name()?.to_string_lossy();
    let stem = name.split('.').next()?;
    let above = path.parent()?.strip_prefix(root).ok()?.components().rev();
    let above = above.filter_map(|component| component.as_os_str().to_str());
    // The input may be a folder inside an entity's folder: `works/updated_date=…`.
    let roots = root.ancestors().take(2).filter_map(|root| root.file_name()?.to_str());
    let folders: Vec<&str> = above.chain(roots).collect();
    let entity = Entity::from_dump_name(stem)
        .or_else(|| folders.iter().find_map(|folder| Entity::from_dump_name(folder)));
    if is_parquet(path) {
        // Spark writes files that are no parts under such names.
        return if name.starts_with(['_', '.']) { None } else { parquet_kind(entity, path) };
    }
    let is_csv = name.contains(".csv");
    if folders.contains(&"merged_ids") {
        return entity.filter(|_| is_csv).map(PartKind::Merges);
    }
    if is_csv {
        if is_deleted(path) {
            return Some(PartKind::Deleted(entity));
        }
        return is_taxonomy(path).then_some(PartKind::Taxonomy).or_else(|| side_table(path));
    }
    let is_lines = ["gz", "zst", "jsonl", "ndjson", "json"]
        .iter()
        .any(|extension| name.ends_with(&format!(".{extension}")));
    let records = || native_kind(entity, path).or_else(|| entity.map(PartKind::Records));
    let found = if is_lines { records() } else { None };
    found.or_else(|| if is_text(name) { side_table(path) } else { None })
}

/// Whether a file is a Parquet file by its first bytes, or by its name in case it is damaged.
fn is_parquet(path: &Path) -> bool {
    Container::from_extension(path) == Container::Parquet
        || Container::detect(path).is_ok_and(|container| container == Container::Parquet)
}

/// The kind of a Parquet file in a directory: by the names of its columns. As of lines, only native records
/// may tell their entity by the id of the first one.
fn parquet_kind(entity: Option<Entity>, path: &Path) -> Option<PartKind> {
    match open_for_detection(path) {
        Ok((true, first_id)) => entity.or_else(|| entity_of_id(&first_id?)).map(PartKind::Native),
        // The compile stage opens a damaged file again, and reports it.
        Ok((false, _)) | Err(_) => entity.map(PartKind::Records),
    }
}

/// The kind of a Parquet file that the command line names. A file that cannot be opened is damaged rather
/// than unknown.
fn named_parquet_kind(path: &Path) -> Result<Option<PartKind>> {
    if let Some(found) = detect_in_directory(path.parent().unwrap_or(path), path) {
        return Ok(Some(found));
    }
    let (_, first_id) = open_for_detection(path)?;
    Ok(first_id.as_deref().and_then(entity_of_id).map(PartKind::Records))
}

/// Whether a Parquet file has the columns of native records, and the id of its first row.
fn open_for_detection(path: &Path) -> Result<(bool, Option<String>)> {
    let diagnostics = Diagnostics::default();
    let wanted = Wanted::Members(&[("id", Wanted::Scalar)]);
    let mut rows = ParquetRows::open(path, wanted, &ReadLimits::for_detection(), &diagnostics)?;
    let is_native = has_native_columns(&rows);
    let batch = rows.next_batch()?;
    let columns = batch.as_ref().map(Batch::columns);
    let first = columns.as_ref().and_then(|columns| columns.rows().next());
    let id = first.and_then(|(_, row)| RowId::deserialize(row).ok()).map(|row| row.id);
    Ok((is_native, id))
}

/// Whether the name of a file suggests a table or JSON.
pub(crate) fn is_text(name: &str) -> bool {
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst");
    ["csv", "tsv", "txt", "jsonl", "ndjson", "json"]
        .iter()
        .any(|extension| name.ends_with(&format!(".{extension}")))
}

fn side_table(path: &Path) -> Option<PartKind> {
    match detect_side_table(path) {
        Ok(DetectedTable::Table(table)) => Some(PartKind::Side(table)),
        _ => None,
    }
}

/// Detects native lines. The name or folder of the file may give the entity.
fn native_kind(entity: Option<Entity>, path: &Path) -> Option<PartKind> {
    match detect_dialect(&first_line(path)?) {
        LineDialect::Native(detected) => entity.or(detected).map(PartKind::Native),
        LineDialect::Other => None,
    }
}

/// Detects a file that the command line names, by its name and its content.
pub(crate) fn detect_file(path: &Path, kind: Option<InputKind>, size_bytes: u64) -> Result<Part> {
    let unknown = || Error::Input {
        path: path.to_path_buf(),
        reason: format!("is of an unknown kind; {EXPECTED}"),
    };
    // A Parquet file has no lines, which all tests below read.
    if is_parquet(path) {
        let found = match kind {
            None | Some(InputKind::OpenAlex | InputKind::Native) => named_parquet_kind(path)?,
            Some(_) => None,
        };
        let kind = found.ok_or_else(unknown)?.or_prefixed(kind);
        return Ok(Part::new(path, kind, size_bytes));
    }
    // A spreadsheet or a page of an API gets advice instead of a list of kinds.
    if let Some(reason) = explain(path) {
        return Err(Error::Input { path: path.to_path_buf(), reason });
    }
    let side = match kind {
        Some(
            InputKind::OpenAlex | InputKind::Native | InputKind::Taxonomy | InputKind::Deleted,
        ) => None,
        Some(InputKind::Side(table)) => require_side_table(path, Some(table))?,
        None => require_side_table(path, None)?,
    };
    let found = match kind {
        _ if side.is_some() => side.map(PartKind::Side),
        Some(InputKind::Taxonomy) => is_taxonomy(path).then_some(PartKind::Taxonomy),
        Some(InputKind::Deleted) if !is_deleted(path) => return Err(not_deleted_ids(path)),
        Some(InputKind::Deleted) => Some(PartKind::Deleted(None)),
        // The surest signs come first: folders and names, then headings, then the id of the first record.
        _ => detect_in_directory(path.parent().unwrap_or(path), path)
            .or_else(|| is_taxonomy(path).then_some(PartKind::Taxonomy))
            .or_else(|| is_deleted(path).then_some(PartKind::Deleted(None)))
            .or_else(|| native_kind(None, path))
            .or_else(|| entity_of_first_line(path).map(PartKind::Records)),
    };
    // A JSON array may have all records in one line, which would be one bad line.
    if side.is_none() && first_line(path).is_some_and(|line| line.trim_start().starts_with('[')) {
        return Err(json_array_error(path));
    }
    Ok(Part::new(path, found.ok_or_else(unknown)?.or_prefixed(kind), size_bytes))
}

/// The error for a JSON array in place of JSON lines.
pub(crate) fn json_array_error(path: &Path) -> Error {
    let reason = "is a JSON array; give one object a line (`jq -c '.[]'` makes it so)".into();
    Error::Input { path: path.to_path_buf(), reason }
}

fn first_line(path: &Path) -> Option<String> {
    let diagnostics = Diagnostics::default();
    let mut lines = Lines::open(path, &ReadLimits::for_detection(), &diagnostics).ok()?;
    let line = lines.next_line().ok()??;
    std::str::from_utf8(line.bytes).ok().map(str::to_owned)
}

fn is_taxonomy(path: &Path) -> bool {
    first_line(path).is_some_and(|line| is_taxonomy_header(&line))
}

fn is_deleted(path: &Path) -> bool {
    first_line(path).is_some_and(|line| is_deleted_header(&line))
}

/// The entity that the id in the first line names.
fn entity_of_first_line(path: &Path) -> Option<Entity> {
    let record: RowId = serde_json::from_str(&first_line(path)?).ok()?;
    entity_of_id(&record.id)
}

/// The id of a line or a row.
#[derive(Deserialize)]
struct RowId {
    id: String,
}

/// The entity that an id names by its letter or its address.
fn entity_of_id(id: &str) -> Option<Entity> {
    identifier::parse_any(id)
        .map(|(entity, _)| entity)
        .or_else(|| id.rsplit('/').nth(1).and_then(Entity::from_dump_name))
}

/// The beginnings of spreadsheets: a zip archive (.xlsx, .ods), and a compound file (.xls).
const SPREADSHEETS: [&[u8]; 2] = [b"PK\x03\x04", &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]];
/// The largest page that is recognised.
const PAGE_BYTES_MAX: u64 = 16 << 20;

/// The members under which APIs return the records of a page.
#[derive(Deserialize)]
struct Page {
    results: Option<Vec<IgnoredAny>>,
    items: Option<Vec<IgnoredAny>>,
}

/// Explains why a file cannot be read, if it is a spreadsheet or a page of an API. `None` for other files,
/// also unreadable ones.
fn explain(path: &Path) -> Option<String> {
    let diagnostics = Diagnostics::default();
    let lines = Lines::open_decoded(path, &ReadLimits::for_detection(), &diagnostics).ok()?;
    let mut reader = lines.into_reader().ok()?;
    let beginning = reader.fill_buf().ok()?;
    if SPREADSHEETS.iter().any(|magic| beginning.starts_with(magic)) {
        return Some("is a spreadsheet; save its sheet as `CSV UTF-8` and give that file".into());
    }
    if !beginning.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let page = serde_json::Deserializer::from_reader(reader.take(PAGE_BYTES_MAX));
    let Page { results, items } = page.into_iter().next()?.ok()?;
    let member = results.map(|_| "results").or(items.map(|_| "items"))?;
    Some(format!("is a page of an API; give one record a line (`jq -c '.{member}[]'` makes it so)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_detected_by_their_names_and_folders() {
        let check = |path: &str, expected: Option<PartKind>| {
            assert_eq!(detect_in_directory(Path::new("/d"), Path::new(path)), expected, "{path}");
        };
        check("/d/works.jsonl.gz", Some(PartKind::Records(Entity::Output)));
        check("/d/works/older-versions/works.2024.jsonl", Some(PartKind::Records(Entity::Output)));
        check(
            "/d/data/authors/updated_date=1/part_000.gz",
            Some(PartKind::Records(Entity::Author)),
        );
        check("/d/merged_ids/authors/2022.csv.gz", Some(PartKind::Merges(Entity::Author)));
        let inside = detect_in_directory(
            Path::new("/d/works/updated_date=1"),
            Path::new("/d/works/updated_date=1/part_0.gz"),
        );
        assert_eq!(inside, Some(PartKind::Records(Entity::Output)));
        check("/d/ror/ror.jsonl", None);
        check("/d/works/README.md", None);
    }
}
