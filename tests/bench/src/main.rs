//! `make bench`: measures both programs, and prints each figure with a ceiling measured in the same run.

mod attack;
mod build;
mod codings;
mod control_group;
mod dump;
mod export;
mod get;
mod limits;
mod lists;
mod matching;
mod mirror;
mod names;
mod nightly;
mod parquet;
mod process;
mod search;
mod serve;
mod served;
mod sums;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::nightly::Changed;

/// The compiler uses mimalloc, so measurements in this process use it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The result of a step that may fail with any error; the benchmark prints the error and exits.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures both programs against named ceilings, in one run.
#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Generate a dump, build a snapshot, serve one record, and measure the request limits.
    All {
        /// Outputs in the generated dump.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u64,
        /// Directory of the dump and the snapshots; an existing dump is reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Query pages of lists from a snapshot, and from an SQLite file with the same columns.
    Lists {
        /// Outputs in the generated lean dump.
        #[arg(long, default_value_t = 10_000_000)]
        outputs: u64,
        /// Directory of the dump, the snapshots and the SQLite file; an existing dump or file is reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Count groups and sum up lists of the snapshot of `lists`, and walk its citation graph.
    Sums {
        /// Outputs in the generated lean dump.
        #[arg(long, default_value_t = 10_000_000)]
        outputs: u64,
        /// Directory of the dump and the snapshots; existing ones are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Export the outputs of the snapshot of `lists` in every format.
    Export {
        /// Outputs in the generated lean dump.
        #[arg(long, default_value_t = 10_000_000)]
        outputs: u64,
        /// Directory of the dump and the snapshots; existing ones are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Autocomplete authors' names from a snapshot, from SQLite's FTS5, and over HTTP.
    Names {
        /// Authors in the generated dump.
        #[arg(long, default_value_t = 5_000_000)]
        names: u64,
        /// Distinct words in the authors' names.
        #[arg(long, default_value_t = pinakes_generate::VOCABULARY)]
        vocabulary: u32,
        /// Directory of the dump, the snapshots and the SQLite file; an existing dump or file is reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Serve the snapshot of `all`: warm throughput, cold reads, and throughput with little memory.
    Served {
        /// Outputs in the generated dump.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u64,
        /// Directory of the dump and the snapshots; existing ones are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Count the cold reads of snapshots of several sizes.
    Cold {
        /// Outputs in the generated lean dumps.
        #[arg(long, value_delimiter = ',', default_value = "1000000,5000000,20000000")]
        outputs: Vec<u64>,
        /// Directory of the dumps and the snapshots; existing ones are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Serve snapshots of several sizes from mirrors that begin empty, over a link of 50 ms and 100 Mbit/s.
    Mirror {
        /// Outputs in the generated lean dumps. Searches need texts, and are measured with the outputs of `search`.
        #[arg(long, value_delimiter = ',', default_value = "1000000,5000000,20000000")]
        outputs: Vec<u64>,
        /// Directory of the dumps, the snapshots, the published trees and the mirrors; existing dumps and snapshots
        /// are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Read works from Parquet and from gzip JSON lines, and compile both.
    Parquet {
        /// Works in the generated dump.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u64,
        /// Directory of the dump and of the Parquet files; existing ones are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
    },
    /// Build a snapshot, change one part in a hundred, and build again.
    Nightly {
        /// Outputs in the generated dump.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u64,
        /// Directory of the dump and the snapshots; an existing dump is reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
        /// Change a count that moves no row, in place of the citations.
        #[arg(long)]
        rows_stay: bool,
    },
    /// Search texts: relevance, and speed and size beside tantivy.
    Search {
        #[command(subcommand)]
        benchmark: search::SearchBenchmark,
    },
    /// Match citations, journals and affiliations: right and sure ones, and the time of each.
    Match {
        /// Directory with `known-items.tsv` and `affiliations.tsv`.
        #[arg(long)]
        data: PathBuf,
        /// Dump that has the known items; its works are cited.
        #[arg(long)]
        works: PathBuf,
        /// Gzip JSON lines of ROR, of schema 1 or 2, for the affiliations; later files replace organisations of earlier ones.
        #[arg(long, num_args = 1..)]
        ror: Vec<PathBuf>,
        /// Directory of the dumps and the snapshots.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Compress replies of a snapshot: microseconds, MB/s and ratio by coding and level, next to rendering.
    ///
    /// Use a snapshot of real records: generated words repeat less often than real words.
    Codings {
        /// A directory of snapshots, such as `pinakes-compiler build --out` makes.
        snapshots: PathBuf,
    },
    /// Measure the cost of the request limits and of the request metrics.
    Limits,
    /// Attack a server in every way at once while an honest client sends requests; fails if a limit is exceeded.
    Attack {
        /// Directory of the dump, the snapshots and the log; an existing dump is reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
    },
    /// Serve files from a bare warp handler, the ceiling for a GET.
    Bare {
        /// Files to serve; file N is at `/file/N`.
        files: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    let outcome = match Options::parse().benchmark {
        Benchmark::All { outputs, dir, memory } => all(outputs, &dir, &memory),
        Benchmark::Lists { outputs, dir, memory } => lists::run(outputs, &dir, &memory),
        Benchmark::Sums { outputs, dir, memory } => sums::run(outputs, &dir, &memory),
        Benchmark::Export { outputs, dir, memory } => export::run(outputs, &dir, &memory),
        Benchmark::Names { names, vocabulary, dir, memory } => {
            names::run(names, vocabulary, &dir, &memory)
        }
        Benchmark::Served { outputs, dir, memory } => served::run(outputs, &dir, &memory),
        Benchmark::Cold { outputs, dir, memory } => served::run_sizes(&outputs, &dir, &memory),
        Benchmark::Mirror { outputs, dir, memory } => mirror::run(&outputs, &dir, &memory),
        Benchmark::Nightly { outputs, dir, memory, rows_stay } => {
            let changed = if rows_stay { Changed::Locations } else { Changed::Citations };
            nightly::run(outputs, &dir, &memory, changed)
        }
        Benchmark::Parquet { outputs, dir } => parquet::run(outputs, &dir),
        Benchmark::Search { benchmark } => search::run(&benchmark),
        Benchmark::Match { data, works, ror, dir, memory } => {
            matching::run(&data, &works, &ror, &dir, &memory)
        }
        Benchmark::Codings { snapshots } => codings::run(&snapshots),
        Benchmark::Limits => limits::run(),
        Benchmark::Attack { dir } => attack::run(&dir),
        Benchmark::Bare { files } => serve::serve_bare(&files),
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
