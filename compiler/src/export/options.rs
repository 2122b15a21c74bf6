//! The options of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pinakes_format::entity::Entity;
use pinakes_format::query::SAMPLE_RECORDS_MAX;

use crate::remote::from::FromArgs;

/// The options of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// A snapshot, or a directory of snapshots, whose current one is meant.
    #[arg(value_name = "SNAPSHOTS")]
    pub snapshot: PathBuf,

    /// Entities to export, as `outputs authors`. [default: all]
    #[arg(value_name = "ENTITY", value_parser = parse_entity)]
    pub(super) entities: Vec<Entity>,

    /// Where to write. Several entities need a new or empty directory, which gets one file for each. One
    /// ENTITY goes to a file, which is replaced when the new one is complete; to a directory that exists or
    /// whose name ends in `/`; or to standard output, given as `-`.
    #[arg(long, value_name = "FILE|DIR|-", env = "PINAKES_EXPORT")]
    pub(super) out: PathBuf,

    /// Format of the files.
    #[arg(long, value_enum, default_value_t = Format::Ndjson)]
    pub(super) format: Format,

    /// Export only the records of ENTITY that match, as `outputs:year:>2020,is_oa:true`. ENTITY may be left
    /// out if only one is exported. FILTER has the syntax of the list's `filter`. Several must all hold.
    #[arg(long = "where", value_name = "[ENTITY:]FILTER")]
    pub(super) wheres: Vec<String>,

    /// Export only the outputs that a full-text search finds, the best first: the list's `search`.
    #[arg(long, value_name = "SEARCH", conflicts_with = "search_exact")]
    pub(super) search: Option<String>,

    /// As `--search`, with words compared as they are written: the list's `search.exact`.
    #[arg(long, value_name = "SEARCH")]
    pub(super) search_exact: Option<String>,

    /// Order of the records, in the syntax of the list's `sort`: `year:desc,name`. Needs one ENTITY.
    #[arg(long, value_name = "KEYS")]
    pub(super) sort: Option<String>,

    /// Only these members, in the order of the interface: `id,doi,authors.name`. Needs one ENTITY.
    #[arg(long, value_name = "MEMBERS")]
    pub(super) select: Option<String>,

    /// At most this many records of each entity: the first ones.
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<u64>,

    /// This many random records of each entity, in the order of `--sort` or of the draws. The same snapshot
    /// and seed give the same records.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(SAMPLE_RECORDS_MAX)))]
    pub(super) sample: Option<u32>,

    /// Another number draws other records.
    #[arg(long, value_name = "S", default_value_t = 0, requires = "sample")]
    pub(super) seed: u64,

    /// With `--format parquet`: also write the edges of outputs as tables, `outputs_authors`,
    /// `outputs_topics`, `outputs_funders`, `outputs_venues` and `citations`.
    #[arg(long)]
    pub(super) edges: bool,

    /// With `--format parquet`: beside each identifier also its number, `id_number` beside `id`, which joins
    /// several times as fast as the text. The ids in lists of ids have none.
    #[arg(long)]
    pub(super) integer_ids: bool,

    /// Compression of ndjson and CSV. [default: zst in a directory; for a file, by the end of its name]
    #[arg(long, value_enum, env = "PINAKES_COMPRESS")]
    pub(super) compress: Option<Compression>,

    /// Where the chunks come from that are not here.
    #[command(flatten)]
    pub from: FromArgs,

    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub threads: usize,

    /// Print only errors, warnings and the result.
    #[arg(long)]
    pub(super) quiet: bool,
}

/// Format of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object a line. Without `--select`, `build` makes an equivalent snapshot of the files.
    Ndjson,
    /// A header and one row a record; the items of a list are joined by `; `.
    Csv,
    /// Apache Parquet, with nested columns.
    Parquet,
}

impl Format {
    /// Returns the ending of a file's name, without compression.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Format::Ndjson => "jsonl",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
        }
    }
}

/// Compression of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Zstandard with checksums, a frame for at most 512 lines.
    Zst,
    /// Gzip, a member for at most 512 lines.
    Gz,
    /// No compression.
    None,
}

impl Compression {
    /// Returns the ending of a compressed file's name.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Compression::Zst => ".zst",
            Compression::Gz => ".gz",
            Compression::None => "",
        }
    }
}

pub(crate) fn parse_entity(text: &str) -> Result<Entity, String> {
    let names = || Entity::all().map(|entity| entity.facts().plural).collect::<Vec<_>>();
    Entity::from_dump_name(text).ok_or_else(|| format!("expected one of {}", names().join(", ")))
}
