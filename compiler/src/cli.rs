//! The command line: what is asked, and doing it.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{Args, Parser, Subcommand};
use pinakes_format::snapshot::Snapshot;

use crate::{
    compile::{Stage, compile},
    error::{Error, Result},
    input, inspect, interrupt,
    link::{check_out, publish},
    object::Object,
    progress::Progress,
    report::{Budget, RunReport},
};

/// Turns dumps of scholarly metadata into a snapshot that `pinakes-server` answers from.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 internal error; 2 usage; 3 input missing or \
unreadable; 4 too many bad records, or none at all; 5 damaged input; 6 output cannot be written; \
7 another run holds the output; 8 the finished snapshot failed its self-check; 130, 143 interrupted.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Compile inputs and publish a snapshot of them: `compile` and `link` in one.
    Build(BuildArgs),
    /// Compile each part of the inputs into an object, unless its object is there already.
    Compile(CompileArgs),
    /// Link every object in a directory into a snapshot and publish it.
    Link(LinkArgs),
    /// Read every byte and every record of a snapshot against every promise made of them.
    Verify {
        /// The snapshot's directory, or `SNAPSHOTS/current`.
        snapshot: PathBuf,
    },
    /// Show what is inside a snapshot.
    Inspect {
        /// The snapshot's directory, or `SNAPSHOTS/current`.
        snapshot: PathBuf,
        /// Print JSON in place of a table.
        #[arg(long)]
        json: bool,
    },
}

/// Options of every command that reads inputs.
#[derive(Args, Debug)]
struct InputArgs {
    /// What to compile, as `[KIND:]PATH`: an OpenAlex dump (a directory or file, JSON lines, plain,
    /// .gz or .zst), merged ids, or a taxonomy CSV. KIND is openalex or taxonomy; without it, the
    /// input is recognised or refused.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,

    /// Share of records that may be bad and set aside, as `0.1%` or `0.001`.
    #[arg(long, default_value = "0.1%", value_parser = parse_share, env = "PINAKES_MAX_BAD")]
    max_bad: Share,

    /// Allow no bad record at all.
    #[arg(long, conflicts_with = "max_bad")]
    strict: bool,

    /// Publish a snapshot even of inputs without a record.
    #[arg(long)]
    allow_empty: bool,
}

/// Options of every command that works.
#[derive(Args, Debug)]
struct WorkArgs {
    /// Memory to work in, as `512M` or `2G`; what does not fit waits on disk. At least 256M.
    #[arg(long, default_value = "2G", value_parser = parse_bytes, env = "PINAKES_MEMORY")]
    memory: u64,

    /// Threads; 0 for as many as there are processors.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    threads: usize,

    /// Show nothing but errors and the result.
    #[arg(long)]
    quiet: bool,

    /// Write the run's report to this file, as JSON.
    #[arg(long, value_name = "FILE", env = "PINAKES_REPORT")]
    report: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct BuildArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Where snapshots are published; `current` there leads to the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    out: PathBuf,
    /// Where objects are kept from run to run. [default: SNAPSHOTS/objects]
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    objects: Option<PathBuf>,
    #[command(flatten)]
    work: WorkArgs,
}

#[derive(Args, Debug)]
struct CompileArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Where objects are kept.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    objects: PathBuf,
    #[command(flatten)]
    work: WorkArgs,
}

#[derive(Args, Debug)]
struct LinkArgs {
    /// The objects to link, all of them.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    objects: PathBuf,
    /// Where snapshots are published; `current` there leads to the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    out: PathBuf,
    #[command(flatten)]
    work: WorkArgs,
}

/// A share of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

fn parse_share(text: &str) -> std::result::Result<Share, String> {
    let (digits, scale) = match text.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    let share: f64 = digits.trim().parse().map_err(|_| "expected a share, as `0.1%`")?;
    let share = share / scale;
    if (0.0..=1.0).contains(&share) { Ok(Share(share)) } else { Err("expected 0% to 100%".into()) }
}

const MEMORY_BYTES_MIN: u64 = 256 << 20;

fn parse_bytes(text: &str) -> std::result::Result<u64, String> {
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

/// Does what the command line asks.
///
/// # Errors
///
/// Whatever stopped it; see [`Error::exit_code`].
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Build(args) => build(args),
        Command::Compile(args) => compile_only(args),
        Command::Link(args) => link_only(args),
        Command::Verify { snapshot } => verify(&snapshot),
        Command::Inspect { snapshot, json } => show(&snapshot, json),
    }
}

fn begin_work(work: &WorkArgs) -> Result<Progress> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(work.threads)
        .build_global()
        .map_err(|error| Error::Internal(format!("threads: {error}")))?;
    // A report that cannot be written is better known before the work than after it.
    if let Some(path) = &work.report {
        let is_new = !path.exists();
        std::fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|_| if is_new { std::fs::remove_file(path) } else { Ok(()) })
            .map_err(Error::output(path))?;
    }
    Ok(Progress::detect(work.quiet))
}

fn build(args: BuildArgs) -> Result<()> {
    let begun = Instant::now();
    let progress = begin_work(&args.work)?;
    let inputs = input::find(&args.input.inputs)?;
    let lock = check_out(&args.out)?;
    interrupt::begin(lock.scratch());
    let objects_path = args.objects.unwrap_or_else(|| args.out.join("objects"));
    let (stage, mut report) = compile_stage(inputs, &args.input, &objects_path, progress)?;
    say_parsed(&stage, progress);
    let objects: Vec<Object> = stage.parts.into_iter().map(|part| part.object).collect();
    let published = publish(&objects, &lock, memory_bytes(&args.work), progress)?;
    take_published(&mut report, &published);
    drop(lock);
    interrupt::end();
    end(report, &args.work, progress, begun)?;
    println!("{}", published.path.display());
    Ok(())
}

fn compile_only(args: CompileArgs) -> Result<()> {
    let begun = Instant::now();
    let progress = begin_work(&args.work)?;
    let inputs = input::find(&args.input.inputs)?;
    let (stage, report) = compile_stage(inputs, &args.input, &args.objects, progress)?;
    say_parsed(&stage, progress);
    end(report, &args.work, progress, begun)
}

fn link_only(args: LinkArgs) -> Result<()> {
    let begun = Instant::now();
    let progress = begin_work(&args.work)?;
    let objects = open_all(&object_paths(&args.objects)?)?;
    let lock = check_out(&args.out)?;
    interrupt::begin(lock.scratch());
    let published = publish(&objects, &lock, memory_bytes(&args.work), progress)?;
    let mut report = RunReport { parts: objects.len() as u64, ..RunReport::default() };
    take_published(&mut report, &published);
    drop(lock);
    interrupt::end();
    end(report, &args.work, progress, begun)?;
    println!("{}", published.path.display());
    Ok(())
}

fn memory_bytes(work: &WorkArgs) -> usize {
    usize::try_from(work.memory).unwrap_or(usize::MAX)
}

fn compile_stage(
    inputs: input::Inputs,
    args: &InputArgs,
    objects_path: &Path,
    progress: Progress,
) -> Result<(Stage, RunReport)> {
    let stage = compile(inputs.parts.clone(), objects_path, progress)?;
    let list = objects_path.join("bad-records.jsonl");
    let (report, budget) = RunReport::begin(&inputs, &stage, &list)?;
    check_budget(args, budget, list)?;
    Ok((stage, report))
}

fn check_budget(args: &InputArgs, budget: Budget, list: PathBuf) -> Result<()> {
    let share = if args.strict { Share(0.0) } else { args.max_bad };
    let allowed = (budget.read as f64 * share.0).floor();
    if budget.quarantined as f64 > allowed {
        return Err(Error::TooManyBad {
            quarantined: budget.quarantined,
            read: budget.read,
            allowed: format!("{}%", share.0 * 100.0),
            report: list,
        });
    }
    if budget.read == budget.quarantined && !args.allow_empty {
        return Err(Error::Empty);
    }
    Ok(())
}

fn open_all(paths: &[PathBuf]) -> Result<Vec<Object>> {
    use rayon::prelude::*;
    paths
        .par_iter()
        .map(|path| {
            let object = Object::open(path).map_err(Error::input(path))?;
            object.ok_or_else(|| Error::Damaged {
                path: path.clone(),
                reason: "it does not have its own hash; compile its part again".into(),
            })
        })
        .collect()
}

fn object_paths(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory).map_err(Error::input(directory))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::input(directory))?.path();
        if path.extension().is_some_and(|extension| extension == "object") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Error::Input {
            path: directory.to_path_buf(),
            reason: "holds no object; compile into it first".into(),
        });
    }
    Ok(paths)
}

fn say_parsed(stage: &Stage, progress: Progress) {
    if progress == Progress::Quiet {
        return;
    }
    let parsed = stage.parts.iter().filter(|part| !part.was_cached).count();
    let all = stage.parts.len();
    match parsed {
        0 => eprintln!("{:>10} nothing: the objects of all {all} parts are there", "parsed"),
        _ => eprintln!("{:>10} {parsed} of {all} parts, {} bytes", "parsed", stage.parsed_bytes),
    }
}

fn take_published(report: &mut RunReport, published: &crate::link::Published) {
    report.snapshot = Some(published.path.clone());
    report.snapshot_bytes = published.manifest.files.iter().map(|file| file.size_bytes).sum();
    report.entities = published.tallies.clone();
    for (code, count) in &published.warnings {
        *report.warnings.entry(code.clone()).or_default() += count;
    }
}

fn end(mut report: RunReport, work: &WorkArgs, progress: Progress, begun: Instant) -> Result<()> {
    report.seconds = begun.elapsed().as_secs_f64();
    if progress != Progress::Quiet {
        eprint!("{}", report.table());
    }
    match &work.report {
        Some(path) => report.write(path),
        None => Ok(()),
    }
}

fn open(path: &Path) -> Result<Snapshot> {
    let place = std::fs::canonicalize(path).map_err(Error::input(path))?;
    Snapshot::open(&place).map_err(|error| Error::Refused(error.to_string()))
}

fn verify(path: &Path) -> Result<()> {
    let snapshot = open(path)?;
    snapshot.verify().map_err(|error| Error::Refused(error.to_string()))?;
    println!("{} verified: every byte and every record", snapshot.manifest().id);
    Ok(())
}

fn show(path: &Path, json: bool) -> Result<()> {
    let snapshot = open(path)?;
    if json {
        let text = serde_json::to_string_pretty(&inspect::as_json(&snapshot))
            .map_err(|error| Error::Internal(error.to_string()))?;
        println!("{text}");
    } else {
        print!("{}", inspect::as_table(&snapshot));
    }
    Ok(())
}
