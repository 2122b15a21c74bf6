//! Parquet: the tables of an entity, written in one pass over its rows.
//!
//! ```text
//! 1,024 rows     a part         filled into builders, one for each column; ends early at 8 MiB
//! 2 parts a thread              a wave: filled in parallel, while the wave before is encoded
//! 65,536 rows    a row group    columns encoded in parallel, compressed, appended to the file
//! ```
//!
//! Memory: two waves of parts, and the encoded row group of each table.

mod builder;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod document;
mod edges;
mod tables;
mod types;
mod writer;

use std::sync::{Mutex, PoisonError};

use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::Snapshot;
use rayon::prelude::*;

use crate::error::Result;
use crate::export::Exported;
use crate::export::output::{Output, OutputFile};
use crate::export::parquet::builder::ColumnBuilder;
use crate::export::parquet::tables::{Table, Tables};
use crate::export::parquet::writer::{Batch, TableWriter};
use crate::export::plan::Job;
use crate::export::rows::ListedRows;
use crate::export::waves::in_order;
use crate::export::write_error::WriteError;
use crate::terminal::progress::Bar;

/// Rows of a unit. Fixed, like all sizes here: the bytes of a file must depend on the records alone.
const UNIT_ROWS: usize = 1 << 10;
/// Bytes of values at which a part ends before its unit does.
const PART_BYTES: usize = 8 << 20;
/// Most bytes of a record and its edges. The offsets of a batch of texts have 31 bits.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// Consecutive rows in the columns of each table.
struct Part {
    /// One for each table.
    batches: Vec<Batch>,
    rows: u64,
}

/// The tables and columns that an export adds on request.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    /// The tables of edges.
    pub(crate) has_edges: bool,
    /// The numbers of identifiers.
    pub(crate) has_numbers: bool,
}

/// Writes the table of a job's records, and of their edges, to files.
pub(crate) fn write(
    snapshot: &Snapshot,
    job: &Job,
    columns: Columns,
    output: &Output,
    bar: &Bar,
) -> Result<Vec<Exported>> {
    let records = Table::of_records(job.entity, job.select.as_ref());
    let edges = columns.has_edges.then(edges::tables).into_iter().flatten();
    let mut tables = Tables::new(snapshot, job.entity, records, edges);
    if columns.has_numbers {
        tables.tables.iter_mut().for_each(Table::add_numbers);
    }
    let names: Vec<String> =
        tables.tables.iter().map(|table| format!("{}.parquet", table.name)).collect();
    let files: Result<Vec<OutputFile>> = names.iter().map(|name| output.create(name)).collect();
    let written = write_files(snapshot, job, &tables, files?, bar);
    // Which of the files could not be written is not known.
    let written = written.map_err(|error| error.into_error(output.path_of(&names[0])))?;
    let exported = names.into_iter().zip(written);
    Ok(exported.map(|(name, (records, bytes))| Exported { name, records, bytes }).collect())
}

/// Writes one file for each table. Returns the rows and bytes of each.
fn write_files(
    snapshot: &Snapshot,
    job: &Job,
    tables: &Tables<'_>,
    files: Vec<OutputFile>,
    bar: &Bar,
) -> std::result::Result<Vec<(u64, u64)>, WriteError> {
    let id = snapshot.manifest().id.as_str();
    let writers = tables.tables.iter().zip(files);
    let writers = writers.map(|(table, file)| TableWriter::new(table, id, file));
    let mut writers = writers.collect::<std::result::Result<Vec<_>, _>>()?;
    let mut rows = ListedRows::new(snapshot, &job.query, job.limit, UNIT_ROWS);
    let write = |parts: Vec<Part>| -> std::result::Result<(), WriteError> {
        let mut batches: Vec<Vec<Batch>> = writers.iter().map(|_| Vec::new()).collect();
        for part in parts {
            bar.advance(part.rows);
            batches.iter_mut().zip(part.batches).for_each(|(list, batch)| list.push(batch));
        }
        encode(&mut writers, &batches)
    };
    let emptied = Mutex::new(Vec::new());
    in_order(&mut rows, |rows| fill(tables, &emptied, rows), write)?;
    writers.into_iter().map(|writer| Ok(writer.finish()?)).collect()
}

/// Puts rows into columns, until [`PART_BYTES`] are reached. Returns the number of rows taken.
///
/// `emptied` has builders for later parts, one for each table.
fn fill(
    tables: &Tables<'_>,
    emptied: &Mutex<Vec<Vec<ColumnBuilder>>>,
    rows: &[u32],
) -> std::result::Result<(Part, usize), WriteError> {
    let entity = tables.entity;
    let emptied = || emptied.lock().unwrap_or_else(PoisonError::into_inner);
    let builders = emptied().pop();
    let new = || tables.tables.iter().map(Table::builder).collect();
    let mut builders: Vec<ColumnBuilder> = builders.unwrap_or_else(new);
    let mut writer = JsonWriter::new(tables.snapshot, Shape::Single);
    let mut taken = 0;
    for row in rows {
        let filled = tables.fill(*row, &mut builders, &mut writer);
        filled.map_err(|error| WriteError::Record(entity, *row, error))?;
        taken += 1;
        let bytes: usize = builders.iter().map(ColumnBuilder::bytes).sum();
        if bytes > RECORD_BYTES_MAX {
            return Err(WriteError::TooLarge(entity, *row));
        }
        if bytes >= PART_BYTES {
            break;
        }
    }
    emptied().push(ColumnBuilder::all_emptied_like(&builders));
    let batches = tables.tables.iter().zip(builders);
    let batches = batches.map(|(table, builder)| Batch::new(table, builder));
    let batches = batches.collect::<std::result::Result<_, _>>()?;
    Ok((Part { batches, rows: taken as u64 }, taken))
}

/// Encodes the batches of each table.
fn encode(
    writers: &mut [TableWriter],
    batches: &[Vec<Batch>],
) -> std::result::Result<(), WriteError> {
    let tables = writers.par_iter_mut().zip(batches);
    tables.try_for_each(|(writer, batches)| Ok(writer.write(batches)?))
}
