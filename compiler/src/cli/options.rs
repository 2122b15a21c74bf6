//! The options of the commands, and the values they take.

use std::path::PathBuf;

use clap::Args;

/// Options of every command that reads inputs.
#[derive(Args, Debug)]
pub(super) struct InputArgs {
    /// What to compile, as `[KIND:]PATH`: an OpenAlex dump (a directory or file, JSON lines, plain,
    /// .gz or .zst), merged ids, or a taxonomy CSV. KIND is openalex or taxonomy; without it, the
    /// input is recognised or refused.
    #[arg(required = true, value_name = "INPUT")]
    pub(super) inputs: Vec<String>,

    /// Share of records that may be bad and set aside, as `0.1%` or `0.001`.
    #[arg(long, default_value = "0.1%", value_parser = parse_share, env = "PINAKES_MAX_BAD")]
    pub(super) max_bad: Share,

    /// Allow no bad record at all.
    #[arg(long, conflicts_with = "max_bad")]
    pub(super) strict: bool,

    /// Publish a snapshot even of inputs without a record.
    #[arg(long)]
    pub(super) allow_empty: bool,
}

/// Options of every command that works.
#[derive(Args, Debug)]
pub(super) struct WorkArgs {
    /// Memory to work in, as `512M` or `2G`; what does not fit waits on disk. At least 256M.
    #[arg(long, default_value = "2G", value_parser = parse_bytes, env = "PINAKES_MEMORY")]
    pub(super) memory: u64,

    /// Threads; 0 for as many as there are processors.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub(super) threads: usize,

    /// Show nothing but errors and the result.
    #[arg(long)]
    pub(super) quiet: bool,

    /// Write the run's report to this file, as JSON.
    #[arg(long, value_name = "FILE", env = "PINAKES_REPORT")]
    pub(super) report: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Where snapshots are published; `current` there leads to the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    pub(super) out: PathBuf,
    /// Where objects are kept from run to run. [default: SNAPSHOTS/objects]
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(super) objects: Option<PathBuf>,
    #[command(flatten)]
    pub(super) work: WorkArgs,
}

#[derive(Args, Debug)]
pub(super) struct CompileArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Where objects are kept.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(super) objects: PathBuf,
    #[command(flatten)]
    pub(super) work: WorkArgs,
}

#[derive(Args, Debug)]
pub(super) struct LinkArgs {
    /// The objects to link, all of them.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    pub(super) objects: PathBuf,
    /// Where snapshots are published; `current` there leads to the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    pub(super) out: PathBuf,
    #[command(flatten)]
    pub(super) work: WorkArgs,
}

/// A share of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub(super) f64);

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

fn parse_bytes(text: &str) -> Result<u64, String> {
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
    let bytes = number.checked_mul(1 << shift).ok_or("is too large")?;
    if bytes < MEMORY_BYTES_MIN {
        return Err("expected at least 256M".into());
    }
    Ok(bytes)
}
