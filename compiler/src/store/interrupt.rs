//! Signals: a signal ends the run at once and removes its unfinished output.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::store::directory::remove_tree;

/// Instructions for the signal thread.
struct SignalPlan {
    /// The directory to remove.
    scratch: Option<PathBuf>,
    /// The outcome to print after `interrupted; `.
    message: &'static str,
    /// Whether the output is published, so that the signal comes too late.
    is_published: bool,
    /// Runs before the process exits, with the exit code.
    on_signal: Option<Box<dyn FnOnce(u8) + Send>>,
}

/// The outcome before a run begins its output, and while it builds a snapshot.
pub const NOTHING_PUBLISHED: &str = "nothing was published, finished objects are kept";

static SIGNAL_PLAN: Mutex<SignalPlan> = Mutex::new(SignalPlan {
    scratch: None,
    message: NOTHING_PUBLISHED,
    is_published: false,
    on_signal: None,
});
/// Exit code of an abort.
const EXIT_INTERNAL: i32 = 1;
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

/// Sets a function that a signal runs before the process exits; it takes the exit code.
pub(crate) fn on_signal(action: impl FnOnce(u8) + Send + 'static) {
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
///
/// # Errors
///
/// The system refuses a handler or the signal thread.
pub fn handle_signals() -> io::Result<()> {
    use signal_hook::{
        consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
        flag,
    };
    flag::register_conditional_shutdown(SIGABRT, EXIT_INTERNAL, Arc::new(AtomicBool::new(true)))?;
    flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if !ignores(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new().spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        INTERRUPTED.store(true, Ordering::SeqCst);
        let mut plan = signal_plan();
        if plan.is_published {
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
            on_signal(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
        // Nobody may read standard error any more; `eprintln!` would panic, and the process would never end.
        let _ = writeln!(io::stderr(), "interrupted; {}", plan.message);
        std::process::exit(128 + signal);
    })?;
    Ok(())
}
