//! Reads one part into its object, line by line or row by row.

use pinakes_format::entity::Entity;

use crate::compile::input::{Part, PartKind, json_array_error};
use crate::error::Result;
use crate::frontend::derived::DerivedNodes;
use crate::frontend::reader::{BadRecord, LineReader};
use crate::frontend::{FrontEnd, id_lists, taxonomy_csv};
use crate::object::ObjectWriter;
use crate::object::part_report::KeptLine;
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::lines::{Line, Lines};
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
    let mut lines = Lines::open(&part.path, limits, diagnostics)?;
    while let Some(line) = lines.next_line()? {
        if line.number == 1 && begins_array(line.bytes) {
            return Err(json_array_error(&part.path));
        }
        object.report.count_read(entity.facts().plural);
        let mut line_hash = [0; 16];
        line_hash.copy_from_slice(&blake3::hash(line.bytes).as_bytes()[..16]);
        let outcome = match decode_line(&line) {
            Ok(text) => {
                let mut reader = LineReader { object, derived, line_hash, diagnostics, line: text };
                front_end.read_line(entity, text, &mut reader)
            }
            Err(code) => Err(BadRecord::Quarantine { code, id: None }),
        };
        record_outcome(outcome, &line, entity, line_hash, object)?;
    }
    Ok(lines.offset_bytes())
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

/// Quarantines a bad line, and keeps the position of a topic, which linking may quarantine.
fn record_outcome(
    outcome: std::result::Result<(), BadRecord>,
    line: &Line<'_>,
    entity: Entity,
    line_hash: [u8; 16],
    object: &mut ObjectWriter,
) -> Result<()> {
    let (code, id) = match outcome {
        Ok(()) => {
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
        let line_hash = row.cells.as_ref().map(taxonomy_csv::row_hash).unwrap_or_default();
        let outcome = match &row.cells {
            Ok(cells) => columns.read_row(
                cells,
                &mut LineReader { object, derived, line_hash, diagnostics, line: "" },
            ),
            Err(code) => Err(BadRecord::Quarantine { code, id: None }),
        };
        let Row { number, byte_offset, raw, .. } = &row;
        let line =
            Line { number: *number, byte_offset: *byte_offset, bytes: raw, is_too_long: false };
        record_outcome(outcome, &line, Entity::Topic, line_hash, object)?;
    }
    Ok(rows.offset_bytes())
}
