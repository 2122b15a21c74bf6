//! Whether requests wait for the disk at present.
//!
//! The server counts the bytes that the system read for it (`/proc/self/io`), and takes the disk for busy:
//!
//! - each half second, if the last one had 256 KiB or more;
//! - at once, if a request that should have taken microseconds took a millisecond, and 64 KiB were read.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes read in an interval that make the disk busy.
const INTERVAL_BYTES: u64 = 256 << 10;
/// Bytes read since the last look that make it busy at once.
const LOOK_BYTES: u64 = 64 << 10;
/// Small work that takes this long may have waited for the disk.
const SLOW: Duration = Duration::from_millis(1);
/// Pause between looks.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// Watches how much the process reads from disk.
pub struct DiskActivity {
    is_busy: AtomicBool,
    counts: Mutex<Counts>,
}

struct Counts {
    /// Bytes read until the interval began.
    interval_begin: u64,
    /// Bytes read until the last look, and its time.
    last_look: (u64, Instant),
}

impl DiskActivity {
    /// Begins an interval.
    pub fn new() -> DiskActivity {
        let read = read_bytes().unwrap_or_default();
        let last_look = (read, Instant::now());
        let counts = Mutex::new(Counts { interval_begin: read, last_look });
        DiskActivity { is_busy: AtomicBool::new(false), counts }
    }

    /// Whether reads of this process wait for the disk at present; false at the start.
    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Relaxed)
    }

    fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Relaxed);
    }

    /// Ends an interval and begins the next.
    ///
    /// Where the system does not tell, the disk counts as busy: requests then take longer, and still never
    /// wait on a thread that others need.
    pub fn end_interval(&self) {
        let mut counts = self.lock();
        match read_bytes() {
            None => self.set_busy(true),
            Some(read) => {
                self.set_busy(read.saturating_sub(counts.interval_begin) >= INTERVAL_BYTES);
                counts.interval_begin = read;
                counts.last_look = (read, Instant::now());
            }
        }
    }

    /// Notes how long small work took on a thread that reads requests.
    pub fn note_small_work(&self, took: Duration) {
        if took < SLOW || self.is_busy() {
            return;
        }
        let mut counts = self.lock();
        let (read_before, looked) = counts.last_look;
        if looked.elapsed() < LOOK_PAUSE {
            return;
        }
        let read = read_bytes().unwrap_or(u64::MAX);
        counts.last_look = (read, Instant::now());
        if read.saturating_sub(read_before) >= LOOK_BYTES {
            self.set_busy(true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // No code panics while it holds the lock.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that this process made the system read from disks; `None` where the system does not tell.
fn read_bytes() -> Option<u64> {
    let counts = fs::read_to_string("/proc/self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_busy_while_the_process_reads_from_it() {
        let activity = DiskActivity::new();
        if read_bytes().is_none() {
            activity.end_interval();
            // Where the system does not count, there is nothing more to see.
            return assert!(activity.is_busy());
        }
        activity.end_interval();
        assert!(!activity.is_busy());
        // As if these bytes had been read since.
        activity.lock().interval_begin -= INTERVAL_BYTES.min(read_bytes().unwrap());
        let has_read = read_bytes().unwrap() >= INTERVAL_BYTES;
        activity.end_interval();
        assert_eq!(activity.is_busy(), has_read);
        activity.end_interval();
        assert!(!activity.is_busy());
        activity.note_small_work(SLOW / 2);
        activity.note_small_work(SLOW);
        assert!(!activity.is_busy(), "nothing was read");
    }
}
