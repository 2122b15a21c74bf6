//! `pinakes-server`: see `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pinakes_server::{library::Library, options::Options, serve};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let options = Options::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("PINAKES_LOG")
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info")),
        )
        .init();
    let outcome = Library::open(&options.place(), options.verify)
        .map_err(|error| error.to_string())
        .and_then(|library| {
            serve::run(library, options.listen).map_err(|error| {
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
