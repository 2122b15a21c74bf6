//! Limits on the work for one page of a list or one autocomplete: elapsed time and processor time.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use pinakes_format::query::Deadline;
use pinakes_format::storage::integrity::thread_time_working;

use crate::endpoint::call::Thread;

/// Checks of the deadline for each reading of the processor time, which is a system call.
const CHECKS_PER_READING: u32 = 64;

/// Time of work on a shared thread; longer work is repeated on another thread.
const SHARED_TIME: Duration = Duration::from_micros(200);

/// The limits of the work for one reply.
#[derive(Clone, Copy, Debug)]
pub struct WorkLimits {
    /// Time from the start of the work.
    pub timeout: Duration,
    /// Processor time of the working thread, without the verification of chunks.
    pub cpu: Duration,
    pub thread: Thread,
}

impl WorkLimits {
    /// The time that work may take at most.
    pub fn time(self) -> Duration {
        self.timeout.min(self.cpu)
    }

    /// Runs work with a deadline that passes at the first of the two limits, and on a shared thread much earlier.
    pub fn run<T>(self, work: impl FnOnce(Deadline<'_>) -> T) -> T {
        if self.thread == Thread::Shared {
            let time = SHARED_TIME.min(self.timeout).min(self.cpu);
            return work(Deadline::at(Instant::now() + time));
        }
        let (started, cpu_started) = (Instant::now(), thread_time_working());
        let checks = Cell::new(0_u32);
        let is_over = || {
            checks.set(checks.get() + 1);
            let has_spent = checks.get().is_multiple_of(CHECKS_PER_READING)
                && thread_time_working().saturating_sub(cpu_started) >= self.cpu;
            has_spent || started.elapsed() >= self.timeout
        };
        work(Deadline::when(&is_over).allowing(self.time()))
    }
}
