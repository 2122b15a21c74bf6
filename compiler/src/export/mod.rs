//! `export`: writes the records of a snapshot as JSON lines, CSV or Parquet.
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
mod rows;
mod waves;
mod write_error;

use std::{
    io::{self, Write},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::query::Deadline;
use pinakes_format::snapshot::Snapshot;

use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::export::options::{Compression, ExportArgs, Format};
use crate::export::output::Output;
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
    let jobs = plan::plan(args)?;
    let is_one_file = args.entities.len() == 1 && !args.edges;
    let counts = jobs.iter().map(|job| count(job, snapshot)).collect::<Result<Vec<u64>>>()?;
    let output = Output::begin(&args.out, is_one_file, NOTHING_EXPORTED)?;
    let total = counts.iter().sum();
    let bar = progress.begin("export", "records", total, total);
    let written = write_jobs(args, &jobs, snapshot, &output, &bar);
    // Checked before `written`: a failed read of the snapshot explains any other error.
    snapshot
        .check_readable()
        .map_err(|error| Error::Refused(format!("{error}; {NOTHING_EXPORTED}")))?;
    let (exported, long_lines) = written?;
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
    if long_lines > 0 {
        eprintln!(
            "warning: {long_lines} lines are longer than {} MiB, which `build` reads only with `--max-line`",
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

/// Writes the records and merged ids of some entities. Returns the files, and the number of lines that
/// are longer than the default of `--max-line`.
fn write_jobs(
    args: &ExportArgs,
    jobs: &[Job],
    snapshot: &Snapshot,
    output: &Output,
    bar: &Bar,
) -> Result<(Vec<Exported>, u64)> {
    let mut exported = Vec::new();
    let mut long_lines = 0;
    let is_directory = matches!(output, Output::Directory(_));
    let compression = compression_of(args, is_directory);
    for job in jobs {
        let entity = job.entity;
        if is_directory && snapshot.count(entity) == 0 {
            continue;
        }
        if args.format == Format::Parquet {
            let has_edges = args.edges && entity == Entity::Output;
            let columns = Columns { has_edges, has_numbers: args.integer_ids };
            exported.extend(parquet::write(snapshot, job, columns, output, bar)?);
            continue;
        }
        let is_csv = args.format == Format::Csv;
        let name = format!("{entity}.{}{}", args.format.extension(), compression.extension());
        let file = output.create(&name)?;
        let written = lines::write(snapshot, job, is_csv, compression, file, bar);
        let written = written.map_err(|error| error.into_error(output.path_of(&name)))?;
        long_lines += if is_csv { 0 } else { written.long_lines };
        exported.push(Exported { name, records: written.records, bytes: written.bytes });
    }
    for job in jobs.iter().filter(|job| is_directory && job.has_all_records()) {
        if snapshot.redirects(job.entity).count() > 0 {
            exported.push(merged_ids::write(snapshot, job.entity, output)?);
        }
    }
    Ok((exported, long_lines))
}

/// Returns the compression that was asked for, or that the output implies.
fn compression_of(args: &ExportArgs, is_directory: bool) -> Compression {
    let has_end = |end: &str| args.out.extension().is_some_and(|extension| extension == end);
    match args.compress {
        Some(compression) => compression,
        None if is_directory => Compression::Zst,
        None if args.out == Path::new("-") => Compression::None,
        None if has_end("zst") => Compression::Zst,
        None if has_end("gz") => Compression::Gz,
        None => Compression::None,
    }
}
