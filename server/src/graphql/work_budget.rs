//! How long work on an answer goes on: by the clock, by the processor, and while somebody waits.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::integrity::{thread_time, thread_time_verifying};

use crate::graphql::error::Error;

/// When work ends, finished or not.
#[derive(Clone, Copy, Debug)]
pub struct Patience<'a> {
    /// At this moment, however it goes.
    pub until: Instant,
    /// Once the client is gone.
    pub is_gone: &'a AtomicBool,
}

/// Why an answer came to no end.
#[derive(Debug)]
pub enum Halted {
    /// The snapshot is damaged.
    Damaged(ReadError),
    /// It took longer than it may; the server's doing as much as the client's.
    Timeout,
    /// The client is gone.
    Gone,
    /// It is more than may be asked at once.
    Exceeded(Error),
}

/// Work under way, on this thread.
#[derive(Debug)]
pub struct Spending<'a> {
    patience: Patience<'a>,
    cpu_max: Duration,
    begun: Duration,
}

impl<'a> Spending<'a> {
    /// Work that begins now.
    pub fn begin(patience: &Patience<'a>, cpu_max: Duration) -> Spending<'a> {
        Spending { patience: *patience, cpu_max, begun: own_time() }
    }

    /// Why work must end now, if it must. Cost: two looks at clocks.
    pub fn is_over(&self) -> Option<Halted> {
        if self.patience.is_gone.load(Ordering::Relaxed) {
            return Some(Halted::Gone);
        }
        if Instant::now() >= self.patience.until {
            return Some(Halted::Timeout);
        }
        (own_time().saturating_sub(self.begun) >= self.cpu_max).then(|| {
            let millis = self.cpu_max.as_millis();
            let message = format!("takes more than {millis} ms of processor time; ask in parts");
            Halted::Exceeded(Error::new(message))
        })
    }
}

/// Processor time this thread has used, without what it took to verify parts of a snapshot that nobody
/// had touched before: every question would pay for those once, and only the first one did.
fn own_time() -> Duration {
    thread_time().saturating_sub(thread_time_verifying())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use pinakes_format::storage::integrity::{CHUNK_BYTES, Verifier, levels_of};

    use super::*;

    #[test]
    fn verifying_is_no_cost_of_the_question_and_its_own_work_is() {
        let bytes = vec![7; 64 * CHUNK_BYTES];
        let (levels, root) = (levels_of(&bytes), blake3::hash(&bytes));
        let is_gone = AtomicBool::new(false);
        let patience =
            Patience { until: Instant::now() + Duration::from_secs(3_600), is_gone: &is_gone };
        let cpu_max = Duration::from_millis(20);
        let spending = Spending::begin(&patience, cpu_max);
        let before = thread_time_verifying();
        while thread_time_verifying() - before < 3 * cpu_max {
            let verifier = Verifier::new("f".into(), bytes.len() as u64, root, 0);
            verifier.check(&bytes, &levels, 0, bytes.len()).unwrap();
        }
        assert!(spending.is_over().is_none());
        let before = thread_time();
        while thread_time() - before < cpu_max {
            std::hint::black_box(blake3::hash(&bytes[..CHUNK_BYTES]));
        }
        let halted = spending.is_over();
        assert!(matches!(halted, Some(Halted::Exceeded(_))), "{halted:?}");
    }
}
