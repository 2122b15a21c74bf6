//! `export`: writes a snapshot's records as native JSON lines, from which `build` makes an equivalent
//! snapshot.
//!
//! A line is the record as its single route serves it. Lists, filters and autocomplete derive from these
//! members. A reference without a record contains its own name. Merged ids get separate lists, because
//! no record contains them. The folder imports `terminal` to `store`; only `cli` imports it.

pub(crate) mod directory;
pub(crate) mod lines;

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;

use crate::error::{Error, Result};
use crate::export::directory::ExportDirectory;
use crate::read::limits::LINE_BYTES_MAX;
use crate::terminal::progress::{Bar, Progress};

/// The outcome that a signal prints.
const NOTHING_EXPORTED: &str = "nothing was exported";
/// Directory of the lists of merged ids, as in OpenAlex dumps.
const MERGED_IDS: &str = "merged_ids";

/// The options of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// A snapshot, or a directory of snapshots, whose current one is meant.
    pub snapshot: PathBuf,

    /// New or empty directory for `DIR/<entity>.jsonl.zst`, and `DIR/merged_ids/<entity>.csv` with merged
    /// ids. Entities without records get no file.
    #[arg(long, value_name = "DIR", env = "PINAKES_EXPORT")]
    out: PathBuf,

    /// Export only this entity, as `outputs`. Repeat the option for several entities. [default: all]
    #[arg(long = "entity", value_name = "ENTITY", value_parser = parse_entity)]
    entities: Vec<Entity>,

    /// Compression of the lines.
    #[arg(long, value_enum, default_value_t = Compression::Zst, env = "PINAKES_COMPRESS")]
    compress: Compression,

    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub threads: usize,

    /// Print only errors, warnings and the result.
    #[arg(long)]
    quiet: bool,
}

/// Compression of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Zstandard with checksums, one frame for every 512 lines.
    Zst,
    /// Gzip, one member for every 512 lines.
    Gz,
    /// No compression.
    None,
}

impl Compression {
    /// Returns the ending of a compressed file's name.
    fn extension(self) -> &'static str {
        match self {
            Compression::Zst => ".zst",
            Compression::Gz => ".gz",
            Compression::None => "",
        }
    }
}

fn parse_entity(text: &str) -> std::result::Result<Entity, String> {
    let names = || Entity::all().map(|entity| entity.facts().plural).collect::<Vec<_>>();
    Entity::from_dump_name(text).ok_or_else(|| format!("expected one of {}", names().join(", ")))
}

/// An exported file, for the table at the end.
struct Exported {
    name: String,
    records: u64,
    bytes: u64,
}

/// Exports a snapshot. After a failure, the directory has no exported file.
pub fn run(args: &ExportArgs, snapshot: &Snapshot) -> Result<()> {
    let progress = Progress::detect(args.quiet);
    let directory = ExportDirectory::begin(&args.out, NOTHING_EXPORTED)?;
    let is_chosen = |entity: &Entity| args.entities.is_empty() || args.entities.contains(entity);
    let entities: Vec<Entity> = Entity::all().filter(is_chosen).collect();
    let total = entities.iter().map(|entity| u64::from(snapshot.count(*entity))).sum();
    let bar = progress.begin("export", "records", total, total);
    let written = write_entities(&entities, args.compress, snapshot, &directory, &bar);
    // Checked before `written`: a failed read of the snapshot explains any other error.
    snapshot
        .check_readable()
        .map_err(|error| Error::Refused(format!("{error}; {NOTHING_EXPORTED}")))?;
    let (exported, long_lines) = written?;
    directory.finish(exported.iter().map(|file| file.name.as_str()))?;
    bar.end();
    if progress != Progress::Quiet {
        for Exported { name, records, bytes } in &exported {
            eprintln!("{name:<32}{records:>14} records{bytes:>18} bytes");
        }
    }
    if long_lines > 0 {
        eprintln!(
            "warning: {long_lines} lines are longer than {} MiB, which `build` reads only with `--max-line`",
            LINE_BYTES_MAX >> 20
        );
    }
    println!("{}", args.out.display());
    Ok(())
}

/// Writes the records and merged ids of some entities. Returns the files, and the number of lines that
/// are longer than the default of `--max-line`.
fn write_entities(
    entities: &[Entity],
    compression: Compression,
    snapshot: &Snapshot,
    directory: &ExportDirectory,
    bar: &Bar,
) -> Result<(Vec<Exported>, u64)> {
    let mut exported = Vec::new();
    let mut long_lines = 0;
    for entity in entities {
        if snapshot.count(*entity) > 0 {
            let name = format!("{entity}.jsonl{}", compression.extension());
            let file = directory.create(&name)?;
            let written = lines::write(snapshot, *entity, compression, file, bar);
            let written = written.map_err(|error| error.into_error(directory.path_of(&name)))?;
            long_lines += written.long_lines;
            let records = u64::from(snapshot.count(*entity));
            exported.push(Exported { name, records, bytes: written.bytes });
        }
    }
    for entity in entities {
        if snapshot.redirects(*entity).count() > 0 {
            exported.push(write_merges(snapshot, *entity, directory)?);
        }
    }
    Ok((exported, long_lines))
}

/// Writes the merged ids of an entity, with the ids they were merged into.
///
/// Snapshots do not store merge dates. Each row gets the newest `updated_date` of the snapshot, so that
/// only a record newer than the whole snapshot overrides a merge.
fn write_merges(
    snapshot: &Snapshot,
    entity: Entity,
    directory: &ExportDirectory,
) -> Result<Exported> {
    let name = format!("{MERGED_IDS}/{entity}.csv");
    let path = directory.path_of(&name);
    let redirects = snapshot.redirects(entity);
    let date = snapshot.manifest().source.newest_updated_date.as_deref().unwrap_or_default();
    let mut file = BufWriter::with_capacity(1 << 18, directory.create(&name)?);
    let mut bytes = 0;
    let mut row = b"merge_date,id,merge_into_id".to_vec();
    for at in 0..=redirects.count() {
        row.push(b'\n');
        file.write_all(&row).map_err(Error::output(&path))?;
        bytes += row.len() as u64;
        if at < redirects.count() {
            let (from, to) = redirects.pair(at).map_err(|error| damaged(entity, at, &error))?;
            row.clear();
            row.extend_from_slice(date.as_bytes());
            for id in [from, to] {
                row.push(b',');
                entity.write_id(id, &mut row);
            }
        }
    }
    let file = file.into_inner().map_err(io::IntoInnerError::into_error);
    file.and_then(|file| file.sync_all()).map_err(Error::output(&path))?;
    Ok(Exported { name, records: redirects.count() as u64, bytes })
}

fn damaged(entity: Entity, row: usize, error: &ReadError) -> Error {
    Error::Refused(format!("row {row} of {entity}: {error}; nothing was exported"))
}
