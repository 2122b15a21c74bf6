//! Limits on open connections: in total, and for each client.
//!
//! The server closes a connection beyond a limit at once; a queue of waiting connections would help an
//! attacker.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::client_address::client_key;

/// Counts open connections against a total limit and a limit for each client.
#[derive(Debug)]
pub struct ConnectionLimiter {
    total: Arc<Semaphore>,
    total_max: u32,
    client_max: u32,
    /// Open connections by client key; a client without any has no entry.
    clients: Mutex<HashMap<u64, u32>>,
    /// Connections refused since the start: by the total limit, and by a client's limit.
    refused: [AtomicU64; 2],
}

/// Permission for one open connection; released when dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    _total: OwnedSemaphorePermit,
    /// Key of the client that the permit counts for, once known.
    client: Option<u64>,
}

impl ConnectionLimiter {
    /// Allows `total_max` connections, and `client_max` for each client.
    pub fn new(total_max: u32, client_max: u32) -> ConnectionLimiter {
        ConnectionLimiter {
            total: Arc::new(Semaphore::new(total_max as usize)),
            total_max,
            client_max,
            clients: Mutex::default(),
            refused: Default::default(),
        }
    }

    /// Acquires a permit of the total limit; `None` at the limit.
    pub fn acquire(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let Ok(total) = Arc::clone(&self.total).try_acquire_owned() else {
            self.refused[0].fetch_add(1, Relaxed);
            return None;
        };
        Some(ConnectionPermit { limiter: Arc::clone(self), _total: total, client: None })
    }

    /// Connections refused since the start: by the total limit, and by a client's limit.
    pub fn refused(&self) -> [u64; 2] {
        [self.refused[0].load(Relaxed), self.refused[1].load(Relaxed)]
    }

    /// Open connections, and the total limit.
    pub fn usage(&self) -> (u32, u32) {
        let free = u32::try_from(self.total.available_permits()).unwrap_or(u32::MAX);
        (self.total_max.saturating_sub(free), self.total_max)
    }

    /// Waits until no connection is open.
    pub async fn all_closed(&self) {
        // Nobody closes the semaphore.
        let _ = self.total.acquire_many(self.total_max).await;
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<u64, u32>> {
        // No code panics while it holds the lock.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// Counts the connection for a client; `None` at the client's limit.
    pub fn for_client(self, client: IpAddr) -> Option<ConnectionPermit> {
        self.for_key(client_key(client))
    }

    /// Acquires a permit of another limiter for the same client; `None` at either of its limits.
    pub fn acquire_from(&self, other: &Arc<ConnectionLimiter>) -> Option<ConnectionPermit> {
        let permit = other.acquire()?;
        match self.client {
            Some(key) => permit.for_key(key),
            None => Some(permit),
        }
    }

    fn for_key(mut self, key: u64) -> Option<ConnectionPermit> {
        {
            let mut clients = self.limiter.clients();
            let count = clients.entry(key).or_default();
            if *count >= self.limiter.client_max {
                self.limiter.refused[1].fetch_add(1, Relaxed);
                return None;
            }
            *count += 1;
        }
        self.client = Some(key);
        Some(self)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(key) = self.client else { return };
        let mut clients = self.limiter.clients();
        if let Some(count) = clients.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&key);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn connections_beyond_the_total_or_the_client_limit_are_refused() {
        let limiter = Arc::new(ConnectionLimiter::new(4, 2));
        let acquire = |client: &str| limiter.acquire()?.for_client(client.parse().unwrap());
        let mut open = vec![acquire("192.0.2.1").unwrap(), acquire("192.0.2.1").unwrap()];
        assert!(acquire("192.0.2.1").is_none());
        assert!(acquire("::ffff:192.0.2.1").is_none());
        open.extend([acquire("2001:db8::1").unwrap(), acquire("2001:db8::2").unwrap()]);
        assert!(acquire("2001:db8:0:1::1").is_none(), "the total limit is reached");
        assert_eq!(limiter.refused(), [1, 2]);
        open.remove(0);
        assert!(acquire("2001:db8::3").is_none(), "its /64 has two");
        open.push(acquire("192.0.2.1").unwrap());
        let others = Arc::new(ConnectionLimiter::new(3, 1));
        let other = open[0].acquire_from(&others).unwrap();
        assert!(open[3].acquire_from(&others).is_none(), "its client has one");
        assert_eq!((other.client, others.refused()), (open[0].client, [0, 1]));
        open.clear();
        assert!(limiter.clients().is_empty());
        assert!(acquire("192.0.2.1").is_some());
    }
}
