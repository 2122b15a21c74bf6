//! `pinakes-server`: see `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pinakes_format::storage::mmap::survive_faults;
use pinakes_server::{
    DroppedLines, Handling, Library, Options, Service, SnapshotSource, Takedowns, run, start_log,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let options = Options::parse();
    let (log, lost) = match start_log(options.log_format) {
        Ok(begun) => begun,
        Err(error) => {
            eprintln!("error: the log has no thread: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = serve(&options, lost);
    // What waits to be written comes before the last word.
    drop(log);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, error)) => {
            eprintln!("error: {error}");
            code
        }
    }
}

/// What options say that make no sense ends as what clap refuses does.
const USAGE: u8 = 2;

fn serve(options: &Options, lost: DroppedLines) -> Result<(), (ExitCode, String)> {
    let failed = |error: &dyn std::error::Error| (ExitCode::FAILURE, error.to_string());
    let takedowns = options.suppress.clone().map(Takedowns::open).transpose();
    let takedowns = takedowns.map_err(|error| (ExitCode::from(USAGE), error.to_string()))?;
    let listening = options.listening().map_err(|error| failed(&error))?;
    if let Err(error) = survive_faults() {
        tracing::warn!(%error, "a published file that is cut will end the server");
    }
    let handling = Handling { verify: options.verify, hold: options.hold(), takedowns };
    let library = Library::open_with(&options.place(), handling).map_err(|error| {
        let (code, mut text) = failed(&error);
        if let SnapshotSource::Current(snapshots) = options.place() {
            let back = format!("`pinakes-compiler rollback {}`", snapshots.display());
            text.push_str(&format!(
                "\nbuild or pull it again, or restore it; {back} goes back to the snapshot before, if there is \
                 one, and to what that shows"
            ));
        }
        (code, text)
    })?;
    let service = Service::new(library, options.limits.gate(), options.bounds());
    run(service, listening, lost).map_err(|error| failed(&error))
}
