//! Open connections of the admin address. At a limit, a new connection closes the longest idle one.
//!
//! A connection is idle until its client has sent a request. Idle connections therefore cannot block
//! operators from the admin address.

use std::collections::VecDeque;
use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::http::client_address::client_key;
use crate::net::limiter::{ConnectionLimiter, ConnectionPermit};

/// Shortest interval between log lines about closed connections.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// The open connections, and which of them are idle.
pub struct AdminConnections {
    limiter: Arc<ConnectionLimiter>,
    /// Idle connections, the oldest first.
    idle: Mutex<VecDeque<IdleConnection>>,
    next_number: AtomicU64,
    closed: Mutex<ClosedCount>,
}

struct IdleConnection {
    /// Number of the connection since the start.
    number: u64,
    /// Key of the client.
    client: u64,
    task: JoinHandle<()>,
}

/// Connections closed since the last log line about closed connections.
#[derive(Default)]
struct ClosedCount {
    count: u64,
    reported_at: Option<Instant>,
}

impl ClosedCount {
    /// Counts a closed connection; returns the count if a log line is due.
    fn add(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        if self.reported_at.is_some_and(|at| now.duration_since(at) < REPORT_INTERVAL) {
            return None;
        }
        self.reported_at = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

/// Marks a connection as idle until dropped.
pub struct IdleGuard {
    connections: Arc<AdminConnections>,
    number: u64,
}

impl Drop for IdleGuard {
    fn drop(&mut self) {
        self.connections.idle().retain(|connection| connection.number != self.number);
    }
}

impl AdminConnections {
    /// Allows `total_max` connections, and `client_max` for each client.
    pub fn new(total_max: u32, client_max: u32) -> AdminConnections {
        AdminConnections {
            limiter: Arc::new(ConnectionLimiter::new(total_max, client_max)),
            idle: Mutex::default(),
            next_number: AtomicU64::new(0),
            closed: Mutex::default(),
        }
    }

    /// Acquires a permit for a connection; at a limit, first closes the oldest idle connection.
    ///
    /// At the client's limit, closes a connection of the same client. `None` if no such connection is idle.
    pub async fn admit(&self, client: IpAddr) -> Option<ConnectionPermit> {
        loop {
            let permit = self.limiter.acquire();
            let is_full = permit.is_none();
            if let Some(permit) = permit.and_then(|permit| permit.for_client(client)) {
                return Some(permit);
            }
            let oldest = {
                let mut idle = self.idle();
                let may_close =
                    |idle: &IdleConnection| is_full || idle.client == client_key(client);
                let at = idle.iter().position(may_close)?;
                idle.remove(at)?
            };
            oldest.task.abort();
            // The task releases its permit before it ends.
            let _ = oldest.task.await;
            let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(closed) = closed.add(Instant::now()) {
                tracing::warn!(
                    closed,
                    %client,
                    "idle connections at the admin address were closed for newer ones"
                );
            }
        }
    }

    /// Serves a client in a task; the connection is idle until `serve` drops its guard.
    pub fn spawn<F>(self: &Arc<Self>, client: IpAddr, serve: impl FnOnce(IdleGuard) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // Locked until the connection is in the queue: the guard's drop waits for the lock.
        let mut idle = self.idle();
        let number = self.next_number.fetch_add(1, Relaxed);
        let task = tokio::spawn(serve(IdleGuard { connections: Arc::clone(self), number }));
        idle.push_back(IdleConnection { number, client: client_key(client), task });
    }

    /// Waits until no connection is open.
    pub async fn all_closed(&self) {
        self.limiter.all_closed().await;
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<IdleConnection>> {
        // No code panics while it holds the lock.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_connections_are_reported_at_once_and_then_at_most_once_a_minute() {
        let mut closed = ClosedCount::default();
        let start = Instant::now();
        let mut check = |seconds: u64, expected: Option<u64>| {
            assert_eq!(closed.add(start + Duration::from_secs(seconds)), expected, "{seconds}");
        };
        check(0, Some(1));
        check(1, None);
        check(59, None);
        check(60, Some(3));
        check(119, None);
        check(1_000, Some(2));
    }
}
