//! The clocks of the rate limits, which tests replace.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Milliseconds of the monotonic clock, which measures minutes.
    pub monotonic: u64,
    /// Milliseconds since 1970 in UTC, which determine days.
    pub utc: u64,
}

/// Reads the time.
pub trait Clock: Send + Sync {
    /// Reads both clocks.
    fn now(&self) -> ClockReading;
}

/// First reading of the monotonic clock: a minute that began before the start has a reading too.
const MONOTONIC_START: Duration = Duration::from_secs(86_400);

/// The clocks of the system.
pub struct SystemClock(Instant);

impl SystemClock {
    /// Starts the monotonic clock.
    pub fn new() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> ClockReading {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        ClockReading {
            monotonic: millis(MONOTONIC_START + self.0.elapsed()),
            utc: millis(since_1970),
        }
    }
}

/// Clocks for tests.
#[cfg(test)]
pub mod manual {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    };

    use super::{Clock, ClockReading};

    /// 2026-01-31T20:48:00.250Z.
    pub const START_MILLIS: u64 = 1_769_892_480_250;

    /// Clocks that a test sets: the monotonic one, and UTC.
    #[derive(Clone)]
    pub struct ManualClock(Arc<[AtomicU64; 2]>);

    impl ManualClock {
        pub fn new() -> ManualClock {
            ManualClock::at(START_MILLIS)
        }

        pub fn at(utc: u64) -> ManualClock {
            ManualClock(Arc::new([AtomicU64::new(86_400_007), AtomicU64::new(utc)]))
        }

        pub fn advance(&self, millis: u64) {
            for clock in self.0.iter() {
                clock.fetch_add(millis, Relaxed);
            }
        }

        pub fn set_utc(&self, utc: u64) {
            self.0[1].store(utc, Relaxed);
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> ClockReading {
            ClockReading { monotonic: self.0[0].load(Relaxed), utc: self.0[1].load(Relaxed) }
        }
    }
}
