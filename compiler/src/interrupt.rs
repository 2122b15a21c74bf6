//! Ending on a signal: at once, with nothing half done left behind.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::link::remove_tree;

/// What a signal finds the run at.
struct State {
    /// What is to be removed.
    scratch: Option<PathBuf>,
    /// Whether the snapshot is in its place already.
    is_published: bool,
}

static STATE: Mutex<State> = Mutex::new(State { scratch: None, is_published: false });
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names the directory that a signal removes.
pub fn begin(scratch: &Path) {
    state().scratch = Some(scratch.to_path_buf());
}

/// There is nothing left to remove.
pub fn end() {
    state().scratch = None;
}

/// Puts a snapshot in its place; a signal waits until it is there or refused.
///
/// # Errors
///
/// Those of `put`.
pub(crate) fn publishing<T, E>(put: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let mut state = state();
    let placed = put()?;
    state.is_published = true;
    Ok(placed)
}

/// Waits for the end where a signal is ending the process: what failed meanwhile failed for that.
pub fn give_way() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Ends the process with 130 or 143 on SIGINT or SIGTERM.
///
/// # Errors
///
/// Where the system refuses a handler.
pub fn handle_signals() -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        INTERRUPTED.store(true, Ordering::SeqCst);
        let state = state();
        if let Some(scratch) = &state.scratch {
            // Other threads may still be writing into it, until it is gone from under them.
            while scratch.exists() {
                remove_tree(scratch);
            }
        }
        match state.is_published {
            true => eprintln!("interrupted after the snapshot was published"),
            false => eprintln!("interrupted; nothing was published, finished objects are kept"),
        }
        std::process::exit(128 + signal);
    });
    Ok(())
}
