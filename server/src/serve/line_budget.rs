//! A budget for log lines that cost a client nothing: of refused requests, and of requests that no limit
//! counts. Without the budget such requests fill a disk, 306 MB in 8 seconds.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Admits a number of lines each second, and counts the lines left out.
#[derive(Debug)]
pub struct LineBudget {
    lines_per_second: u32,
    /// The start of the second, and the lines admitted since.
    second: Mutex<(Instant, u32)>,
    left_out: AtomicU64,
}

impl LineBudget {
    pub fn new(lines_per_second: u32) -> LineBudget {
        let second = Mutex::new((Instant::now(), 0));
        LineBudget { lines_per_second, second, left_out: AtomicU64::new(0) }
    }

    /// Whether a line may be written; counts the line as left out otherwise.
    pub fn admit(&self) -> bool {
        // No code panics while it holds the lock.
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        let (started, lines) = &mut *second;
        if started.elapsed() >= SECOND {
            (*started, *lines) = (Instant::now(), 0);
        }
        if *lines < self.lines_per_second {
            *lines += 1;
            return true;
        }
        drop(second);
        self.left_out.fetch_add(1, Relaxed);
        false
    }

    /// Lines left out since the start.
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_budget_of_a_second_are_counted() {
        let budget = LineBudget::new(3);
        let admitted = (0..1_000).filter(|_| budget.admit()).count();
        // The loop may cross the end of a second.
        assert!(matches!(admitted, 3 | 6), "{admitted}");
        assert_eq!(budget.left_out(), 1_000 - admitted as u64);
    }
}
