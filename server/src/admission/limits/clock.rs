//! Time as limits see it, so that tests need not wait for it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A moment, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a clock that never goes back; minutes are measured by it.
    pub monotonic: u64,
    /// Milliseconds since 1970 in UTC, as the calendar has them; days are told by it.
    pub utc: u64,
}

/// What tells the time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Moment;
}

/// What the monotonic clock of the system begins at: a minute that began before it did has a time too.
const BEGINNING: Duration = Duration::from_secs(86_400);

/// The system's clocks.
pub struct System(Instant);

impl System {
    /// The system's clocks.
    pub fn new() -> System {
        System(Instant::now())
    }
}

impl Default for System {
    fn default() -> System {
        System::new()
    }
}

impl Clock for System {
    fn now(&self) -> Moment {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { monotonic: millis(BEGINNING + self.0.elapsed()), utc: millis(since_1970) }
    }
}

/// Clocks for tests.
#[cfg(test)]
pub mod by_hand {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    };

    use super::{Clock, Moment};

    /// 2026-01-31T20:48:00.250Z.
    pub const BEGUN: u64 = 1_769_892_480_250;

    /// Clocks that are set by hand: the monotonic one, and the calendar's.
    #[derive(Clone)]
    pub struct ByHand(Arc<[AtomicU64; 2]>);

    impl ByHand {
        pub fn new() -> ByHand {
            ByHand::at(BEGUN)
        }

        pub fn at(utc: u64) -> ByHand {
            ByHand(Arc::new([AtomicU64::new(86_400_007), AtomicU64::new(utc)]))
        }

        pub fn pass(&self, millis: u64) {
            for clock in self.0.iter() {
                clock.fetch_add(millis, Relaxed);
            }
        }

        pub fn set_utc(&self, utc: u64) {
            self.0[1].store(utc, Relaxed);
        }
    }

    impl Clock for ByHand {
        fn now(&self) -> Moment {
            Moment { monotonic: self.0[0].load(Relaxed), utc: self.0[1].load(Relaxed) }
        }
    }
}
