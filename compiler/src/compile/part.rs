//! Reads one part into its object, line by line or row by row.

use pinakes_format::entity::Entity;

use crate::compile::earlier::near::MissedBytes;
use crate::compile::earlier::{EarlierRecords, is_copyable};
use crate::compile::input::{Part, PartKind, json_array_error};
use crate::error::Result;
use crate::frontend::detect::{OPENALEX_NAME, has_native_columns};
use crate::frontend::reader::{BadRecord, LineReader};
use crate::frontend::{FrontEnd, id_lists, taxonomy_csv};
use crate::object::part_report::KeptLine;
use crate::object::{ObjectWriter, hash_line};
use crate::read::csv_rows::CsvRow;
use crate::read::lines::Lines;
use crate::read::{Container, CsvRows, Diagnostics, Line, ParquetRows, ReadLimits};

/// Topics of one part whose positions are kept: more than ten times the existing topics.
const TOPICS_MAX: usize = 50_000;

/// Counts of a part that was read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadCounts {
    pub uncompressed_bytes: u64,
    /// Lines that were not parsed, because their records were copied.
    pub copied_lines: u64,
}

/// Reads a part into its object. Copies the records of lines that `earlier` has.
pub(crate) fn read_part(
    part: &Part,
    limits: &ReadLimits,
    earlier: Option<&EarlierRecords>,
    object: &mut ObjectWriter,
) -> Result<ReadCounts> {
    let diagnostics = Diagnostics::new(limits);
    let earlier = earlier.filter(|_| is_copyable(part.kind));
    let mut reader = PartReader {
        part,
        limits,
        earlier,
        missed: MissedBytes::default(),
        diagnostics: &diagnostics,
        object,
        copied_lines: 0,
    };
    let uncompressed_bytes = reader.read()?;
    let copied_lines = reader.copied_lines;
    for (code, warned) in diagnostics.into_warnings() {
        object.report.warnings.insert(code.to_string(), warned.count);
        object.report.first_warnings.insert(code.to_string(), warned.first);
    }
    Ok(ReadCounts { uncompressed_bytes, copied_lines })
}

struct PartReader<'r> {
    part: &'r Part,
    limits: &'r ReadLimits,
    earlier: Option<&'r EarlierRecords>,
    missed: MissedBytes,
    diagnostics: &'r Diagnostics,
    object: &'r mut ObjectWriter,
    copied_lines: u64,
}

impl PartReader<'_> {
    /// Returns the number of uncompressed bytes.
    fn read(&mut self) -> Result<u64> {
        let PartReader { part: Part { path, kind, .. }, limits, diagnostics, .. } = *self;
        let bytes = match *kind {
            PartKind::Records(entity) => self.read_records(FrontEnd::OpenAlex, entity)?,
            PartKind::Native(entity) => self.read_records(FrontEnd::Native, entity)?,
            PartKind::Merges(entity) => {
                id_lists::read_merged(path, entity, limits, diagnostics, self.object)?
            }
            PartKind::Deleted(entity) => {
                id_lists::read_deleted(path, entity, limits, diagnostics, self.object)?
            }
            PartKind::Taxonomy => self.read_taxonomy()?,
            PartKind::Side(table) => (table.read)(path, limits, diagnostics, self.object)?,
        };
        if kind.front_end().is_some() && self.object.report.read.is_empty() {
            diagnostics.at(0, 0);
            diagnostics.warn("empty_part");
        }
        Ok(bytes)
    }

    fn read_records(&mut self, front_end: FrontEnd, entity: Entity) -> Result<u64> {
        let path = &self.part.path;
        if Container::detect(path)? == Container::Parquet {
            return self.read_rows(front_end, entity);
        }
        let mut lines = Lines::open(path, self.limits, self.diagnostics)?;
        while let Some(line) = lines.next_line()? {
            if line.number == 1 && begins_array(line.bytes) {
                return Err(json_array_error(path));
            }
            self.object.report.count_read(entity.facts().plural);
            self.read_line(front_end, entity, &line)?;
        }
        Ok(lines.offset_bytes())
    }

    /// Copies the record of a line that an earlier run has read, or parses the line.
    fn read_line(&mut self, front_end: FrontEnd, entity: Entity, line: &Line<'_>) -> Result<()> {
        let hash = hash_line(line.bytes);
        // Of a line that is too long, only the first bytes are at hand.
        let earlier = self.earlier.filter(|_| !line.is_too_long);
        let line_bytes = line.bytes.len();
        if let Some(record) = earlier
            .and_then(|earlier| earlier.get(self.part.kind, hash, line_bytes, &mut self.missed))
        {
            self.copied_lines += 1;
            return record.copy(entity, self.object);
        }
        let text = match decode_line(line) {
            Ok(text) => text,
            Err(code) => return self.object.set_aside(entity.facts().plural, line, code, None),
        };
        let (diagnostics, warnings) = (self.diagnostics, self.diagnostics.total());
        let _memory = diagnostics.begin_record(line_bytes);
        let mut reader = self.line_reader(Some(hash), text);
        let outcome = front_end.read_line(entity, text, &mut reader).map(|()| hash);
        let is_good = outcome.is_ok() && self.diagnostics.total() == warnings;
        if is_good && is_copyable(self.part.kind) {
            self.object.mark_copyable(entity);
        }
        record_outcome(outcome, line, entity, self.object)
    }

    fn line_reader<'l>(&'l mut self, line_hash: Option<[u8; 16]>, line: &'l str) -> LineReader<'l> {
        LineReader { object: self.object, line_hash, diagnostics: self.diagnostics, line }
    }

    /// Reads a Parquet file, row by row.
    fn read_rows(&mut self, front_end: FrontEnd, entity: Entity) -> Result<u64> {
        let diagnostics = self.diagnostics;
        let mut rows = open_rows(self.part, front_end, entity, self.limits, diagnostics)?;
        while let Some(batch) = rows.next_batch()? {
            let columns = batch.columns();
            for (number, row) in columns.rows() {
                self.diagnostics.at(number, 0);
                self.object.report.count_read(entity.facts().plural);
                let _memory = diagnostics.begin_record(0);
                let mut reader = self.line_reader(None, "");
                let outcome = front_end.read_row(entity, row, &mut reader);
                let outcome = outcome.map(|()| reader.line_hash.unwrap_or_default());
                // Only a row that a report may show needs a text.
                let is_shown = outcome.is_err() || entity == Entity::Topic;
                let text = if is_shown { row.to_json() } else { Vec::new() };
                let line = Line { number, byte_offset: 0, bytes: &text, is_too_long: false };
                record_outcome(outcome, &line, entity, self.object)?;
            }
        }
        Ok(rows.inflated_bytes())
    }

    fn read_taxonomy(&mut self) -> Result<u64> {
        let path = &self.part.path;
        let mut rows = CsvRows::open(path, None, self.limits, self.diagnostics)?;
        let Some(header) = rows.header()? else { return Ok(rows.offset_bytes()) };
        let columns = taxonomy_csv::find_columns(&header.cells.unwrap_or_default(), path)?;
        while let Some(row) = rows.next_row()? {
            self.object.report.count_read(Entity::Topic.facts().plural);
            let hash = row.cells.as_ref().map(taxonomy_csv::row_hash).unwrap_or_default();
            let outcome = match &row.cells {
                Ok(cells) => {
                    let mut reader = self.line_reader(Some(hash), "");
                    columns.read_row(cells, &mut reader).map(|()| hash)
                }
                Err(code) => Err(BadRecord::Quarantine { code, id: None }),
            };
            let CsvRow { number, byte_offset, raw, .. } = &row;
            let line =
                Line { number: *number, byte_offset: *byte_offset, bytes: raw, is_too_long: false };
            record_outcome(outcome, &line, Entity::Topic, self.object)?;
        }
        Ok(rows.offset_bytes())
    }
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
