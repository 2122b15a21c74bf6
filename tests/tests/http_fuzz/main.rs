//! Fuzzing of the HTTP interface: the reply to any request keeps the rules of `ReplyChecker`.
//!
//! The generator makes valid requests for every route with keys and values of the sample. Mutations
//! change methods, paths, queries, headers, framing and single bytes. The HTTP stack of the server
//! runs in the test process. Every run sends the same requests; `PINAKES_MUTATED=N` sets their
//! number.
//!
//! A failure prints its round and the bytes sent. `PINAKES_MUTATED_ROUND=N` repeats one round.
//! Replies that depend on limits also depend on the rounds before.

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

/// Default number of requests.
const REQUESTS: u64 = 1_000_000;
/// Requests in a round that keep their framing; all are sent on one connection.
const FRAMED: usize = 16;
/// Requests in a round with broken framing, each on a connection of its own.
const BROKEN: usize = 4;
/// One round in this many runs under low limits, and one under limits that are never reached.
const LIMITED_EVERY: u64 = 8;
/// Threads per core, since a thread waits about half of the time.
const THREADS_PER_CORE: usize = 2;

const LOW: Limits = Limits {
    minute: 5,
    pages: 5,
    free: 40,
    daily: [60, 20, 300],
    pool: [500, 100, 5_000],
    network_pool: [500, 100, 5_000],
    clients_max: 16,
};
const GENEROUS: Limits = Limits {
    minute: u32::MAX,
    pages: u32::MAX,
    free: u32::MAX,
    daily: [u32::MAX; 3],
    pool: [u64::MAX; 3],
    network_pool: [u64::MAX; 3],
    clients_max: 1_000,
};
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

/// Replies by status and by whether the HTTP layer sent them without the service.
type Tally = BTreeMap<(u16, bool), u64>;

/// Names of the threads that panicked; the test's workers and their runtimes have names.
static PANICKED: Mutex<Vec<Option<String>>> = Mutex::new(Vec::new());

/// A server, the checker of its replies, and counts of its replies.
struct Target {
    serving: InProcessServer,
    checker: ReplyChecker,
    tally: Tally,
}

impl Target {
    fn new(snapshot: &Path, limits: Option<Limits>) -> Target {
        let has_limits = limits.is_some();
        let serving = InProcessServer::new(snapshot, limits);
        let checker = ReplyChecker::new(serving.snapshot_id(), has_limits);
        Target { serving, checker, tally: Tally::new() }
    }

    /// Sends requests on as many connections as needed until each request has a reply.
    async fn send_all(&mut self, peer: IpAddr, mut requests: &[Request], sent: &mut Sent) {
        while !requests.is_empty() {
            sent.bytes.clear();
            requests.iter().for_each(|request| request.write(&mut sent.bytes));
            let received =
                self.serving.exchange(peer, &sent.bytes, usize::MAX, Ending::Waits).await;
            let replies = reply_checker::parse_replies(&received, Ending::Waits);
            assert!((1..=requests.len()).contains(&replies.len()), "{} replies", replies.len());
            for (request, reply) in requests.iter().zip(&replies) {
                let is_bare = self.count(reply);
                let has_none = matches!(reply.status, 204 | 304);
                let is_head = request.method == b"HEAD";
                assert_eq!(
                    reply.body.is_empty(),
                    is_bare || has_none || is_head,
                    "unexpected or missing body"
                );
                let is_plain = matches!(reply.status, 200 | 204 | 301 | 304 | 400 | 404 | 429);
                assert!(
                    request.is_changed || is_plain && !is_bare,
                    "an unchanged request was refused"
                );
            }
            requests = &requests[replies.len()..];
        }
    }

    /// Sends bytes with unknown framing in up to this many pieces.
    async fn send_bytes(&mut self, peer: IpAddr, pieces: usize, ending: Ending, sent: &Sent) {
        let piece_bytes = sent.bytes.len().div_ceil(pieces).max(1);
        let received = self.serving.exchange(peer, &sent.bytes, piece_bytes, ending).await;
        reply_checker::parse_replies(&received, ending).iter().for_each(|reply| {
            self.count(reply);
        });
    }

    fn count(&mut self, reply: &client::Response) -> bool {
        let is_bare = self.checker.check(reply);
        *self.tally.entry((reply.status, is_bare)).or_default() += 1;
        is_bare
    }
}

/// The bytes sent last, printed if the test fails.
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

/// Sends the requests of one round.
fn round(number: u64, targets: &mut [Target; 3], runtime: &Runtime, grammar: &Grammar) {
    let mut rng = SeededRng(number);
    let target = match number % LIMITED_EVERY {
        0 => &mut targets[1],
        1 => &mut targets[2],
        _ => &mut targets[0],
    };
    let peer = pick(&mut rng, PEERS).parse().unwrap();
    let mut requests: Vec<Request> = (0..FRAMED).map(|_| grammar.request(&mut rng)).collect();
    requests.iter_mut().for_each(|request| mutate::mutate_parts(request, &mut rng, grammar));
    let mut sent = Sent { round: number, bytes: Vec::new() };
    runtime.block_on(target.send_all(peer, &requests, &mut sent));
    for request in requests.iter_mut().take(BROKEN) {
        sent.bytes = mutate::break_framing(request, &mut rng);
        let ending = *pick(&mut rng, &[Ending::Waits, Ending::Closes]);
        let pieces = *pick(&mut rng, &[1, 1, 2, 20]);
        runtime.block_on(target.send_bytes(peer, pieces, ending, &sent));
    }
    let name = thread::current().name().map(str::to_owned);
    assert!(!PANICKED.lock().unwrap().contains(&name), "a thread of the server panicked");
    assert!(!target.serving.is_poisoned(), "the snapshot was marked as damaged");
}

/// Runs rounds on all cores and counts the replies.
fn run(snapshot: &Path, grammar: &Grammar, rounds: Range<u64>) -> Tally {
    let next = AtomicU64::new(rounds.start);
    let worker = || {
        let runtime = InProcessServer::runtime(thread::current().name().unwrap());
        let mut targets =
            [None, Some(GENEROUS), Some(LOW)].map(|limits| Target::new(snapshot, limits));
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= rounds.end {
                return targets.map(|target| target.tally);
            }
            round(number, &mut targets, &runtime, grammar);
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

fn number_from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap())
}

#[test]
fn every_reply_to_a_mutated_request_keeps_the_rules() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        PANICKED.lock().unwrap().push(thread::current().name().map(str::to_owned));
        before(panic);
    }));
    let snapshots = Snapshots::from_sample();
    let snapshot = snapshots.path().join("current");
    let library = pinakes_tests::library(&[pinakes_tests::sample()]);
    let snapshot_id = snapshots.open().manifest().id.clone();
    let grammar = Grammar::new(library, format!("\"{snapshot_id}.1\""));
    let only = number_from_env("PINAKES_MUTATED_ROUND");
    let requests = number_from_env("PINAKES_MUTATED").unwrap_or(REQUESTS);
    let all = 0..requests.div_ceil((FRAMED + BROKEN) as u64);
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
    assert!(tally[&(200, false)] * 5 > total, "too few requests succeed: {tally:?}");
}
