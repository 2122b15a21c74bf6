//! Reads one part into its object, line by line or row by row.

use pinakes_format::entity::Entity;

use crate::compile::input::{Part, PartKind, json_array_error};
use crate::error::Result;
use crate::frontend::derived::DerivedNodes;
use crate::frontend::detect::{OPENALEX_NAME, has_native_columns};
use crate::frontend::reader::{BadRecord, LineReader};
use crate::frontend::{FrontEnd, id_lists, taxonomy_csv};
use crate::object::ObjectWriter;
use crate::object::key::hash_line;
use crate::object::part_report::KeptLine;
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::lines::{Container, Line, Lines};
use crate::read::parquet::ParquetRows;
use crate::read::rows::{Row, Rows};

/// Topics of one part whose positions are kept: more than ten times the existing topics.
const TOPICS_MAX: usize = 50_000;

/// Reads a part into its object and returns the number of uncompressed bytes.
pub(crate) fn read_part(
    part: &Part,
    limits: &ReadLimits,
    object: &mut ObjectWriter,
) -> Result<u64> {
    let diagnostics = Diagnostics::new(limits);
    let mut derived = DerivedNodes::default();
    let bytes = match part.kind {
        PartKind::Records(entity) => {
            let front_end = FrontEnd::OpenAlex;
            read_records(part, front_end, entity, limits, &diagnostics, object, &mut derived)?
        }
        PartKind::Native(entity) => {
            let front_end = FrontEnd::Native;
            read_records(part, front_end, entity, limits, &diagnostics, object, &mut derived)?
        }
        PartKind::Merges(entity) => {
            id_lists::read_merged(&part.path, entity, limits, &diagnostics, object)?
        }
        PartKind::Deleted(entity) => {
            id_lists::read_deleted(&part.path, entity, limits, &diagnostics, object)?
        }
        PartKind::Taxonomy => read_taxonomy(part, limits, &diagnostics, object, &mut derived)?,
        PartKind::Side(table) => (table.read)(&part.path, limits, &diagnostics, object)?,
    };
    derived.write(object)?;
    if part.kind.front_end().is_some() && object.report.read.is_empty() {
        diagnostics.at(0, 0);
        diagnostics.warn("empty_part");
    }
    for (code, warned) in diagnostics.into_warnings() {
        object.report.warnings.insert(code.to_string(), warned.count);
        object.report.first_warnings.insert(code.to_string(), warned.first);
    }
    Ok(bytes)
}

fn read_records(
    part: &Part,
    front_end: FrontEnd,
    entity: Entity,
    limits: &ReadLimits,
    diagnostics: &Diagnostics,
    object: &mut ObjectWriter,
    derived: &mut DerivedNodes,
) -> Result<u64> {
    if Container::detect(&part.path)? == Container::Parquet {
        return read_rows(part, front_end, entity, limits, diagnostics, object, derived);
    }
    let mut lines = Lines::open(&part.path, limits, diagnostics)?;
    while let Some(line) = lines.next_line()? {
        if line.number == 1 && begins_array(line.bytes) {
            return Err(json_array_error(&part.path));
        }
        object.report.count_read(entity.facts().plural);
        let hash = hash_line(line.bytes);
        let line_hash = Some(hash);
        let outcome = match decode_line(&line) {
            Ok(text) => {
                let mut reader = LineReader { object, derived, line_hash, diagnostics, line: text };
                front_end.read_line(entity, text, &mut reader).map(|()| hash)
            }
            Err(code) => Err(BadRecord::Quarantine { code, id: None }),
        };
        record_outcome(outcome, &line, entity, object)?;
    }
    Ok(lines.offset_bytes())
}

/// Reads a Parquet file, row by row.
fn read_rows(
    part: &Part,
    front_end: FrontEnd,
    entity: Entity,
    limits: &ReadLimits,
    diagnostics: &Diagnostics,
    object: &mut ObjectWriter,
    derived: &mut DerivedNodes,
) -> Result<u64> {
    let mut rows = open_rows(part, front_end, entity, limits, diagnostics)?;
    while let Some(batch) = rows.next_batch()? {
        let columns = batch.columns();
        for (number, row) in columns.rows() {
            diagnostics.at(number, 0);
            object.report.count_read(entity.facts().plural);
            let mut reader = LineReader { object, derived, line_hash: None, diagnostics, line: "" };
            let outcome = front_end.read_row(entity, row, &mut reader);
            let outcome = outcome.map(|()| reader.line_hash.unwrap_or_default());
            // Only a row that a report may show needs a text.
            let is_shown = outcome.is_err() || entity == Entity::Topic;
            let text = if is_shown { row.to_json() } else { Vec::new() };
            let line = Line { number, byte_offset: 0, bytes: &text, is_too_long: false };
            record_outcome(outcome, &line, entity, object)?;
        }
    }
    Ok(rows.inflated_bytes())
}

/// Opens a Parquet file. Of JSON lines each tells whether it belongs to the kind; of a Parquet file the
/// names of its columns do.
pub(crate) fn open_rows<'d>(
    part: &Part,
    front_end: FrontEnd,
    entity: Entity,
    limits: &ReadLimits,
    diagnostics: &'d Diagnostics,
) -> Result<ParquetRows<'d>> {
    let rows = ParquetRows::open(&part.path, front_end.wanted(entity), limits, diagnostics)?;
    match (front_end, has_native_columns(&rows)) {
        (FrontEnd::OpenAlex, true) => Err(rows.other_kind("native")),
        (FrontEnd::Native, _) if rows.has_column(OPENALEX_NAME) => Err(rows.other_kind("openalex")),
        _ => Ok(rows),
    }
}

/// Whether a line begins an array of records. An array of other values is a bad line.
fn begins_array(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line == b"[" || line.starts_with(b"[{")
}

fn decode_line<'l>(line: &Line<'l>) -> std::result::Result<&'l str, &'static str> {
    if line.is_too_long {
        return Err("line_too_long");
    }
    simdutf8::basic::from_utf8(line.bytes).map_err(|_| "not_utf8")
}

/// Quarantines a bad line, and keeps the position of a topic, which linking may quarantine. A good line
/// gives its hash.
fn record_outcome(
    outcome: std::result::Result<[u8; 16], BadRecord>,
    line: &Line<'_>,
    entity: Entity,
    object: &mut ObjectWriter,
) -> Result<()> {
    let (code, id) = match outcome {
        Ok(line_hash) => {
            if entity == Entity::Topic && object.report.topics.len() < TOPICS_MAX {
                let raw = object.keep_raw(line.bytes)?;
                let (line, byte_offset) = (line.number, line.byte_offset);
                object.report.topics.push(KeptLine { line_hash, line, byte_offset, raw });
            }
            return Ok(());
        }
        Err(BadRecord::Fatal(error)) => return Err(error),
        Err(BadRecord::Quarantine { code, id }) => (code, id),
    };
    object.set_aside(entity.facts().plural, line, code, id)
}

fn read_taxonomy(
    part: &Part,
    limits: &ReadLimits,
    diagnostics: &Diagnostics,
    object: &mut ObjectWriter,
    derived: &mut DerivedNodes,
) -> Result<u64> {
    let mut rows = Rows::open(&part.path, None, limits, diagnostics)?;
    let Some(header) = rows.header()? else { return Ok(rows.offset_bytes()) };
    let columns = taxonomy_csv::find_columns(&header.cells.unwrap_or_default(), &part.path)?;
    while let Some(row) = rows.next_row()? {
        object.report.count_read(Entity::Topic.facts().plural);
        let hash = row.cells.as_ref().map(taxonomy_csv::row_hash).unwrap_or_default();
        let line_hash = Some(hash);
        let outcome = match &row.cells {
            Ok(cells) => columns
                .read_row(
                    cells,
                    &mut LineReader { object, derived, line_hash, diagnostics, line: "" },
                )
                .map(|()| hash),
            Err(code) => Err(BadRecord::Quarantine { code, id: None }),
        };
        let Row { number, byte_offset, raw, .. } = &row;
        let line =
            Line { number: *number, byte_offset: *byte_offset, bytes: raw, is_too_long: false };
        record_outcome(outcome, &line, Entity::Topic, object)?;
    }
    Ok(rows.offset_bytes())
}
