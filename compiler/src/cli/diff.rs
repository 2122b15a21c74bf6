//! The command `diff`.

use std::path::PathBuf;

use clap::Args;
use pinakes_format::entity::Entity;

use crate::cli::options::parse_memory;
use crate::cli::run::use_threads;
use crate::cli::snapshot::open;
use crate::diff;
use crate::diff::{DiffOptions, Format};
use crate::error::Result;
use crate::export::options::parse_entity;

/// The options of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The older snapshot, or a directory of snapshots, whose current one is meant.
    #[arg(value_name = "A")]
    before: PathBuf,

    /// The newer snapshot, or a directory of snapshots, whose current one is meant.
    #[arg(value_name = "B")]
    after: PathBuf,

    /// Entities to compare, as `outputs,authors`. [default: all]
    #[arg(long, value_name = "ENTITIES", value_delimiter = ',', value_parser = parse_entity)]
    entities: Vec<Entity>,

    /// Format of the list.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// List of ids that the source deleted, one a line. An id that is gone and in this list is `deleted`, not
    /// `removed`. May be repeated.
    #[arg(long, value_name = "FILE")]
    deleted: Vec<PathBuf>,

    /// Memory limit, as `512M` or `2G`; more goes to temporary files in TMPDIR. At least 256M.
    #[arg(long, default_value = "2G", value_parser = parse_memory, env = "PINAKES_MEMORY")]
    memory: u64,

    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    threads: usize,

    /// Print only errors and the list.
    #[arg(long)]
    quiet: bool,
}

/// Compares two snapshots.
pub(crate) fn diff(args: DiffArgs) -> Result<()> {
    use_threads(args.threads)?;
    let options = DiffOptions {
        entities: args.entities,
        format: args.format,
        deleted: args.deleted,
        memory_bytes: args.memory,
        is_quiet: args.quiet,
    };
    diff::run(&options, &open(&args.before)?, &open(&args.after)?)
}
