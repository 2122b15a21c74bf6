//! The options of the commands, and the values they take.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf};

use clap::{Args, builder::BoolishValueParser};

use crate::compile::input::ManifestPolicy;
use crate::link::selection::SelectionArgs;
use crate::read::lenient::MemberLimits;
use crate::read::limits::ReadLimits;

/// Options of every command that reads inputs.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// What to compile, as `[KIND:]PATH`: an OpenAlex dump (a directory or file, JSON lines, plain,
    /// .gz or .zst), what `export` wrote, merged ids, a taxonomy CSV, or a side table: DOAJ, SCImago,
    /// Scopus, JCR or ABDC as CSV, ROR schema 2 or ORCID as JSON. KIND is openalex, native (as
    /// exported), taxonomy, doaj, scimago, scopus, jcr, abdc, ror or orcid; without it, the input is
    /// recognised or refused.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<OsString>,

    /// Share of records that may be bad and set aside, as `0.1%` or `0.001`.
    #[arg(long, default_value = "0.1%", value_parser = parse_share, env = "PINAKES_MAX_BAD")]
    pub(crate) max_bad: Share,

    /// Allow no bad record at all.
    #[arg(long, conflicts_with = "max_bad", env = "PINAKES_STRICT", value_parser = flag())]
    pub(crate) strict: bool,

    /// Publish a snapshot even where the inputs of an entity, or all, hold no record.
    #[arg(long, env = "PINAKES_ALLOW_EMPTY", value_parser = flag())]
    pub(crate) allow_empty: bool,

    /// Refuse a dump whose manifest lists a part that is not there, or not one that is.
    #[arg(long, env = "PINAKES_STRICT_MANIFEST", value_parser = flag())]
    pub(crate) strict_manifest: bool,

    /// Take the whole lines of a compressed part that is cut short, in place of refusing it.
    #[arg(long, env = "PINAKES_ALLOW_TRUNCATED", value_parser = flag())]
    pub(crate) allow_truncated: bool,

    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
}

/// How much of one part is taken, so that no input takes more memory or disk than there is.
#[derive(Args, Debug)]
pub(crate) struct BoundArgs {
    /// The longest line or row; a longer one is set aside as a bad record. 64K to 1G.
    #[arg(long, value_name = "BYTES", default_value = "16M", env = "PINAKES_MAX_LINE",
          value_parser = parse_line_bytes)]
    pub(crate) max_line: u64,

    /// The most bytes a part may have uncompressed; a larger one is refused as damaged.
    #[arg(long, value_name = "BYTES", default_value = "256G", env = "PINAKES_MAX_INFLATED",
          value_parser = parse_bytes)]
    pub(crate) max_inflated: u64,

    /// The largest window a zstd part may ask for, as the power of two of its bytes.
    #[arg(long, value_name = "LOG", default_value_t = 27, env = "PINAKES_ZSTD_WINDOW_MAX",
          value_parser = clap::value_parser!(u32).range(10..=31))]
    pub(crate) zstd_window_max: u32,

    /// The most elements an array may have; a longer one becomes null and is counted. [default: any]
    #[arg(long, value_name = "N", env = "PINAKES_MAX_ARRAY")]
    pub(crate) max_array: Option<u64>,

    /// The longest text of a member; a longer one becomes null and is counted. [default: any]
    #[arg(long, value_name = "BYTES", env = "PINAKES_MAX_TEXT", value_parser = parse_bytes)]
    pub(crate) max_text: Option<u64>,
}

impl InputArgs {
    /// How parts are read.
    pub(crate) fn reading(&self) -> ReadLimits {
        let bounds = &self.bounds;
        ReadLimits {
            line_bytes_max: usize::try_from(bounds.max_line).unwrap_or(usize::MAX),
            inflated_bytes_max: bounds.max_inflated,
            zstd_window_log_max: bounds.zstd_window_max,
            members: MemberLimits {
                array_elements_max: bounds.max_array,
                text_bytes_max: bounds.max_text,
            },
            allow_truncated: self.allow_truncated,
        }
    }

    /// What is demanded of dumps.
    pub(crate) fn demands(&self) -> ManifestPolicy {
        let InputArgs { strict_manifest, allow_truncated, .. } = *self;
        ManifestPolicy { strict_manifest, allow_truncated }
    }

    /// The share of records that may be bad.
    pub(crate) fn bad_share(&self) -> Share {
        if self.strict { Share(0.0) } else { self.max_bad }
    }
}

/// Options of every command that publishes.
#[derive(Args, Debug)]
pub(crate) struct PublishArgs {
    /// Where snapshots are published; `current` there leads to the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    /// Publish even where an entity has less than four fifths of the records it had before.
    #[arg(long, env = "PINAKES_ALLOW_SHRINK", value_parser = flag())]
    pub(crate) allow_shrink: bool,

    /// Keep so many snapshots, the new one among them, and remove older ones that nobody has open; of
    /// `build`'s objects those that a snapshot still there is made of. [default: remove nothing]
    #[arg(long, value_name = "N", env = "PINAKES_KEEP")]
    pub(crate) keep: Option<NonZeroUsize>,
}

/// The values a flag takes from the environment.
pub(crate) fn flag() -> BoolishValueParser {
    BoolishValueParser::new()
}

/// Options of every command that works.
#[derive(Args, Debug)]
pub(crate) struct WorkArgs {
    /// Memory to work in, as `512M` or `2G`; what does not fit waits on disk. At least 256M.
    #[arg(long, default_value = "2G", value_parser = parse_memory, env = "PINAKES_MEMORY")]
    pub(crate) memory: u64,

    /// Threads; 0 for as many as there are processors.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub(crate) threads: usize,

    /// Show nothing but errors and the result.
    #[arg(long, env = "PINAKES_QUIET", value_parser = flag())]
    pub(crate) quiet: bool,

    /// Write the run's report to this file, as JSON: as it begins, and what came of it as it ends.
    #[arg(long, value_name = "FILE", env = "PINAKES_REPORT")]
    pub(crate) report: Option<PathBuf>,

    /// Write what came of the run to this file, as the textfile collector of Prometheus' node_exporter
    /// reads it.
    #[arg(long, value_name = "FILE", env = "PINAKES_TEXTFILE")]
    pub(crate) textfile: Option<PathBuf>,

    /// Where bad records are listed and their lines kept. [default: `quarantine` in SNAPSHOTS, or in
    /// the objects' DIR where nothing is published]
    #[arg(long, value_name = "DIR", env = "PINAKES_QUARANTINE")]
    pub(crate) quarantine: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) publish: PublishArgs,
    /// Where objects are kept from run to run. [default: SNAPSHOTS/objects]
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(crate) objects: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Where objects are kept.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(crate) objects: PathBuf,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

#[derive(Args, Debug)]
pub(crate) struct LinkArgs {
    /// The objects to link, all of them.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(crate) objects: PathBuf,
    #[command(flatten)]
    pub(crate) publish: PublishArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// A share of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub(crate) f64);

fn parse_share(text: &str) -> Result<Share, String> {
    let (digits, scale) = match text.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    let share: f64 = digits.trim().parse().map_err(|_| "expected a share, as `0.1%`")?;
    let share = share / scale;
    if (0.0..=1.0).contains(&share) { Ok(Share(share)) } else { Err("expected 0% to 100%".into()) }
}

const MEMORY_BYTES_MIN: u64 = 256 << 20;

pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let digits_end = upper.find(|c: char| !c.is_ascii_digit()).unwrap_or(upper.len());
    let (digits, unit) = upper.split_at(digits_end);
    let shift = match unit.trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("expected a size, as `512M` or `2G`".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a size, as `512M` or `2G`")?;
    number.checked_mul(1 << shift).ok_or_else(|| "is too large".into())
}

pub(crate) fn parse_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text)?;
    if bytes < MEMORY_BYTES_MIN {
        return Err("expected at least 256M".into());
    }
    Ok(bytes)
}

fn parse_line_bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text)?;
    if (64 << 10..=1 << 30).contains(&bytes) { Ok(bytes) } else { Err("expected 64K to 1G".into()) }
}
