//! `pinakes-compiler`: see `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pinakes_compiler::{Cli, Error, give_way, handle_signals, run, shown_message};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match handle_signals() {
        // What panics has said so itself; the exit code is that of any internal error.
        Ok(()) => std::panic::catch_unwind(|| run(cli))
            .unwrap_or_else(|_| Err(Error::Internal("a part of the compiler panicked".into()))),
        Err(error) => Err(Error::Internal(format!("signals: {error}"))),
    };
    give_way();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", shown_message(&error.to_string()));
            ExitCode::from(error.exit_code())
        }
    }
}
