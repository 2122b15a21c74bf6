//! Processor time of the running thread, which other programs on the machine do not lengthen.

use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// Seconds of processor time of this thread.
pub fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Microseconds of processor time that a call takes.
pub fn micros_of<T>(run: impl FnOnce() -> Result<T>) -> Result<f64> {
    let begun = thread_seconds();
    let outcome = std::hint::black_box(run()?);
    let micros = (thread_seconds() - begun) * 1e6;
    drop(outcome);
    Ok(micros)
}
