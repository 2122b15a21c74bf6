//! The program `pinakes-server`: starts the log, opens the snapshot and serves until a signal.

#![deny(unsafe_code)]

use std::{io, process::ExitCode};

use pinakes_format::storage::mmap::survive_faults;
use pinakes_server::{
    Cli, CliError, DroppedLines, OpenOptions, Options, Service, SnapshotManager, SnapshotSource,
    SuppressionListFile, print, run, start_log, write_manual,
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
        Ok(Cli::Serve(options)) => serve_with_log(&options),
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

fn serve_with_log(options: &Options) -> ExitCode {
    let (log, dropped_lines) = match start_log(options.log_format) {
        Ok(started) => started,
        Err(error) => {
            eprintln!("error: cannot start the log thread: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = serve(options, dropped_lines);
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

fn serve(options: &Options, dropped_lines: DroppedLines) -> Result<(), (ExitCode, String)> {
    let failed = |error: &dyn std::error::Error| (ExitCode::FAILURE, error.to_string());
    let suppression = options.suppress.clone().map(SuppressionListFile::open).transpose();
    let suppression = suppression.map_err(|error| (ExitCode::from(USAGE), error.to_string()))?;
    let listen_options = options.listen_options().map_err(|error| failed(&error))?;
    if let Err(error) = survive_faults() {
        tracing::warn!(%error, "cannot handle SIGBUS; truncating a served file will end the server");
    }
    let open_options = OpenOptions {
        verify: options.verify,
        load_mode: options.load_mode(),
        suppression,
        keep_open: usize::from(options.keep_open),
        kept_sets: options.kept_sets(),
    };
    let manager = SnapshotManager::open_with(&options.snapshot_source(), open_options).map_err(|error| {
        let (code, mut text) = failed(&error);
        if let SnapshotSource::Current(snapshots) = options.snapshot_source() {
            let rollback = format!("`pinakes-compiler rollback {}`", snapshots.display());
            text.push_str(&format!(
                "\nbuild or pull the snapshot again, or restore it; {rollback} returns to the previous snapshot, if \
                 there is one, and shows again the records suppressed since"
            ));
        }
        (code, text)
    })?;
    let service = Service::new(manager, options.limits.gate(), options.service_settings());
    run(service, listen_options, dropped_lines).map_err(|error| failed(&error))
}
