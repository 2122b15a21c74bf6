//! Limits on the work for one page of a list or one autocomplete: processor time, and elapsed time.

use std::time::Duration;

use pinakes_format::query::Deadline;
use pinakes_format::snapshot::Reads;

use crate::clock::{HostClock, WorkClock};

/// Time of work on a shared thread; longer work is repeated on another thread.
const SHARED_TIME: Duration = Duration::from_micros(200);

/// The limits of the work for one reply.
#[derive(Clone, Copy, Debug)]
pub struct WorkLimits {
    /// Time from the start of the work, without the time in which the thread waits for a processor.
    pub timeout: Duration,
    /// Processor time of the working thread, without the verification of chunks.
    pub cpu: Duration,
    /// The thread that does the work.
    pub thread: Thread,
    /// The processor time of the thread when the request's work began, which all work of the request counts from; `None`
    /// for work that counts from its own start.
    pub cpu_at_start: Option<Duration>,
    pub clock: HostClock,
}

impl WorkLimits {
    /// The same limits for later work, as on further pieces of a body: each run counts from its own start.
    pub fn of_each_run(self) -> WorkLimits {
        WorkLimits { cpu_at_start: None, ..self }
    }

    /// The processor time that is left of the request's.
    pub fn cpu_left(self) -> Duration {
        let start = self.cpu_at_start.unwrap_or_else(|| self.clock.cpu());
        self.cpu.saturating_sub(self.clock.cpu().saturating_sub(start))
    }

    /// The time that work may take at most.
    pub fn time(self) -> Duration {
        self.timeout.min(self.cpu)
    }

    /// Runs work with a deadline that passes at the first of the two limits, and on a shared thread much earlier.
    pub fn run<T>(self, work: impl FnOnce(Deadline<'_>) -> T) -> T {
        if self.thread == Thread::Shared {
            let end = self.clock.elapsed() + SHARED_TIME.min(self.timeout).min(self.cpu);
            let is_over = || self.clock.elapsed() >= end;
            return work(Deadline::when(&is_over));
        }
        let cpu_at_start = self.cpu_at_start.unwrap_or_else(|| self.clock.cpu());
        let clock = WorkClock::start_at(self.clock, cpu_at_start, self.timeout, self.cpu);
        let is_over = || clock.passed().is_some();
        work(Deadline::when(&is_over).allowing(self.time()))
    }
}

/// The thread that works on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// One that reads requests of many clients, and must not wait: work that is long, or that would wait for a busy
    /// disk, ends with [`Failure::WouldWait`](crate::define::failure::Failure::WouldWait) and is repeated on the other kind.
    Shared,
    /// One that has this work alone, and waits for the disk.
    Own,
}

impl Thread {
    /// How the thread reads a snapshot. While the disk is idle, every thread reads directly.
    pub fn reads(self, is_disk_busy: bool) -> Reads {
        match self {
            _ if !is_disk_busy => Reads::OneByOne,
            Thread::Shared => Reads::MemoryOnly,
            Thread::Own => Reads::Together,
        }
    }
}
