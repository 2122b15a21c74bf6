//! A snapshot's records as native JSON lines: what one server answers from, another can be built of.
//!
//! A line is the record as its single route serves it. That is all there is: what lists, filters and
//! autocomplete know beside it, they know from these members, and a reference to what is not there
//! bears its own name. Only ids that were merged into others have lists of their own.

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

/// What is said where a signal ends an export.
const NOTHING_EXPORTED: &str = "nothing was exported";
/// Where lists of merged ids lie, as in dumps.
const MERGED_IDS: &str = "merged_ids";

/// What is exported, and how.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The snapshot's directory, or `SNAPSHOTS/current`.
    pub snapshot: PathBuf,

    /// Where to: `DIR/<entity>.jsonl.zst`, and `DIR/merged_ids/<entity>.csv` for ids merged into
    /// others. Made if it is not there; it must be empty. Entities without records get no file.
    #[arg(long, value_name = "DIR", env = "PINAKES_EXPORT")]
    out: PathBuf,

    /// Export this entity alone, as `outputs`; may be given several times. [default: all]
    #[arg(long = "entity", value_name = "ENTITY", value_parser = parse_entity)]
    entities: Vec<Entity>,

    /// How to compress the lines.
    #[arg(long, value_enum, default_value_t = Compression::Zst, env = "PINAKES_COMPRESS")]
    compress: Compression,

    /// Threads; 0 for as many as there are processors.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub threads: usize,

    /// Show nothing but errors and the result.
    #[arg(long)]
    quiet: bool,
}

/// How lines are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Zstandard, with checksums; a frame for every few hundred lines.
    Zst,
    /// Gzip; a member for every few hundred lines.
    Gz,
    /// Not at all.
    None,
}

impl Compression {
    /// What a file's name ends with.
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

/// One file of an export, for the table at its end.
struct Exported {
    name: String,
    records: u64,
    bytes: u64,
}

/// Exports a snapshot.
///
/// # Errors
///
/// Where the directory is not empty or in use, something cannot be written, or the snapshot is
/// damaged; nothing has its name then.
pub fn run(args: &ExportArgs, snapshot: &Snapshot) -> Result<()> {
    let progress = Progress::detect(args.quiet);
    let directory = ExportDirectory::begin(&args.out, NOTHING_EXPORTED)?;
    let is_chosen = |entity: &Entity| args.entities.is_empty() || args.entities.contains(entity);
    let entities: Vec<Entity> = Entity::all().filter(is_chosen).collect();
    let total = entities.iter().map(|entity| u64::from(snapshot.count(*entity))).sum();
    let bar = progress.begin("export", "records", total, total);
    let written = write_entities(&entities, args.compress, snapshot, &directory, &bar);
    // Looked at first: what could not be read is why the rest made no sense.
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
            "warning: {long_lines} lines are longer than the {} MiB that `build` reads of a line",
            LINE_BYTES_MAX >> 20
        );
    }
    println!("{}", args.out.display());
    Ok(())
}

/// Writes the records of some entities and the ids that were merged into them; the files, and how many
/// lines are longer than a build reads.
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
            let written = written.map_err(|error| error.at(directory.path_of(&name)))?;
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

/// Writes which ids of an entity were merged into which.
///
/// When, a snapshot does not know: that it was not after its newest record, it does. So a record of
/// the id that is newer than all the snapshot knew stands against the merge, and no other.
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
