//! Puts consecutive rows into the columns of each table.

use std::sync::{Mutex, PoisonError};

use arrow_array::ArrayRef;
use pinakes_format::json::render::{JsonWriter, Shape};

use crate::builder::ColumnBuilder;
use crate::error::ColumnsError;
use crate::tables::{Table, Tables};

/// Bytes of values at which a part ends before its unit of rows does.
const PART_BYTES: usize = 8 << 20;
/// Most bytes of a record and its edges. The offsets of a batch of texts have 31 bits.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// Consecutive rows in the columns of each table.
pub struct Part {
    /// One for each table.
    pub tables: Vec<TablePart>,
    /// Records taken.
    pub rows: usize,
}

/// Consecutive rows in the columns of one table.
pub struct TablePart {
    /// One for each field of the table.
    pub arrays: Vec<ArrayRef>,
    /// Rows of the table.
    pub rows: usize,
    /// Size of the values in bytes.
    pub bytes: usize,
}

/// Empty builders for later parts, one for each table, with memory for about as many values.
#[derive(Default)]
pub struct Emptied(Mutex<Vec<Vec<ColumnBuilder>>>);

impl Emptied {
    fn take(&self) -> Option<Vec<ColumnBuilder>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, builders: Vec<ColumnBuilder>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(builders);
    }
}

impl Tables {
    /// Puts rows into columns, until the values have 8 MiB. The part says how many rows it took: at least one.
    ///
    /// # Errors
    ///
    /// The snapshot is damaged, or a record has more than 1 GiB of values.
    pub fn part(&self, emptied: &Emptied, rows: &[u32]) -> Result<Part, ColumnsError> {
        let entity = self.entity;
        let new = || self.tables.iter().map(Table::builder).collect();
        let mut builders: Vec<ColumnBuilder> = emptied.take().unwrap_or_else(new);
        let mut writer = JsonWriter::new(&self.snapshot, Shape::Single);
        let mut taken = 0;
        for row in rows {
            self.fill(*row, &mut builders, &mut writer).map_err(|source| ColumnsError::Record {
                entity,
                row: *row,
                source,
            })?;
            taken += 1;
            let bytes: usize = builders.iter().map(ColumnBuilder::bytes).sum();
            if bytes > RECORD_BYTES_MAX {
                return Err(ColumnsError::TooLarge { entity, row: *row });
            }
            if bytes >= PART_BYTES {
                break;
            }
        }
        emptied.put(ColumnBuilder::all_emptied_like(&builders));
        let parts = builders.into_iter().map(|builder| {
            let (rows, bytes) = (builder.count(), builder.bytes());
            Ok(TablePart { arrays: builder.finish()?, rows, bytes })
        });
        Ok(Part { tables: parts.collect::<Result<_, ColumnsError>>()?, rows: taken })
    }
}
