//! Limits on concurrent work and on unsent replies, per client and in total.
//!
//! A client has four slots, for replies that take long to compute or are large. All clients together
//! compute a fixed number of replies concurrently, and hold at most 8 MiB of large replies that their
//! clients have not read. A client that reads no replies blocks itself and nobody else, however many
//! connections it has.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time,
};

use crate::http::client_address::Client;

/// Slots of one client.
const CLIENT_SLOTS: usize = 4;
/// How long a request waits for a permit, and a reply for its reservation.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of the unsent-reply budget in KiB.
const UNSENT_KILOBYTES_MAX: usize = 8 << 10;

/// Limits concurrent work and unsent replies.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    /// One permit for each reply that may be computed concurrently.
    work: Arc<Semaphore>,
    /// The unsent-reply budget, one permit for each KiB.
    unsent: Arc<Semaphore>,
    /// Slots by client key; a client that holds and awaits none has no entry.
    clients: Mutex<HashMap<u64, Arc<Semaphore>>>,
}

/// Slots of a client; released when dropped.
#[derive(Debug)]
struct ClientSlots {
    limiter: Arc<ConcurrencyLimiter>,
    client: u64,
    permit: Option<OwnedSemaphorePermit>,
}

/// A large reply's share of the unsent-reply budget; released when dropped.
#[derive(Debug)]
pub struct Reservation {
    _unsent: OwnedSemaphorePermit,
    _slots: ClientSlots,
}

/// Permission to compute one reply; released when dropped.
#[derive(Debug)]
pub struct WorkPermit {
    slots: ClientSlots,
    _work: OwnedSemaphorePermit,
}

impl ConcurrencyLimiter {
    /// Allows `concurrent_max` replies to be computed concurrently.
    pub fn new(concurrent_max: usize) -> ConcurrencyLimiter {
        ConcurrencyLimiter {
            work: Arc::new(Semaphore::new(concurrent_max)),
            unsent: Arc::new(Semaphore::new(UNSENT_KILOBYTES_MAX)),
            clients: Mutex::default(),
        }
    }

    /// Whether more than three quarters of the unsent-reply budget are reserved.
    pub fn is_congested(&self) -> bool {
        self.unsent.available_permits() < UNSENT_KILOBYTES_MAX / 4
    }

    /// Bytes of the unsent-reply budget that are reserved.
    pub fn unsent_bytes(&self) -> u64 {
        (UNSENT_KILOBYTES_MAX.saturating_sub(self.unsent.available_permits()) as u64) << 10
    }

    /// Waits for a slot of the client and a work permit; `None` after 5 s.
    pub async fn acquire(self: &Arc<Self>, client: Client) -> Option<WorkPermit> {
        let wait = async {
            let (mut slots, free) = Arc::clone(self).client_slots(client.key());
            slots.permit = Some(free.acquire_owned().await.ok()?);
            Some(WorkPermit { slots, _work: Arc::clone(&self.work).acquire_owned().await.ok()? })
        };
        time::timeout(WAIT_TIMEOUT, wait).await.ok()?
    }

    /// Reserves budget for a large reply without waiting.
    pub fn try_reserve(self: &Arc<Self>, client: Client, bytes: usize) -> Option<Reservation> {
        let (mut _slots, free) = Arc::clone(self).client_slots(client.key());
        _slots.permit = Some(free.try_acquire_many_owned(slots_for(bytes)).ok()?);
        let _unsent = Arc::clone(&self.unsent).try_acquire_many_owned(kilobytes(bytes)).ok()?;
        Some(Reservation { _unsent, _slots })
    }

    /// A handle without slots yet, and the semaphore to acquire them from.
    fn client_slots(self: Arc<Self>, client: u64) -> (ClientSlots, Arc<Semaphore>) {
        let new = || Arc::new(Semaphore::new(CLIENT_SLOTS));
        let free = Arc::clone(self.clients().entry(client).or_insert_with(new));
        (ClientSlots { limiter: self, client, permit: None }, free)
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<u64, Arc<Semaphore>>> {
        // No code panics while it holds the lock.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkPermit {
    /// Waits for the reservation of a computed reply; `None` after 5 s.
    ///
    /// The work permit is held meanwhile, which bounds the number of replies that wait here.
    pub async fn reserve(mut self, bytes: usize) -> Option<Reservation> {
        let limiter = Arc::clone(&self.slots.limiter);
        let wait = async {
            let count = slots_for(bytes);
            if count > 1 {
                // Released first: two replies that hold one slot each and wait for more would wait for
                // each other.
                self.slots.permit = None;
                let (_, free) = Arc::clone(&limiter).client_slots(self.slots.client);
                self.slots.permit = Some(free.acquire_many_owned(count).await.ok()?);
            }
            Arc::clone(&limiter.unsent).acquire_many_owned(kilobytes(bytes)).await.ok()
        };
        let _unsent = time::timeout(WAIT_TIMEOUT, wait).await.ok()??;
        Some(Reservation { _unsent, _slots: self.slots })
    }
}

/// Slots of its client that an unsent reply occupies: one for each MiB, at most all four.
fn slots_for(bytes: usize) -> u32 {
    bytes.div_ceil(1 << 20).clamp(1, CLIENT_SLOTS) as u32
}

/// Size of a reservation in KiB, at most the whole budget.
fn kilobytes(bytes: usize) -> u32 {
    bytes.div_ceil(1 << 10).min(UNSENT_KILOBYTES_MAX) as u32
}

impl Drop for ClientSlots {
    fn drop(&mut self) {
        let mut clients = self.limiter.clients();
        drop(self.permit.take());
        // A request that waits for slots holds the semaphore too.
        if clients.get(&self.client).is_some_and(|free| Arc::strong_count(free) == 1) {
            clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const A: Client = peer(1);
    const B: Client = peer(2);

    const fn peer(at: u8) -> Client {
        let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, at));
        Client { address, is_unknown: false }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_fills_its_slots_delays_only_itself() {
        let limiter = Arc::new(ConcurrencyLimiter::new(8));
        let mut held = Vec::new();
        for _ in 0..CLIENT_SLOTS {
            held.push(limiter.acquire(A).await.unwrap().reserve(1 << 20).await.unwrap());
        }
        assert!(limiter.try_reserve(A, 1 << 20).is_none());
        let (of_a, of_b) = tokio::join!(limiter.acquire(A), limiter.acquire(B));
        assert!(of_a.is_none() && of_b.is_some());
        held.pop();
        assert!(limiter.acquire(A).await.is_some());
        drop((held, of_b));
        assert!(limiter.clients().is_empty(), "no client has an entry");
    }

    #[tokio::test(start_paused = true)]
    async fn the_unsent_reply_budget_is_never_exceeded() {
        let limiter = Arc::new(ConcurrencyLimiter::new(8));
        let held: Vec<_> =
            (0..6).map(|at| limiter.try_reserve(peer(at), 1 << 20).unwrap()).collect();
        assert!(!limiter.is_congested());
        let more: Vec<_> =
            (6..8).map(|at| limiter.try_reserve(peer(at), 1 << 20).unwrap()).collect();
        assert!(limiter.is_congested());
        assert!(limiter.try_reserve(peer(16), 1).is_none());
        assert!(limiter.acquire(peer(16)).await.unwrap().reserve(1).await.is_none());
        // A reply larger than the budget waits for the whole budget.
        drop((held, more));
        assert!(limiter.acquire(A).await.unwrap().reserve(1 << 30).await.is_some());
        assert!(!limiter.is_congested() && limiter.clients().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn large_replies_of_one_client_leave_budget_for_others() {
        let limiter = Arc::new(ConcurrencyLimiter::new(8));
        let (one, two) = tokio::join!(limiter.acquire(A), limiter.acquire(A));
        let large = one.unwrap().reserve(4 << 20).await;
        assert!(large.is_none(), "the other request holds a slot");
        let large = two.unwrap().reserve(4 << 20).await.unwrap();
        assert!(limiter.acquire(A).await.is_none() && limiter.try_reserve(B, 4 << 20).is_some());
        drop(large);
        assert!(limiter.clients().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_work_is_limited() {
        let limiter = Arc::new(ConcurrencyLimiter::new(1));
        let permit = limiter.acquire(A).await.unwrap();
        assert!(limiter.acquire(B).await.is_none());
        // A reply that is being sent holds no work permit.
        let reservation = permit.reserve(1 << 20).await.unwrap();
        assert!(limiter.acquire(B).await.is_some());
        drop(reservation);
        assert!(limiter.clients().is_empty());
    }
}
