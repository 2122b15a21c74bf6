//! How long work on an answer goes on: by the clock, by the processor, and while somebody waits.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use pinakes_format::render::RenderError;
use rustix::time::{ClockId, clock_gettime};

use super::error::Error;

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
    Damaged(RenderError),
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
    begun_cpu: Duration,
}

impl<'a> Spending<'a> {
    /// Work that begins now.
    pub fn begin(patience: &Patience<'a>, cpu_max: Duration) -> Spending<'a> {
        Spending { patience: *patience, cpu_max, begun_cpu: thread_cpu() }
    }

    /// Why work must end now, if it must. Cost: two looks at clocks.
    pub fn is_over(&self) -> Option<Halted> {
        if self.patience.is_gone.load(Ordering::Relaxed) {
            return Some(Halted::Gone);
        }
        if Instant::now() >= self.patience.until {
            return Some(Halted::Timeout);
        }
        (thread_cpu().saturating_sub(self.begun_cpu) >= self.cpu_max).then(|| {
            let millis = self.cpu_max.as_millis();
            let message = format!("takes more than {millis} ms of processor time; ask in parts");
            Halted::Exceeded(Error::new(message))
        })
    }
}

/// Processor time this thread has used.
fn thread_cpu() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    // Neither is negative.
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec.unsigned_abs() as u32)
}
