//! The hosts that may send a chunk: the fastest first, and none at once again that failed.
//!
//! ```text
//! no reply, an error   the host rests: 0.1 s, and twice as long after each failure without a success, at most 60 s
//! wrong bytes          the chunk is asked for alone; if its bytes are wrong again, this host is not asked for it for 600 s
//! 8 wrong chunks       without a right one between them: the host rests for 600 s
//! ```

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pinakes_remote::host::{Failure, Host};

/// The pause after the first failure of a host. Each later pause doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// The pause after many failures.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// The pause after bytes that are not the promised ones: of their chunk, or of a host that is broken, or lies.
const PAUSE_WRONG: Duration = Duration::from_secs(600);
/// Wrong chunks without a right one between them, after which a host is broken, or lies.
const WRONG_MAX: u32 = 8;
/// Chunks that a host is not asked for. A host with more is broken.
const ROTTEN_MAX: usize = 4_096;
/// The weight of the last request in the average time of a host: one of this many.
const LATEST_WEIGHT: u32 = 8;

/// Hosts that publish the same snapshots.
pub(crate) struct Hosts(Vec<Mirror>);

/// A piece of a file, by the file's path at the host and the offset of the piece.
pub(crate) type Place = (String, u64);

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
    /// Wrong chunks since the last right one.
    wrong: u32,
    /// Chunks that this host sends wrong, and when it may be asked for them again.
    rotten: HashMap<Place, Instant>,
}

/// No host sends the bytes: each failed, or pauses after a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreachable {
    /// When a host may be asked again.
    pub again: Instant,
}

impl Hosts {
    /// Hosts in the order in which they are tried first.
    pub fn new(hosts: Vec<Host>) -> Hosts {
        Hosts(hosts.into_iter().map(|host| Mirror { host, state: Mutex::default() }).collect())
    }

    /// The numbers of the hosts, paused hosts last, and faster hosts before slower ones.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|number| {
            let state = self.0[*number].state();
            (state.paused(), state.expected())
        });
        order
    }

    /// The hosts, the fastest that does not pause first.
    pub fn each(&self) -> impl Iterator<Item = &Host> {
        self.order().into_iter().map(|number| &self.0[number].host)
    }

    /// Whether every host pauses after failures.
    pub fn are_paused(&self) -> bool {
        self.0.iter().all(|mirror| mirror.state().paused().is_some())
    }

    /// Whether a host is not asked for a piece, whose bytes were wrong.
    pub fn is_rotten(&self, place: &Place) -> bool {
        self.0.iter().any(|mirror| mirror.state().rotten(place).is_some())
    }

    /// Whether a host is not asked for some chunk, whose bytes were wrong.
    pub fn are_rotten(&self) -> bool {
        let now = Instant::now();
        self.0.iter().any(|mirror| mirror.state().rotten.values().any(|until| now < *until))
    }

    /// Received bytes and requests of all hosts.
    pub fn fetched(&self) -> (u64, u64) {
        let of_each = self.0.iter().map(|mirror| mirror.host.fetched());
        of_each.fold((0, 0), |sums, of| (sums.0 + of.0, sums.1 + of.1))
    }

    /// Reads bytes of a file from the fastest host that sends them. Returns the host's number with them.
    pub fn read(
        &self,
        place: &Place,
        range: Range<u64>,
        size_bytes: u64,
    ) -> Result<(usize, Vec<u8>), Unreachable> {
        let mut again = None;
        for number in self.order() {
            let mirror = &self.0[number];
            let mut until = {
                let state = mirror.state();
                state.paused().max(state.rotten(place))
            };
            if until.is_none() {
                let begun = Instant::now();
                mirror.state().underway.push(begun);
                match mirror.host.read_range(&place.0, range.clone(), size_bytes) {
                    Ok(bytes) => {
                        mirror.state().succeed(begun);
                        return Ok((number, bytes));
                    }
                    Err(failure) => until = mirror.fail(&place.0, &failure, begun),
                }
            }
            again = again.min(until).or(until);
        }
        Err(Unreachable { again: again.unwrap_or_else(Instant::now) })
    }

    /// Notes that a host sent a right chunk.
    pub fn note_right(&self, number: usize) {
        self.0[number].state().wrong = 0;
    }

    /// Notes that a host sent wrong bytes of a chunk. If the chunk was asked for alone, the host is not asked for it for a
    /// long time; after several such chunks, for nothing.
    pub fn note_wrong(&self, number: usize, place: Place, was_alone: bool) {
        let mirror = &self.0[number];
        let mut state = mirror.state();
        let now = Instant::now();
        let (host, seconds) = (mirror.host.display(&place.0), PAUSE_WRONG.as_secs());
        let from = place.1;
        state.wrong += 1;
        state.rotten.retain(|_, until| now < *until);
        if state.wrong >= WRONG_MAX || state.rotten.len() == ROTTEN_MAX {
            state.wrong = 0;
            state.paused_until = Some(now + PAUSE_WRONG);
            tracing::error!(
                host,
                from,
                seconds,
                "a mirror sent wrong bytes of several chunks, which were not written; leaving the mirror alone"
            );
        } else if was_alone {
            state.rotten.insert(place, now + PAUSE_WRONG);
            tracing::error!(
                host,
                from,
                seconds,
                "a mirror sent wrong bytes of a chunk, which were not written; not asking this mirror for the chunk"
            );
        }
    }
}

impl Mirror {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a failure. Returns the end of the pause.
    fn fail(&self, path: &str, failure: &Failure, begun: Instant) -> Option<Instant> {
        let mut state = self.state();
        state.end(begun);
        // Several requests fail together, and count once.
        if let Some(until) = state.paused() {
            return Some(until);
        }
        let pause = (PAUSE_FIRST * 2u32.saturating_pow(state.failures)).min(PAUSE_MAX);
        // A share of the pause, so that the servers of a host that comes back do not ask at the same time.
        let share = RandomState::new().hash_one(path) as u32;
        let pause = pause / 2 + pause / 2 * (share >> 16) / (1 << 16);
        let pause = match failure {
            Failure::RetryAfter(_, asked) => pause.max((*asked).min(PAUSE_MAX)),
            _ => pause,
        };
        state.failures += 1;
        state.paused_until = Some(Instant::now() + pause);
        let (url, seconds) = (self.host.display(path), pause.as_secs_f64());
        tracing::warn!(url, ?failure, seconds, "a mirror did not send a chunk; leaving it alone");
        state.paused_until
    }
}

impl State {
    /// The end of the host's pause.
    fn paused(&self) -> Option<Instant> {
        self.paused_until.filter(|until| Instant::now() < *until)
    }

    /// When the host may be asked for a piece whose bytes were wrong.
    fn rotten(&self, place: &Place) -> Option<Instant> {
        self.rotten.get(place).copied().filter(|until| Instant::now() < *until)
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
