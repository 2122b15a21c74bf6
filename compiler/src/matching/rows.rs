//! Reads the rows of a table or the JSON of lines, in batches.

use std::io;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use csv::ByteRecord;

use crate::error::{Error, Result};
use crate::matching::options::LineFormat;

/// The most rows of a batch.
const BATCH_ROWS: usize = 1_024;
/// The most bytes of a batch, but for one row.
const BATCH_BYTES: usize = 16 << 20;
/// The longest row, in bytes. A longer one is the rest of a file whose quote never closes.
const ROW_BYTES_MAX: u64 = 64 << 20;

/// A row of the input.
pub(super) enum Row {
    Cells(ByteRecord),
    /// A line without its end.
    Line(Vec<u8>),
}

impl Row {
    fn bytes(&self) -> usize {
        match self {
            Row::Cells(cells) => cells.as_slice().len(),
            Row::Line(line) => line.len(),
        }
    }
}

/// A reader that fails after a number of bytes, and counts them.
struct Limited {
    from: Box<dyn Read + Send>,
    left: u64,
    read: u64,
}

impl Read for Limited {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let reason = format!(
                "a row is longer than {} MiB; perhaps the quote of a cell never closes",
                ROW_BYTES_MAX >> 20
            );
            return Err(io::Error::other(reason));
        }
        let read = self.from.read(out)?;
        self.left = self.left.saturating_sub(read as u64);
        self.read += read as u64;
        Ok(read)
    }
}

enum Source {
    Csv(Box<csv::Reader<Limited>>),
    Ndjson(BufReader<Limited>),
}

/// The rows of an input, in order.
pub(super) struct Rows {
    source: Source,
    header: Option<ByteRecord>,
    path: PathBuf,
}

impl Rows {
    /// Opens the input, and reads the header of a table.
    pub fn open(from: Box<dyn Read + Send>, format: LineFormat, path: &Path) -> Result<Rows> {
        let limited = Limited { from, left: ROW_BYTES_MAX, read: 0 };
        let mut rows = Rows {
            source: Source::Ndjson(BufReader::new(limited)),
            header: None,
            path: path.to_owned(),
        };
        if format == LineFormat::Csv {
            let Source::Ndjson(reader) = rows.source else {
                return Err(Error::Internal("the input was opened as a table already".into()));
            };
            let mut reader =
                csv::ReaderBuilder::new().flexible(true).from_reader(reader.into_inner());
            let header = reader.byte_headers().map_err(|error| failed(path, error))?.clone();
            rows.header = Some(header);
            rows.source = Source::Csv(Box::new(reader));
        }
        Ok(rows)
    }

    /// The names of the columns; `None` of JSON lines.
    pub fn header(&self) -> Option<&ByteRecord> {
        self.header.as_ref()
    }

    /// The bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        match &self.source {
            Source::Csv(reader) => reader.get_ref().read,
            Source::Ndjson(reader) => reader.get_ref().read,
        }
    }

    /// The next row; `None` at the end. Blank lines are no rows.
    pub fn next_row(&mut self) -> Result<Option<Row>> {
        match &mut self.source {
            Source::Csv(reader) => {
                reader.get_mut().left = ROW_BYTES_MAX;
                let mut cells = ByteRecord::new();
                let found = reader.read_byte_record(&mut cells);
                let found = found.map_err(|error| failed(&self.path, error))?;
                Ok(found.then_some(Row::Cells(cells)))
            }
            Source::Ndjson(reader) => loop {
                reader.get_mut().left = ROW_BYTES_MAX;
                let mut line = Vec::new();
                let bytes = reader.read_until(b'\n', &mut line);
                if bytes.map_err(Error::input(&self.path))? == 0 {
                    return Ok(None);
                }
                let end = line.trim_ascii_end().len();
                line.truncate(end);
                if !line.is_empty() {
                    return Ok(Some(Row::Line(line)));
                }
            },
        }
    }

    /// The next rows, none at the end.
    pub fn next_batch(&mut self) -> Result<Vec<Row>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_ROWS
            && bytes < BATCH_BYTES
            && let Some(row) = self.next_row()?
        {
            bytes += row.bytes();
            batch.push(row);
        }
        Ok(batch)
    }
}

fn failed(path: &Path, error: csv::Error) -> Error {
    Error::Input { path: path.to_owned(), reason: error.to_string() }
}
