//! The command line: its commands and options, and one function for each command.
//!
//! The top folder of the compiler: it imports every other folder, and none imports it.

pub(crate) mod build;
pub(crate) mod inspect;
pub(crate) mod mirror;
pub(crate) mod options;
pub(crate) mod snapshot;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::cli::build::{build, compile_only, link_only, use_threads};
use crate::cli::mirror::{KeygenArgs, PublishTreeArgs, PullArgs, keygen, publish_tree, pull};
use crate::cli::options::{BuildArgs, CompileArgs, LinkArgs};
use crate::cli::snapshot::{open, roll_back_to, show, verify};
use crate::error::Result;
use crate::export;
use crate::export::options::ExportArgs;

/// Builds a snapshot for `pinakes-server` from dumps of scholarly metadata.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 success; 1 internal error; 2 usage; 3 input missing or \
unreadable; 4 too many bad records, no records, or far fewer than before; 5 damaged input; 6 output cannot be written; \
7 another run holds the lock; 8 the finished snapshot failed its self-check; 9 a publication is not \
trusted; 129, 130, 143 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Compile inputs and publish a snapshot of them: `compile` and `link` in one run.
    Build(BuildArgs),
    /// Compile each part of the inputs into an object, unless an earlier run did.
    Compile(CompileArgs),
    /// Link all objects in a directory into a snapshot and publish it.
    Link(LinkArgs),
    /// Check every byte and every record of a snapshot.
    Verify {
        /// A snapshot, or a directory of snapshots, whose current one is meant.
        snapshot: PathBuf,
    },
    /// Show the entities, indexes and sizes of a snapshot.
    Inspect {
        /// A snapshot, or a directory of snapshots, whose current one is meant.
        snapshot: PathBuf,
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Point `current` at the snapshot published before the current one. Servers follow; no run makes the
    /// newer snapshots current again.
    Rollback {
        /// The directory of snapshots.
        #[arg(value_name = "SNAPSHOTS")]
        snapshots: PathBuf,
        /// Point at this snapshot instead.
        #[arg(long, value_name = "ID")]
        to: Option<String>,
    },
    /// Write a snapshot's records as JSON lines, CSV or Parquet. `build` makes an equivalent snapshot of the
    /// JSON lines.
    Export(ExportArgs),
    /// Write a snapshot as a signed tree of static files, for mirrors to pull.
    Publish(PublishTreeArgs),
    /// Fetch the new parts of a published snapshot, verify every byte and make it current here.
    Pull(PullArgs),
    /// Make a key pair to sign publications; keys of `minisign -G` also work.
    Keygen(KeygenArgs),
}

/// Runs the command.
///
/// # Errors
///
/// The error that stopped the command; see [`Error::exit_code`].
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Build(args) => build(args),
        Command::Compile(args) => compile_only(args),
        Command::Link(args) => link_only(args),
        Command::Verify { snapshot } => verify(&snapshot),
        Command::Inspect { snapshot, json } => show(&snapshot, json),
        Command::Rollback { snapshots, to } => roll_back_to(&snapshots, to.as_deref()),
        Command::Export(args) => {
            use_threads(args.threads)?;
            export::run(&args, &open(&args.snapshot)?)
        }
        Command::Publish(args) => publish_tree(args),
        Command::Pull(args) => pull(args),
        Command::Keygen(args) => keygen(&args),
    }
}
