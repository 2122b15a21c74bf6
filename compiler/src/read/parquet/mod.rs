//! Parquet files: their rows, decoded in batches, and each row as a serde value.
//!
//! - [`footer`] and [`pages`] read the file within its limits, [`thrift`] and [`page_header`] their bytes.
//! - [`projection`] chooses the columns; the `parquet` crate decodes their pages to Arrow arrays.
//! - [`column`] and [`row`] present a row to the types that read JSON lines.
//!
//! Memory: one page and one dictionary per column, and the decoded values of one batch.

pub(crate) mod column;
pub(crate) mod fault;
pub(crate) mod footer;
pub(crate) mod page_header;
pub(crate) mod pages;
pub(crate) mod panics;
pub(crate) mod projection;
pub(crate) mod row;
pub(crate) mod row_json;
pub(crate) mod thrift;
pub(crate) mod times;

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use arrow_array::{Array, StructArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::errors::ParquetError;
use serde::{
    Deserializer,
    de::{DeserializeSeed, Visitor},
    forward_to_deserialize_any,
};

use crate::error::{Error, Result};
use crate::read::lenient::{Diagnostics, Wanted};
use crate::read::limits::ReadLimits;
use crate::read::lines::RAW_BYTES_MAX;
use crate::read::parquet::column::Column;
use crate::read::parquet::fault::ParquetFault;
use crate::read::parquet::pages::{FileRowGroups, PageSource, check_column};
use crate::read::parquet::panics::catch_panic;
use crate::read::parquet::projection::Projection;
pub(crate) use crate::read::parquet::row::RowFault;
use crate::read::parquet::row::{RowMeter, Value};
use crate::read::parquet::row_json::JsonText;
use crate::read::part_file::PartFile;

/// Uncompressed bytes of a batch to aim for, and bounds on its rows.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH_ROWS_MIN: u64 = 16;
const BATCH_ROWS_MAX: u64 = 1_024;
/// A footer takes about this many times its bytes when it is decoded.
const FOOTER_GROWTH: u64 = 16;

/// Reads the rows of a Parquet file in their order.
pub(crate) struct ParquetRows<'d> {
    path: PathBuf,
    diagnostics: &'d Diagnostics,
    source: Arc<PageSource>,
    reader: ParquetRecordBatchReader,
    /// The columns at the top of the file's schema.
    names: Vec<String>,
    row_bytes_max: u64,
    /// Rows that the footer states.
    stated_rows: i64,
    /// Rows of the batches so far.
    read_rows: u64,
    /// Bytes of the rows so far, texts of dictionaries as often as they occur.
    row_bytes: Rc<Cell<u64>>,
    inflated_bytes_max: u64,
    wanted: Wanted,
}

impl<'d> ParquetRows<'d> {
    /// Opens a file to read the columns that are wanted.
    pub(crate) fn open(
        path: &Path,
        wanted: Wanted,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> Result<ParquetRows<'d>> {
        let file = PartFile::open(path).map_err(Error::input(path))?;
        let opened = catch_panic(|| ParquetRows::new(file, path, wanted, limits, diagnostics));
        opened.and_then(|opened| opened).map_err(|fault| fault.into_error(path))
    }

    fn new(
        file: PartFile,
        path: &Path,
        wanted: Wanted,
        limits: &ReadLimits,
        diagnostics: &'d Diagnostics,
    ) -> std::result::Result<ParquetRows<'d>, ParquetFault> {
        let file_bytes = file.size_bytes().map_err(ParquetFault::Read)?;
        let footer_bytes_max = limits.part_memory_bytes / FOOTER_GROWTH;
        let metadata = Arc::new(footer::read(&file, file_bytes, footer_bytes_max)?);
        let schema = metadata.file_metadata().schema_descr();
        let names: Vec<String> =
            schema.root_schema().get_fields().iter().map(|field| field.name().into()).collect();
        if !names.iter().any(|name| name == "id") {
            return Err(ParquetFault::NoId);
        }
        let invalid = |error: ParquetError| {
            ParquetFault::Footer(format!("its schema cannot be read: {error}"))
        };
        let Projection { levels, leaves } =
            Projection::new(schema, wanted, diagnostics).map_err(invalid)?;
        let mut bytes = 0u64;
        for group in metadata.row_groups() {
            for leaf in &leaves {
                let column = group.columns().get(*leaf).ok_or_else(|| {
                    ParquetFault::Footer("a row group lacks a column of the schema".into())
                })?;
                check_column(column, file_bytes)?;
                bytes = bytes.saturating_add(column.uncompressed_size().max(0) as u64);
            }
        }
        let stated_rows = metadata.file_metadata().num_rows();
        let row_bytes = bytes / u64::try_from(stated_rows).unwrap_or_default().max(1);
        let batch_rows = (BATCH_BYTES / row_bytes.max(1)).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX);
        let source = Arc::new(PageSource::new(file, file_bytes, limits));
        let groups = FileRowGroups { source: source.clone(), metadata, leaves };
        let reader = ParquetRecordBatchReader::try_new_with_row_groups(
            &levels,
            &groups,
            batch_rows as usize,
            None,
        );
        let reader = reader.map_err(|error| source.take_fault().unwrap_or(invalid(error)))?;
        Ok(ParquetRows {
            path: path.to_path_buf(),
            diagnostics,
            source,
            reader,
            names,
            row_bytes_max: limits.line_bytes_max as u64,
            stated_rows,
            read_rows: 0,
            row_bytes: Rc::default(),
            inflated_bytes_max: limits.inflated_bytes_max,
            wanted,
        })
    }

    /// Whether the file has a column of this name.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Reads the next batch of rows; fails where the file is damaged. Call it no more after a failure.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch>> {
        if self.row_bytes.get() > self.inflated_bytes_max {
            return Err(ParquetFault::TooManyBytes.into_error(&self.path));
        }
        self.source.begin_batch();
        let reader = &mut self.reader;
        let read = catch_panic(|| reader.next().transpose());
        let rows = match read {
            Ok(Ok(None)) => return self.check_end().map(|()| None),
            Ok(Ok(Some(rows))) => StructArray::from(rows),
            Ok(Err(error)) => {
                let own = ParquetFault::Page(format!("its pages cannot be read: {error}"));
                return Err(self.source.take_fault().unwrap_or(own).into_error(&self.path));
            }
            Err(fault) => return Err(fault.into_error(&self.path)),
        };
        let before = self.read_rows;
        self.read_rows += rows.len() as u64;
        Ok(Some(Batch {
            rows,
            before,
            row_bytes_max: self.row_bytes_max,
            row_bytes: self.row_bytes.clone(),
            wanted: self.wanted,
        }))
    }

    fn check_end(&self) -> Result<()> {
        if u64::try_from(self.stated_rows) != Ok(self.read_rows) {
            let (read, stated) = (self.read_rows, self.stated_rows);
            let reason = format!("it has {read} rows, expected {stated} by its footer");
            return Err(ParquetFault::Page(reason).into_error(&self.path));
        }
        if self.source.lacks_checksums() {
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
        self.source.inflated_bytes()
    }
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
        read: impl FnOnce(Value<'_, 'a>) -> std::result::Result<T, RowFault>,
    ) -> std::result::Result<T, RowFault> {
        let batch = self.of.batch;
        let meter = RowMeter::new(batch.row_bytes_max, false);
        let value = read(Value::new(&self.of.root, self.at, &meter));
        batch.row_bytes.set(batch.row_bytes.get() + (batch.row_bytes_max - meter.left()));
        value
    }

    /// The columns that are read as a JSON object, for reports: its first bytes. Texts that are not UTF-8
    /// are mended.
    pub(crate) fn to_json(self) -> Vec<u8> {
        let meter = RowMeter::new(u64::MAX, true);
        let mut text = Vec::new();
        // An error means that the text is long enough.
        let _ = JsonText(&mut text).deserialize(Value::new(&self.of.root, self.at, &meter));
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
