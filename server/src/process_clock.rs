//! The clock of this process, by which answers are made.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::str;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use pinakes_answer::Clock;
use pinakes_format::storage::thread_time_working;

/// Reads the clocks of the system.
#[derive(Debug)]
pub struct ProcessClock;

/// The clock of this process.
pub static PROCESS_CLOCK: ProcessClock = ProcessClock;

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock for ProcessClock {
    fn elapsed(&self) -> Duration {
        STARTED.elapsed()
    }

    fn cpu(&self) -> Duration {
        thread_time_working()
    }

    fn queued(&self) -> Duration {
        time_queued()
    }

    fn now(&self) -> DateTime<Utc> {
        Utc::now()
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

    use pinakes_answer::{PassedLimit, WorkClock};

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
        let clock = WorkClock::start(&PROCESS_CLOCK, HOUR, cpu_max);
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
        let clock = WorkClock::start(&PROCESS_CLOCK, HOUR, Duration::from_millis(30));
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
            let clock = WorkClock::start(&PROCESS_CLOCK, Duration::from_millis(150), HOUR);
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
