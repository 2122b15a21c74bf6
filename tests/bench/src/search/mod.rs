//! Measures full-text search: relevance on judged collections, and speed and size beside tantivy with the same texts.

pub mod clock;
mod engine;
mod peer;
mod queries;
mod relevance;
mod served;
mod speed;
mod texts;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::Result;
use crate::served::workloads::Workload;
use peer::Fields;

/// The measurements of full-text search.
#[derive(Subcommand)]
pub enum SearchBenchmark {
    /// nDCG@10 and recall@100 of judged collections, and the ranks of known items.
    Relevance {
        /// Directory with `cranfield`, `cacm` and `known-items.tsv`.
        #[arg(long)]
        data: PathBuf,
        /// Dump that has the known items.
        #[arg(long)]
        works: PathBuf,
        /// Directory of the snapshots, which are removed afterwards.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Bytes, processor time to build, and processor time of searches, of a snapshot and of tantivy.
    Speed {
        #[command(flatten)]
        generated: Generated,
        /// How tantivy stores the texts.
        #[arg(long, value_enum, value_delimiter = ',', default_value = "two,one")]
        fields: Vec<Fields>,
    },
    /// Searches of three words over HTTP with 32 connections.
    Served {
        #[command(flatten)]
        generated: Generated,
    },
    /// Bytes and reads of searches of three words when nothing of the snapshot is in memory.
    Cold {
        #[command(flatten)]
        generated: Generated,
    },
}

/// The generated outputs that a measurement searches.
#[derive(Args)]
pub struct Generated {
    /// Generated outputs.
    #[arg(long, default_value_t = 1_000_000)]
    outputs: u32,
    /// Directory of the dump and the snapshots; existing ones are reused.
    #[arg(long, default_value = "target/bench")]
    dir: PathBuf,
    /// Memory limit of the compiler, passed on as its `--memory`.
    #[arg(long, default_value = "2G")]
    memory: String,
}

/// Searches of three words, with the directory of the snapshots that they search.
pub fn three_words(outputs: u32, dir: &Path, memory: &str) -> Result<(PathBuf, Workload)> {
    let generated = Generated { outputs, dir: dir.to_owned(), memory: memory.to_owned() };
    served::three_words(&generated).map(|(inputs, workload)| (inputs.snapshots, workload))
}

/// Runs one of the measurements.
pub fn run(benchmark: &SearchBenchmark) -> Result<()> {
    match benchmark {
        SearchBenchmark::Relevance { data, works, dir, memory } => {
            relevance::run(data, works, dir, memory)
        }
        SearchBenchmark::Speed { generated, fields } => speed::run(generated, fields),
        SearchBenchmark::Served { generated } => served::run(generated),
        SearchBenchmark::Cold { generated } => served::run_cold(generated),
    }
}
