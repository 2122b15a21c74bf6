//! The options of `match`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pinakes_format::entity::Entity;
use pinakes_format::matching::{CANDIDATES_MAX, Question};

/// The options of `match`.
#[derive(Args, Debug)]
pub struct MatchArgs {
    /// A snapshot, or a directory of snapshots, whose current one is meant.
    #[arg(value_name = "SNAPSHOTS")]
    pub snapshot: PathBuf,

    /// The entity of the records, as `outputs` or `institutions`.
    #[arg(value_name = "ENTITY", value_parser = parse_matched_entity)]
    pub(super) entity: Entity,

    /// The lines to match: a file, or standard input, given as `-`.
    #[arg(long = "in", value_name = "FILE|-")]
    pub(super) input: PathBuf,

    /// The column with the text, or a column with a part of one, as `title=Title`. May be repeated.
    #[arg(long = "column", value_name = "[PART=]NAME", required = true)]
    pub(super) columns: Vec<String>,

    /// Where to write: a new file, or standard output, given as `-`.
    #[arg(long, value_name = "FILE|-")]
    pub(super) out: PathBuf,

    /// Format of the input and of the output. [default: ndjson for `.ndjson` and `.jsonl`, csv for others]
    #[arg(long, value_enum)]
    pub(super) format: Option<LineFormat>,

    /// Write this many candidates of a line. The columns of the second one end in `_2`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=CANDIDATES_MAX as i64))]
    pub(super) candidates: u8,

    /// Also write these members of the record, as `doi,year`. Their columns begin with `pinakes_`.
    #[arg(long, value_name = "MEMBERS")]
    pub(super) select: Option<String>,

    /// Go on with the output of an earlier run, after its last whole line.
    #[arg(long)]
    pub(super) resume: bool,

    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub threads: usize,

    /// Print only errors, warnings and the result.
    #[arg(long)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LineFormat {
    /// A header and one row a line.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

impl MatchArgs {
    pub(super) fn format(&self) -> LineFormat {
        self.format.unwrap_or_else(|| match self.input.as_os_str() == "-" {
            true => LineFormat::of_path(&self.out),
            false => LineFormat::of_path(&self.input),
        })
    }
}

fn parse_matched_entity(text: &str) -> Result<Entity, String> {
    let entity = Entity::from_dump_name(text).filter(|entity| Question::is_about(*entity));
    entity.ok_or_else(|| {
        let names = Entity::all().filter(|entity| Question::is_about(*entity));
        let names: Vec<&str> = names.map(|entity| entity.facts().plural).collect();
        format!("expected one of {}", names.join(", "))
    })
}
