//! Writes records as lines: native JSON, or rows of CSV. All threads render and compress, a unit of 512
//! rows each; the units are written in order.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use pinakes_format::changes::add_references;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::record::csv::CsvTable;
use pinakes_format::record::members::{Members, View};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::export::options::Compression;
use crate::export::output::OutputFile;
use crate::export::plan::Job;
use crate::export::rows::ListedRows;
use crate::export::waves::in_order;
use crate::export::write_error::WriteError;
use crate::read::limits::LINE_BYTES_MAX;
use crate::terminal::progress::Bar;

/// Rows in a unit. Fixed, because each unit is compressed separately, and the bytes of an export must
/// depend on the records alone.
const UNIT_ROWS: usize = 512;
/// Bytes of text after which the other rows of a unit become a part of their own.
const PART_BYTES: usize = 8 << 20;
/// Bytes of text that a unit buffers before it compresses them.
const TEXT_BYTES: usize = 1 << 20;
/// Compression level of zstd.
const ZSTD_LEVEL: i32 = 3;

/// The size of an entity's file.
pub(crate) struct Written {
    /// Number of records.
    pub(crate) records: u64,
    /// Size of the file in bytes.
    pub(crate) bytes: u64,
    /// Number of lines longer than the default of `--max-line`.
    pub(crate) long_lines: u64,
}

/// Consecutive lines, compressed.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    rows: u64,
    long_lines: u64,
}

/// How a record becomes a line.
struct LineFormat<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    members: Members,
    /// `None` for JSON.
    table: Option<CsvTable>,
    has_references: bool,
    compression: Compression,
}

/// Writes the records of a job to a file, and syncs the file.
pub(crate) fn write(
    snapshot: &Snapshot,
    job: &Job,
    is_csv: bool,
    compression: Compression,
    mut file: OutputFile,
    bar: &Bar,
) -> Result<Written, WriteError> {
    let entity = job.entity;
    let members = job.select.clone().unwrap_or_else(|| Members::all(entity, View::Export));
    let table = is_csv.then(|| CsvTable::new(&members));
    let has_references = !is_csv && job.select.is_none() && keys_of(entity).has_citations();
    let format = LineFormat { snapshot, entity, members, table, has_references, compression };
    let mut written = Written { records: 0, bytes: 0, long_lines: 0 };
    let mut write_all = |made: Vec<Lines>| -> Result<(), WriteError> {
        for lines in made {
            file.write_all(&lines.bytes)?;
            written.records += lines.rows;
            written.long_lines += lines.long_lines;
            bar.advance(lines.rows);
        }
        Ok(())
    };
    write_all(vec![format.header()?])?;
    let mut rows = ListedRows::new(snapshot, &job.query, job.limit, UNIT_ROWS);
    in_order(&mut rows, |rows| format.render(rows), write_all)?;
    written.bytes = file.finish()?;
    Ok(written)
}

impl LineFormat<'_> {
    /// The header of CSV; nothing for JSON.
    fn header(&self) -> Result<Lines, WriteError> {
        let Some(table) = &self.table else { return Ok(Lines::default()) };
        let mut header = Vec::new();
        table.write_header(&mut header);
        let mut encoder = Encoder::new(self.compression)?;
        encoder.write_all(&header)?;
        Ok(Lines { bytes: encoder.finish()?, ..Lines::default() })
    }

    /// Renders rows, until [`PART_BYTES`] are reached. Returns the number of rows taken.
    fn render(&self, rows: &[u32]) -> Result<(Lines, usize), WriteError> {
        let mut encoder = Encoder::new(self.compression)?;
        let mut writer = self.members.writer(self.snapshot);
        let mut table = self.table.clone();
        let mut text = Vec::new();
        let mut lines = Lines::default();
        let mut part_bytes = 0;
        for row in rows {
            let from = text.len();
            let rendered = self.render_line(*row, &mut writer, &mut table, &mut text);
            rendered.map_err(|error| WriteError::Record(self.entity, *row, error))?;
            lines.rows += 1;
            lines.long_lines += u64::from(writer.out.len() > LINE_BYTES_MAX);
            writer.out.clear();
            part_bytes += text.len() - from;
            if text.len() >= TEXT_BYTES {
                encoder.write_all(&text)?;
                text.clear();
            }
            if part_bytes >= PART_BYTES {
                break;
            }
        }
        encoder.write_all(&text)?;
        lines.bytes = encoder.finish()?;
        let taken = lines.rows as usize;
        Ok((lines, taken))
    }

    /// Appends the line of a record. The page gets its JSON.
    fn render_line(
        &self,
        row: u32,
        writer: &mut JsonWriter<'_>,
        table: &mut Option<CsvTable>,
        text: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        self.members.render(row, writer)?;
        if self.has_references {
            add_references(self.snapshot, self.entity, row, &mut writer.out)?;
        }
        match table {
            Some(table) => table.write_row(&writer.out, text),
            None => {
                text.extend_from_slice(&writer.out);
                text.push(b'\n');
                Ok(())
            }
        }
    }
}

/// The compressor of a unit.
enum Encoder {
    Zst(zstd::Encoder<'static, Vec<u8>>),
    Gz(GzEncoder<Vec<u8>>),
    None(Vec<u8>),
}

impl Encoder {
    fn new(compression: Compression) -> io::Result<Encoder> {
        Ok(match compression {
            Compression::Zst => {
                let mut encoder = zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Encoder::Zst(encoder)
            }
            Compression::Gz => {
                Encoder::Gz(GzEncoder::new(Vec::new(), flate2::Compression::default()))
            }
            Compression::None => Encoder::None(Vec::new()),
        })
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Zst(encoder) => encoder.write_all(text),
            Encoder::Gz(encoder) => encoder.write_all(text),
            Encoder::None(out) => out.write_all(text),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Zst(encoder) => encoder.finish(),
            Encoder::Gz(encoder) => encoder.finish(),
            Encoder::None(out) => Ok(out),
        }
    }
}
