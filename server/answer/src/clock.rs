//! Measures the work of a thread against limits of processor time and of elapsed time.

use std::{cell::Cell, fmt::Debug, time::Duration};

use chrono::{DateTime, Utc};

/// The longest time between the start of work and its first measurement.
const FIRST_MEASUREMENT: Duration = Duration::from_millis(10);
/// The shortest time between two measurements, which bounds their cost: a measurement takes some microseconds.
const MEASUREMENT_INTERVAL_MIN: Duration = Duration::from_micros(200);
const MEASUREMENT_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// The clock that a host gives.
pub trait Clock: Debug + Sync {
    /// The time since some moment, which is always the same.
    fn elapsed(&self) -> Duration;

    /// The processor time of this thread, without the verification of chunks.
    fn cpu(&self) -> Duration;

    /// How long this thread was ready to run, and had no processor; zero where that is unknown.
    fn queued(&self) -> Duration;

    /// The time of day.
    fn now(&self) -> DateTime<Utc>;
}

/// The clock of a host, which lives as long as the process.
pub type HostClock = &'static dyn Clock;

/// A limit of work that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedLimit {
    /// Of elapsed time.
    Timeout,
    /// Of processor time.
    Cpu,
}

/// Measures the work of the current thread against its limits.
///
/// Work cannot use more processor time than passes, so a measurement says when the next one is due:
///
/// ```text
/// limit 1,000 ms    at 10 ms of elapsed time: 10 ms used     next measurement after 990 ms
///                   at 1,000 ms: 700 ms used, of a busy core   next after 300 ms
/// ```
///
/// Cost of a check: one reading of the time. A measurement also reads the processor time, and the time that the thread
/// waited for a processor.
#[derive(Debug)]
pub struct WorkClock {
    clock: HostClock,
    timeout: Duration,
    cpu_max: Duration,
    started: Duration,
    cpu_at_start: Duration,
    /// The time that the thread had waited for a processor when the clock started.
    queued_at_start: Duration,
    next_measurement: Cell<Duration>,
}

impl WorkClock {
    /// Starts to measure.
    pub fn start(clock: HostClock, timeout: Duration, cpu_max: Duration) -> WorkClock {
        WorkClock::start_at(clock, clock.cpu(), timeout, cpu_max)
    }

    /// Starts to measure work of which a part is done: `cpu_at_start` is the processor time when the work began.
    pub fn start_at(
        clock: HostClock,
        cpu_at_start: Duration,
        timeout: Duration,
        cpu_max: Duration,
    ) -> WorkClock {
        let started = clock.elapsed();
        let first = started + FIRST_MEASUREMENT.min(timeout).min(cpu_max);
        WorkClock {
            clock,
            timeout,
            cpu_max,
            started,
            cpu_at_start,
            queued_at_start: if timeout == Duration::MAX { Duration::ZERO } else { clock.queued() },
            next_measurement: Cell::new(first),
        }
    }

    /// The limit that the work has reached, if any.
    pub fn passed(&self) -> Option<PassedLimit> {
        let now = self.clock.elapsed();
        if now < self.next_measurement.get() {
            return None;
        }
        let cpu = self.clock.cpu().saturating_sub(self.cpu_at_start);
        let cpu_left = self.cpu_max.checked_sub(cpu);
        let Some(cpu_left) = cpu_left.filter(|left| !left.is_zero()) else {
            return Some(PassedLimit::Cpu);
        };
        let mut time_left = Duration::MAX;
        if self.timeout < Duration::MAX {
            let queued = self.clock.queued().saturating_sub(self.queued_at_start);
            let elapsed = (now - self.started).saturating_sub(queued);
            time_left = self.timeout.saturating_sub(elapsed);
            if time_left.is_zero() {
                return Some(PassedLimit::Timeout);
            }
        }
        let interval = cpu_left.min(time_left);
        let interval = interval.clamp(MEASUREMENT_INTERVAL_MIN, MEASUREMENT_INTERVAL_MAX);
        self.next_measurement.set(now + interval);
        None
    }
}
