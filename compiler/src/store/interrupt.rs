//! Signals: a signal ends the run at once and removes its unfinished output. So does a mapped file that the system cannot
//! read.

use std::env;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pinakes_format::storage::mmap::stop_at_faults;
use pinakes_store::directory::remove_tree;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::SIGINT;
use signal_hook::low_level;

use crate::terminal::escape::escape_path;

/// Instructions for the signal thread.
struct SignalPlan {
    /// The directory to remove.
    scratch: Option<PathBuf>,
    /// The outcome to print after `interrupted; `.
    message: &'static str,
    /// Whether the output is published, so that the signal comes too late.
    is_published: bool,
    /// Runs before the process exits, with the exit code and the cause.
    on_signal: Option<Box<dyn FnOnce(u8, String) + Send>>,
}

/// The outcome before a run begins its output, and while it builds a snapshot.
pub const NOTHING_PUBLISHED: &str = "nothing was published, finished objects are kept";

static SIGNAL_PLAN: Mutex<SignalPlan> = Mutex::new(SignalPlan {
    scratch: None,
    message: NOTHING_PUBLISHED,
    is_published: false,
    on_signal: None,
});
/// The variable with the number of the process that the run ends with.
const PARENT: &str = "PINAKES_PARENT";
/// Exit code of an abort.
const EXIT_INTERNAL: i32 = 1;
/// Exit code after a failed access to a mapped file.
const EXIT_UNREADABLE: i32 = 6;
/// How often [`wait_for_signal_exit`] checks whether the signal thread gave up.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn signal_plan() -> MutexGuard<'static, SignalPlan> {
    SIGNAL_PLAN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the directory that a signal removes, and the outcome that it prints.
pub fn remove_on_signal(scratch: &Path, message: &'static str) {
    let mut plan = signal_plan();
    plan.scratch = Some(scratch.to_path_buf());
    plan.message = message;
}

/// Sets a function that a signal runs before the process exits; it takes the exit code and the cause.
pub(crate) fn on_signal(action: impl FnOnce(u8, String) + Send + 'static) {
    signal_plan().on_signal = Some(Box::new(action));
}

/// Ends [`remove_on_signal`]: nothing is left to remove.
pub fn keep_on_signal() {
    signal_plan().scratch = None;
}

/// Runs `publish`. A signal waits until it returns, and has no effect after its success.
pub(crate) fn publish_uninterrupted<T, E>(publish: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let mut plan = signal_plan();
    let published = publish()?;
    plan.is_published = true;
    Ok(published)
}

/// Blocks while a signal ends the process, so that errors caused by it are not printed.
pub fn wait_for_signal_exit() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        std::thread::sleep(CHECK_INTERVAL);
    }
}

/// Whether the parent process made this one ignore a signal, as `nohup` does with SIGHUP.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Installs the signal handlers.
///
/// - SIGHUP, SIGINT and SIGTERM end the process with 129, 130 or 143, unless it has published.
/// - SIGABRT, which follows an out-of-memory error, ends it with 1.
/// - SIGXFSZ (file too large) is ignored, so that the write fails with an error.
/// - SIGBUS, from an access to a mapped file that the disk or a cut of the file fails, ends it with 6.
///
/// # Errors
///
/// The system refuses a handler or the signal thread.
pub fn handle_signals() -> io::Result<()> {
    use signal_hook::{
        consts::{SIGABRT, SIGHUP, SIGTERM, SIGXFSZ},
        flag,
    };
    flag::register_conditional_shutdown(SIGABRT, EXIT_INTERNAL, Arc::new(AtomicBool::new(true)))?;
    flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if !ignores(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new().spawn(move || {
        if let Some(signal) = signals.forever().next() {
            end(128 + signal, "interrupted".to_owned());
        }
    })?;
    end_with_parent()?;
    stop_at_faults(|file| {
        let file = escape_path(&file);
        end(
            EXIT_UNREADABLE,
            format!("cannot read `{file}`: check the disk, and that no program writes to the file"),
        );
    })
}

/// Interrupts the run when the process that [`PARENT`] names ends: a notebook whose kernel is killed leaves no run behind.
fn end_with_parent() -> io::Result<()> {
    let Some(parent) = env::var(PARENT).ok().and_then(|pid| pid.parse::<i32>().ok()) else {
        return Ok(());
    };
    set_parent_process_death_signal(Some(Signal::INT))?;
    // It may have ended before the line above.
    match Pid::as_raw(getppid()) == parent {
        true => Ok(()),
        false => low_level::raise(SIGINT),
    }
}

/// Ends the process, unless the output is published.
fn end(code: i32, cause: String) {
    INTERRUPTED.store(true, Ordering::SeqCst);
    let mut plan = signal_plan();
    if plan.is_published && code != EXIT_UNREADABLE {
        // Too late: the output is published, and the main thread is about to print it.
        INTERRUPTED.store(false, Ordering::SeqCst);
        return;
    }
    if let Some(scratch) = &plan.scratch {
        // Other threads may still create files in it, so that one removal may not suffice.
        while scratch.exists() {
            remove_tree(scratch);
        }
    }
    if let Some(on_signal) = plan.on_signal.take() {
        on_signal(u8::try_from(code).unwrap_or(u8::MAX), cause.clone());
    }
    let prefix = if code == EXIT_UNREADABLE { "error: " } else { "" };
    let outcome = if plan.is_published { "the output is published" } else { plan.message };
    // Nobody may read standard error any more; `eprintln!` would panic, and the process would never end.
    let _ = writeln!(io::stderr(), "{prefix}{cause}; {outcome}");
    std::process::exit(code);
}
