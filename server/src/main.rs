//! `pinakes-server`: see `--help`.

#![forbid(unsafe_code)]

use std::{process::ExitCode, sync::Arc};

use clap::Parser;
use pinakes_format::map::survive_faults;
use pinakes_server::{
    library::{Handling, Library},
    options::{LogFormat, Options, Place},
    serve::{self, LostLines},
    service::Service,
    takedowns::Takedowns,
};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

/// Lines that may wait to be written, some hundred bytes each.
const LOG_LINES_MAX: usize = 16_384;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let options = Options::parse();
    let (log, lost) = log(options.log_format);
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

fn serve(options: &Options, lost: LostLines) -> Result<(), (ExitCode, String)> {
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
        if let Place::Current(snapshots) = options.place() {
            let back = format!("`pinakes-compiler rollback {}`", snapshots.display());
            text.push_str(&format!("\n{back} goes back to the snapshot before, if there is one"));
        }
        (code, text)
    })?;
    let service = Service::new(library, options.limits.gate(), options.bounds());
    serve::run(service, listening, lost).map_err(|error| failed(&error))
}

/// Sends all events, panics among them, to standard error; `PINAKES_LOG` says which.
///
/// A thread of its own writes them, so that nobody waits for whoever reads them; where that takes too
/// long, events are lost rather than requests.
fn log(format: LogFormat) -> (WorkerGuard, LostLines) {
    let chosen = EnvFilter::try_from_env("PINAKES_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(LOG_LINES_MAX)
        .finish(std::io::stderr());
    let lost = writer.error_counter();
    let events = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_ansi(is_terminal)
        .with_env_filter(chosen);
    match format {
        LogFormat::Text => events.init(),
        LogFormat::Json => events.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(panic = %panic, "a thread panicked");
    }));
    (guard, Arc::new(move || lost.dropped_lines() as u64))
}
