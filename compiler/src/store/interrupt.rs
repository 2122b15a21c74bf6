//! Ending on a signal: at once, with nothing half done left behind.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::store::directory::remove_tree;

/// What a signal finds the run at.
struct State {
    /// What is to be removed.
    scratch: Option<PathBuf>,
    /// What is said where that happens.
    said: &'static str,
    /// Whether what was made is in its place already.
    is_placed: bool,
    /// Tells whoever asked of the end, with the exit code.
    tell: Option<Box<dyn FnOnce(u8) + Send>>,
}

/// What is said before anything is begun, and while snapshots are made.
pub const NOTHING_PUBLISHED: &str = "nothing was published, finished objects are kept";

static STATE: Mutex<State> =
    Mutex::new(State { scratch: None, said: NOTHING_PUBLISHED, is_placed: false, tell: None });
/// The exit code of an abort.
const INTERNAL: i32 = 1;
/// How often it is looked whether a signal that came while the run ended was in time.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names the directory that a signal removes, and what is said then.
pub fn begin(scratch: &Path, said: &'static str) {
    let mut state = state();
    state.scratch = Some(scratch.to_path_buf());
    state.said = said;
}

/// Has the end told of where a signal brings it about.
pub(crate) fn tell(with: impl FnOnce(u8) + Send + 'static) {
    state().tell = Some(Box::new(with));
}

/// There is nothing left to remove.
pub fn end() {
    state().scratch = None;
}

/// Puts what was made in its place; a signal waits until it is there or refused.
///
/// # Errors
///
/// Those of `put`.
pub(crate) fn publishing<T, E>(put: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let mut state = state();
    let placed = put()?;
    state.is_placed = true;
    Ok(placed)
}

/// Waits for the end where a signal is ending the process: what failed meanwhile failed for that.
pub fn give_way() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Whether whoever started the process had it ignore a signal, as `nohup` does of SIGHUP.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Ends the process with 129, 130 or 143 on SIGHUP, SIGINT or SIGTERM, unless what it makes is in its place
/// already; with 1 where it would abort, as it does without memory; a file that grows larger than
/// it may is an error of writing, not a signal.
///
/// # Errors
///
/// Where the system refuses a handler, or the thread that waits for it.
pub fn handle_signals() -> std::io::Result<()> {
    use signal_hook::{
        consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
        flag,
    };
    flag::register_conditional_shutdown(SIGABRT, INTERNAL, Arc::new(AtomicBool::new(true)))?;
    flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if !ignores(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new().spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        INTERRUPTED.store(true, Ordering::SeqCst);
        let mut state = state();
        if state.is_placed {
            // Too late: what was to be made is there, and the run says so in a moment.
            INTERRUPTED.store(false, Ordering::SeqCst);
            return;
        }
        if let Some(scratch) = &state.scratch {
            // Other threads may still be writing into it, until it is gone from under them.
            while scratch.exists() {
                remove_tree(scratch);
            }
        }
        if let Some(tell) = state.tell.take() {
            tell(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
        eprintln!("interrupted; {}", state.said);
        std::process::exit(128 + signal);
    })?;
    Ok(())
}
