//! Measures full-text search: relevance on judged collections, and speed and size beside tantivy with the same texts.

mod clock;
mod engine;
mod peer;
mod queries;
mod relevance;
mod served;
mod speed;
mod texts;

use std::path::PathBuf;

use clap::Subcommand;

use crate::Result;
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
        /// Generated outputs.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u32,
        /// How tantivy stores the texts.
        #[arg(long, value_enum, value_delimiter = ',', default_value = "two,one")]
        fields: Vec<Fields>,
        /// Directory of the dump and the snapshots; an existing dump is reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Searches of three words over HTTP with 32 connections.
    Served {
        /// Generated outputs.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u32,
        /// Directory of the dump and the snapshots; existing ones are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
    /// Bytes and reads of searches of three words when nothing of the snapshot is in memory.
    Cold {
        /// Generated outputs.
        #[arg(long, default_value_t = 1_000_000)]
        outputs: u32,
        /// Directory of the dump and the snapshots; existing ones are reused.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Memory limit of the compiler, passed on as its `--memory`.
        #[arg(long, default_value = "2G")]
        memory: String,
    },
}

/// Runs one of the measurements.
pub fn run(benchmark: &SearchBenchmark) -> Result<()> {
    match benchmark {
        SearchBenchmark::Relevance { data, works, dir, memory } => {
            relevance::run(data, works, dir, memory)
        }
        SearchBenchmark::Speed { outputs, fields, dir, memory } => {
            speed::run(*outputs, dir, memory, fields)
        }
        SearchBenchmark::Served { outputs, dir, memory } => served::run(*outputs, dir, memory),
        SearchBenchmark::Cold { outputs, dir, memory } => served::run_cold(*outputs, dir, memory),
    }
}
