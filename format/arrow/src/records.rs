//! The records of a list as batches of columns, which all threads make when the batches before are taken.
//!
//! ```text
//! wave      two units of rows for each thread; all threads put their units into columns
//! unit      rows of about 2 MiB, by the size of the rows before
//! batches   taken one after the other, in the order of the list
//! ```
//!
//! Memory: the batches of one wave.

use std::{collections::VecDeque, sync::Arc};

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pinakes_format::query::Query;
use pinakes_format::snapshot::Snapshot;
use rayon::prelude::*;

use crate::error::ColumnsError;
use crate::part::{Emptied, Part};
use crate::rows::ListedRows;
use crate::tables::{Table, Tables};

/// Units of a wave for each thread.
const UNITS_PER_THREAD: usize = 2;
/// Bytes of values in a unit.
const UNIT_BYTES: usize = 2 << 20;
/// Rows of the first units, and the fewest and the most rows of later units.
const UNIT_ROWS_FIRST: usize = 1 << 10;
const UNIT_ROWS_MIN: usize = 1 << 6;
const UNIT_ROWS_MAX: usize = 1 << 16;

/// The records of a list, batch by batch.
pub struct Records {
    tables: Tables,
    schema: SchemaRef,
    rows: ListedRows,
    emptied: Emptied,
    /// The batches of a wave that nobody took yet.
    ready: VecDeque<RecordBatch>,
}

impl Records {
    /// The records of a list: whole, or the members that the query selects. With `has_numbers`, the number of each
    /// identifier is a column too.
    pub fn new(snapshot: &Snapshot, query: &Query, has_numbers: bool) -> Records {
        let mut table = Table::of_records(query.entity, query.select.as_ref());
        if query.selects_references {
            table.add_references();
        }
        if has_numbers {
            table.add_numbers();
        }
        Records {
            schema: Arc::new(Schema::new(table.fields())),
            tables: Tables::new(snapshot, query.entity, table, []),
            rows: ListedRows::new(snapshot, query, u64::MAX, UNIT_ROWS_FIRST),
            emptied: Emptied::default(),
            ready: VecDeque::new(),
        }
    }

    /// Returns the next batch; `None` at the end.
    ///
    /// # Errors
    ///
    /// The snapshot is damaged, or a record has more than 1 GiB of values.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ColumnsError> {
        if self.ready.is_empty() {
            self.make_wave()?;
        }
        Ok(self.ready.pop_front())
    }

    fn make_wave(&mut self) -> Result<(), ColumnsError> {
        let wave_units = rayon::current_num_threads() * UNITS_PER_THREAD;
        let mut units = Vec::with_capacity(wave_units);
        while units.len() < wave_units
            && let Some(unit) = self.rows.next_unit()?
        {
            units.push(unit);
        }
        let parts = |unit: &Vec<u32>| self.parts(unit);
        let made = units.par_iter().map(parts).collect::<Result<Vec<_>, _>>()?;
        let (mut rows, mut bytes) = (0, 0);
        for part in made.into_iter().flatten() {
            rows += part.rows;
            for table in part.tables {
                bytes += table.bytes;
                // A record without columns still is a row.
                let options = RecordBatchOptions::new().with_row_count(Some(table.rows));
                let schema = Arc::clone(&self.schema);
                self.ready.push_back(RecordBatch::try_new_with_options(
                    schema,
                    table.arrays,
                    &options,
                )?);
            }
        }
        let row_bytes = bytes.div_ceil(rows.max(1)).max(1);
        let unit_rows = (UNIT_BYTES / row_bytes).clamp(UNIT_ROWS_MIN, UNIT_ROWS_MAX);
        self.rows.set_unit_rows(unit_rows);
        Ok(())
    }

    /// The parts of a unit: one, or several if the records are large.
    fn parts(&self, unit: &[u32]) -> Result<Vec<Part>, ColumnsError> {
        let mut parts = Vec::with_capacity(1);
        let mut left = unit;
        while !left.is_empty() {
            let part = self.tables.part(&self.emptied, left)?;
            left = &left[part.rows..];
            parts.push(part);
        }
        Ok(parts)
    }
}

impl Iterator for Records {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Records {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
