//! `pinakes-compiler`: see `--help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use pinakes_compiler::{
    cli::{Cli, run},
    error::Error,
    interrupt::{give_way, handle_signals},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match handle_signals() {
        Ok(()) => run(cli),
        Err(error) => Err(Error::Internal(format!("signals: {error}"))),
    };
    give_way();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
