//! The options of `build`, `plan`, `compile` and `link`, and the parsers of option values.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use crate::cli::transfer::{BucketArgs, TransferArgs};
use crate::compile::input::ManifestPolicy;
use crate::drift::limits::AllowedMember;
use crate::link::selection::SelectionArgs;
use crate::read::{MemberLimits, ReadLimits};

/// Options of every command that finds inputs.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// Input, as `[KIND:]PATH`, where PATH may be `s3://BUCKET/PREFIX`: an OpenAlex dump (a directory or a file of JSON lines, plain, .gz or
    /// .zst, or of Parquet), a file of `export`, merged ids, deleted ids, a taxonomy CSV, or a side table: DOAJ, SCImago,
    /// Scopus, JCR or ABDC as CSV, ROR schema 2 or ORCID as JSON. KIND is openalex, native (written by
    /// `export`), deleted, taxonomy, doaj, scimago, scopus, jcr, abdc, ror or orcid. Without KIND, the compiler detects the kind and
    /// rejects unknown files.
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<OsString>,

    /// Read symbolic links in a dump that lead outside of it.
    #[arg(long, env = "PINAKES_FOLLOW_LINKS", value_parser = flag())]
    pub(crate) follow_links: bool,

    /// Refuse a dump if its manifest lists a missing file, or does not list an existing one.
    #[arg(long, env = "PINAKES_STRICT_MANIFEST", value_parser = flag())]
    pub(crate) strict_manifest: bool,

    /// Read the complete lines of a truncated compressed part instead of refusing it.
    #[arg(long, env = "PINAKES_ALLOW_TRUNCATED", value_parser = flag())]
    pub(crate) allow_truncated: bool,

    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
}

/// Limits on one part, so that no input exhausts memory or disk.
#[derive(Args, Debug)]
pub(crate) struct BoundArgs {
    /// Longest line or row; a longer one is a bad record. 64K to 1G.
    #[arg(long, value_name = "BYTES", default_value = "16M", env = "PINAKES_MAX_LINE",
          value_parser = parse_line_bytes)]
    pub(crate) max_line: u64,

    /// Largest uncompressed part; a larger one is refused as damaged.
    #[arg(long, value_name = "BYTES", default_value = "256G", env = "PINAKES_MAX_INFLATED",
          value_parser = parse_bytes)]
    pub(crate) max_inflated: u64,

    /// Largest window of a zstd part, as the base-2 logarithm of its bytes.
    #[arg(long, value_name = "LOG", default_value_t = 27, env = "PINAKES_ZSTD_WINDOW_MAX",
          value_parser = clap::value_parser!(u32).range(10..=31))]
    pub(crate) zstd_window_max: u32,

    /// Most elements of an array; a longer array becomes null, with a warning. [default: no limit]
    #[arg(long, value_name = "N", env = "PINAKES_MAX_ARRAY")]
    pub(crate) max_array: Option<u64>,

    /// Longest text of a member; a longer text becomes null, with a warning. [default: no limit]
    #[arg(long, value_name = "BYTES", env = "PINAKES_MAX_TEXT", value_parser = parse_bytes)]
    pub(crate) max_text: Option<u64>,
}

impl InputArgs {
    /// Returns the limits on one part, of a run with this memory.
    pub(crate) fn read_limits(&self, memory_bytes: u64, part_memory_bytes: u64) -> ReadLimits {
        let bounds = &self.bounds;
        let limits = ReadLimits {
            inflated_bytes_max: bounds.max_inflated,
            zstd_window_log_max: bounds.zstd_window_max,
            part_memory_bytes,
            members: MemberLimits {
                array_elements_max: bounds.max_array,
                text_bytes_max: bounds.max_text,
            },
            allow_truncated: self.allow_truncated,
            ..ReadLimits::default()
        };
        limits.with_lines(bounds.max_line, memory_bytes)
    }

    /// Returns how strictly to check dumps against their manifests.
    pub(crate) fn manifest_policy(&self) -> ManifestPolicy {
        let InputArgs { strict_manifest, allow_truncated, follow_links, .. } = *self;
        ManifestPolicy { strict_manifest, allow_truncated, follow_links }
    }
}

/// How many bad records a run accepts, and whether it accepts inputs without records.
#[derive(Args, Debug)]
pub(crate) struct AcceptanceArgs {
    /// Largest share of bad records, which are left out, as `0.1%` or `0.001`.
    #[arg(long, default_value = "0.1%", value_parser = parse_share, env = "PINAKES_MAX_BAD")]
    pub(crate) max_bad: Share,

    /// Largest share of bad rows in each side table and list of deleted ids, which are left out.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_share,
          env = "PINAKES_MAX_BAD_ROWS")]
    pub(crate) max_bad_rows: Share,

    /// Allow no bad records and no bad rows.
    #[arg(long, conflicts_with_all = ["max_bad", "max_bad_rows"], env = "PINAKES_STRICT",
          value_parser = flag())]
    pub(crate) strict: bool,

    /// Publish a snapshot even if the inputs of an entity, or all inputs, contain no record.
    #[arg(long, env = "PINAKES_ALLOW_EMPTY", value_parser = flag())]
    pub(crate) allow_empty: bool,
}

impl AcceptanceArgs {
    /// Returns the largest allowed share of bad records, and of bad rows in a side table.
    pub(crate) fn bad_shares(&self) -> (Share, Share) {
        if self.strict { (Share(0.0), Share(0.0)) } else { (self.max_bad, self.max_bad_rows) }
    }
}

/// Options of every command that publishes.
#[derive(Args, Debug)]
pub(crate) struct PublishArgs {
    /// The directory of snapshots; `current` there points at the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    /// Publish even if an entity has less than four fifths of its previous records.
    #[arg(long, env = "PINAKES_ALLOW_SHRINK", value_parser = flag())]
    pub(crate) allow_shrink: bool,

    /// Publish even if these members differ from the current snapshot by more than their limits: members as in
    /// `outputs.title`; an object, as in `outputs.ids`, or an entity stands for all members below, and `all` for
    /// every member.
    #[arg(long, value_name = "MEMBER,…", env = "PINAKES_ALLOW_DRIFT", value_delimiter = ',',
          value_parser = AllowedMember::parse)]
    pub(crate) allow_drift: Vec<AllowedMember>,

    /// Publish even if `--suppress` lacks ids that the current snapshot leaves out.
    #[arg(long, env = "PINAKES_ALLOW_UNSUPPRESS", value_parser = flag())]
    pub(crate) allow_unsuppress: bool,

    /// Keep this many snapshots, including the new one, and remove older ones that no process has open. With
    /// `build`, also remove objects that no remaining snapshot was built from. [default: remove nothing]
    #[arg(long, value_name = "N", env = "PINAKES_KEEP")]
    pub(crate) keep: Option<NonZeroUsize>,
}

/// Parses a flag's value in the environment, such as `1`, `true` or `no`.
pub(crate) fn flag() -> BoolishValueParser {
    BoolishValueParser::new()
}

/// Options of `build`, `compile` and `link` about the run itself.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkArgs {
    /// Memory limit, as `512M` or `2G`; larger data goes to temporary files. At least 256M.
    #[arg(long, default_value = "2G", value_parser = parse_memory, env = "PINAKES_MEMORY")]
    pub(crate) memory: u64,

    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub(crate) threads: usize,

    /// Read parts and objects whole although their size and times have not changed, and link although a snapshot
    /// of the same objects exists.
    #[arg(long, env = "PINAKES_PARANOID", value_parser = flag())]
    pub(crate) paranoid: bool,

    /// Print only errors, warnings and the result.
    #[arg(long, env = "PINAKES_QUIET", value_parser = flag())]
    pub(crate) quiet: bool,

    /// Write the run's report to this file as JSON, when the run begins and when it ends.
    #[arg(long, value_name = "FILE", env = "PINAKES_REPORT")]
    pub(crate) report: Option<PathBuf>,

    /// Write the run's metrics to this file when the run ends, for the textfile collector of Prometheus'
    /// node_exporter.
    #[arg(long, value_name = "FILE", env = "PINAKES_TEXTFILE")]
    pub(crate) textfile: Option<PathBuf>,

    /// Directory for the list of bad records and their lines. [default: `quarantine` in SNAPSHOTS, in the
    /// objects' DIR for `compile`; `compile --plan` writes none]
    #[arg(long, value_name = "DIR", env = "PINAKES_QUARANTINE")]
    pub(crate) quarantine: Option<PathBuf>,
}

impl WorkArgs {
    /// Returns the number of threads of the compile stage, each of which reads a part.
    pub(crate) fn compile_threads(&self) -> usize {
        threads_within(self.memory, rayon::current_num_threads())
    }

    /// Returns the memory for one part, of which each thread of the compile stage reads one.
    pub(crate) fn part_memory_bytes(&self) -> u64 {
        self.memory / self.compile_threads() as u64
    }
}

/// More units than schedulers take.
const UNITS_MAX: u32 = 1_000_000;

fn parse_units(text: &str) -> Result<NonZeroU32, String> {
    let units = text.parse().ok().filter(|units: &NonZeroU32| units.get() <= UNITS_MAX);
    units.ok_or_else(|| format!("must be a number from 1 to {UNITS_MAX}"))
}

/// How many of `threads` may each compile a part within `memory_bytes`.
fn threads_within(memory_bytes: u64, threads: usize) -> usize {
    let parts = usize::try_from(memory_bytes / COMPILED_PART_BYTES).unwrap_or(usize::MAX);
    threads.min(parts.max(1))
}

#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) acceptance: AcceptanceArgs,
    #[command(flatten)]
    pub(crate) publish: PublishArgs,
    /// Directory that keeps objects between runs, or `s3://BUCKET/PREFIX`. [default: SNAPSHOTS/objects]
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(crate) objects: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten, next_help_heading = "Buckets")]
    pub(crate) bucket: BucketArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Number of units; their numbers begin at 0. A unit is empty if there are fewer parts than units.
    #[arg(long, value_name = "N", value_parser = parse_units, env = "PINAKES_UNITS")]
    pub(crate) units: NonZeroU32,
    /// File of the plan, as `plan.jsonl`.
    #[arg(long, value_name = "FILE", env = "PINAKES_PLAN")]
    pub(crate) out: PathBuf,
    /// Print only errors.
    #[arg(long, env = "PINAKES_QUIET", value_parser = flag())]
    pub(crate) quiet: bool,
    #[command(flatten, next_help_heading = "Buckets")]
    pub(crate) transfer: TransferArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) acceptance: AcceptanceArgs,
    /// Compile a unit of this plan in place of inputs. The plan holds the options that concern inputs. Bad
    /// records are reported; only `link --plan` judges their share.
    #[arg(long, value_name = "FILE", env = "PINAKES_PLAN",
          conflicts_with_all = ["inputs", "InputArgs", "BoundArgs"])]
    pub(crate) plan: Option<PathBuf>,
    /// Number of the unit, from 0. [default: the number that a scheduler sets in SLURM_ARRAY_TASK_ID,
    /// JOB_COMPLETION_INDEX, AWS_BATCH_JOB_ARRAY_INDEX or PBS_ARRAY_INDEX]
    #[arg(long, value_name = "K", env = "PINAKES_UNIT", requires = "plan")]
    pub(crate) unit: Option<u32>,
    /// Directory that keeps objects between runs, or `s3://BUCKET/PREFIX`.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(crate) objects: PathBuf,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten, next_help_heading = "Buckets")]
    pub(crate) bucket: BucketArgs,
}

#[derive(Args, Debug)]
pub(crate) struct LinkArgs {
    /// Directory or `s3://BUCKET/PREFIX` whose objects are all linked, or only those of `--plan`.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(crate) objects: PathBuf,
    /// Link exactly the objects of this plan, and judge the bad records of all its units together.
    #[arg(long, value_name = "FILE", env = "PINAKES_PLAN")]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) publish: PublishArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten, next_help_heading = "Bad and missing records")]
    pub(crate) acceptance: AcceptanceArgs,
    #[command(flatten, next_help_heading = "Buckets")]
    pub(crate) bucket: BucketArgs,
}

/// A share of records, from 0 to 1.
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

/// Memory for a part that is compiled: an open segment of up to 48 MiB, its symbols, and the buffers of the reader.
/// Parts of works with full segments took 55 to 79 MB each.
const COMPILED_PART_BYTES: u64 = 128 << 20;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_parts_are_compiled_at_the_same_time_than_memory_holds() {
        let cases = [
            ("256M", 1, 1),
            ("256M", 2, 2),
            ("256M", 32, 2),
            ("1G", 4, 4),
            ("2G", 16, 16),
            ("2G", 32, 16),
            ("64G", 32, 32),
        ];
        for (memory, threads, expected) in cases {
            let within = parse_memory(memory).map(|memory| threads_within(memory, threads));
            assert_eq!(within, Ok(expected), "{memory}, {threads} threads");
        }
    }
}
