//! `make bench`: what the programs cost, each figure beside its ceiling, both from one run.

mod attack;
mod build;
mod codings;
mod dump;
mod get;
mod limits;
mod lists;
mod names;
mod nightly;
mod process;
mod serve;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

/// The allocator of both programs, so that what is measured in process is what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An error of any kind; a benchmark has no use for telling them apart.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures both programs against named ceilings, in one run.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Generate a dump, build a snapshot of it, serve a record of it, and count requests.
    All {
        /// Outputs in the generated dump.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u64,
        /// Where the dump and the snapshots are kept; a dump that is there is used again.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// What the compiler may use, as its own `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Ask pages of lists of a snapshot, and of an SQLite file with the same columns.
    Lists {
        /// Outputs in the generated dump, which is a lean one.
        #[arg(long, default_value_t = 10_000_000)]
        outputs: u64,
        /// Where the dump, the snapshots and the SQLite file are kept; a dump or file that is there is used again.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// What the compiler may use, as its own `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Ask what begins with letters, of a snapshot of authors alone and of SQLite's FTS5, and serve it.
    Names {
        /// Authors in the generated dump.
        #[arg(long, default_value_t = 5_000_000)]
        names: u64,
        /// Distinct words that their names are made of.
        #[arg(long, default_value_t = pinakes_generate::VOCABULARY)]
        vocabulary: u32,
        /// Where the dump, the snapshots and the SQLite file are kept; a dump or file that is there is used again.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// What the compiler may use, as its own `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Build a dump, and again after one part in a hundred changed.
    Nightly {
        /// Outputs in the generated dump.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u64,
        /// Where the dump and the snapshots are kept; a dump that is there is used again.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// What the compiler may use, as its own `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Code replies of a snapshot: microseconds, MB/s and ratio by coding and level, beside rendering.
    ///
    /// Of a snapshot of real records: generated words do not repeat themselves as real ones do.
    Codings {
        /// A directory of snapshots, such as `pinakes-compiler build --out` makes.
        snapshots: PathBuf,
    },
    /// Count requests against limits.
    Limits,
    /// Hold on to a server by 3,000 connections, and ask it honestly meanwhile; fails where a bound breaks.
    Attack {
        /// A directory of snapshots, such as `pinakes-compiler build --out` makes.
        snapshots: PathBuf,
    },
    /// Serve the bytes of files from a bare warp handler, as the ceiling of a GET.
    Bare {
        /// The files.
        files: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    let outcome = match Options::parse().what {
        What::All { outputs, dir, memory } => all(outputs, &dir, &memory),
        What::Lists { outputs, dir, memory } => lists::run(outputs, &dir, &memory),
        What::Names { names, vocabulary, dir, memory } => {
            names::run(names, vocabulary, &dir, &memory)
        }
        What::Nightly { outputs, dir, memory } => nightly::run(outputs, &dir, &memory),
        What::Codings { snapshots } => codings::run(&snapshots),
        What::Limits => limits::run(),
        What::Attack { snapshots } => attack::run(&snapshots),
        What::Bare { files } => serve::serve_bare(&files),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(outputs: u64, dir: &std::path::Path, memory: &str) -> Result<()> {
    let snapshots = build::run(outputs, dir, memory)?;
    get::run(&snapshots, dir)?;
    limits::run()
}
