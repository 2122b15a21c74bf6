//! A stream of a whole list: JSON lines, a table, or a format of reference managers.
//!
//! The stream holds one batch of row numbers, at most 512 KiB, and renders them piece by piece, so its memory
//! does not depend on the list. Finding a batch and rendering a piece each have a work permit of their own:
//!
//! ```text
//! count, first batch    before the reply's head, so that the client may still get 400, 429 or 503
//! pieces of 256 KiB     each when the client has taken the piece before
//! next batch            with the first of its pieces, within --list-timeout and --list-cpu
//! ```
//!
//! A piece that fails aborts the body, and the client sees an incomplete reply.

use std::mem;

use pinakes_format::changes::add_all_references;
use pinakes_format::entity::Entity;
use pinakes_format::formats::reference::Reference;
use pinakes_format::formats::table::{Columns, RowWriter, TableCells, TableOptions};
use pinakes_format::formats::{self, ReferenceFormat, ReferenceWriter};
use pinakes_format::json::render::JsonWriter;
use pinakes_format::query::{Query, QueryError, REFERENCES, RELEVANCE_SCORE, RowBatch, RowCursor};
use pinakes_format::record::{CsvTable, Members, View};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::define::WorkLimits;
use crate::list::rows::{JSON_BYTES_PER_STORED, add_score};
use crate::reply::pieces::{PIECE_BYTES, PieceBudget, PieceError, PieceSource};

/// Records that are fetched and rendered together.
const RECORDS_TOGETHER: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// One record as JSON on each line.
    NdJson,
    /// One record on each row, after a header.
    Csv,
    /// The same as a workbook.
    Xlsx,
    /// References to outputs.
    References(ReferenceFormat),
}

impl StreamFormat {
    /// The formats of all lists.
    pub const OF_ALL: [StreamFormat; 3] =
        [StreamFormat::NdJson, StreamFormat::Csv, StreamFormat::Xlsx];

    /// The formats of the list of an entity.
    pub fn of(entity: Entity) -> impl Iterator<Item = StreamFormat> {
        let references = ReferenceFormat::ALL.into_iter().filter(move |_| entity == Entity::Output);
        StreamFormat::OF_ALL.into_iter().chain(references.map(StreamFormat::References))
    }

    /// The value of the parameter.
    pub fn name(self) -> &'static str {
        match self {
            StreamFormat::NdJson => "ndjson",
            StreamFormat::Csv => "csv",
            StreamFormat::Xlsx => "xlsx",
            StreamFormat::References(format) => format.name(),
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            StreamFormat::NdJson => "JSON lines",
            StreamFormat::Csv => "CSV",
            StreamFormat::Xlsx => "Excel",
            StreamFormat::References(format) => format.label(),
        }
    }

    /// The extension of file names.
    pub fn extension(self) -> &'static str {
        match self {
            StreamFormat::References(format) => format.extension(),
            format => format.name(),
        }
    }

    /// The value of `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            StreamFormat::NdJson => "application/x-ndjson",
            StreamFormat::Csv => "text/csv; charset=utf-8; header=present",
            StreamFormat::Xlsx => {
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
            }
            StreamFormat::References(format) => format.media_type(),
        }
    }
}

/// A stream as a client asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRequest {
    /// Lines, a table, or references.
    pub format: StreamFormat,
    /// The columns of a table.
    pub columns: Columns,
    /// How a table is written.
    pub table: TableOptions,
}

impl StreamRequest {
    /// A table, if the format is one.
    pub fn table(&self) -> Option<TableOptions> {
        let is_workbook = self.format == StreamFormat::Xlsx;
        let is_table = is_workbook || self.format == StreamFormat::Csv;
        is_table.then_some(TableOptions { is_workbook, ..self.table })
    }

    /// Whether records have members of single records, whatever is selected.
    pub fn has_whole_references(&self) -> bool {
        matches!(self.format, StreamFormat::References(_)) || self.columns == Columns::References
    }
}

/// A whole list that is sent in pieces.
pub struct ListRows {
    query: Query,
    members: Members,
    output: Output,
    limits: WorkLimits,
    cursor: RowCursor,
    /// The rows of the current batch.
    rows: RowBatch,
    /// Index of the next row of the batch.
    next: usize,
    /// Records that are still to be rendered.
    records_left: u64,
    has_begun: bool,
}

/// The form in which a stream sends the JSON of its records.
enum Output {
    Lines,
    Table(TableCells, RowWriter),
    References(ReferenceWriter),
}

impl ListRows {
    /// Counts the records of a list, and finds the first of them. Returns the stream and the count.
    pub fn begin(
        query: &Query,
        stream: StreamRequest,
        limits: WorkLimits,
        snapshot: &Snapshot,
    ) -> Result<(ListRows, u64), QueryError> {
        let mut cursor = RowCursor::default();
        // Count and first batch precede the head of the reply, so that their errors still have a status.
        let (records, rows) = limits.run(|deadline| {
            let records = query.count(snapshot, deadline)?;
            Ok::<_, QueryError>((records, query.next_batch(&mut cursor, snapshot, deadline)?))
        })?;
        let all = || Members::all(query.entity, View::List).clone();
        let members = match (stream.format, stream.columns) {
            (StreamFormat::References(_), _) => formats::REFERENCE_MEMBERS.clone(),
            (_, Columns::References) => formats::TABLE_REFERENCE_MEMBERS.clone(),
            (_, Columns::Members) => query.select.clone().unwrap_or_else(all),
        };
        let id = &snapshot.manifest().id;
        let output = match (stream.format, stream.table()) {
            (StreamFormat::References(format), _) => {
                Output::References(ReferenceWriter::of_list(format, records, id))
            }
            (_, Some(table)) => {
                let cells = match stream.columns {
                    Columns::References => {
                        TableCells::References { database: formats::database_of(id) }
                    }
                    Columns::Members => TableCells::Members(csv_table(query, &members)),
                };
                Output::Table(cells, RowWriter::new(table))
            }
            (_, None) => Output::Lines,
        };
        let stream = ListRows {
            query: query.clone(),
            members,
            output,
            // Each piece is work of its own, with its own limit of time.
            limits: limits.of_each_run(),
            cursor,
            rows,
            next: 0,
            records_left: records,
            has_begun: false,
        };
        Ok((stream, records))
    }

    fn find_batch(&mut self, snapshot: &Snapshot) -> Result<(), PieceError> {
        let (query, cursor) = (&self.query, &mut self.cursor);
        // Freed first, so that the stream never holds two batches.
        (self.rows, self.next) = (RowBatch::Unranked(Vec::new()), 0);
        let found = self.limits.run(|deadline| query.next_batch(cursor, snapshot, deadline));
        self.rows = found.map_err(|error| match error {
            QueryError::Damaged(error) => PieceError::Damaged(error),
            QueryError::Deadline | QueryError::Refused { .. } => PieceError::Deadline,
        })?;
        match self.rows.is_empty() {
            true => Err(ReadError::Internal("a list has fewer rows than were counted").into()),
            false => Ok(()),
        }
    }

    /// Renders records of the batch that are fetched together, or as many as fill the piece.
    fn render_some(
        &mut self,
        snapshot: &Snapshot,
        out: &mut Vec<u8>,
        budget: &PieceBudget,
    ) -> Result<(), ReadError> {
        let end = (self.next + RECORDS_TOGETHER).min(self.rows.len());
        let batch: Vec<_> = (self.next..end).filter_map(|at| self.rows.get(at)).collect();
        let rows: Vec<u32> = batch.iter().map(|(row, _)| *row).collect();
        let members = &self.members;
        let references = self.query.selects_references.then_some(self.query.entity);
        let render = |_: &_, _, row, writer: &mut JsonWriter<'_>| members.render(row, writer);
        // Starts the reads of all of them first, while the disk is busy.
        snapshot.fetch_page(self.query.entity, &rows, members.view().shape(), render)?;
        let mut writer = members.writer(snapshot);
        for (at, (row, ranked)) in batch.into_iter().enumerate() {
            if at > 0 && budget.is_used(out.len()) {
                break;
            }
            match &mut self.output {
                Output::Table(cells, rows) => {
                    writer.out.clear();
                    members.render(row, &mut writer)?;
                    if let (Some(ranked), TableCells::Members(_)) = (ranked, &cells) {
                        add_score(&mut writer.out, 0, ranked);
                    }
                    if let Some(entity) = references {
                        add_all_references(snapshot, entity, row, &mut writer.out)?;
                    }
                    cells.write(&writer.out, rows, out)?;
                }
                Output::References(references) => {
                    writer.out.clear();
                    members.render(row, &mut writer)?;
                    references.write(&Reference::read(&writer.out)?, out)?;
                }
                Output::Lines => {
                    // The record is written at the end of the piece, not copied there.
                    mem::swap(&mut writer.out, out);
                    let begin = writer.out.len();
                    let mut line = members.render(row, &mut writer);
                    mem::swap(&mut writer.out, out);
                    if let Some(ranked) = ranked.filter(|_| line.is_ok()) {
                        add_score(out, begin, ranked);
                    }
                    if let Some(entity) = references.filter(|_| line.is_ok()) {
                        line = add_all_references(snapshot, entity, row, out);
                    }
                    line.inspect_err(|_| out.truncate(begin))?;
                    out.push(b'\n');
                }
            }
            self.next += 1;
            self.records_left = self.records_left.saturating_sub(1);
        }
        Ok(())
    }
}

/// The table of the members of a list, with its scores and the ids of references where they are selected.
fn csv_table(query: &Query, members: &Members) -> CsvTable {
    let table = match query.has_scores() {
        true => CsvTable::with_member_after_id(members, RELEVANCE_SCORE),
        false => CsvTable::new(members),
    };
    if query.selects_references { table.with_list(REFERENCES) } else { table }
}

impl PieceSource for ListRows {
    fn held_bytes(&self) -> usize {
        let held = match &self.output {
            Output::References(_) => ReferenceWriter::BYTES_MAX,
            Output::Table(_, writer) => writer.held_bytes(),
            Output::Lines => 0,
        };
        RowCursor::BATCH_BYTES_MAX + held
    }

    fn next_bytes(&self, snapshot: &Snapshot) -> usize {
        // Damage is found again, and reported, when the record is rendered. The first record of the next
        // batch is not known yet.
        let stored = self
            .rows
            .get(self.next)
            .map(|(row, _)| snapshot.record_bytes(self.query.entity, row).unwrap_or_default());
        (stored.unwrap_or_default() * JSON_BYTES_PER_STORED).max(PIECE_BYTES)
    }

    fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        budget: &PieceBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), PieceError> {
        out.reserve(2 * PIECE_BYTES);
        if !mem::replace(&mut self.has_begun, true) {
            match &mut self.output {
                Output::Lines => {}
                Output::Table(cells, writer) => {
                    writer.begin(out);
                    cells.write_header(writer, out)?;
                }
                Output::References(writer) => writer.begin(out),
            }
        }
        while self.records_left > 0 && !budget.is_used(out.len()) {
            if self.next == self.rows.len() {
                self.find_batch(snapshot)?;
            }
            self.render_some(snapshot, out, budget)?;
        }
        match (self.records_left, &mut self.output) {
            (0, Output::References(writer)) => writer.finish(out),
            (0, Output::Table(_, writer)) => writer.finish(out)?,
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.records_left == 0
    }
}
