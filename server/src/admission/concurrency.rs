//! Who may have how much done, and how much held, at a time: replies that take a while to make or are
//! large.
//!
//! A client has a few at a time, and all clients together as many as the processors can make. So one
//! that reads none of its replies, by however many connections, waits for itself, and others do not
//! wait behind it.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time,
};

use crate::http::client_address::key;

/// Replies of a client that are made at a time, or held if they are large.
const CLIENT_TURNS: usize = 4;
/// How long a request may wait for its turn, and a reply for the room it takes.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);
/// Kilobytes of large replies that are held at a time for clients to take.
const HELD_KILOBYTES_MAX: usize = 8 << 10;

/// The turns there are.
#[derive(Debug)]
pub struct Turns {
    /// Replies that may yet be made at a time.
    all: Arc<Semaphore>,
    /// Kilobytes that may yet be held.
    room: Arc<Semaphore>,
    /// Of each client that has one or waits for one.
    clients: Mutex<HashMap<u64, Arc<Semaphore>>>,
}

/// A client's turn, for as long as this lives.
#[derive(Debug)]
struct ClientTurn {
    turns: Arc<Turns>,
    client: u64,
    permit: Option<OwnedSemaphorePermit>,
}

/// A large reply's share of what may be held, for as long as this lives.
#[derive(Debug)]
pub struct Share {
    _room: OwnedSemaphorePermit,
    _turn: ClientTurn,
}

/// A turn to make a reply.
#[derive(Debug)]
pub struct Turn {
    client: ClientTurn,
    _all: OwnedSemaphorePermit,
}

impl Turns {
    /// So many replies are made at a time.
    pub fn new(at_a_time: usize) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(at_a_time)),
            room: Arc::new(Semaphore::new(HELD_KILOBYTES_MAX)),
            clients: Mutex::default(),
        }
    }

    /// Whether so much is held that those who do not take it are not to be waited for.
    pub fn is_pressed(&self) -> bool {
        self.room.available_permits() < HELD_KILOBYTES_MAX / 4
    }

    /// Bytes of large replies that are held for clients to take.
    pub fn held_bytes(&self) -> u64 {
        (HELD_KILOBYTES_MAX.saturating_sub(self.room.available_permits()) as u64) << 10
    }

    /// Waits for a client's turn; `None` where it does not come in time.
    pub async fn take(self: &Arc<Self>, client: IpAddr) -> Option<Turn> {
        let wait = async {
            let (mut client, turns) = Arc::clone(self).of(client);
            client.permit = Some(turns.acquire_owned().await.ok()?);
            Some(Turn { client, _all: Arc::clone(&self.all).acquire_owned().await.ok()? })
        };
        time::timeout(TURN_TIMEOUT, wait).await.ok()?
    }

    /// A large reply's share, where it can be had at once.
    pub fn try_share(self: &Arc<Self>, client: IpAddr, bytes: usize) -> Option<Share> {
        let (mut _turn, turns) = Arc::clone(self).of(client);
        _turn.permit = Some(turns.try_acquire_many_owned(turns_of(bytes)).ok()?);
        let _room = Arc::clone(&self.room).try_acquire_many_owned(kilobytes(bytes)).ok()?;
        Some(Share { _room, _turn })
    }

    /// A turn of a client's that is not taken yet, and where to take it.
    fn of(self: Arc<Self>, client: IpAddr) -> (ClientTurn, Arc<Semaphore>) {
        self.of_key(key(client))
    }

    fn of_key(self: Arc<Self>, client: u64) -> (ClientTurn, Arc<Semaphore>) {
        let new = || Arc::new(Semaphore::new(CLIENT_TURNS));
        let turns = Arc::clone(self.clients().entry(client).or_insert_with(new));
        (ClientTurn { turns: self, client, permit: None }, turns)
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<u64, Arc<Semaphore>>> {
        // Nothing in the lock panics half way through a change.
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Waits until so many bytes of a reply may be held, and keeps the turn meanwhile: so many wait
    /// here, and no more. `None` where that is not in time.
    pub async fn share(mut self, bytes: usize) -> Option<Share> {
        let turns = Arc::clone(&self.client.turns);
        let wait = async {
            let many = turns_of(bytes);
            if many > 1 {
                // Given back first: two that have one each and wait for more would wait for one another.
                self.client.permit = None;
                let (_, of_client) = Arc::clone(&turns).of_key(self.client.client);
                self.client.permit = Some(of_client.acquire_many_owned(many).await.ok()?);
            }
            Arc::clone(&turns.room).acquire_many_owned(kilobytes(bytes)).await.ok()
        };
        let _room = time::timeout(TURN_TIMEOUT, wait).await.ok()??;
        Some(Share { _room, _turn: self.client })
    }
}

/// The turns of its client that a reply takes which is held: one for each megabyte, and all for four.
fn turns_of(bytes: usize) -> u32 {
    bytes.div_ceil(1 << 20).clamp(1, CLIENT_TURNS) as u32
}

/// What a reply's share is counted in; none is larger than all there is.
fn kilobytes(bytes: usize) -> u32 {
    bytes.div_ceil(1 << 10).min(HELD_KILOBYTES_MAX) as u32
}

impl Drop for ClientTurn {
    fn drop(&mut self) {
        let mut clients = self.turns.clients();
        drop(self.permit.take());
        // Whoever waits holds it too.
        if clients.get(&self.client).is_some_and(|turns| Arc::strong_count(turns) == 1) {
            clients.remove(&self.client);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    #[tokio::test(start_paused = true)]
    async fn a_client_that_holds_its_turns_waits_for_itself_alone() {
        let turns = Arc::new(Turns::new(8));
        let mut held = Vec::new();
        for _ in 0..CLIENT_TURNS {
            held.push(turns.take(A).await.unwrap().share(1 << 20).await.unwrap());
        }
        assert!(turns.try_share(A, 1 << 20).is_none());
        let (of_a, of_b) = tokio::join!(turns.take(A), turns.take(B));
        assert!(of_a.is_none() && of_b.is_some());
        held.pop();
        assert!(turns.take(A).await.is_some());
        drop((held, of_b));
        assert!(turns.clients().is_empty(), "nobody is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn so_much_is_held_and_no_more() {
        let turns = Arc::new(Turns::new(8));
        let peer = |at: u8| IpAddr::from([192, 0, 2, at]);
        let held: Vec<_> = (0..6).map(|at| turns.try_share(peer(at), 1 << 20).unwrap()).collect();
        assert!(!turns.is_pressed());
        let more: Vec<_> = (6..8).map(|at| turns.try_share(peer(at), 1 << 20).unwrap()).collect();
        assert!(turns.is_pressed());
        assert!(turns.try_share(peer(16), 1).is_none());
        assert!(turns.take(peer(16)).await.unwrap().share(1).await.is_none());
        // A reply larger than all there is waits for all of it.
        drop((held, more));
        assert!(turns.take(A).await.unwrap().share(1 << 30).await.is_some());
        assert!(!turns.is_pressed() && turns.clients().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_clients_large_replies_leave_room_for_others() {
        let turns = Arc::new(Turns::new(8));
        let (one, two) = tokio::join!(turns.take(A), turns.take(A));
        let large = one.unwrap().share(4 << 20).await;
        assert!(large.is_none(), "another has a turn meanwhile");
        let large = two.unwrap().share(4 << 20).await.unwrap();
        assert!(turns.take(A).await.is_none() && turns.try_share(B, 4 << 20).is_some());
        drop(large);
        assert!(turns.clients().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_are_made_at_a_time() {
        let turns = Arc::new(Turns::new(1));
        let turn = turns.take(A).await.unwrap();
        assert!(turns.take(B).await.is_none());
        // What is being read takes no turn from those to be made.
        let share = turn.share(1 << 20).await.unwrap();
        assert!(turns.take(B).await.is_some());
        drop(share);
        assert!(turns.clients().is_empty());
    }
}
