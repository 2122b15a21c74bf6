//! The program `pinakes-compiler`; `--help` lists its commands.

#![forbid(unsafe_code)]

use std::io;
use std::io::Write;
use std::process::ExitCode;

use pinakes_compiler::{Cli, Error, escape_message, handle_signals, run, wait_for_signal_exit};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First, since parsing the arguments may already lack memory.
    let handled = handle_signals();
    let cli = Cli::of_process();
    let publishes = cli.publishes();
    let outcome = match handled {
        // A panic prints its own message; the exit code is that of an internal error.
        Ok(()) => std::panic::catch_unwind(|| run(cli))
            .unwrap_or_else(|_| Err(Error::Internal("the compiler panicked".into()))),
        Err(error) => Err(Error::Internal(format!("cannot install signal handlers: {error}"))),
    };
    wait_for_signal_exit();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // As in other filters, `| head` is no failure.
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let message = match publishes {
                true => error.to_string(),
                false => error.message_without_publishing(),
            };
            // The exit code says what happened, also where nobody reads.
            let _ = writeln!(io::stderr(), "error: {}", escape_message(&message));
            ExitCode::from(error.exit_code())
        }
    }
}
