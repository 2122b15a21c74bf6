//! Work that neither other Python threads nor an interrupt wait for.

use std::process;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::Raised;
use crate::opened::Opened;

/// The time after which a wait looks for signals again.
const SIGNALS: Duration = Duration::from_millis(100);

/// Runs work on a snapshot while other Python threads run. A host may send late: work on its snapshot has a thread of its own, and an
/// interrupt leaves it there.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    opened: &Opened,
    work: impl FnOnce() -> Result<T, Raised> + Send + 'static,
) -> PyResult<T> {
    if !opened.is_fetched() {
        return Ok(py.detach(work)?);
    }
    Ok(py.detach(|| wait(work))??)
}

/// Runs work on a thread of its own, and looks for signals meanwhile. The caller does not hold the interpreter.
pub fn wait<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (done, result) = mpsc::sync_channel(1);
    thread::spawn(move || done.send(work()));
    loop {
        match result.recv_timeout(SIGNALS) {
            Ok(made) => return Ok(made),
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a thread ended without its result"));
            }
        }
    }
}

/// The threads of columns and matches. A forked child has none of its parent's threads, so each process makes its own.
pub fn pool() -> Result<Arc<ThreadPool>, Raised> {
    static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = process::id();
    if let Some((of, pool)) = &*pool
        && *of == pid
    {
        return Ok(Arc::clone(pool));
    }
    let made = ThreadPoolBuilder::new().build();
    let made = Arc::new(made.map_err(|error| Raised::Internal(error.to_string()))?);
    // The parent's pool is not dropped here: it would wait for threads that are not in this process.
    std::mem::forget(pool.replace((pid, Arc::clone(&made))));
    Ok(made)
}
