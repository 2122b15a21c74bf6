//! `export`: writes the records of a snapshot as JSON lines, tables, Parquet or references.
//!
//! Without `--select`, JSON lines are native: `build` makes an equivalent snapshot of them. A line is the
//! record as its single route serves it; lists, filters and autocomplete derive from these members. A
//! reference without a record contains its own name. Merged ids get separate lists, because no record
//! contains them.
//!
//! ```text
//! options ─► plan ─► jobs, one for each entity ─► rows ─► waves ─► lines, or parquet ─► output
//! ```
//!
//! Imports `error`, `link`, `read`, `remote`, `store`, `terminal`.

pub(crate) mod directory;
pub(crate) mod lines;
mod merged_ids;
pub(crate) mod options;
mod output;
mod parquet;
mod plan;
mod waves;
mod write_error;

use std::io;
use std::io::Write;
use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::formats::workbook::SHEET_ROWS_MAX;
use pinakes_format::query::Deadline;
use pinakes_format::snapshot::Snapshot;

use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::export::lines::{Form, Long};
use crate::export::options::{Compression, ExportArgs, Format};
use crate::export::output::{Output, names_directory};
use crate::export::parquet::Columns;
use crate::export::plan::Job;
use crate::export::write_error::WriteError;
use crate::read::limits::LINE_BYTES_MAX;
use crate::terminal::progress::{Bar, Progress};

/// The outcome that a signal prints.
const NOTHING_EXPORTED: &str = "nothing was exported";

/// An exported file, for the table at the end.
struct Exported {
    name: String,
    records: u64,
    bytes: u64,
}

/// Exports a snapshot. After a failure, the output has no new file.
pub(crate) fn run(args: &ExportArgs, snapshot: &Snapshot) -> Result<()> {
    let progress = Progress::detect(args.quiet);
    let is_one_file = args.entities.len() == 1 && !args.edges;
    let is_file = is_one_file && args.out != Path::new("-") && !names_directory(&args.out);
    let format = args
        .format(is_file)
        .map_err(|reason| Error::Usage(format!("{reason}; {NOTHING_EXPORTED}")))?;
    let jobs = plan::plan(args, format)?;
    let counts = jobs.iter().map(|job| count(job, snapshot)).collect::<Result<Vec<u64>>>()?;
    if format == Format::Xlsx && counts.iter().any(|count| *count >= SHEET_ROWS_MAX) {
        return Err(Error::Usage(format!(
            "a workbook holds {} records; give `--limit`, `--where` or `--format csv`; {NOTHING_EXPORTED}",
            SHEET_ROWS_MAX - 1
        )));
    }
    let output = Output::begin(&args.out, is_one_file, NOTHING_EXPORTED)?;
    let total = counts.iter().sum();
    let bar = progress.begin("export", "records", total, total);
    let written = write_jobs(args, format, &jobs, &counts, snapshot, &output, &bar);
    // Checked before `written`: a failed read of the snapshot explains any other error.
    snapshot
        .check_readable()
        .map_err(|error| Error::Refused(format!("{error}; {NOTHING_EXPORTED}")))?;
    let (exported, long) = written?;
    let is_standard = matches!(output, Output::Standard);
    let shown: Vec<String> =
        exported.iter().map(|file| output.shown_name(file.name.clone())).collect();
    output.finish(exported.iter().map(|file| file.name.as_str()))?;
    bar.end();
    if progress != Progress::Quiet {
        for (name, Exported { records, bytes, .. }) in shown.iter().zip(&exported) {
            eprintln!("{name:<32}{records:>14} records{bytes:>18} bytes");
        }
    }
    if long.cells > 0 {
        eprintln!(
            "warning: {} cells {}",
            long.cells,
            match args.max_cell.is_some() || format == Format::Xlsx {
                true => "were cut, and end with `…`",
                false =>
                    "have more than 32,767 characters, which spreadsheets do not hold; `--max-cell` cuts them",
            }
        );
    }
    if long.lines > 0 {
        eprintln!(
            "warning: {} lines are longer than {} MiB, which `build` reads only with `--max-line`",
            long.lines,
            LINE_BYTES_MAX >> 20
        );
    }
    if !is_standard {
        let line = format!("{}\n", args.out.display());
        io::stdout().write_all(line.as_bytes()).map_err(Error::output(STANDARD_OUTPUT))?;
    }
    Ok(())
}

/// Counts the records that a job writes.
fn count(job: &Job, snapshot: &Snapshot) -> Result<u64> {
    let found = job.query.execute(snapshot, Deadline::NEVER);
    let found =
        found.map_err(|error| WriteError::Query(error).into_error(snapshot.path().into()))?;
    Ok(found.count.min(job.limit))
}

/// Writes the records and merged ids of some entities. Returns the files, and what is too long in them.
fn write_jobs(
    args: &ExportArgs,
    format: Format,
    jobs: &[Job],
    counts: &[u64],
    snapshot: &Snapshot,
    output: &Output,
    bar: &Bar,
) -> Result<(Vec<Exported>, Long)> {
    let mut exported = Vec::new();
    let mut long = Long::default();
    let is_directory = matches!(output, Output::Directory(_));
    let compression = compression_of(args, format, is_directory);
    for (job, records) in jobs.iter().zip(counts) {
        let entity = job.entity;
        if is_directory && snapshot.count(entity) == 0 {
            continue;
        }
        if format == Format::Parquet {
            let has_edges = args.edges && entity == Entity::Output;
            let columns = Columns { has_edges, has_numbers: args.integer_ids };
            exported.extend(parquet::write(snapshot, job, columns, output, bar)?);
            continue;
        }
        let name = format!("{entity}.{}{}", format.extension(), compression.extension());
        let file = output.create(&name)?;
        let form = match (format.references(), args.table(format)) {
            (Some(references), _) => Form::References(references),
            (None, Some(table)) => Form::Table(args.columns, table),
            (None, None) => Form::Json,
        };
        let written = lines::write(snapshot, job, *records, form, compression, file, bar);
        let written = written.map_err(|error| error.into_error(output.path_of(&name)))?;
        long.lines += written.long.lines;
        long.cells += written.long.cells;
        exported.push(Exported { name, records: written.records, bytes: written.bytes });
    }
    // The target of a merge is in an export only if the export has all records.
    for job in jobs.iter().filter(|job| is_directory && job.has_all_records()) {
        if snapshot.redirects(job.entity).count() > 0 {
            exported.push(merged_ids::write(snapshot, job.entity, output)?);
        }
    }
    Ok((exported, long))
}

/// Returns the compression that was asked for, or that the output implies.
fn compression_of(args: &ExportArgs, format: Format, is_directory: bool) -> Compression {
    let has_end = |end: &str| args.out.extension().is_some_and(|extension| extension == end);
    match args.compress {
        Some(compression) => compression,
        None if format.is_compressed() => Compression::None,
        None if is_directory => Compression::Zst,
        None if args.out == Path::new("-") => Compression::None,
        None if has_end("zst") => Compression::Zst,
        None if has_end("gz") => Compression::Gz,
        None => Compression::None,
    }
}
