//! Permits for concurrent work, given to waiting clients in turn.
//!
//! A client holds at most four permits, and waits for at most four more. A free permit goes to the waiting
//! client that holds the fewest; of equals, to the one that waits longest. Clients with many requests
//! therefore delay a client with one request by the work under way, not by their queues:
//!
//! ```text
//! 8 permits; A has 4 and waits for 4, B has 4 and waits for 4; C asks: the next free permit is C's
//! ```

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time};

use crate::http::client_address::Client;

/// Permits that one client may hold, and requests that may wait for one.
const CLIENT_PERMITS_MAX: usize = 4;
/// How long a request waits for a permit.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Gives out permits for concurrent work.
#[derive(Debug)]
pub struct WorkQueue {
    permits_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Permits held.
    held: usize,
    /// Clients that hold or await permits, by key.
    clients: HashMap<u64, ClientWork>,
    /// Number of the next request that waits.
    next: u64,
}

#[derive(Debug, Default)]
struct ClientWork {
    held: usize,
    /// Requests in the order of their numbers.
    waiting: VecDeque<(u64, oneshot::Sender<WorkPermit>)>,
}

/// Permission to compute one reply; released when dropped.
#[derive(Debug)]
pub struct WorkPermit {
    queue: Arc<WorkQueue>,
    client: u64,
}

impl WorkQueue {
    /// Allows `permits_max` replies to be computed concurrently.
    pub fn new(permits_max: usize) -> WorkQueue {
        WorkQueue { permits_max, state: Mutex::default() }
    }

    /// Waits for a permit; `None` after 5 s, or at once if too many requests of the client wait.
    pub async fn acquire(self: &Arc<Self>, client: Client) -> Option<WorkPermit> {
        let permit = {
            let mut state = self.lock();
            let number = state.next;
            state.next += 1;
            let is_free = state.held < self.permits_max;
            let work = state.clients.entry(client.key()).or_default();
            if is_free && work.held < CLIENT_PERMITS_MAX {
                work.held += 1;
                state.held += 1;
                return Some(WorkPermit { queue: Arc::clone(self), client: client.key() });
            }
            // Requests that stopped to wait leave their place.
            work.waiting.retain(|(_, place)| !place.is_closed());
            if work.waiting.len() >= CLIENT_PERMITS_MAX {
                return None;
            }
            let (place, permit) = oneshot::channel();
            work.waiting.push_back((number, place));
            permit
        };
        time::timeout(WAIT_TIMEOUT, permit).await.ok()?.ok()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes back a permit of a client.
    fn release(&mut self, client: u64) {
        self.held -= 1;
        if let Some(work) = self.clients.get_mut(&client) {
            work.held -= 1;
            work.waiting.retain(|(_, place)| !place.is_closed());
            if work.held == 0 && work.waiting.is_empty() {
                self.clients.remove(&client);
            }
        }
    }

    /// Takes the request to serve next off its queue: of the client with the fewest permits, the oldest.
    fn next_waiting(&mut self) -> Option<(u64, oneshot::Sender<WorkPermit>)> {
        let can_work =
            |work: &&mut ClientWork| work.held < CLIENT_PERMITS_MAX && !work.waiting.is_empty();
        let (client, work) =
            self.clients.iter_mut().filter(|(_, work)| can_work(work)).min_by_key(
                |(_, work)| (work.held, work.waiting.front().map(|(number, _)| *number)),
            )?;
        let (_, place) = work.waiting.pop_front()?;
        work.held += 1;
        self.held += 1;
        Some((*client, place))
    }
}

impl Drop for WorkPermit {
    fn drop(&mut self) {
        let next = {
            let mut state = self.queue.lock();
            state.release(self.client);
            state.next_waiting()
        };
        if let Some((client, place)) = next {
            // A request that stopped to wait drops the permit, which serves the next one.
            let _ = place.send(WorkPermit { queue: Arc::clone(&self.queue), client });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn client(at: u8) -> Client {
        Client::known(IpAddr::V4(Ipv4Addr::new(192, 0, 2, at)))
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_limited_in_all_and_for_each_client() {
        let queue = Arc::new(WorkQueue::new(6));
        let mut held = Vec::new();
        for _ in 0..CLIENT_PERMITS_MAX {
            held.push(queue.acquire(client(1)).await.unwrap());
        }
        assert!(queue.acquire(client(1)).await.is_none(), "the client has its four");
        held.push(queue.acquire(client(2)).await.unwrap());
        held.push(queue.acquire(client(3)).await.unwrap());
        assert!(queue.acquire(client(4)).await.is_none(), "all six are held");
        held.pop();
        held.push(queue.acquire(client(4)).await.unwrap());
        drop(held);
        assert!(queue.lock().clients.is_empty());
        assert_eq!(queue.lock().held, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_with_one_request_waits_for_no_queue() {
        let queue = Arc::new(WorkQueue::new(4));
        let held: Vec<_> = [1, 1, 1, 1].map(|at| queue.acquire(client(at))).into();
        let mut permits = Vec::new();
        for permit in held {
            permits.push(permit.await.unwrap());
        }
        let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
        for at in [1, 1, 1, 1, 2, 2, 2, 2, 3] {
            let (queue, served) = (Arc::clone(&queue), served.clone());
            tokio::spawn(async move {
                if let Some(permit) = queue.acquire(client(at)).await {
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
        // The first permits go to clients that hold none.
        assert!(found[..2].contains(&3), "{found:?}");
        assert!(queue.lock().clients.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_fifth_waiting_request_of_a_client_is_refused_at_once() {
        let queue = Arc::new(WorkQueue::new(1));
        let permit = queue.acquire(client(1)).await.unwrap();
        let waiting: Vec<_> = (0..CLIENT_PERMITS_MAX)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move { queue.acquire(client(2)).await.is_some() })
            })
            .collect();
        tokio::task::yield_now().await;
        let before = time::Instant::now();
        assert!(queue.acquire(client(2)).await.is_none());
        assert_eq!(before.elapsed(), Duration::ZERO);
        drop(permit);
        for request in waiting {
            assert!(request.await.unwrap());
        }
        assert_eq!(queue.lock().held, 0);
    }
}
