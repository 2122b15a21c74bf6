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
        Moment { monotonic: millis(self.0.elapsed()), utc: millis(since_1970) }
    }
}
