//! The memory for replies that clients have not taken yet: a budget with shares.
//!
//! One client holds at most an eighth of the budget. The clients of one network (a /24 or a /48) hold at most
//! a quarter. So no client and no network can deny replies to others. When the budget itself is short, the
//! slowest reply loses its connection:
//!
//! ```text
//! budget 64 MiB, used up by clients that take 16 KiB/s; a list of 150 KiB needs room
//!   → of the replies held for a second or longer, the one taken slowest is evicted; the list waits for it
//! ```
//!
//! Replies that wait for the budget get memory in the order in which they began to wait. Otherwise clients
//! that ask again as soon as they are evicted would take the memory before the list. While they wait, the
//! replies that are finished use memory outside the budget, at most half as much; when that is used up, the
//! network with the most bytes held and waiting loses its latest reply that waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use pinakes_answer::PIECE_BYTES;
use tokio::sync::Notify;
use tokio::time;
use tokio::time::Instant;

use crate::admission::shares::Shares;
use crate::http::client_address::{Client, network_key};

/// How long a reply waits for memory.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a waiting reply looks for another one to evict.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// A younger reply is not evicted.
const EVICTION_AGE_MIN: Duration = Duration::from_secs(1);
/// A reply that is taken at least this fast is not evicted: it frees its memory soon.
const EVICTION_BYTES_PER_SECOND_MAX: u64 = 128 << 10;
/// Shares of the budget: of one client, and of one network.
const CLIENT_SHARE: usize = 8;
const NETWORK_SHARE: usize = 4;
/// Share of the budget that finished replies may use in addition while they wait.
const WAITING_SHARE: usize = 2;

/// The connection of a reply, as far as the budget needs it.
pub trait ReplyConnection: Send + Sync {
    /// Bytes of replies that the client took since the connection began.
    fn taken(&self) -> u64;

    /// Resets the connection, which frees its replies.
    fn evict(&self);
}

/// The budget, and who holds or waits for which part of it.
pub struct ReplyMemory {
    bytes_max: usize,
    ledger: Mutex<Ledger>,
    /// Notified when memory is freed.
    freed: Notify,
}

#[derive(Default)]
struct Ledger {
    clients: Shares,
    networks: Shares,
    replies: HashMap<u64, HeldReply>,
    /// The replies that wait for memory, by their number.
    waiting: BTreeMap<u64, WaitingReply>,
    /// Numbers of the replies that wait for the budget, and not for a share of it.
    queue: BTreeSet<u64>,
    next: u64,
    evicted: u64,
}

struct HeldReply {
    client: u64,
    bytes: usize,
    since: Instant,
    /// The connection, and the bytes that its client had taken then; `None` before the reply is sent.
    connection: Option<(Weak<dyn ReplyConnection>, u64)>,
    is_evicted: bool,
}

struct WaitingReply {
    client: u64,
    /// Bytes of the reply that exist already.
    bytes: usize,
    is_refused: bool,
}

/// A reply's share of the budget; released when dropped.
pub struct Reservation {
    memory: Arc<ReplyMemory>,
    number: u64,
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reservation").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A reply's place among those that wait; left when dropped.
struct Place<'m> {
    memory: &'m ReplyMemory,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut ledger = self.memory.lock();
        ledger.waiting.remove(&self.number);
        ledger.queue.remove(&self.number);
        drop(ledger);
        self.memory.freed.notify_waiters();
    }
}

/// Why there is no memory for a reply.
enum Shortage {
    /// The client or its network uses its share.
    Share,
    /// The budget is used up, or other replies wait for it.
    Budget,
    /// The reply lost its place to a smaller network.
    Refused,
}

/// The most that a stream may hold between two pieces, so that its client's share of a budget also has room for two pieces.
pub fn held_bytes_max(budget_bytes: usize) -> usize {
    (budget_bytes / CLIENT_SHARE).saturating_sub(2 * PIECE_BYTES)
}

impl ReplyMemory {
    /// A budget of this many bytes.
    pub fn new(bytes_max: usize) -> ReplyMemory {
        ReplyMemory { bytes_max, ledger: Mutex::default(), freed: Notify::new() }
    }

    /// Bytes that are reserved.
    pub fn used_bytes(&self) -> u64 {
        self.lock().clients.total() as u64
    }

    /// The size of the budget.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max as u64
    }

    /// Replies evicted since the start.
    pub fn evicted(&self) -> u64 {
        self.lock().evicted
    }

    /// Waits for the memory of a reply that exists already; `None` after 5 s, or when too many bytes wait.
    pub async fn reserve_finished(
        self: &Arc<Self>,
        client: Client,
        bytes: usize,
    ) -> Option<Reservation> {
        self.wait_for(client, bytes, bytes).await
    }

    /// Waits for the memory of a reply that is not made yet; `None` after 5 s.
    pub async fn reserve(self: &Arc<Self>, client: Client, bytes: usize) -> Option<Reservation> {
        self.wait_for(client, bytes, 0).await
    }

    /// Waits for memory, and evicts slow replies while the budget is used up.
    async fn wait_for(
        self: &Arc<Self>,
        client: Client,
        bytes: usize,
        finished_bytes: usize,
    ) -> Option<Reservation> {
        // Begins to wait before it looks, so that no notification is missed.
        let mut freed = self.freed.notified();
        let mut shortage = match self.admit(client, bytes, None) {
            Ok(reservation) => return Some(reservation),
            Err(shortage) => shortage,
        };
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let place = self.wait_last(client, finished_bytes)?;
        if matches!(shortage, Shortage::Budget) {
            self.lock().queue.insert(place.number);
        }
        while Instant::now() < deadline {
            if matches!(shortage, Shortage::Budget) {
                self.evict_slowest();
            }
            let _ = time::timeout(LOOK_INTERVAL, freed).await;
            freed = self.freed.notified();
            shortage = match self.admit(client, bytes, Some(&place)) {
                Ok(reservation) => return Some(reservation),
                Err(Shortage::Refused) => return None,
                Err(shortage) => shortage,
            };
        }
        None
    }

    /// Resets the connections of replies that are held for longer.
    pub fn evict_older_than(&self, age_max: Duration) {
        let now = Instant::now();
        let overdue: Vec<Arc<dyn ReplyConnection>> = {
            let ledger = self.lock();
            let held = ledger.replies.values().filter(|held| now - held.since > age_max);
            held.filter_map(|held| held.connection.as_ref()?.0.upgrade()).collect()
        };
        overdue.iter().for_each(|connection| connection.evict());
    }

    /// Takes the last place; `None` when too many bytes wait, and no network has more than this one.
    fn wait_last(&self, client: Client, bytes: usize) -> Option<Place<'_>> {
        let client = client.key();
        let mut ledger = self.lock();
        let number = ledger.next;
        ledger.next += 1;
        ledger.waiting.insert(number, WaitingReply { client, bytes, is_refused: false });
        let place = Place { memory: self, number };
        let mut is_refused = false;
        while bytes > 0 && ledger.waiting_bytes() > self.bytes_max / WAITING_SHARE {
            let latest = ledger.latest_of_largest_network(number);
            let Some(reply) = ledger.waiting.get_mut(&latest) else { break };
            reply.is_refused = true;
            ledger.queue.remove(&latest);
            if latest == number {
                is_refused = true;
                break;
            }
        }
        drop(ledger);
        self.freed.notify_waiters();
        (!is_refused).then_some(place)
    }

    fn admit(
        self: &Arc<Self>,
        client: Client,
        bytes: usize,
        place: Option<&Place>,
    ) -> Result<Reservation, Shortage> {
        let client = client.key();
        let (client_max, network_max) =
            (self.bytes_max / CLIENT_SHARE, self.bytes_max / NETWORK_SHARE);
        // A larger reply needs the whole share of its client.
        let bytes = bytes.min(client_max);
        let mut ledger = self.lock();
        let number = place.map(|place| place.number);
        if number.is_some_and(|number| ledger.is_refused(number)) {
            return Err(Shortage::Refused);
        }
        let network = network_key(client);
        if ledger.clients.of(client) + bytes > client_max
            || ledger.networks.of(network) + bytes > network_max
        {
            // Leaves the queue: others need not wait for this client.
            number.map(|number| ledger.queue.remove(&number));
            return Err(Shortage::Share);
        }
        let is_first = ledger.queue.first().is_none_or(|first| Some(*first) >= number);
        if number.is_none() && !ledger.queue.is_empty()
            || !is_first
            || ledger.clients.total() + bytes > self.bytes_max
        {
            number.map(|number| ledger.queue.insert(number));
            return Err(Shortage::Budget);
        }
        ledger.clients.give(client, bytes, client_max);
        ledger.networks.give(network, bytes, network_max);
        let number = ledger.next;
        ledger.next += 1;
        let since = Instant::now();
        let held = HeldReply { client, bytes, since, connection: None, is_evicted: false };
        ledger.replies.insert(number, held);
        Ok(Reservation { memory: Arc::clone(self), number })
    }

    /// Resets the connection of the reply that its client takes slowest.
    fn evict_slowest(&self) {
        let now = Instant::now();
        let connection = {
            let mut ledger = self.lock();
            let slow = ledger.replies.values_mut().filter_map(|held| {
                let age = now - held.since;
                let (connection, before) = held.connection.as_ref()?;
                let connection = connection.upgrade()?;
                let taken = connection.taken().saturating_sub(*before);
                let rate = taken * 1_000 / (age.as_millis() as u64).max(1);
                let is_slow = !held.is_evicted
                    && age >= EVICTION_AGE_MIN
                    && rate < EVICTION_BYTES_PER_SECOND_MAX;
                is_slow.then_some((rate, held, connection))
            });
            let slowest = slow.min_by_key(|(rate, held, _)| (*rate, held.since));
            let Some((_, held, connection)) = slowest else { return };
            held.is_evicted = true;
            ledger.evicted += 1;
            connection
        };
        connection.evict();
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // No code panics while it holds the lock.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn is_refused(&self, number: u64) -> bool {
        self.waiting.get(&number).is_some_and(|reply| reply.is_refused)
    }

    /// Bytes of finished replies that wait, those of refused ones excepted.
    fn waiting_bytes(&self) -> usize {
        self.waiting.values().filter(|reply| !reply.is_refused).map(|reply| reply.bytes).sum()
    }

    /// The latest reply that waits, of the network with the most bytes held and waiting; the newcomer itself
    /// if no network has more.
    fn latest_of_largest_network(&self, newcomer: u64) -> u64 {
        let mut networks: HashMap<u64, (usize, u64)> = HashMap::new();
        let finished =
            self.waiting.iter().filter(|(_, reply)| reply.bytes > 0 && !reply.is_refused);
        for (number, reply) in finished {
            let network = network_key(reply.client);
            let held = || (self.networks.of(network), *number);
            let (bytes, latest) = networks.entry(network).or_insert_with(held);
            *bytes += reply.bytes;
            *latest = *number;
        }
        // Of equal networks the newcomer's, which has the latest number.
        networks.into_values().max().map_or(newcomer, |(_, latest)| latest)
    }

    /// Takes bytes of a client back.
    fn free(&mut self, client: u64, bytes: usize) {
        self.clients.take_back(client, bytes);
        self.networks.take_back(network_key(client), bytes);
    }
}

impl Reservation {
    /// Changes the reservation to the bytes of the finished reply. One that proved larger takes what it lacks, even
    /// beyond its share and the budget: the bytes exist, and later replies wait for them.
    pub fn resize_to(&self, bytes: usize) {
        let mut ledger = self.memory.lock();
        let Some(held) = ledger.replies.get_mut(&self.number) else { return };
        let (client, before) = (held.client, std::mem::replace(&mut held.bytes, bytes));
        match bytes.checked_sub(before) {
            Some(more) => {
                ledger.clients.give(client, more, usize::MAX);
                ledger.networks.give(network_key(client), more, usize::MAX);
            }
            None => ledger.free(client, before - bytes),
        }
        drop(ledger);
        self.memory.freed.notify_waiters();
    }

    /// Names the connection that sends the reply, from now on.
    pub fn attach(&self, connection: Weak<dyn ReplyConnection>) {
        let taken = connection.upgrade().map_or(0, |connection| connection.taken());
        let mut ledger = self.memory.lock();
        if let Some(held) = ledger.replies.get_mut(&self.number) {
            held.since = Instant::now();
            held.connection = Some((connection, taken));
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut ledger = self.memory.lock();
        let Some(held) = ledger.replies.remove(&self.number) else { return };
        ledger.free(held.client, held.bytes);
        drop(ledger);
        self.memory.freed.notify_waiters();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

    use tokio::task;

    use super::*;

    const MIB: usize = 1 << 20;

    fn client(network: u8, host: u8) -> Client {
        Client::known([192, 0, network, host].into())
    }

    fn at_once(memory: &Arc<ReplyMemory>, client: Client, bytes: usize) -> Option<Reservation> {
        memory.admit(client, bytes, None).ok()
    }

    /// A connection that holds its reservations until it is evicted.
    #[derive(Default)]
    struct Connection {
        taken: AtomicU64,
        is_evicted: AtomicBool,
        held: Mutex<Vec<Reservation>>,
    }

    impl ReplyConnection for Connection {
        fn taken(&self) -> u64 {
            self.taken.load(Relaxed)
        }

        fn evict(&self) {
            self.is_evicted.store(true, Relaxed);
            self.held.lock().unwrap().clear();
        }
    }

    fn send(reservation: Reservation) -> Arc<Connection> {
        let connection = Arc::new(Connection::default());
        let weak: Weak<dyn ReplyConnection> = Arc::downgrade(&connection) as _;
        reservation.attach(weak);
        connection.held.lock().unwrap().push(reservation);
        connection
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_and_a_network_have_their_shares() {
        let memory = Arc::new(ReplyMemory::new(64 * MIB));
        let reserve = |client, mib| at_once(&memory, client, mib * MIB);
        let mut held = vec![reserve(client(1, 1), 5).unwrap(), reserve(client(1, 1), 3).unwrap()];
        assert!(reserve(client(1, 1), 1).is_none(), "the client has its eighth");
        assert!(memory.reserve(client(1, 1), MIB).await.is_none());
        held.push(reserve(client(1, 2), 8).unwrap());
        assert!(reserve(client(1, 3), 1).is_none(), "the network has its quarter");
        held.push(reserve(client(2, 1), 1).unwrap());
        held.clear();
        assert_eq!(memory.used_bytes(), 0);
        // A reply larger than a share takes the whole share.
        let large = reserve(client(1, 1), 500).unwrap();
        assert_eq!(memory.used_bytes(), 8 * MIB as u64);
        large.resize_to(1_000);
        assert_eq!(memory.used_bytes(), 1_000);
        large.resize_to(9 * MIB);
        assert_eq!(memory.used_bytes(), 9 * MIB as u64);
        assert!(reserve(client(1, 1), 1).is_none(), "the client has more than its share");
        drop(large);
        let ledger = memory.lock();
        assert_eq!((ledger.clients.total(), ledger.networks.total()), (0, 0));
        assert!(ledger.replies.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_reply_leaves_when_the_budget_is_used_up() {
        let memory = Arc::new(ReplyMemory::new(64 * MIB));
        let connections: Vec<Arc<Connection>> =
            (0..8).map(|at| send(at_once(&memory, client(at, 1), 8 * MIB).unwrap())).collect();
        // Six clients take their reply at 100 KB/s, one slower, one fast.
        time::advance(Duration::from_secs(10)).await;
        for (at, connection) in connections.iter().enumerate() {
            let bytes = match at {
                3 => 20_000,
                5 => 50_000_000,
                _ => 1_000_000,
            };
            connection.taken.store(bytes, Relaxed);
        }
        let evicted = || -> Vec<usize> {
            let is_evicted = |at: &usize| connections[*at].is_evicted.load(Relaxed);
            (0..8).filter(is_evicted).collect()
        };
        let honest = memory.reserve(client(100, 1), MIB).await.unwrap();
        assert_eq!(evicted(), [3]);
        let more = memory.reserve(client(101, 1), 7 * MIB).await.unwrap();
        assert_eq!(evicted(), [3], "the freed memory sufficed");
        let more = [more, memory.reserve(client(102, 1), 8 * MIB).await.unwrap()];
        assert_eq!(evicted().len(), 2);
        assert!(!evicted().contains(&5), "a fast client keeps its reply");
        assert_eq!(memory.evicted(), 2);
        drop((honest, more));
    }

    #[tokio::test(start_paused = true)]
    async fn a_young_reply_is_not_evicted() {
        let memory = Arc::new(ReplyMemory::new(64 * MIB));
        let connections: Vec<Arc<Connection>> =
            (0..8).map(|at| send(at_once(&memory, client(at, 1), 8 * MIB).unwrap())).collect();
        let before = Instant::now();
        let waited = memory.reserve(client(100, 1), MIB).await;
        assert!(waited.is_some() && before.elapsed() >= EVICTION_AGE_MIN);
        assert_eq!(connections.iter().filter(|it| it.is_evicted.load(Relaxed)).count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn replies_get_memory_in_the_order_in_which_they_began_to_wait() {
        let memory = Arc::new(ReplyMemory::new(64 * MIB));
        let fill = |at| at_once(&memory, client(at, 1), 8 * MIB).unwrap();
        let mut held: Vec<Reservation> = (0..8).map(fill).collect();
        let wait = |at| {
            let memory = Arc::clone(&memory);
            tokio::spawn(async move { memory.reserve(client(at, 1), 6 * MIB).await })
        };
        let first = wait(100);
        task::yield_now().await;
        let second = wait(101);
        task::yield_now().await;
        drop(held.pop());
        assert!(at_once(&memory, client(102, 1), MIB).is_none(), "two replies wait");
        let first = first.await.unwrap();
        assert!(first.is_some() && !second.is_finished());
        drop(held.pop());
        assert!(second.await.unwrap().is_some());
        assert!(at_once(&memory, client(102, 1), MIB).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_largest_network_loses_its_place_when_too_many_bytes_wait() {
        let memory = Arc::new(ReplyMemory::new(64 * MIB));
        let fill = |at| at_once(&memory, client(at, 1), 8 * MIB).unwrap();
        let held: Vec<Reservation> = (0..8).map(fill).collect();
        let wait = |network, host| {
            let memory = Arc::clone(&memory);
            tokio::spawn(
                async move { memory.reserve_finished(client(network, host), 4 * MIB).await },
            )
        };
        // Two networks wait with 16 MiB each, half the budget in all.
        let attackers: Vec<_> = (0..8).map(|at| wait(200 + at % 2, at)).collect();
        task::yield_now().await;
        let honest = wait(100, 1);
        task::yield_now().await;
        task::yield_now().await;
        assert_eq!(attackers.iter().filter(|it| it.is_finished()).count(), 1);
        drop(held);
        assert!(honest.await.unwrap().is_some());
        let mut served = 0;
        for attacker in attackers {
            served += usize::from(attacker.await.unwrap().is_some());
        }
        assert_eq!(served, 7, "only the latest of the largest network was refused");
        let ledger = memory.lock();
        assert!(ledger.waiting.is_empty() && ledger.queue.is_empty());
    }
}
