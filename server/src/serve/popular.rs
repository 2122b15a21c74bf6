//! The addresses that are asked most, with which a mirror warms a new snapshot before it answers from there.

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Addresses that are counted.
const COUNTED_MAX: usize = 4_096;
/// The longest address that is counted.
const TARGET_BYTES_MAX: usize = 512;
/// Addresses that warm a snapshot.
const WARMING: usize = 256;
/// One request of this many is counted: counting costs as much as a tenth of a record.
const SAMPLED: u32 = 16;

/// How often each address was asked. Old requests fade: when the table is full, each count is halved.
#[derive(Default)]
pub(super) struct Popular {
    requests: AtomicU32,
    counts: Mutex<HashMap<Box<str>, u32>>,
}

impl Popular {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, u32>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the next request is counted.
    pub fn is_sampled(&self) -> bool {
        self.requests.fetch_add(1, Relaxed).is_multiple_of(SAMPLED)
    }

    /// Counts a request for a path with its query.
    pub fn count(&self, target: &str) {
        if target.len() > TARGET_BYTES_MAX {
            return;
        }
        let mut counts = self.lock();
        if let Some(count) = counts.get_mut(target) {
            *count = count.saturating_add(1);
            return;
        }
        while counts.len() >= COUNTED_MAX {
            counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
        counts.insert(target.into(), 1);
    }

    /// The addresses that were asked most, the first most often.
    pub fn most(&self) -> Vec<Box<str>> {
        let counts = self.lock();
        let mut all: Vec<(u32, &str)> =
            counts.iter().map(|(target, count)| (*count, &**target)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.into_iter().take(WARMING).map(|(_, target)| target.into()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_addresses_survive_many_that_come_once() {
        let popular = Popular::default();
        for at in 0..20_000 {
            popular.count(&format!("/outputs/HX_W{at}"));
            popular.count("/outputs");
            if at % 3 == 0 {
                popular.count("/authors");
            }
        }
        popular.count(&"/".repeat(TARGET_BYTES_MAX + 1));
        let most = popular.most();
        assert_eq!(most.len(), WARMING);
        assert_eq!([&*most[0], &*most[1]], ["/outputs", "/authors"]);
        assert!(popular.lock().len() <= COUNTED_MAX);
    }
}
