//! Parquet files: their rows, decoded in batches, and each row as a serde value.
//!
//! - [`file`] opens a file; [`footer`] and [`pages`] read the file within its limits, [`thrift`] and [`page_header`] their bytes.
//! - [`projection`] chooses the columns; the `parquet` crate decodes their pages to Arrow arrays, and checks
//!   that texts are UTF-8. Where one is not, the rows from there on are decoded again without the check, so
//!   that each row is checked apart.
//! - [`column`] and [`row`] present a row to the types that read JSON lines.
//!
//! Memory: one page and one dictionary per column, and the decoded values of one batch.

pub(crate) mod column;
pub(crate) mod fault;
mod file;
pub(crate) mod footer;
pub(crate) mod page_header;
pub(crate) mod pages;
pub(crate) mod projection;
pub(crate) mod row;
pub(crate) mod row_json;
pub(crate) mod thrift;
pub(crate) mod times;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use arrow_array::{Array, StructArray};
use parquet::errors::ParquetError;
use serde::de::{DeserializeSeed, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use crate::error::{Error, Result};
use crate::read::lenient::{Diagnostics, Wanted};
use crate::read::limits::ReadLimits;
use crate::read::lines::RAW_BYTES_MAX;
use crate::read::parquet::column::Column;
use crate::read::parquet::fault::ParquetFault;
use crate::read::parquet::file::ParquetFile;
use crate::read::parquet::projection::Texts;
pub(crate) use crate::read::parquet::row::RowFault;
use crate::read::parquet::row::{ParquetValue, RowMeter};
use crate::read::parquet::row_json::JsonText;
use crate::read::part_file::PartFile;

/// Reads the rows of a Parquet file in their order.
pub(crate) struct ParquetRows<'d> {
    path: PathBuf,
    wanted: Wanted,
    limits: ReadLimits,
    diagnostics: &'d Diagnostics,
    texts: Texts,
    file: ParquetFile,
    /// Rows of the batches so far.
    read_rows: u64,
    /// Bytes of the rows so far, texts of dictionaries as often as they occur.
    row_bytes: Rc<Cell<u64>>,
}

impl<'d> ParquetRows<'d> {
    /// Opens a file to read the columns that are wanted.
    pub(crate) fn open(
        path: &Path,
        wanted: Wanted,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> Result<ParquetRows<'d>> {
        let texts = Texts::Checked;
        let file = PartFile::open(path, limits.advice()).map_err(Error::input(path))?;
        let file = ParquetFile::open(file, wanted, texts, limits, diagnostics);
        Ok(ParquetRows {
            path: path.to_path_buf(),
            wanted,
            limits: limits.clone(),
            diagnostics,
            texts,
            file: file.map_err(|fault| fault.into_error(path))?,
            read_rows: 0,
            row_bytes: Rc::default(),
        })
    }

    /// Whether the file has a column of this name.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.file.names.iter().any(|own| own == name)
    }

    /// Reads the next batch of rows; fails where the file is damaged. Call it no more after a failure.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch>> {
        let decoded = match self.row_bytes.get() > self.limits.inflated_bytes_max {
            true => Err(ParquetFault::TooManyBytes),
            false => self.decode(),
        };
        let Some(rows) = decoded.map_err(|fault| fault.into_error(&self.path))? else {
            return self.check_end().map(|()| None);
        };
        let before = self.read_rows;
        self.read_rows += rows.len() as u64;
        Ok(Some(Batch {
            rows,
            before,
            row_bytes_max: self.limits.line_bytes_max as u64,
            row_bytes: self.row_bytes.clone(),
            wanted: self.wanted,
        }))
    }

    fn decode(&mut self) -> std::result::Result<Option<StructArray>, ParquetFault> {
        match self.file.decode()? {
            Ok(rows) => Ok(rows),
            // The decoder does not say whether a text is the reason. Any other damage is found again.
            Err(_) if self.texts == Texts::Checked => {
                self.reopen_as_bytes()?;
                self.file.decode()?.map_err(undecodable)
            }
            Err(error) => Err(undecodable(error)),
        }
    }

    /// Opens the file again to decode texts as bytes, and skips the rows of the batches so far. Batches have
    /// the same rows in either way of decoding.
    fn reopen_as_bytes(&mut self) -> std::result::Result<(), ParquetFault> {
        self.texts = Texts::Bytes;
        // The warnings about the columns were counted when the file was opened first.
        let diagnostics = Diagnostics::default();
        let (wanted, texts) = (self.wanted, self.texts);
        let file = PartFile::open(&self.path, self.limits.advice()).map_err(ParquetFault::Read)?;
        self.file = ParquetFile::open(file, wanted, texts, &self.limits, &diagnostics)?;
        let mut skipped = 0;
        while skipped < self.read_rows {
            let Some(rows) = self.file.decode()?.map_err(undecodable)? else { break };
            skipped += rows.len() as u64;
        }
        Ok(())
    }

    fn check_end(&self) -> Result<()> {
        if u64::try_from(self.file.stated_rows) != Ok(self.read_rows) {
            let (read, stated) = (self.read_rows, self.file.stated_rows);
            let reason = format!("it has {read} rows, expected {stated} by its footer");
            return Err(ParquetFault::Page(reason).into_error(&self.path));
        }
        if self.file.source.lacks_checksums() {
            self.diagnostics.at(0, 0);
            self.diagnostics.warn("parquet_without_checksum");
        }
        Ok(())
    }

    /// The error of a file whose records belong to another kind of input.
    pub(crate) fn other_kind(&self, kind: &'static str) -> Error {
        ParquetFault::OtherKind(kind).into_error(&self.path)
    }

    /// The number of uncompressed bytes read so far.
    pub(crate) fn inflated_bytes(&self) -> u64 {
        self.file.source.inflated_bytes()
    }
}

fn undecodable(error: ParquetError) -> ParquetFault {
    ParquetFault::Page(format!("its pages cannot be read: {error}"))
}

/// Decoded rows.
pub(crate) struct Batch {
    rows: StructArray,
    /// The rows of the file before these.
    before: u64,
    row_bytes_max: u64,
    row_bytes: Rc<Cell<u64>>,
    wanted: Wanted,
}

/// The columns of a batch.
pub(crate) struct BatchRows<'a> {
    /// A struct without nulls.
    root: Column<'a>,
    batch: &'a Batch,
}

impl Batch {
    pub(crate) fn columns(&self) -> BatchRows<'_> {
        BatchRows { root: Column::new(&self.rows, self.wanted), batch: self }
    }
}

impl<'a> BatchRows<'a> {
    /// The rows, each with its number in the file, from 1.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u64, Row<'_, 'a>)> {
        (0..self.batch.rows.len())
            .map(|at| (self.batch.before + at as u64 + 1, Row { of: self, at }))
    }
}

/// One row.
#[derive(Clone, Copy)]
pub(crate) struct Row<'c, 'a> {
    of: &'c BatchRows<'a>,
    at: usize,
}

impl<'a> Row<'_, 'a> {
    /// Reads the row as an object.
    pub(crate) fn read<T>(
        self,
        read: impl FnOnce(ParquetValue<'_, 'a>) -> std::result::Result<T, RowFault>,
    ) -> std::result::Result<T, RowFault> {
        let batch = self.of.batch;
        let meter = RowMeter::new(batch.row_bytes_max, false);
        let value = read(ParquetValue::new(&self.of.root, self.at, &meter));
        batch.row_bytes.set(batch.row_bytes.get() + (batch.row_bytes_max - meter.left()));
        value
    }

    /// The columns that are read as a JSON object, for reports: its first bytes. Texts that are not UTF-8
    /// are mended.
    pub(crate) fn to_json(self) -> Vec<u8> {
        let meter = RowMeter::new(u64::MAX, true);
        let mut text = Vec::new();
        // An error means that the text is long enough.
        let _ = JsonText(&mut text).deserialize(ParquetValue::new(&self.of.root, self.at, &meter));
        text.truncate(RAW_BYTES_MAX);
        text
    }
}

impl<'de> Deserializer<'de> for Row<'_, 'de> {
    type Error = RowFault;

    fn deserialize_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, RowFault> {
        self.read(|value| value.deserialize_any(visitor))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier option ignored_any
    }
}
