//! The time of day, as JavaScript gives it with each request. Nothing limits the time of an answer.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use pinakes_answer::{Clock, HostClock};

/// Milliseconds since 1970.
static NOW: AtomicI64 = AtomicI64::new(0);

#[derive(Debug)]
struct GivenClock;

/// The clock of all answers.
pub static CLOCK: HostClock = &GivenClock;

/// Sets the time of day, in milliseconds since 1970.
pub fn set(now: f64) {
    NOW.store(now as i64, Ordering::Relaxed);
}

impl Clock for GivenClock {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn cpu(&self) -> Duration {
        Duration::ZERO
    }

    fn queued(&self) -> Duration {
        Duration::ZERO
    }

    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(NOW.load(Ordering::Relaxed)).unwrap_or_default()
    }
}
