//! Mutated requests: whatever a client sends, the reply is one there should be.
//!
//! Requests are made of the grammar of every route, with keys and values of the project's own sample,
//! and then changed: methods, paths, queries, headers, the place where a request ends, single bytes.
//! Rounds of them go through the server's whole HTTP stack in this process. All is the same on every
//! run; `PINAKES_MUTATED=` asks another number of them.
//!
//! A failure names its round and prints the bytes that were sent; `PINAKES_MUTATED_ROUND=` repeats
//! that round alone. What limits say depends on the rounds before it too.

#![allow(clippy::unwrap_used, missing_docs)]

mod grammar;
mod mutate;
mod pieces;

use pinakes_tests::client;
use pinakes_tests::reply_checker;
use std::{
    collections::BTreeMap,
    net::IpAddr,
    ops::Range,
    panic,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use pinakes_server::parts::Limits;
use pinakes_tests::SeededRng;
use tokio::runtime::Runtime;

use grammar::{Grammar, Request};
use pinakes_tests::reply_checker::ReplyChecker;
use pinakes_tests::server::Snapshots;
use pinakes_tests::serving::{Ending, InProcessServer};
use pinakes_tests::values::pick;

/// Requests where nobody asks for another number.
const REQUESTS: u64 = 1_000_000;
/// Requests of a round that are sent at once on one connection, and are answered one by one.
const WHOLE: usize = 16;
/// Those of which nobody knows where they end, each on a connection of its own.
const BROKEN: usize = 4;
/// Rounds that are served under limits: every so many.
const LIMITED_EVERY: u64 = 8;
/// Threads for each core: each waits for others about half of its time.
const THREADS_PER_CORE: usize = 2;

const LOW: Limits = Limits { minute: 5, daily: [60, 20], pool: [500, 100], clients_max: 16 };
const GENEROUS: Limits =
    Limits { minute: u32::MAX, daily: [u32::MAX; 2], pool: [u64::MAX; 2], clients_max: 1_000 };
const PEERS: &[&str] = &[
    "192.0.2.1",
    "192.0.2.2",
    "198.51.100.7",
    "10.0.0.1",
    "10.1.2.3",
    "2001:db8::1",
    "2001:db8:1::7",
    "::1",
];

/// How many replies there were: by status, and whether the HTTP layer made them.
type Tally = BTreeMap<(u16, bool), u64>;

/// Names of the threads that panicked. Each of this test's bears its worker's.
static PANICKED: Mutex<Vec<Option<String>>> = Mutex::new(Vec::new());

/// One server and what is held of its replies.
struct Court {
    serving: InProcessServer,
    checker: ReplyChecker,
    tally: Tally,
}

impl Court {
    fn new(snapshot: &Path, limits: Option<Limits>) -> Court {
        let has_limits = limits.is_some();
        let serving = InProcessServer::new(snapshot, limits);
        let checker = ReplyChecker::new(serving.snapshot_id(), has_limits);
        Court { serving, checker, tally: Tally::new() }
    }

    /// Sends requests until each has its reply, on as many connections as it takes.
    async fn send_all(&mut self, peer: IpAddr, mut requests: &[Request], sent: &mut Sent) {
        while !requests.is_empty() {
            sent.bytes.clear();
            requests.iter().for_each(|request| request.write(&mut sent.bytes));
            let received =
                self.serving.exchange(peer, &sent.bytes, usize::MAX, Ending::Waits).await;
            let replies = reply_checker::parse_replies(&received, Ending::Waits);
            assert!((1..=requests.len()).contains(&replies.len()), "{} replies", replies.len());
            for (request, reply) in requests.iter().zip(&replies) {
                let is_bare = self.enter(reply);
                let has_none = matches!(reply.status, 204 | 304);
                let is_head = request.method == b"HEAD";
                assert_eq!(reply.body.is_empty(), is_bare || has_none || is_head, "a body");
                let is_plain = matches!(reply.status, 200 | 204 | 301 | 304 | 400 | 404 | 429);
                assert!(request.is_changed || is_plain && !is_bare, "an unchanged request");
            }
            requests = &requests[replies.len()..];
        }
    }

    /// Sends bytes of which nobody knows what they are, in so many pieces.
    async fn send_bytes(&mut self, peer: IpAddr, pieces: usize, ending: Ending, sent: &Sent) {
        let piece_bytes = sent.bytes.len().div_ceil(pieces).max(1);
        let received = self.serving.exchange(peer, &sent.bytes, piece_bytes, ending).await;
        reply_checker::parse_replies(&received, ending).iter().for_each(|reply| {
            self.enter(reply);
        });
    }

    fn enter(&mut self, reply: &client::Response) -> bool {
        let is_bare = self.checker.check(reply);
        *self.tally.entry((reply.status, is_bare)).or_default() += 1;
        is_bare
    }
}

/// What was sent last, told where a test fails.
struct Sent {
    round: u64,
    bytes: Vec<u8>,
}

impl Drop for Sent {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("PINAKES_MUTATED_ROUND={}: {}", self.round, self.bytes.escape_ascii());
        }
    }
}

/// Sends the requests of a round.
fn round(number: u64, courts: &mut [Court; 3], runtime: &Runtime, grammar: &Grammar) {
    let mut rng = SeededRng(number);
    let court = match number % LIMITED_EVERY {
        0 => &mut courts[1],
        1 => &mut courts[2],
        _ => &mut courts[0],
    };
    let peer = pick(&mut rng, PEERS).parse().unwrap();
    let mut requests: Vec<Request> = (0..WHOLE).map(|_| grammar.request(&mut rng)).collect();
    requests.iter_mut().for_each(|request| mutate::within(request, &mut rng, grammar));
    let mut sent = Sent { round: number, bytes: Vec::new() };
    runtime.block_on(court.send_all(peer, &requests, &mut sent));
    for request in requests.iter_mut().take(BROKEN) {
        sent.bytes = mutate::broken(request, &mut rng);
        let ending = *pick(&mut rng, &[Ending::Waits, Ending::Closes]);
        let pieces = *pick(&mut rng, &[1, 1, 2, 20]);
        runtime.block_on(court.send_bytes(peer, pieces, ending, &sent));
    }
    let name = thread::current().name().map(str::to_owned);
    assert!(!PANICKED.lock().unwrap().contains(&name), "something panicked");
    assert!(!court.serving.is_poisoned(), "the snapshot is taken for damaged");
}

/// Goes through rounds on all cores.
fn run(snapshot: &Path, grammar: &Grammar, rounds: Range<u64>) -> Tally {
    let next = AtomicU64::new(rounds.start);
    let worker = || {
        let runtime = InProcessServer::runtime(thread::current().name().unwrap());
        let mut courts =
            [None, Some(GENEROUS), Some(LOW)].map(|limits| Court::new(snapshot, limits));
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= rounds.end {
                return courts.map(|court| court.tally);
            }
            round(number, &mut courts, &runtime, grammar);
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut total = Tally::new();
    thread::scope(|scope| {
        let begin = |number| {
            let named = thread::Builder::new().name(format!("worker {number}"));
            named.spawn_scoped(scope, worker).unwrap()
        };
        let workers: Vec<_> = (0..cores * THREADS_PER_CORE).map(begin).collect();
        for worker in workers {
            for (kind, count) in worker.join().unwrap().into_iter().flatten() {
                *total.entry(kind).or_default() += count;
            }
        }
    });
    total
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap())
}

#[test]
fn whatever_is_sent_the_reply_is_one_there_should_be() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        PANICKED.lock().unwrap().push(thread::current().name().map(str::to_owned));
        before(panic);
    }));
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.path().join("current");
    let library = pinakes_tests::library(&[pinakes_tests::sample()]);
    let snapshot_id = snapshots.open().manifest().id.clone();
    let grammar = Grammar::of(library, format!("\"{snapshot_id}.1\""));
    let only = number("PINAKES_MUTATED_ROUND");
    let requests = number("PINAKES_MUTATED").unwrap_or(REQUESTS);
    let all = 0..requests.div_ceil((WHOLE + BROKEN) as u64);
    let tally = run(&snapshot, &grammar, only.map_or(all, |number| number..number + 1));
    let total: u64 = tally.values().sum();
    println!("{total} replies: {tally:?}");
    assert_eq!(*PANICKED.lock().unwrap(), []);
    if only.is_some() {
        return;
    }
    for status in [200, 204, 301, 304, 400, 404, 405, 414, 429, 431] {
        let count = tally.get(&(status, false)).copied().unwrap_or_default();
        assert!(count * 2_000 > total, "only {count} replies of {total} have {status}");
    }
    for status in [400, 431] {
        let count = tally.get(&(status, true)).copied().unwrap_or_default();
        assert!(count * 10_000 > total, "only {count} replies of {total} are a bare {status}");
    }
    assert!(tally[&(200, false)] * 5 > total, "few are answered: {tally:?}");
}
