//! The command line of the dump generator.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use pinakes_generate::{NAMES_MAX, OUTPUTS_MAX, Plan, VOCABULARY, VOCABULARY_MAX, write_dump};

/// Writes a synthetic dump in the layout and the record shapes of today's OpenAlex snapshot.
///
/// The dump holds works, authors, sources, institutions, publishers, funders, the whole taxonomy and institution
/// types, with manifests and merged ids. References between records are consistent; about 1 % of the author
/// references are unresolved. The bytes depend only on --outputs, --seed, --lean, --names, --vocabulary and
/// --part-records. One million outputs make about 12 GB of JSON lines, 3 GB on disk.
#[derive(Parser)]
#[command(name = "pinakes-generate", version)]
struct Arguments {
    /// Number of works; other entities follow in proportion (0.35 authors per work, one source per 400 works, …)
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=OUTPUTS_MAX))]
    outputs: u64,

    /// Seed of all content: another seed gives another dump of the same size
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Write short works, about 0.9 kB each, with the members that lists filter and sort by
    #[arg(long)]
    lean: bool,

    /// Write only this many authors, about 150 bytes each, with names of three words, for autocomplete
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["outputs", "lean"], value_parser = clap::value_parser!(u64).range(1..=NAMES_MAX))]
    names: Option<u64>,

    /// Number of distinct words in the names of --names
    #[arg(long, value_name = "COUNT", requires = "names", default_value_t = VOCABULARY, value_parser = clap::value_parser!(u32).range(1..=i64::from(VOCABULARY_MAX)))]
    vocabulary: u32,

    /// Directory to write into; created if absent, refused if it already holds a dump
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Worker threads [default: one per processor]
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,

    /// Records in one part file at most [default: 10000, lean and names 100000]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    part_records: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let threads = arguments
        .threads
        .or_else(|| std::thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    let (outputs, seed) = (arguments.outputs, arguments.seed);
    let mut plan = match arguments.names {
        Some(authors) => Plan::names(authors, arguments.vocabulary, seed),
        None if arguments.lean => Plan::lean(outputs, seed),
        None => Plan::new(outputs, seed),
    };
    if let Some(part_records) = arguments.part_records {
        plan = plan.with_part_records(part_records);
    }
    let start = Instant::now();
    match write_dump(&plan, &arguments.out, threads) {
        Ok(summary) => {
            let seconds = start.elapsed().as_secs_f64();
            let rate = summary.json_bytes() as f64 / 1e6 / seconds.max(1e-9);
            eprintln!(
                "{summary}\n{seconds:.1} s, {rate:.0} MB of JSON per second, {threads} threads"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("pinakes-generate: {error}");
            ExitCode::FAILURE
        }
    }
}
