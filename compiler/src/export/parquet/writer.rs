//! Writes one Parquet file: row groups of encoded and compressed columns.
//!
//! The rows of a batch are Arrow arrays. The threads encode the columns of a row group in parallel, one
//! column at a time each. A row group ends at a batch, by the number and size of its rows alone, so the
//! bytes of a file do not depend on the number of threads.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowLeafColumn, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use pinakes_arrow::part::TablePart;
use pinakes_arrow::tables::Table;
use pinakes_arrow::types::{ColumnKind, LIST};
use pinakes_format::changes::REFERENCES;
use rayon::prelude::*;

use crate::export::output::OutputFile;

/// When a row group ends.
struct GroupLimits {
    rows: usize,
    /// Bytes of arrays. Encoded and compressed, they take about a third.
    bytes: usize,
}

const RECORD_GROUPS: GroupLimits = GroupLimits { rows: 1 << 16, bytes: 96 << 20 };
const EDGE_GROUPS: GroupLimits = GroupLimits { rows: 1 << 19, bytes: 32 << 20 };

impl GroupLimits {
    fn of(table: &Table) -> GroupLimits {
        if table.has_edges() { EDGE_GROUPS } else { RECORD_GROUPS }
    }
}

/// Level of zstd. Higher levels take twice the time for files that are 5 % smaller.
const ZSTD_LEVEL: i32 = 1;
/// Bytes of distinct values above which the rest of a row group is written without a dictionary. A column whose
/// values hardly repeat has as many soon; a column of codes never has.
const DICTIONARY_BYTES_MAX: usize = 256 << 10;
/// Share of row groups that a bloom filter finds an id in by mistake.
const FALSE_POSITIVES: f64 = 0.01;

/// Consecutive rows of a table, ready to be encoded.
pub(crate) struct Batch {
    /// One for each leaf of the schema.
    leaves: Vec<ArrowLeafColumn>,
    rows: usize,
    bytes: usize,
}

impl Batch {
    /// Turns the columns of a part into a batch.
    pub(super) fn new(table: &Table, part: TablePart) -> Result<Batch> {
        let TablePart { arrays, rows, bytes } = part;
        let mut leaves = Vec::new();
        for (field, array) in table.fields().iter().zip(arrays) {
            leaves.extend(compute_leaves(field, &array)?);
        }
        Ok(Batch { leaves, rows, bytes })
    }
}

/// A file that gets batches.
pub(crate) struct TableWriter {
    file: SerializedFileWriter<OutputFile>,
    factory: ArrowRowGroupWriterFactory,
    /// One for each leaf of the schema; empty between two row groups.
    columns: Vec<ArrowColumnWriter>,
    limits: GroupLimits,
    groups: usize,
    group_rows: usize,
    group_bytes: usize,
    rows: u64,
}

impl TableWriter {
    /// Begins a file of a snapshot's records.
    pub(crate) fn new(table: &Table, snapshot_id: &str, out: OutputFile) -> Result<TableWriter> {
        let schema: SchemaRef = Arc::new(Schema::new(table.fields()));
        let parquet_schema =
            ArrowSchemaConverter::new().schema_root(table.name).convert(&schema)?;
        let properties = Arc::new(properties(table, snapshot_id)?);
        let file = SerializedFileWriter::new(out, parquet_schema.root_schema_ptr(), properties)?;
        let factory = ArrowRowGroupWriterFactory::new(&file, schema);
        let columns = Vec::new();
        let limits = GroupLimits::of(table);
        Ok(TableWriter {
            file,
            factory,
            columns,
            limits,
            groups: 0,
            group_rows: 0,
            group_bytes: 0,
            rows: 0,
        })
    }

    /// Appends batches in their order.
    pub(crate) fn write(&mut self, batches: &[Batch]) -> Result<()> {
        let mut from = 0;
        for (at, batch) in batches.iter().enumerate() {
            self.group_rows += batch.rows;
            self.group_bytes += batch.bytes;
            self.rows += batch.rows as u64;
            if self.group_rows >= self.limits.rows || self.group_bytes >= self.limits.bytes {
                self.encode(&batches[from..=at])?;
                self.end_group()?;
                from = at + 1;
            }
        }
        self.encode(&batches[from..])
    }

    /// Ends and syncs the file; returns its number of rows and of bytes.
    pub(crate) fn finish(mut self) -> Result<(u64, u64)> {
        self.end_group()?;
        Ok((self.rows, self.file.into_inner()?.finish()?))
    }

    fn encode(&mut self, batches: &[Batch]) -> Result<()> {
        if batches.iter().all(|batch| batch.rows == 0) {
            return Ok(());
        }
        if self.columns.is_empty() {
            self.columns = self.factory.create_column_writers(self.groups)?;
        }
        self.columns.par_iter_mut().enumerate().try_for_each(|(at, column)| {
            batches.iter().try_for_each(|batch| match batch.leaves.get(at) {
                Some(leaf) => column.write(leaf),
                None => Err(ParquetError::General("a batch has too few columns".into())),
            })
        })
    }

    fn end_group(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let chunks: Result<Vec<_>> =
            columns.into_par_iter().map(ArrowColumnWriter::close).collect();
        let mut group = self.file.next_row_group()?;
        chunks?.into_iter().try_for_each(|chunk| chunk.append_to_row_group(&mut group))?;
        group.close()?;
        (self.group_rows, self.group_bytes) = (0, 0);
        self.groups += 1;
        Ok(())
    }
}

fn properties(table: &Table, snapshot_id: &str) -> Result<WriterProperties> {
    let facts = [("pinakes.table", table.name), ("pinakes.snapshot", snapshot_id)];
    let facts = facts.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("pinakes-compiler ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(facts.to_vec()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES_MAX)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?));
    // No engine prunes by the least and the greatest value of a column inside of a list.
    for path in table.leaves(|_| true).into_iter().filter(|path| path.iter().any(|at| at == LIST)) {
        // The references of two records are hardly ever the same.
        let has_dictionary = path[0] != REFERENCES;
        let path = ColumnPath::new(path);
        properties = properties
            .set_column_statistics_enabled(path.clone(), EnabledStatistics::None)
            .set_column_dictionary_enabled(path, has_dictionary);
    }
    let is_whole = |kind: &ColumnKind| matches!(kind, ColumnKind::LongText);
    for path in table.leaves(is_whole) {
        properties = properties.set_column_dictionary_enabled(ColumnPath::new(path), false);
    }
    for path in table.leaves(|kind| matches!(kind, ColumnKind::Id | ColumnKind::IdAndNumber)) {
        // Engines prune by the filters of columns outside of lists.
        if let [name] = &path[..] {
            let is_unique = name == "id";
            let path = ColumnPath::new(path);
            properties = properties
                .set_column_bloom_filter_enabled(path.clone(), true)
                .set_column_bloom_filter_fpp(path.clone(), FALSE_POSITIVES)
                .set_column_bloom_filter_max_ndv(path.clone(), GroupLimits::of(table).rows as u64)
                .set_column_dictionary_enabled(path, !is_unique);
        }
    }
    Ok(properties.build())
}
