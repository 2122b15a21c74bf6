//! `pinakes-compiler`: see `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pinakes_compiler::cli::{Cli, handle_signals, run};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match handle_signals() {
        Ok(()) => run(cli),
        Err(error) => Err(pinakes_compiler::error::Error::Internal(format!("signals: {error}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
