//! `pinakes-server`: see `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pinakes_server::{
    library::Library,
    options::{LogFormat, Options},
    serve,
    service::Service,
};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let options = Options::parse();
    log(options.log_format);
    let outcome = Library::open(&options.place(), options.verify)
        .map_err(|error| error.to_string())
        .and_then(|library| {
            let service = Service::new(library, options.limits.gate(), options.list_timeout);
            serve::run(service, options.listen).map_err(|error| {
                format!(
                    "cannot listen on {}: {error}; choose another with --listen",
                    options.listen
                )
            })
        });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Sends all events, panics among them, to standard error; `PINAKES_LOG` says which.
fn log(format: LogFormat) {
    let chosen = EnvFilter::try_from_env("PINAKES_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let events = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(is_terminal)
        .with_env_filter(chosen);
    match format {
        LogFormat::Text => events.init(),
        LogFormat::Json => events.json().init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(panic = %panic, "a thread panicked");
    }));
}
