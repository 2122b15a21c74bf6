//! Limits on the work for one answer: a deadline, processor time, and a client that still waits.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::integrity::thread_time_working;

use crate::endpoint::graphql::error::Error;

/// The conditions under which the executor stops before its answer is complete.
#[derive(Clone, Copy, Debug)]
pub struct WorkBudget<'a> {
    pub deadline: Instant,
    /// Processor time of the executing thread, without the time for verifying chunks.
    pub cpu_max: Duration,
    /// Set when the client has closed its connection.
    pub is_gone: &'a AtomicBool,
}

/// Why an answer is incomplete.
#[derive(Debug)]
pub enum Halted {
    /// The snapshot is damaged.
    Damaged(ReadError),
    /// The deadline passed. The cause may be the load of the server rather than the request.
    Timeout,
    /// The client has closed its connection.
    Gone,
    /// The answer exceeds a limit of records, bytes or processor time.
    Exceeded(Error),
}

/// Measures the work of the current thread against a budget.
#[derive(Debug)]
pub struct WorkMeter<'a> {
    budget: WorkBudget<'a>,
    cpu_at_start: Duration,
}

impl<'a> WorkMeter<'a> {
    /// Starts to measure.
    pub fn start(budget: &WorkBudget<'a>) -> WorkMeter<'a> {
        WorkMeter { budget: *budget, cpu_at_start: thread_time_working() }
    }

    /// The limit that the work has reached, if any. Cost: two clock readings.
    pub fn exceeded(&self) -> Option<Halted> {
        let WorkBudget { deadline, cpu_max, is_gone } = self.budget;
        if is_gone.load(Ordering::Relaxed) {
            return Some(Halted::Gone);
        }
        if Instant::now() >= deadline {
            return Some(Halted::Timeout);
        }
        (thread_time_working().saturating_sub(self.cpu_at_start) >= cpu_max).then(|| {
            let millis = cpu_max.as_millis();
            let message = format!("takes more than {millis} ms of processor time; ask in parts");
            Halted::Exceeded(Error::new(message))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::storage::integrity::{
        CHUNK_BYTES, Verifier, levels_of, thread_time, thread_time_verifying,
    };

    use super::*;

    #[test]
    fn the_meter_counts_own_work_and_not_verification() {
        let bytes = vec![7; 64 * CHUNK_BYTES];
        let (levels, root) = (levels_of(&bytes), blake3::hash(&bytes));
        let is_gone = AtomicBool::new(false);
        let cpu_max = Duration::from_millis(20);
        let deadline = Instant::now() + Duration::from_secs(3_600);
        let meter = WorkMeter::start(&WorkBudget { deadline, cpu_max, is_gone: &is_gone });
        let before = thread_time_verifying();
        while thread_time_verifying() - before < 3 * cpu_max {
            let verifier = Verifier::new("f".into(), bytes.len() as u64, root, 0);
            verifier.check(&bytes, &levels, 0, bytes.len()).unwrap();
        }
        assert!(meter.exceeded().is_none());
        let before = thread_time();
        while thread_time() - before < cpu_max {
            std::hint::black_box(blake3::hash(&bytes[..CHUNK_BYTES]));
        }
        let halted = meter.exceeded();
        assert!(matches!(halted, Some(Halted::Exceeded(_))), "{halted:?}");
    }
}
