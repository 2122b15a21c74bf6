//! The hosts that may send a chunk: the fastest first, and none again at once that failed.

use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pinakes_remote::host::{Failure, Host};

/// The pause after the first failure of a host. Each later pause doubles.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// The pause after many failures.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// The pause after bytes that are not the promised ones: the host is broken, or lies.
const PAUSE_WRONG: Duration = Duration::from_secs(600);
/// The weight of the last request in the average time of a host: one of this many.
const LATEST_WEIGHT: u32 = 8;

/// Hosts that publish the same snapshots.
pub(crate) struct Hosts(Vec<Mirror>);

struct Mirror {
    host: Host,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The average time of a request; zero before the first.
    average: Duration,
    /// When the requests began that have not ended.
    underway: Vec<Instant>,
    failures: u32,
    paused_until: Option<Instant>,
}

/// No host sends the bytes: each failed, or pauses after a failure.
#[derive(Debug)]
pub(crate) struct Unreachable;

impl Hosts {
    /// Hosts in the order in which they are tried first.
    pub fn new(hosts: Vec<Host>) -> Hosts {
        Hosts(hosts.into_iter().map(|host| Mirror { host, state: Mutex::default() }).collect())
    }

    /// The number of hosts.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The numbers of the hosts, paused hosts last, and faster hosts before slower ones.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|number| {
            let state = self.0[*number].state();
            (state.is_paused(), state.expected())
        });
        order
    }

    /// The hosts, the fastest that does not pause first.
    pub fn each(&self) -> impl Iterator<Item = &Host> {
        self.order().into_iter().map(|number| &self.0[number].host)
    }

    /// Whether every host pauses after failures.
    pub fn are_away(&self) -> bool {
        self.0.iter().all(|mirror| mirror.state().is_paused())
    }

    /// Received bytes and requests of all hosts.
    pub fn fetched(&self) -> (u64, u64) {
        let of_each = self.0.iter().map(|mirror| mirror.host.fetched());
        of_each.fold((0, 0), |sums, of| (sums.0 + of.0, sums.1 + of.1))
    }

    /// Reads bytes of a file from the fastest host that sends them. Returns the host's number with them.
    pub fn read(
        &self,
        path: &str,
        range: Range<u64>,
        size_bytes: u64,
    ) -> Result<(usize, Vec<u8>), Unreachable> {
        for number in self.order() {
            let mirror = &self.0[number];
            if mirror.state().is_paused() {
                continue;
            }
            let begun = Instant::now();
            mirror.state().underway.push(begun);
            match mirror.host.read_range(path, range.clone(), size_bytes) {
                Ok(bytes) => {
                    mirror.state().succeed(begun);
                    return Ok((number, bytes));
                }
                Err(failure) => mirror.fail(path, &failure, begun),
            }
        }
        Err(Unreachable)
    }

    /// Asks a host for nothing for a long time: its bytes were not the promised ones.
    pub fn distrust(&self, number: usize, what: &str) {
        let mirror = &self.0[number];
        mirror.state().paused_until = Some(Instant::now() + PAUSE_WRONG);
        let (host, seconds) = (mirror.host.display(""), PAUSE_WRONG.as_secs());
        tracing::error!(
            host,
            what,
            seconds,
            "a mirror sent wrong bytes, which were not written; leaving it alone"
        );
    }
}

impl Mirror {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, path: &str, failure: &Failure, begun: Instant) {
        let mut state = self.state();
        state.end(begun);
        // Several requests fail together, and count once.
        if state.is_paused() {
            return;
        }
        let pause = (PAUSE_FIRST * 2u32.saturating_pow(state.failures)).min(PAUSE_MAX);
        // A share of the pause, so that the servers of a host that comes back do not ask at the same time.
        let share = RandomState::new().hash_one(path) as u32;
        let pause = pause / 2 + pause / 2 * (share >> 16) / (1 << 16);
        state.failures += 1;
        state.paused_until = Some(Instant::now() + pause);
        let (url, seconds) = (self.host.display(path), pause.as_secs_f64());
        tracing::warn!(url, ?failure, seconds, "a mirror did not send a chunk; leaving it alone");
    }
}

impl State {
    fn is_paused(&self) -> bool {
        self.paused_until.is_some_and(|until| Instant::now() < until)
    }

    /// The time that a request may take: at least as long as the oldest one has taken by now. So a host that hangs is
    /// not asked first again.
    fn expected(&self) -> Duration {
        let oldest = self.underway.iter().min().map_or(Duration::ZERO, Instant::elapsed);
        self.average.max(oldest)
    }

    fn succeed(&mut self, begun: Instant) {
        self.failures = 0;
        self.end(begun);
    }

    /// Ends a request, and counts its time.
    fn end(&mut self, begun: Instant) {
        if let Some(place) = self.underway.iter().position(|other| *other == begun) {
            self.underway.swap_remove(place);
        }
        let took = begun.elapsed();
        self.average = match self.average {
            Duration::ZERO => took,
            average => (average * (LATEST_WEIGHT - 1) + took) / LATEST_WEIGHT,
        };
    }
}
