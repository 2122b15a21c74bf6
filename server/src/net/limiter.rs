//! How many connections there are: in total, and of each client.
//!
//! A connection beyond either number is closed at once: to let it wait is to be attacked.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::client_address::key;

/// The places there are.
#[derive(Debug)]
pub struct Places {
    total: Arc<Semaphore>,
    total_max: u32,
    client_max: u32,
    /// Connections of each client that has any, by what limits count it by.
    clients: Mutex<HashMap<u64, u32>>,
    /// Connections closed for want of a place, ever: of all, and of their client.
    refused: [AtomicU64; 2],
}

/// A connection's place, for as long as this lives.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    _total: OwnedSemaphorePermit,
    /// The client it is counted for, once that is known.
    client: Option<u64>,
}

impl Places {
    /// So many places in all, and so many for each client.
    pub fn new(total_max: u32, client_max: u32) -> Places {
        Places {
            total: Arc::new(Semaphore::new(total_max as usize)),
            total_max,
            client_max,
            clients: Mutex::default(),
            refused: Default::default(),
        }
    }

    /// A place of all there are; `None` where none is free.
    pub fn take(self: &Arc<Self>) -> Option<Place> {
        let Ok(total) = Arc::clone(&self.total).try_acquire_owned() else {
            self.refused[0].fetch_add(1, Relaxed);
            return None;
        };
        Some(Place { places: Arc::clone(self), _total: total, client: None })
    }

    /// Connections refused so far: for want of any place, and of one for their client.
    pub fn refused(&self) -> [u64; 2] {
        [self.refused[0].load(Relaxed), self.refused[1].load(Relaxed)]
    }

    /// Places that are taken, and how many there are.
    pub fn taken(&self) -> (u32, u32) {
        // Never more are free than there are.
        let free = u32::try_from(self.total.available_permits()).unwrap_or(u32::MAX);
        (self.total_max.saturating_sub(free), self.total_max)
    }

    /// Waits until every place is free.
    pub async fn all_free(&self) {
        // It is never closed.
        let _ = self.total.acquire_many(self.total_max).await;
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<u64, u32>> {
        // Nothing in the lock panics half way through a change.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The same place as one of a client's; `None` where that has enough.
    pub fn of_client(self, client: IpAddr) -> Option<Place> {
        self.of_key(key(client))
    }

    /// A place among others, for the same client; `None` where there is none for it.
    pub fn among(&self, others: &Arc<Places>) -> Option<Place> {
        let place = others.take()?;
        match self.client {
            Some(key) => place.of_key(key),
            None => Some(place),
        }
    }

    fn of_key(mut self, key: u64) -> Option<Place> {
        {
            let mut clients = self.places.clients();
            let count = clients.entry(key).or_default();
            if *count >= self.places.client_max {
                self.places.refused[1].fetch_add(1, Relaxed);
                return None;
            }
            *count += 1;
        }
        self.client = Some(key);
        Some(self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(key) = self.client else { return };
        let mut clients = self.places.clients();
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
    fn a_client_has_its_places_and_all_have_theirs() {
        let places = Arc::new(Places::new(4, 2));
        let of = |client: &str| places.take()?.of_client(client.parse().unwrap());
        let mut held = vec![of("192.0.2.1").unwrap(), of("192.0.2.1").unwrap()];
        assert!(of("192.0.2.1").is_none());
        assert!(of("::ffff:192.0.2.1").is_none());
        held.extend([of("2001:db8::1").unwrap(), of("2001:db8::2").unwrap()]);
        assert!(of("2001:db8:0:1::1").is_none(), "none is free");
        assert_eq!(places.refused(), [1, 2]);
        held.remove(0);
        assert!(of("2001:db8::3").is_none(), "its network has two");
        held.push(of("192.0.2.1").unwrap());
        let others = Arc::new(Places::new(3, 1));
        let other = held[0].among(&others).unwrap();
        assert!(held[3].among(&others).is_none(), "its client has one");
        assert_eq!((other.client, others.refused()), (held[0].client, [0, 1]));
        held.clear();
        assert!(places.clients().is_empty());
        assert!(of("192.0.2.1").is_some());
    }
}
