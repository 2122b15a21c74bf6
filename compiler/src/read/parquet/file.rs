//! One file that is being decoded.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Once};

use arrow_array::StructArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::errors::ParquetError;

use crate::read::lenient::{Diagnostics, Wanted};
use crate::read::limits::ReadLimits;
use crate::read::parquet::fault::ParquetFault;
use crate::read::parquet::footer;
use crate::read::parquet::pages::{FileRowGroups, PageSource, check_column};
use crate::read::parquet::projection::{Projection, Texts};
use crate::read::part_file::PartFile;

/// Uncompressed bytes of a batch to aim for, and bounds on its rows.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH_ROWS_MIN: u64 = 16;
const BATCH_ROWS_MAX: u64 = 1_024;
/// A footer takes about this many times its bytes when it is decoded.
const FOOTER_GROWTH: u64 = 16;

/// The decoder of a file's columns.
pub(super) struct ParquetFile {
    pub source: Arc<PageSource>,
    reader: ParquetRecordBatchReader,
    /// The columns at the top of the file's schema.
    pub names: Vec<String>,
    /// Rows that the footer states.
    pub stated_rows: i64,
}

impl ParquetFile {
    /// Opens a file to decode the columns that are wanted.
    pub(super) fn open(
        file: PartFile,
        wanted: Wanted,
        texts: Texts,
        limits: &ReadLimits,
        diagnostics: &Diagnostics,
    ) -> Result<ParquetFile, ParquetFault> {
        catch_panic(|| ParquetFile::new(file, wanted, texts, limits, diagnostics))?
    }

    fn new(
        file: PartFile,
        wanted: Wanted,
        texts: Texts,
        limits: &ReadLimits,
        diagnostics: &Diagnostics,
    ) -> Result<ParquetFile, ParquetFault> {
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
            Projection::new(schema, wanted, texts, diagnostics).map_err(invalid)?;
        // The crate trusts the offsets of the footer, so each column's is checked here.
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
        // Batches have about equal bytes. The footer may state wrong sizes, so the number of rows has limits.
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
        // The crate's error hides the cause, which the source has kept.
        let reader = reader.map_err(|error| source.take_fault().unwrap_or(invalid(error)))?;
        Ok(ParquetFile { source, reader, names, stated_rows })
    }

    /// Decodes the next batch of rows; `None` at the end. The inner error is the decoder's own: the pages were
    /// read without a fault.
    pub(super) fn decode(
        &mut self,
    ) -> Result<Result<Option<StructArray>, ParquetError>, ParquetFault> {
        self.source.begin_batch();
        let reader = &mut self.reader;
        match catch_panic(|| reader.next().transpose())? {
            Ok(rows) => Ok(Ok(rows.map(StructArray::from))),
            Err(error) => self.source.take_fault().map_or(Ok(Err(error.into())), Err),
        }
    }
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Calls `read`; a panic of the `parquet` crate is a fault of the file, and prints nothing.
///
/// The crate checks most of what it reads. Where it does not, a damaged page may end in a failed assertion, which must cost the
/// part and not the run.
/// The caller drops what `read` changed, so that no half-changed value is used after a panic.
fn catch_panic<T>(read: impl FnOnce() -> T) -> Result<T, ParquetFault> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                before(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_QUIET.set(false);
    read.map_err(|_| ParquetFault::Page("its pages contradict each other".into()))
}
