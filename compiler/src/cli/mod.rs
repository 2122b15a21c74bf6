//! The command line: its commands and options, and one function for each command.
//!
//! Imports `compile`, `diff`, `drift`, `error`, `export`, `frontend`, `link`, `matching`, `mirror`, `object`, `plan`, `read`,
//! `remote`, `report`, `store`, `terminal`.

pub(crate) mod acceptance;
pub(crate) mod build;
pub(crate) mod diff;
pub(crate) mod inspect;
mod layout_table;
pub(crate) mod mirror;
pub(crate) mod options;
pub(crate) mod run;
mod short_help;
pub(crate) mod snapshot;
pub(crate) mod transfer;
pub(crate) mod units;

use std::io;
use std::io::Write;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use pinakes_format::storage::FORMAT_VERSION;

use crate::cli::build::{build, compile_only, link_only};
use crate::cli::diff::{DiffArgs, diff};
use crate::cli::mirror::{KeygenArgs, PublishTreeArgs, PullArgs, keygen, publish_tree, pull};
use crate::cli::options::{BuildArgs, CompileArgs, LinkArgs, PlanArgs};
use crate::cli::run::use_threads;
use crate::cli::short_help::on_one_screen;
use crate::cli::snapshot::{
    open, open_from, roll_back_to, show, show_layout, verify, verify_since,
};
use crate::cli::units::plan;
use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::export::options::ExportArgs;
use crate::matching::options::MatchArgs;
use crate::remote::from::FromArgs;
use crate::terminal::progress::{ProgressForm, set_form};
use crate::{export, matching};

/// Builds a snapshot for `pinakes-server` from dumps of scholarly metadata.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version = version(), propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// Write the progress of each stage to standard error for a program: ten JSON lines a second at most, as
    /// `{"stage":"compile","unit":"bytes","done":1,"total":2}`.
    #[arg(long, global = true, value_enum, value_name = "FORM", env = "PINAKES_PROGRESS")]
    progress: Option<ProgressForm>,

    #[command(subcommand)]
    command: Command,
}

const PROGRAM: &str = "pinakes-compiler";

const EXIT_CODES: &str = "Exit codes: 0 success; 1 internal error; 2 usage; 3 input missing or \
unreadable; 4 too many bad records, no records, or far fewer than before; 5 damaged input; 6 output cannot be written, a mapped file cannot be read, or a bucket does not answer; \
7 another run holds the lock; 8 the finished snapshot failed its self-check; 9 a publication is not \
trusted; 10 members differ too much from the current snapshot; 129, 130, 143 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Compile inputs and publish a snapshot of them: `compile` and `link` in one run.
    Build(BuildArgs),
    /// Divide the parts of inputs into units that a scheduler compiles on many machines.
    Plan(PlanArgs),
    /// Compile each part of the inputs, or of a plan's unit, into an object, unless an earlier run did.
    Compile(CompileArgs),
    /// Link all objects in a directory, or those of a plan, into a snapshot and publish it.
    Link(LinkArgs),
    /// Check every byte and every record of a snapshot.
    Verify {
        /// A snapshot, or a directory of snapshots, whose current one is meant.
        snapshot: PathBuf,
        /// Check only the bytes that differ from a snapshot beside it, which was verified before.
        #[arg(long, value_name = "ID", conflicts_with = "from")]
        since: Option<String>,
        /// Where the chunks come from that are not here.
        #[command(flatten)]
        from: FromArgs,
    },
    /// Show the entities, indexes and sizes of a snapshot.
    Inspect {
        /// A snapshot, or a directory of snapshots, whose current one is meant.
        snapshot: PathBuf,
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
        /// Read every record and show the bytes of each member, by entity.
        #[arg(long)]
        layout: bool,
        /// Where the chunks come from that are not here.
        #[command(flatten)]
        from: FromArgs,
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
    /// Add to each line of a table the record that its text means: a citation, an affiliation, a journal.
    Match(MatchArgs),
    /// List the ids that differ between two snapshots: added, changed, merged, deleted and removed.
    Diff(DiffArgs),
    /// Write a snapshot as a signed tree of static files, for mirrors to pull.
    Publish(PublishTreeArgs),
    /// Fetch the new parts of a published snapshot, verify every byte and make it current here.
    Pull(PullArgs),
    /// Make a key pair to sign publications; keys of `minisign -G` also work.
    Keygen(KeygenArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Shell that reads the script.
        shell: Shell,
    },
    /// Write the manual pages into a directory.
    Man {
        /// The directory, which exists.
        directory: PathBuf,
    },
}

impl Cli {
    /// Whether the command makes a snapshot or a publication.
    pub fn publishes(&self) -> bool {
        use Command::{Build, Compile, Link, Publish, Pull};
        matches!(self.command, Build(_) | Compile(_) | Link(_) | Publish(_) | Pull(_))
    }
}

/// The version of the program, the commit that it is built from, and the version of the format that it writes.
fn version() -> String {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("PINAKES_COMMIT"));
    format!("{version} (commit {commit}, format {FORMAT_VERSION})")
}

fn definition() -> clap::Command {
    on_one_screen(Cli::command())
}

impl Cli {
    /// Parses the command line of the process. Ends the process where the command line is wrong or asks for help.
    pub fn of_process() -> Cli {
        let matches = definition().get_matches();
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Writes the completion script of a shell.
fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), PROGRAM, &mut script);
    // clap_complete 4.6.11 writes the hyphen of the program in two ways, so bash would complete no command.
    let [written, read] = ["__subcmd__", "__"].map(|hyphen| PROGRAM.replace('-', hyphen));
    String::from_utf8_lossy(&script).replace(&written, &read).into_bytes()
}

/// Runs the command.
///
/// # Errors
///
/// The error that stopped the command; see [`Error::exit_code`].
pub fn run(cli: Cli) -> Result<()> {
    set_form(cli.progress);
    match cli.command {
        Command::Build(args) => build(args),
        Command::Plan(args) => plan(args),
        Command::Compile(args) => compile_only(args),
        Command::Link(args) => link_only(args),
        Command::Verify { snapshot, since, from } => match since {
            Some(since) => verify_since(&snapshot, &since),
            None => verify(&snapshot, &from),
        },
        Command::Inspect { snapshot, json, layout, from } => match layout {
            true => show_layout(&snapshot, json, &from),
            false => show(&snapshot, json, &from),
        },
        Command::Rollback { snapshots, to } => roll_back_to(&snapshots, to.as_deref()),
        Command::Export(args) => {
            use_threads(args.threads)?;
            let opened = open_from(&args.snapshot, &args.from)?;
            opened.outcome(export::run(&args, &opened.snapshot))
        }
        Command::Match(args) => {
            use_threads(args.threads)?;
            matching::run(&args, &open(&args.snapshot)?)
        }
        Command::Diff(args) => diff(args),
        Command::Publish(args) => publish_tree(args),
        Command::Pull(args) => pull(args),
        Command::Keygen(args) => keygen(&args),
        Command::Completions { shell } => {
            io::stdout().write_all(&completions(shell)).map_err(Error::output(STANDARD_OUTPUT))
        }
        Command::Man { directory } => {
            clap_mangen::generate_to(definition(), &directory).map_err(Error::output(directory))
        }
    }
}
