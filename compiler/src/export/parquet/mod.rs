//! Parquet: the tables of an entity, written in one pass over its rows.
//!
//! ```text
//! 1,024 rows     a part         put into columns by the crate `pinakes-arrow`; ends early at 8 MiB
//! 2 parts a thread              a wave: filled in parallel, while the wave before is encoded
//! 65,536 rows    a row group    columns encoded in parallel, compressed, appended to the file
//! ```
//!
//! Memory: two waves of parts, and the encoded row group of each table.

mod writer;

use pinakes_arrow::edges;
use pinakes_arrow::part::Emptied;
use pinakes_arrow::rows::ListedRows;
use pinakes_arrow::tables::{Table, Tables};
use pinakes_format::snapshot::Snapshot;
use rayon::prelude::*;

use crate::error::Result;
use crate::export::Exported;
use crate::export::output::{Output, OutputFile};
use crate::export::parquet::writer::{Batch, TableWriter};
use crate::export::plan::Job;
use crate::export::waves::in_order;
use crate::export::write_error::WriteError;
use crate::terminal::progress::Bar;

/// Rows of a unit. Fixed, like all sizes here: the bytes of a file must depend on the records alone.
const UNIT_ROWS: usize = 1 << 10;

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
    tables: &Tables,
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
    let emptied = Emptied::default();
    in_order(&mut rows, |rows| fill(tables, &emptied, rows), write)?;
    writers.into_iter().map(|writer| Ok(writer.finish()?)).collect()
}

/// Puts rows into the columns of a part. Returns the number of rows taken.
fn fill(
    tables: &Tables,
    emptied: &Emptied,
    rows: &[u32],
) -> std::result::Result<(Part, usize), WriteError> {
    let part = tables.part(emptied, rows)?;
    let batches = tables.tables.iter().zip(part.tables);
    let batches = batches.map(|(table, part)| Batch::new(table, part));
    let batches = batches.collect::<std::result::Result<_, _>>()?;
    Ok((Part { batches, rows: part.rows as u64 }, part.rows))
}

/// Encodes the batches of each table.
fn encode(
    writers: &mut [TableWriter],
    batches: &[Vec<Batch>],
) -> std::result::Result<(), WriteError> {
    let tables = writers.par_iter_mut().zip(batches);
    tables.try_for_each(|(writer, batches)| Ok(writer.write(batches)?))
}
