//! A slow link before an HTTP host: adds a round-trip time and a bandwidth, and counts requests.
//!
//! ```text
//! client ── connect, request ──► link ──► host
//!        ◄─ 100 ms ─ reply ─────      ◄──        first reply of a connection, at a round trip of 50 ms
//!        ── request ───────────►      ──►
//!        ◄─  50 ms ─ reply ─────      ◄──        further replies
//! ```
//!
//! The link passes bytes on as they are. On one connection, a request begins after the reply to the request before.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

/// Most bytes of a reply that are sent at once. Another connection may send between two pieces.
const PIECE_BYTES: usize = 64 << 10;

/// A link that listens until the process ends.
pub struct SlowLink {
    address: SocketAddr,
    link: Arc<Link>,
}

/// What passed over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCounts {
    pub requests: usize,
    /// Bytes of replies, with their heads.
    pub bytes: u64,
    /// The largest number of requests that followed one another: each began after the reply to another had ended.
    pub rounds: usize,
}

struct Link {
    /// Address of the host.
    host: String,
    round_trip: Duration,
    bytes_per_second: u64,
    /// When the bytes that were sent so far have passed.
    free_at: Mutex<Instant>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    exchanges: Vec<Exchange>,
    /// Number of the first exchanges that were counted before.
    counted: usize,
}

/// A request and the bytes of its reply so far.
#[derive(Clone, Copy)]
struct Exchange {
    begun: Instant,
    /// When the last bytes so far were sent.
    ended: Option<Instant>,
    bytes: u64,
}

/// The last request of a connection.
#[derive(Clone, Copy)]
struct Current {
    /// Place in the log.
    number: usize,
    is_answered: bool,
}

impl SlowLink {
    /// Starts a link before the host at `http://ADDRESS:PORT`.
    pub fn new(url: &str, round_trip: Duration, bytes_per_second: u64) -> SlowLink {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let link = Arc::new(Link {
            host: url.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned(),
            round_trip,
            bytes_per_second,
            free_at: Mutex::new(Instant::now()),
            log: Mutex::default(),
        });
        let shared = Arc::clone(&link);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A connection that the host refuses is closed.
                let _ = connect(client, &shared);
            }
        });
        SlowLink { address, link }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the counts of the requests that began since the last call.
    pub fn take_counts(&self) -> LinkCounts {
        let mut log = self.link.log.lock().unwrap();
        let exchanges = log.exchanges[log.counted..].to_vec();
        log.counted = log.exchanges.len();
        let now = Instant::now();
        let times = exchanges.iter().map(|of| (of.begun, of.ended.unwrap_or(now)));
        LinkCounts {
            requests: exchanges.len(),
            bytes: exchanges.iter().map(|exchange| exchange.bytes).sum(),
            rounds: rounds(times.collect()),
        }
    }
}

/// Returns the size of the longest chain of exchanges, each of which begins after the one before has ended. Of the
/// exchanges that can follow, the one that ends first leaves most time for others.
fn rounds(mut times: Vec<(Instant, Instant)>) -> usize {
    times.sort_by_key(|(_, ended)| *ended);
    let mut last = None;
    let follows = times.into_iter().filter(|(begun, ended)| {
        let follows = last.is_none_or(|last| *begun >= last);
        if follows {
            last = Some(*ended);
        }
        follows
    });
    follows.count()
}

/// Starts the threads of a connection, which end with it.
fn connect(client: TcpStream, link: &Arc<Link>) -> io::Result<()> {
    let host = TcpStream::connect(&link.host)?;
    client.set_nodelay(true)?;
    host.set_nodelay(true)?;
    let current = Arc::new(Mutex::new(None));
    let (from, to) = (client.try_clone()?, host.try_clone()?);
    let (shared, requests) = (Arc::clone(&current), Arc::clone(link));
    thread::spawn(move || requests.forward_requests(from, to, &shared));
    let replies = Arc::clone(link);
    thread::spawn(move || replies.forward_replies(host, client, &current));
    Ok(())
}

impl Link {
    fn forward_requests(
        &self,
        mut client: TcpStream,
        mut host: TcpStream,
        current: &Mutex<Option<Current>>,
    ) {
        let mut buffer = vec![0; PIECE_BYTES];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            let mut current = current.lock().unwrap();
            if current.is_none_or(|current| current.is_answered) {
                *current = Some(Current { number: self.begin(), is_answered: false });
            }
            drop(current);
            if host.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = host.shutdown(Shutdown::Both);
    }

    fn forward_replies(
        &self,
        mut host: TcpStream,
        mut client: TcpStream,
        current: &Mutex<Option<Current>>,
    ) {
        let mut buffer = vec![0; PIECE_BYTES];
        // The first reply also waits for the connection.
        let mut round_trips = 2;
        while let Ok(count @ 1..) = host.read(&mut buffer) {
            let answered = current.lock().unwrap().as_mut().map(|current| {
                let is_first = !current.is_answered;
                current.is_answered = true;
                (current.number, is_first)
            });
            if answered.is_some_and(|(_, is_first)| is_first) {
                thread::sleep(self.round_trip * round_trips);
                round_trips = 1;
            }
            let free_at = self.reserve(count);
            thread::sleep(free_at.saturating_duration_since(Instant::now()));
            if let Some((number, _)) = answered {
                self.record(number, count);
            }
            if client.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = host.shutdown(Shutdown::Both);
    }

    /// Adds a request to the log, and returns its place.
    fn begin(&self) -> usize {
        let mut log = self.log.lock().unwrap();
        log.exchanges.push(Exchange { begun: Instant::now(), ended: None, bytes: 0 });
        log.exchanges.len() - 1
    }

    /// Counts bytes of a reply. Called before the bytes are sent, so that a request that follows begins later.
    fn record(&self, number: usize, count: usize) {
        let exchange = &mut self.log.lock().unwrap().exchanges[number];
        exchange.ended = Some(Instant::now());
        exchange.bytes += count as u64;
    }

    /// Reserves the link for some bytes, and returns when they have passed.
    fn reserve(&self, count: usize) -> Instant {
        let took = Duration::from_secs_f64(count as f64 / self.bytes_per_second as f64);
        let mut free_at = self.free_at.lock().unwrap();
        *free_at = Instant::now().max(*free_at) + took;
        *free_at
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use ureq::Agent;

    use super::*;
    use crate::static_host::{Behaviour, Host};
    use crate::write_files;

    #[test]
    fn rounds_are_requests_that_follow_one_another() {
        let check = |times: &[(u64, u64)], expected: usize| {
            let begin = Instant::now();
            let at = |millis| begin + Duration::from_millis(millis);
            let times: Vec<_> = times.iter().map(|(from, to)| (at(*from), at(*to))).collect();
            assert_eq!(rounds(times.clone()), expected, "{times:?}");
        };
        check(&[], 0);
        check(&[(0, 5)], 1);
        check(&[(0, 5), (1, 6), (2, 7)], 1);
        check(&[(0, 5), (5, 9), (10, 12)], 3);
        check(&[(0, 100), (0, 5), (6, 10), (7, 90), (11, 20)], 3);
    }

    fn read(agent: &Agent, url: &str) -> Vec<u8> {
        agent.get(url).call().unwrap().body_mut().read_to_vec().unwrap()
    }

    #[test]
    fn replies_are_late_and_take_their_time() {
        let tree = tempfile::tempdir().unwrap();
        write_files(tree.path(), [("a", vec![7; 100_000]), ("b", Vec::new())]);
        let host = Host::new(tree.path().to_owned());
        let round_trip = Duration::from_millis(20);
        let link = SlowLink::new(&host.url(), round_trip, 1_000_000);
        let agent = Agent::new_with_defaults();
        let begin = Instant::now();
        assert_eq!(read(&agent, &format!("{}/a", link.url())), vec![7; 100_000]);
        assert!(begin.elapsed() >= 2 * round_trip + Duration::from_millis(100));
        let begin = Instant::now();
        assert!(read(&agent, &format!("{}/b", link.url())).is_empty());
        assert!(begin.elapsed() >= round_trip);
        let counts = link.take_counts();
        assert_eq!((counts.requests, counts.rounds), (2, 2));
        assert!((100_000..101_000).contains(&counts.bytes), "{}", counts.bytes);
        assert_eq!(link.take_counts(), LinkCounts { requests: 0, bytes: 0, rounds: 0 });
    }

    #[test]
    fn requests_at_one_time_are_one_round_and_share_the_bandwidth() {
        let tree = tempfile::tempdir().unwrap();
        write_files(tree.path(), [("a", vec![7; 30_000])]);
        // No reply begins before all requests.
        let all = Barrier::new(3);
        let host = Host::with_rule(tree.path().to_owned(), move |_| {
            all.wait();
            Behaviour::Serves
        });
        let link = SlowLink::new(&host.url(), Duration::from_millis(1), 1_000_000);
        let (agent, url) = (Agent::new_with_defaults(), format!("{}/a", link.url()));
        let begin = Instant::now();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(read(&agent, &url), vec![7; 30_000]));
            }
        });
        assert!(begin.elapsed() >= Duration::from_millis(90));
        let counts = link.take_counts();
        assert_eq!((counts.requests, counts.rounds), (3, 1));
    }
}
