//! Limits on open connections: in total, and for each client.
//!
//! The server closes a connection beyond a limit at once; a queue of waiting connections would help an
//! attacker. Before the total is reached, idle connections of the networks with the most connections are
//! closed, so that no network can hold all connections:
//!
//! ```text
//! 8,192 connections, 8,000 of one /57, 150 of many networks      a new client comes
//!   → 128 of the /57 are closed, those first that made no request for the longest time
//! ```

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::admission::shares::Shares;
use crate::http::client_address::{client_key, network_keys};

/// Counts open connections against a total limit and a limit for each client.
#[derive(Debug)]
pub struct ConnectionLimiter {
    total: Arc<Semaphore>,
    total_max: u32,
    client_max: u32,
    /// Open connections by client key.
    clients: Mutex<Shares>,
    /// Connections refused since the start: by the total limit, and by a client's limit.
    refused: [AtomicU64; 2],
    /// Connections that can be closed while they are idle.
    registry: Mutex<Registry>,
}

/// A connection, as far as the limiter needs it.
pub trait IdleConnection: Send + Sync {
    /// When the client last made a request that counts towards a limit, or connected, in milliseconds of
    /// [`now_millis`]; `None` while a request is under way or a reply is unsent.
    fn idle_since(&self) -> Option<u64>;

    /// Resets the connection.
    fn close(&self);
}

#[derive(Default)]
struct Registry {
    connections: HashMap<u64, Registered>,
    next: u64,
    /// When idle connections were last closed, in milliseconds of [`now_millis`].
    closed_at: u64,
}

struct Registered {
    client: u64,
    connection: Weak<dyn IdleConnection>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("connections", &self.connections.len()).finish()
    }
}

/// Milliseconds since the first call.
pub fn now_millis() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

/// Idle connections are closed while fewer than one of this many places is free, and as many are closed
/// together.
const RESERVE_SHARE: u32 = 64;
/// Least time between two such closings.
const CLOSING_INTERVAL_MILLIS: u64 = 100;

/// Permission for one open connection; released when dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    _total: OwnedSemaphorePermit,
    /// Key of the client that the permit counts for, once known.
    client: Option<u64>,
    /// The number of the connection in the registry.
    number: Option<u64>,
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
            registry: Mutex::default(),
        }
    }

    /// Acquires a permit of the total limit; `None` at the limit.
    pub fn acquire(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let reserve = self.total_max / RESERVE_SHARE;
        if reserve > 0 && self.total.available_permits() <= reserve as usize {
            self.close_idle(reserve as usize);
        }
        let Ok(total) = Arc::clone(&self.total).try_acquire_owned() else {
            self.refused[0].fetch_add(1, Relaxed);
            return None;
        };
        Some(ConnectionPermit {
            limiter: Arc::clone(self),
            _total: total,
            client: None,
            number: None,
        })
    }

    /// Closes idle connections of the networks with the most connections; of one network, those first that
    /// are idle for the longest time. Does nothing if it did so a moment ago.
    ///
    /// Cost: one pass over all connections for each one closed.
    fn close_idle(&self, count_max: usize) {
        let closed: Vec<Arc<dyn IdleConnection>> = {
            let mut registry = self.registry();
            let now = now_millis();
            if registry.closed_at != 0 && now < registry.closed_at + CLOSING_INTERVAL_MILLIS {
                return;
            }
            registry.closed_at = now.max(1);
            // Counts the connections of each network at three levels, and lists the idle ones.
            let mut sizes: HashMap<(usize, u64), usize> = HashMap::new();
            let mut idle = Vec::new();
            for registered in registry.connections.values() {
                let networks = network_keys(registered.client);
                for (level, key) in networks.into_iter().enumerate() {
                    *sizes.entry((level, key)).or_default() += 1;
                }
                let Some(connection) = registered.connection.upgrade() else { continue };
                if let Some(since) = connection.idle_since() {
                    idle.push((networks, since, connection));
                }
            }
            // Takes the connection idle for the longest time out of the largest network, until enough are taken.
            // Each one taken makes its networks smaller, so that the next may come from another.
            let mut closed = Vec::new();
            while closed.len() < count_max {
                let size = |networks: &[u64; 3]| {
                    [0, 1, 2].map(|level| sizes.get(&(level, networks[level])).copied())
                };
                let largest = idle
                    .iter()
                    .enumerate()
                    .max_by_key(|(_, (networks, since, _))| (size(networks), Reverse(*since)));
                let Some((at, _)) = largest else { break };
                let (networks, _, connection) = idle.swap_remove(at);
                for (level, key) in networks.into_iter().enumerate() {
                    if let Some(size) = sizes.get_mut(&(level, key)) {
                        *size -= 1;
                    }
                }
                closed.push(connection);
            }
            closed
        };
        // Outside the lock: a closed connection leaves the registry.
        closed.iter().for_each(|connection| connection.close());
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        // No code panics while it holds the lock.
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn clients(&self) -> MutexGuard<'_, Shares> {
        // No code panics while it holds the lock.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// Counts the connection for a client; `None` at the client's limit.
    pub fn for_client(self, client: IpAddr) -> Option<ConnectionPermit> {
        self.for_key(client_key(client))
    }

    /// Key of the client that the connection counts for.
    pub fn client(&self) -> Option<u64> {
        self.client
    }

    /// Lets the limiter close the connection while it is idle. A connection that counts for no client, such
    /// as that of a trusted proxy, stays.
    pub fn register(&mut self, connection: Weak<dyn IdleConnection>) {
        let Some(client) = self.client else { return };
        let mut registry = self.limiter.registry();
        let number = registry.next;
        registry.next += 1;
        registry.connections.insert(number, Registered { client, connection });
        self.number = Some(number);
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
        if !self.limiter.clients().give(key, 1, self.limiter.client_max as usize) {
            self.limiter.refused[1].fetch_add(1, Relaxed);
            return None;
        }
        self.client = Some(key);
        Some(self)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.limiter.registry().connections.remove(&number);
        }
        if let Some(key) = self.client {
            self.limiter.clients().take_back(key, 1);
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
        assert_eq!(limiter.clients().total(), 0);
        assert!(acquire("192.0.2.1").is_some());
    }

    /// A connection that a test closes by dropping its permit.
    struct Idle {
        since: Option<u64>,
        is_closed: std::sync::atomic::AtomicBool,
    }

    impl IdleConnection for Idle {
        fn idle_since(&self) -> Option<u64> {
            self.since
        }

        fn close(&self) {
            self.is_closed.store(true, Relaxed);
        }
    }

    #[test]
    fn idle_connections_of_the_largest_network_are_closed_first() {
        let limiter = Arc::new(ConnectionLimiter::new(128, 64));
        let mut open = Vec::new();
        let mut connect = |client: &str, since: Option<u64>| {
            let mut permit = limiter.acquire()?.for_client(client.parse().unwrap())?;
            let idle = Arc::new(Idle { since, is_closed: false.into() });
            let weak: Weak<dyn IdleConnection> = Arc::downgrade(&idle) as _;
            permit.register(weak);
            open.push((client.to_owned(), Arc::clone(&idle), permit));
            Some(idle)
        };
        for at in 0..90u32 {
            // One /57: 90 addresses of different /64 networks, 128 of each /56.
            let since = if at == 17 { 5 } else { 1_000 + u64::from(at) };
            connect(&format!("2001:db8:0:{:x}::1", at), Some(since).filter(|_| at != 18));
        }
        for at in 0..36 {
            connect(&format!("192.0.{at}.1"), Some(1));
        }
        // Two places are free, the reserve: the next connection closes two idle ones.
        assert!(connect("198.51.100.1", Some(1)).is_some());
        let closed: Vec<&str> = open
            .iter()
            .filter(|(_, idle, _)| idle.is_closed.load(Relaxed))
            .map(|(client, ..)| client.as_str())
            .collect();
        assert_eq!(closed, ["2001:db8:0:0::1", "2001:db8:0:11::1"]);
        open.clear();
        assert!(limiter.registry().connections.is_empty());
    }
}
