//! Measures the work of a thread against limits of processor time and of elapsed time.

use std::{
    cell::Cell,
    fs::File,
    os::unix::fs::FileExt,
    str,
    time::{Duration, Instant},
};

use pinakes_format::storage::integrity::thread_time_working;

/// The longest time between the start of work and its first measurement.
const FIRST_MEASUREMENT: Duration = Duration::from_millis(10);
/// The shortest time between two measurements, which bounds their cost: a measurement takes some microseconds.
const MEASUREMENT_INTERVAL_MIN: Duration = Duration::from_micros(200);
const MEASUREMENT_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// A limit of work that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedLimit {
    Timeout,
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
    timeout: Duration,
    cpu_max: Duration,
    started: Instant,
    cpu_at_start: Duration,
    /// The time that the thread had waited for a processor when the clock started.
    queued_at_start: Duration,
    next_measurement: Cell<Instant>,
}

impl WorkClock {
    /// Starts to measure.
    pub fn start(timeout: Duration, cpu_max: Duration) -> WorkClock {
        WorkClock::start_at(thread_time_working(), timeout, cpu_max)
    }

    /// Starts to measure work of which a part is done: `cpu_at_start` is the processor time when the work began.
    pub fn start_at(cpu_at_start: Duration, timeout: Duration, cpu_max: Duration) -> WorkClock {
        let started = Instant::now();
        let first = started + FIRST_MEASUREMENT.min(timeout).min(cpu_max);
        WorkClock {
            timeout,
            cpu_max,
            started,
            cpu_at_start,
            queued_at_start: if timeout == Duration::MAX { Duration::ZERO } else { time_queued() },
            next_measurement: Cell::new(first),
        }
    }

    /// The limit that the work has reached, if any.
    pub fn passed(&self) -> Option<PassedLimit> {
        let now = Instant::now();
        if now < self.next_measurement.get() {
            return None;
        }
        let cpu = thread_time_working().saturating_sub(self.cpu_at_start);
        let cpu_left = self.cpu_max.checked_sub(cpu);
        let Some(cpu_left) = cpu_left.filter(|left| !left.is_zero()) else {
            return Some(PassedLimit::Cpu);
        };
        let mut time_left = Duration::MAX;
        if self.timeout < Duration::MAX {
            let queued = time_queued().saturating_sub(self.queued_at_start);
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

thread_local! {
    /// The system's times of this thread: the processor time, the time without a processor, and a count.
    static TIMES: Option<File> = File::open("/proc/thread-self/schedstat").ok();
}

/// How long this thread was ready to run, and had no processor; zero where the system does not tell.
fn time_queued() -> Duration {
    let mut text = [0; 64];
    let length = TIMES.with(|times| times.as_ref()?.read_at(&mut text, 0).ok()).unwrap_or(0);
    let text = str::from_utf8(&text[..length]).unwrap_or_default();
    let nanos = text.split_ascii_whitespace().nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use pinakes_format::storage::integrity::{
        CHUNK_BYTES, Verifier, levels_of, thread_time, thread_time_verifying,
    };

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    /// Uses processor time of this thread.
    fn work(time: Duration) {
        let begun = thread_time();
        while thread_time() - begun < time {
            std::hint::black_box(blake3::hash(&[7; 1_024]));
        }
    }

    #[test]
    fn the_clock_counts_own_work_and_not_verification() {
        let bytes = vec![7; 64 * CHUNK_BYTES];
        let (levels, root) = (levels_of(&bytes), blake3::hash(&bytes));
        let cpu_max = Duration::from_millis(20);
        let clock = WorkClock::start(HOUR, cpu_max);
        let before = thread_time_verifying();
        while thread_time_verifying() - before < 3 * cpu_max {
            let verifier = Verifier::new("f".into(), bytes.len() as u64, root, 0);
            assert!(verifier.check(&bytes[..], &levels[..], 0, bytes.len()).is_ok());
        }
        assert_eq!(clock.passed(), None);
        work(cpu_max);
        // The last measurement may have put the next one off for as long as was left.
        work(cpu_max);
        assert_eq!(clock.passed(), Some(PassedLimit::Cpu));
    }

    #[test]
    fn processor_time_is_measured_to_a_millisecond() {
        let begun = thread_time();
        let clock = WorkClock::start(HOUR, Duration::from_millis(30));
        while clock.passed().is_none() {
            work(Duration::from_micros(50));
        }
        let used = thread_time() - begun;
        assert!((30..32).contains(&used.as_millis()), "{used:?}");
    }

    #[test]
    fn time_without_a_processor_does_not_count() {
        // More threads that work than processors, so that this one waits for a processor half of the time or more.
        let is_done = AtomicBool::new(false);
        let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        work(Duration::from_millis(1));
                    }
                });
            }
            let begun = Instant::now();
            let clock = WorkClock::start(Duration::from_millis(150), HOUR);
            let before = time_queued();
            let mut passed = None;
            while passed.is_none() {
                work(Duration::from_millis(1));
                passed = clock.passed();
            }
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(passed, Some(PassedLimit::Timeout));
            let queued = time_queued() - before;
            let elapsed = begun.elapsed();
            assert!(elapsed >= Duration::from_millis(150) + queued, "{elapsed:?}, {queued:?}");
        });
    }
}
