//! The command line: what is asked, and doing it.

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
use crate::export::ExportArgs;

/// Turns dumps of scholarly metadata into a snapshot that `pinakes-server` answers from.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 internal error; 2 usage; 3 input missing or \
unreadable; 4 too many bad records, none at all, or far fewer than before; 5 damaged input; 6 output cannot be written; \
7 another run holds the output; 8 the finished snapshot failed its self-check; 9 what a mirror publishes is not \
trusted; 129, 130, 143 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Compile inputs and publish a snapshot of them: `compile` and `link` in one.
    Build(BuildArgs),
    /// Compile each part of the inputs into an object, unless its object is there already.
    Compile(CompileArgs),
    /// Link every object in a directory into a snapshot and publish it.
    Link(LinkArgs),
    /// Read every byte and every record of a snapshot against every promise made of them.
    Verify {
        /// The snapshot's directory, or `SNAPSHOTS/current`.
        snapshot: PathBuf,
    },
    /// Show what is inside a snapshot.
    Inspect {
        /// The snapshot's directory, or `SNAPSHOTS/current`.
        snapshot: PathBuf,
        /// Print JSON in place of a table.
        #[arg(long)]
        json: bool,
    },
    /// Have `current` lead to the snapshot published before the one it leads to; servers follow, and no run
    /// makes current again what was rolled back from.
    Rollback {
        /// Where snapshots are published.
        #[arg(value_name = "SNAPSHOTS")]
        snapshots: PathBuf,
        /// The snapshot to lead to, in place of the one before.
        #[arg(long, value_name = "ID")]
        to: Option<String>,
    },
    /// Write a snapshot's records as JSON lines, from which `build` makes the same answers again.
    Export(ExportArgs),
    /// Write a snapshot as a tree of static files, signed, for others to pull.
    Publish(PublishTreeArgs),
    /// Fetch what is new of a published snapshot, verify every byte of it and publish it here.
    Pull(PullArgs),
    /// Make a pair of keys to sign publications with; those of `minisign -G` do as well.
    Keygen(KeygenArgs),
}

/// Does what the command line asks.
///
/// # Errors
///
/// Whatever stopped it; see [`Error::exit_code`].
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
