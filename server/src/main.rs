//! The program `pinakes-server`: starts the log, opens the snapshot and serves until a signal, or speaks until the end of
//! standard input.

#![deny(unsafe_code)]

use std::{fs, io, path::Path, process::ExitCode, sync::Arc};

use pinakes_format::entity::CATALOG;
use pinakes_format::storage::mmap::survive_faults;
use pinakes_server::{
    Cli, CliError, DroppedLines, OpenOptions, Options, Service, SnapshotManager, SnapshotSource,
    SuppressionListFile, converse, print, run, start_log, write_manual,
};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Freed memory returns to the system: pages after a second, and blocks of 512 KiB and more at once. Few
/// arenas and small caches of threads, since each keeps its own.
#[allow(unsafe_code)] // No other item has this name, by which jemalloc finds its settings.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static ALLOCATOR_SETTINGS: &[u8; 95] =
    b"background_thread:true,dirty_decay_ms:1000,narenas:4,tcache_max:4096,oversize_threshold:524288\0";

fn main() -> ExitCode {
    match Cli::parse(std::env::args_os().collect()) {
        Ok(Cli::Serve(options)) => with_log(&options, serve),
        Ok(Cli::Converse(options)) => with_log(&options, |options, _| {
            converse(open(options)?, options.service_settings()).map_err(failed)
        }),
        Ok(Cli::Print(text)) => exit_code("cannot write to standard output", print(&text)),
        Ok(Cli::WriteManual(directory)) => {
            let failure = format!("cannot write the manual pages into `{}`", directory.display());
            exit_code(&failure, write_manual(&directory))
        }
        // Prints help and version to standard output, and errors with their usage to standard error.
        Err(CliError::Arguments(error)) => error.exit(),
        Err(CliError::Config(error)) => {
            eprintln!("error: {error}");
            ExitCode::from(USAGE)
        }
    }
}

fn exit_code(failure: &str, outcome: io::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {failure}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An exit code, and the message of an obstacle.
type Obstacle = (ExitCode, String);

fn failed(error: impl std::error::Error) -> Obstacle {
    (ExitCode::FAILURE, error.to_string())
}

fn with_log(
    options: &Options,
    work: impl FnOnce(&Options, DroppedLines) -> Result<(), Obstacle>,
) -> ExitCode {
    let (log, dropped_lines) = match start_log(options.log_format) {
        Ok(started) => started,
        Err(error) => {
            eprintln!("error: cannot start the log thread: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = work(options, dropped_lines);
    // Flushes the log before the final message.
    drop(log);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, error)) => {
            eprintln!("error: {error}");
            code
        }
    }
}

/// Exit code for invalid options, the same as clap's.
const USAGE: u8 = 2;

fn serve(options: &Options, dropped_lines: DroppedLines) -> Result<(), Obstacle> {
    let listen_options = options.listen_options().map_err(failed)?;
    let service = Service::new(open(options)?, options.limits.gate(), options.service_settings());
    run(service, listen_options, dropped_lines).map_err(failed)
}

fn open(options: &Options) -> Result<SnapshotManager, Obstacle> {
    let suppression = options.suppress.clone().map(SuppressionListFile::open).transpose();
    let suppression = suppression.map_err(|error| (ExitCode::from(USAGE), error.to_string()))?;
    if let Err(error) = survive_faults() {
        tracing::warn!(%error, "cannot handle SIGBUS; truncating a served file will end the server");
    }
    let source = options.snapshot_source();
    let upstream = match &source {
        SnapshotSource::Current(path) => options.upstream.open(path).map_err(failed)?,
        SnapshotSource::Fixed(_) => None,
    };
    let open_options = OpenOptions {
        verify: options.verify,
        load_mode: options.load_mode(),
        suppression,
        keep_open: usize::from(options.keep_open),
        kept_sets: options.kept_sets(),
        upstream: upstream.map(Arc::new),
    };
    SnapshotManager::open_with(&source, open_options).map_err(|error| {
        let (code, text) = failed(error);
        (code, format!("{text}\n{}", advice(&source)))
    })
}

/// Names the contents of a path without a usable snapshot, and the command to run.
fn advice(source: &SnapshotSource) -> String {
    let path = match source {
        SnapshotSource::Current(path) | SnapshotSource::Fixed(path) => path,
    };
    let shown = path.display();
    let build = |dump: &str, out: &str| format!("`pinakes-compiler build {dump} --out {out}`");
    if !path.exists() {
        let build = build("DUMP", "SNAPSHOTS");
        return format!("`{shown}` does not exist; {build} makes a directory of snapshots");
    }
    let has_current = path.join("current").symlink_metadata().is_ok();
    let is_snapshot = path.join("hashes").exists();
    match source {
        SnapshotSource::Fixed(_) if has_current => {
            format!("`{shown}` is a directory of snapshots; write `--snapshots {shown}`")
        }
        SnapshotSource::Current(_) if is_snapshot => {
            format!("`{shown}` is a snapshot; write `--snapshot {shown}`")
        }
        SnapshotSource::Current(_) if has_current => format!(
            "build or pull the snapshot again, or restore it; `pinakes-compiler rollback {shown}` returns to the \
             previous snapshot, if there is one, and shows again the records suppressed since"
        ),
        SnapshotSource::Fixed(_) if is_snapshot => {
            "build or pull the snapshot again, or restore it".to_owned()
        }
        _ if is_dump(path) => {
            let build = build(&shown.to_string(), "SNAPSHOTS");
            format!("`{shown}` is a dump; run {build}, and serve with `--snapshots SNAPSHOTS`")
        }
        _ => {
            let build = build("DUMP", &shown.to_string());
            format!("`{shown}` holds no snapshot; {build} publishes one there")
        }
    }
}

/// Whether a path looks like a dump: a file, or a directory with files of an entity at any of the places where
/// releases have them.
fn is_dump(path: &Path) -> bool {
    let entities = || CATALOG.iter().flat_map(|facts| facts.dump_names);
    let has_entity = |directory: &Path| {
        let found = fs::read_dir(directory).into_iter().flatten().flatten();
        found.into_iter().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let stem = name.split('.').next().unwrap_or_default();
            entities().any(|entity| *entity == stem)
        })
    };
    let places = ["", "data", "data/jsonl", "data/parquet", "jsonl", "parquet"];
    path.is_file() || places.iter().any(|place| has_entity(&path.join(place)))
}
