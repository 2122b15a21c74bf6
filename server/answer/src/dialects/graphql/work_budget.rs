//! Limits on the work for one answer: elapsed time, processor time, and a client that still waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pinakes_format::storage::ReadError;

use crate::clock::{HostClock, PassedLimit, WorkClock};
use crate::dialects::graphql::error::Error;

/// The conditions under which the executor stops before its answer is complete.
#[derive(Clone, Copy, Debug)]
pub struct WorkBudget<'a> {
    /// Time from the start of the work, without the time in which the thread waits for a processor.
    pub timeout: Duration,
    /// Processor time of the executing thread, without the time for verifying chunks.
    pub cpu_max: Duration,
    /// Set when the client has closed its connection.
    pub is_gone: &'a AtomicBool,
    pub clock: HostClock,
}

/// Why an answer is incomplete.
#[derive(Debug)]
pub enum Halted {
    /// The snapshot is damaged.
    Damaged(ReadError),
    /// The timeout passed. The cause may be the load of the server rather than the request.
    Timeout,
    /// The client has closed its connection.
    Gone,
    /// The answer exceeds a limit of records, bytes or processor time.
    Exceeded(Error),
}

/// Measures the work of the current thread against a budget.
#[derive(Debug)]
pub struct WorkMeter<'a> {
    clock: WorkClock,
    cpu_max: Duration,
    is_gone: &'a AtomicBool,
}

impl<'a> WorkMeter<'a> {
    /// Starts to measure.
    pub fn start(budget: &WorkBudget<'a>) -> WorkMeter<'a> {
        let WorkBudget { timeout, cpu_max, is_gone, clock } = *budget;
        WorkMeter { clock: WorkClock::start(clock, timeout, cpu_max), cpu_max, is_gone }
    }

    /// The limit that the work has reached, if any. Cost: that of [`WorkClock::passed`].
    pub fn exceeded(&self) -> Option<Halted> {
        if self.is_gone.load(Ordering::Relaxed) {
            return Some(Halted::Gone);
        }
        self.clock.passed().map(|limit| match limit {
            PassedLimit::Timeout => Halted::Timeout,
            PassedLimit::Cpu => {
                let millis = self.cpu_max.as_millis();
                let message =
                    format!("takes more than {millis} ms of processor time; ask in parts");
                Halted::Exceeded(Error::new(message))
            }
        })
    }
}
