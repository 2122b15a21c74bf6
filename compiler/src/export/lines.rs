//! Writes records as text: native JSON lines, rows of CSV, a workbook, or references. All threads render a unit of 512 rows
//! each; the units are written in order.
//!
//! ```text
//! JSON lines, CSV          rows ─► text, compressed ─► file        on all threads
//! workbook, references     rows ─► JSON ─► text, compressed ─► file     JSON on all threads, the rest on one: a workbook is
//!                                                                 one stream of Deflate, and keys of BibTeX are counted
//! ```

use std::io::{self, Write};

use flate2::write::GzEncoder;
use pinakes_arrow::rows::ListedRows;
use pinakes_format::changes::add_references;
use pinakes_format::entity::Entity;
use pinakes_format::formats::reference::Reference;
use pinakes_format::formats::table::{Columns, RowWriter, TableCells, TableOptions};
use pinakes_format::formats::{self, ReferenceFormat, ReferenceWriter};
use pinakes_format::json::render::JsonWriter;
use pinakes_format::record::{CsvTable, Members, View};
use pinakes_format::schema::keys_of;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::export::options::Compression;
use crate::export::output::OutputFile;
use crate::export::plan::Job;
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
    /// Counts of long lines and cells.
    pub(crate) long: Long,
}

/// Counts of lines and cells that readers of an export may refuse.
#[derive(Clone, Copy, Default)]
pub(crate) struct Long {
    /// Number of lines longer than the default of `--max-line`.
    pub(crate) lines: u64,
    /// Number of cells longer than spreadsheets hold, or cut.
    pub(crate) cells: u64,
}

/// The form of the records in a file.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Native JSON.
    Json,
    /// Rows of CSV or of a workbook.
    Table(Columns, TableOptions),
    /// References for reference managers.
    References(ReferenceFormat),
}

/// Consecutive records as text.
#[derive(Default)]
struct Part {
    /// Compressed, unless it is JSON for [`Sequel`].
    bytes: Vec<u8>,
    /// The ends of the records in JSON for [`Sequel`].
    ends: Vec<usize>,
    rows: u64,
    long: Long,
}

/// How a record becomes text.
struct RecordFormat<'s> {
    snapshot: &'s Snapshot,
    entity: Entity,
    members: Members,
    /// Cells of CSV; `None` for JSON.
    cells: Option<(TableCells, TableOptions)>,
    has_references: bool,
    /// `None` for JSON that one thread goes on with.
    compression: Option<Compression>,
}

/// A writer on one thread, which takes the JSON of all records in their order.
enum Sequel {
    References(ReferenceWriter),
    Workbook(TableCells, RowWriter),
}

/// Writes the records of a job, so many, to a file, and syncs the file.
pub(crate) fn write(
    snapshot: &Snapshot,
    job: &Job,
    records: u64,
    form: Form,
    compression: Compression,
    mut file: OutputFile,
    bar: &Bar,
) -> Result<Written, WriteError> {
    let entity = job.entity;
    let id = &snapshot.manifest().id;
    let members = match form {
        Form::References(_) => formats::REFERENCE_MEMBERS.clone(),
        Form::Table(Columns::References, _) => formats::TABLE_REFERENCE_MEMBERS.clone(),
        Form::Json | Form::Table(Columns::Members, _) => {
            job.select.clone().unwrap_or_else(|| Members::all(entity, View::Export).clone())
        }
    };
    let cells_of = |columns| match columns {
        Columns::Members => TableCells::Members(CsvTable::new(&members)),
        Columns::References => TableCells::References { database: formats::database_of(id) },
    };
    // References and workbooks depend on the records before each record, so one thread writes them.
    let (cells, mut sequel) = match form {
        Form::Json => (None, None),
        Form::References(references) => {
            let writer = ReferenceWriter::of_list(references, records, id);
            (None, Some(Sequel::References(writer)))
        }
        Form::Table(columns, table) if table.is_workbook => {
            (None, Some(Sequel::Workbook(cells_of(columns), RowWriter::new(table))))
        }
        Form::Table(columns, table) => (Some((cells_of(columns), table)), None),
    };
    // A native dump has the references too, because it may be compiled again.
    let is_native = matches!(form, Form::Json) && job.select.is_none();
    let has_references = is_native && keys_of(entity).has_citations();
    // Other text is compressed in parts, by the threads that render it.
    let of_parts = sequel.is_none().then_some(compression);
    let format =
        RecordFormat { snapshot, entity, members, cells, has_references, compression: of_parts };
    let mut written = Written { records: 0, bytes: 0, long: Long::default() };
    let mut text = Vec::new();
    if let Some(sequel) = &mut sequel {
        sequel.begin(&mut text)?;
    }
    let mut write_all = |parts: Vec<Part>| -> Result<(), WriteError> {
        for part in parts {
            match &mut sequel {
                None => file.write_all(&part.bytes)?,
                Some(sequel) => {
                    sequel.write(&part, &mut text)?;
                    if text.len() >= PART_BYTES {
                        file.write_all(&compressed(compression, &text)?)?;
                        text.clear();
                    }
                }
            }
            written.records += part.rows;
            written.long.lines += part.long.lines;
            written.long.cells += part.long.cells;
            bar.advance(part.rows);
        }
        Ok(())
    };
    write_all(vec![format.header()?])?;
    let mut rows = ListedRows::new(snapshot, &job.query, job.limit, UNIT_ROWS);
    in_order(&mut rows, |rows| format.render(rows), write_all)?;
    if let Some(sequel) = &mut sequel {
        written.long.cells += sequel.finish(&mut text)?;
        file.write_all(&compressed(compression, &text)?)?;
    }
    written.bytes = file.finish()?;
    Ok(written)
}

impl Sequel {
    fn begin(&mut self, text: &mut Vec<u8>) -> Result<(), ReadError> {
        match self {
            Sequel::References(writer) => writer.begin(text),
            Sequel::Workbook(cells, writer) => cells.write_header(writer, text)?,
        }
        Ok(())
    }

    /// Writes the records of a part.
    fn write(&mut self, part: &Part, text: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut from = 0;
        for end in &part.ends {
            let json = &part.bytes[from..*end];
            match self {
                Sequel::References(writer) => writer.write(&Reference::read(json)?, text)?,
                Sequel::Workbook(cells, writer) => cells.write(json, writer, text)?,
            }
            from = *end;
        }
        Ok(())
    }

    /// Ends the file. Returns the number of cells that are too long.
    fn finish(&mut self, text: &mut Vec<u8>) -> Result<u64, ReadError> {
        match self {
            Sequel::References(writer) => {
                writer.finish(text);
                Ok(0)
            }
            Sequel::Workbook(_, writer) => {
                writer.finish(text)?;
                Ok(writer.long_cells)
            }
        }
    }
}

impl RecordFormat<'_> {
    /// The header of CSV; nothing for other formats.
    fn header(&self) -> Result<Part, WriteError> {
        let (Some((cells, table)), Some(compression)) = (&self.cells, self.compression) else {
            return Ok(Part::default());
        };
        let mut header = Vec::new();
        let mut writer = RowWriter::new(*table);
        writer.begin(&mut header);
        cells.write_header(&mut writer, &mut header)?;
        Ok(Part { bytes: compressed(compression, &header)?, ..Part::default() })
    }

    /// Renders rows, until [`PART_BYTES`] are reached. Returns the number of rows taken.
    fn render(&self, rows: &[u32]) -> Result<(Part, usize), WriteError> {
        let mut encoder = self.compression.map(Encoder::new).transpose()?;
        let mut writer = self.members.writer(self.snapshot);
        let mut table =
            self.cells.as_ref().map(|(cells, table)| (cells.clone(), RowWriter::new(*table)));
        let mut text = Vec::new();
        let mut part = Part::default();
        let mut part_bytes = 0;
        for row in rows {
            let from = text.len();
            let rendered = self.render_record(*row, &mut writer, &mut table, &mut text);
            rendered.map_err(|error| WriteError::Record(self.entity, *row, error))?;
            part.rows += 1;
            // `compile` reads longer lines only if its options allow them, so the report counts them.
            let is_long = table.is_none() && writer.out.len() > LINE_BYTES_MAX;
            part.long.lines += u64::from(is_long);
            writer.out.clear();
            part_bytes += text.len() - from;
            // Compressing the text piece by piece bounds the memory of a part.
            match &mut encoder {
                Some(encoder) if text.len() >= TEXT_BYTES => {
                    encoder.write_all(&text)?;
                    text.clear();
                }
                Some(_) => {}
                // One thread takes the part apart by its records.
                None => part.ends.push(text.len()),
            }
            if part_bytes >= PART_BYTES {
                break;
            }
        }
        part.bytes = match encoder {
            Some(mut encoder) => {
                encoder.write_all(&text)?;
                encoder.finish()?
            }
            None => text,
        };
        part.long.cells = table.map_or(0, |(_, writer)| writer.long_cells);
        let taken = part.rows as usize;
        Ok((part, taken))
    }

    /// Appends the text of a record. The writer gets its JSON.
    fn render_record(
        &self,
        row: u32,
        writer: &mut JsonWriter<'_>,
        table: &mut Option<(TableCells, RowWriter)>,
        text: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        self.members.render(row, writer)?;
        if self.has_references {
            add_references(self.snapshot, self.entity, row, &mut writer.out)?;
        }
        match table {
            Some((cells, rows)) => cells.write(&writer.out, rows, text),
            None => {
                text.extend_from_slice(&writer.out);
                text.push(b'\n');
                Ok(())
            }
        }
    }
}

/// A text as one unit of a compression.
fn compressed(compression: Compression, text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(compression)?;
    encoder.write_all(text)?;
    encoder.finish()
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
