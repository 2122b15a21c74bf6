//! Permits for concurrent work, given to those who wait in turn.
//!
//! Permits count for a key: a client, or a network. A key holds and awaits a bounded number of permits. A
//! free permit goes to the waiting key that holds the fewest; of equals, to the one that was served longest
//! ago. Keys with many requests therefore delay a key with one request by the work under way, not by their
//! queues:
//!
//! ```text
//! 8 permits; A has 4 and waits for 4, B has 4 and waits for 4; C asks: the next free permit is C's
//! ```

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::{sync::oneshot, time};

use crate::admission::shares::Shares;

/// How long a request waits for a permit.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How many permits there are.
#[derive(Clone, Copy, Debug)]
pub struct PermitLimits {
    /// Permits held concurrently.
    pub total: usize,
    /// Permits that one key holds concurrently.
    pub held: usize,
    /// Requests of one key that wait for a permit.
    pub waiting: usize,
}

/// Gives out permits for concurrent work.
#[derive(Debug)]
pub struct FairQueue {
    limits: PermitLimits,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    /// Permits held.
    held: Shares,
    /// Keys that hold or await permits.
    keys: HashMap<u64, KeyWork>,
    /// Number of permits given so far.
    given: u64,
}

#[derive(Debug, Default)]
struct KeyWork {
    /// Number of the last permit; 0 for none.
    served: u64,
    /// Requests in the order of their arrival.
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

/// Permission to work; released when dropped.
#[derive(Debug)]
pub struct Permit {
    queue: Arc<FairQueue>,
    key: u64,
}

impl FairQueue {
    pub fn new(limits: PermitLimits) -> FairQueue {
        FairQueue { limits, ledger: Mutex::default() }
    }

    /// Waits for a permit; `None` after 5 s, or at once if too many requests of the key wait.
    pub async fn acquire(self: &Arc<Self>, key: u64) -> Option<Permit> {
        let permit = {
            let mut ledger = self.lock();
            let is_free = ledger.held.total() < self.limits.total;
            if is_free && ledger.held.give(key, 1, self.limits.held) {
                ledger.note_served(key);
                return Some(Permit { queue: Arc::clone(self), key });
            }
            let work = ledger.keys.entry(key).or_default();
            // Requests that stopped to wait leave their place.
            work.waiting.retain(|place| !place.is_closed());
            if work.waiting.len() >= self.limits.waiting {
                return None;
            }
            let (place, permit) = oneshot::channel();
            work.waiting.push_back(place);
            permit
        };
        time::timeout(WAIT_TIMEOUT, permit).await.ok()?.ok()
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // No code panics while it holds the lock.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Numbers the permit that a key was given.
    fn note_served(&mut self, key: u64) {
        self.given += 1;
        self.keys.entry(key).or_default().served = self.given;
    }

    /// Takes back a permit of a key.
    fn release(&mut self, key: u64) {
        self.held.take_back(key, 1);
        let is_idle = self.held.of(key) == 0;
        if let Some(work) = self.keys.get_mut(&key) {
            work.waiting.retain(|place| !place.is_closed());
            if is_idle && work.waiting.is_empty() {
                self.keys.remove(&key);
            }
        }
    }

    /// Takes the request to serve next off its queue: of the key with the fewest permits.
    fn next_waiting(&mut self, limits: &PermitLimits) -> Option<(u64, oneshot::Sender<Permit>)> {
        let held = |key: u64| self.held.of(key);
        let can_work =
            |key: u64, work: &KeyWork| held(key) < limits.held && !work.waiting.is_empty();
        let waiting = self.keys.iter().filter(|(key, work)| can_work(**key, work));
        let (key, _) = waiting.min_by_key(|(key, work)| (held(**key), work.served))?;
        let key = *key;
        let place = self.keys.get_mut(&key)?.waiting.pop_front()?;
        self.held.give(key, 1, limits.held);
        self.note_served(key);
        Some((key, place))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = {
            let mut ledger = self.queue.lock();
            ledger.release(self.key);
            ledger.next_waiting(&self.queue.limits)
        };
        if let Some((key, place)) = next {
            // A request that stopped to wait drops the permit, which serves the next one.
            let _ = place.send(Permit { queue: Arc::clone(&self.queue), key });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A queue of which each key holds at most four permits and awaits four.
    fn queue(total: usize) -> Arc<FairQueue> {
        Arc::new(FairQueue::new(PermitLimits { total, held: 4, waiting: 4 }))
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_limited_in_all_and_for_each_key() {
        let queue = queue(6);
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(queue.acquire(1).await.unwrap());
        }
        assert!(queue.acquire(1).await.is_none(), "the key has its four");
        held.push(queue.acquire(2).await.unwrap());
        held.push(queue.acquire(3).await.unwrap());
        assert!(queue.acquire(4).await.is_none(), "all six are held");
        held.pop();
        held.push(queue.acquire(4).await.unwrap());
        drop(held);
        assert!(queue.lock().keys.is_empty());
        assert_eq!(queue.lock().held.total(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_with_one_request_waits_for_no_queue() {
        let queue = queue(4);
        let held: Vec<_> = [1, 1, 1, 1].map(|at| queue.acquire(at)).into();
        let mut permits = Vec::new();
        for permit in held {
            permits.push(permit.await.unwrap());
        }
        let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
        for at in [1, 1, 1, 1, 2, 2, 2, 2, 3] {
            let (queue, served) = (Arc::clone(&queue), served.clone());
            tokio::spawn(async move {
                if let Some(permit) = queue.acquire(at).await {
                    served.send(at).unwrap();
                    time::sleep(Duration::from_millis(100)).await;
                    drop(permit);
                }
            });
            tokio::task::yield_now().await;
        }
        drop((permits, served));
        let mut found = Vec::new();
        while let Some(at) = order.recv().await {
            found.push(at);
        }
        assert_eq!(found.len(), 9);
        // The first permits go to keys that hold none.
        assert!(found[..2].contains(&3), "{found:?}");
        assert!(queue.lock().keys.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_fifth_waiting_request_of_a_key_is_refused_at_once() {
        let queue = queue(1);
        let permit = queue.acquire(1).await.unwrap();
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move { queue.acquire(2).await.is_some() })
            })
            .collect();
        tokio::task::yield_now().await;
        let before = time::Instant::now();
        assert!(queue.acquire(2).await.is_none());
        assert_eq!(before.elapsed(), Duration::ZERO);
        drop(permit);
        for request in waiting {
            assert!(request.await.unwrap());
        }
        assert_eq!(queue.lock().held.total(), 0);
    }
}
