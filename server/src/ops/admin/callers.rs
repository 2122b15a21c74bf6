//! Who has called at the admin address and not asked yet: where there is no room for another, the one that
//! has kept it waiting longest makes room.

use std::{
    collections::VecDeque,
    future::Future,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;

use crate::http::client_address::client_key;
use crate::net::limiter::{ConnectionLimiter, ConnectionPermit};

/// How often it is told that connections were closed for others.
const TELL_INTERVAL: Duration = Duration::from_secs(60);

/// The connections there are, and which of them have asked nothing yet.
pub struct Callers {
    places: Arc<ConnectionLimiter>,
    /// Those that have asked nothing, the one that has been there longest first.
    silent: Mutex<VecDeque<Silent>>,
    /// The number of the next.
    next: AtomicU64,
    shed: Mutex<Shed>,
}

struct Silent {
    /// Which it is of all there ever were.
    number: u64,
    /// Whose it is, as limits count it.
    client: u64,
    serving: JoinHandle<()>,
}

/// Connections closed for others.
#[derive(Default)]
struct Shed {
    count: u64,
    told: Option<Instant>,
}

impl Shed {
    /// Counts one more; how many to tell of, where it is time to.
    fn count(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        if self.told.is_some_and(|told| now.duration_since(told) < TELL_INTERVAL) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

/// A connection whose client has asked nothing, for as long as this lives.
pub struct Silence {
    callers: Arc<Callers>,
    number: u64,
}

impl Drop for Silence {
    fn drop(&mut self) {
        let mut silent = self.callers.silent();
        silent.retain(|one| one.number != self.number);
    }
}

impl Callers {
    /// So many connections in all, and so many of each client.
    pub fn new(total_max: u32, client_max: u32) -> Callers {
        let places = Arc::new(ConnectionLimiter::new(total_max, client_max));
        Callers {
            places,
            silent: Mutex::default(),
            next: AtomicU64::new(0),
            shed: Mutex::default(),
        }
    }

    /// A place for a connection; where all are taken, that of the one that has been silent longest: of its
    /// client, where that has its fill. `None` where all that could make room have asked something.
    pub async fn place(&self, client: IpAddr) -> Option<ConnectionPermit> {
        loop {
            let place = self.places.acquire();
            let is_full = place.is_none();
            if let Some(place) = place.and_then(|place| place.for_client(client)) {
                return Some(place);
            }
            let silent = {
                let mut silent = self.silent();
                let is_chosen = |one: &Silent| is_full || one.client == client_key(client);
                let at = silent.iter().position(is_chosen)?;
                silent.remove(at)?
            };
            silent.serving.abort();
            // It has let its place go by then.
            let _ = silent.serving.await;
            let told =
                self.shed.lock().unwrap_or_else(PoisonError::into_inner).count(Instant::now());
            if let Some(closed) = told {
                tracing::warn!(
                    closed,
                    %client,
                    "connections that asked nothing at the admin address were closed for newer ones"
                );
            }
        }
    }

    /// Serves a client, who has asked nothing until the silence is let go.
    pub fn serve<F>(self: &Arc<Self>, client: IpAddr, serving: impl FnOnce(Silence) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut silent = self.silent();
        let number = self.next.fetch_add(1, Relaxed);
        let serving = serving(Silence { callers: Arc::clone(self), number });
        // Its silence cannot end before it is known: that would take the lock.
        silent.push_back(Silent {
            number,
            client: client_key(client),
            serving: tokio::spawn(serving),
        });
    }

    /// Waits until every connection has ended.
    pub async fn all_gone(&self) {
        self.places.all_closed().await;
    }

    fn silent(&self) -> MutexGuard<'_, VecDeque<Silent>> {
        // Nothing in the lock panics half way through a change.
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_closed_is_told_at_once_and_then_once_a_while() {
        let mut shed = Shed::default();
        let begun = Instant::now();
        let mut check = |seconds: u64, expected: Option<u64>| {
            assert_eq!(shed.count(begun + Duration::from_secs(seconds)), expected, "{seconds}");
        };
        check(0, Some(1));
        check(1, None);
        check(59, None);
        check(60, Some(3));
        check(119, None);
        check(1_000, Some(2));
    }
}
