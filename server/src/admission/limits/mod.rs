//! How much a client may ask: so many requests a minute, so many lists and searches a day, and so
//! many of both for all clients together.
//!
//! Windows are fixed. A client's minute begins at its first request; days are UTC days, and once one
//! has begun the last does not come back, whatever the clock says. The minute is looked at first,
//! then the day, then the pool. What the minute refuses is counted nowhere; what the day or the pool
//! refuses, in the minute alone.

pub(crate) mod clock;
pub(crate) mod file;
pub(crate) mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::admission::limits::clock::{Clock, Moment, System};
pub use crate::admission::limits::table::Counts;
use crate::admission::limits::table::Table;

/// Clients that any counters may count exactly.
pub const CLIENTS_MAX: u32 = 100_000_000;
/// How long a client's minute lasts.
const MINUTE_MILLIS: u64 = 60_000;
const DAY_MILLIS: u64 = 86_400_000;

/// What requests of a day count as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daily {
    /// A page of a list.
    List = 0,
    /// Autocomplete.
    Search = 1,
}

impl Daily {
    /// What the messages call such requests.
    pub fn name(self) -> &'static str {
        match self {
            Daily::List => "List/Filter",
            Daily::Search => "Search",
        }
    }
}

/// The limits that are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests a minute for each client.
    pub minute: u32,
    /// Lists and searches a day for each client.
    pub daily: [u32; 2],
    /// The same for all clients together.
    pub pool: [u64; 2],
    /// Clients that are counted exactly; beyond, the least recently seen is forgotten.
    pub clients_max: u32,
}

/// One limit as a client sees it after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The limit.
    pub limit: u32,
    /// What is left of it.
    pub remaining: u32,
    /// Milliseconds until all of it is there again.
    pub reset_millis: u64,
}

impl Left {
    /// Seconds until all of it is there again, rounded up, one at least.
    pub fn reset_seconds(&self) -> u64 {
        self.reset_millis.div_ceil(1_000).max(1)
    }
}

/// What limits say of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Of its minute.
    pub minute: Left,
    /// Of its day, for lists and for searches.
    pub daily: [Left; 2],
}

/// Which limit refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client's minute.
    Minute,
    /// The client's day.
    Day(Daily),
    /// The day of all clients together.
    Pool(Daily),
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Why it is refused; `None` where it is not.
    pub refusal: Option<Refusal>,
    /// How the client stands after it.
    pub standing: Standing,
    /// When that was.
    pub at: Moment,
}

impl Verdict {
    /// The limit that refused; `None` where none did.
    fn refusing(&self) -> Option<Left> {
        Some(match self.refusal? {
            Refusal::Minute => self.standing.minute,
            // Days of clients and of all end together.
            Refusal::Day(_) | Refusal::Pool(_) => self.standing.daily[Daily::List as usize],
        })
    }

    /// Seconds until what was refused is let through again, rounded up; 0 where nothing was.
    pub fn reset_seconds(&self) -> u64 {
        self.refusing().map_or(0, |left| left.reset_seconds())
    }

    /// When that is, in seconds since 1970, rounded up.
    pub fn reset_at(&self) -> u64 {
        let left_millis = self.refusing().map_or(0, |left| left.reset_millis);
        (self.at.utc + left_millis).div_ceil(1_000)
    }

    /// What the refused client is told.
    pub fn message(&self) -> Option<String> {
        Some(match self.refusal? {
            Refusal::Minute => {
                let (seconds, limit) = (self.reset_seconds(), self.standing.minute.limit);
                let at = self.reset_at() % 86_400;
                let (hour, minute, second) = (at / 3_600, at / 60 % 60, at % 60);
                format!(
                    "IP rate limit exceeded (max {limit} requests per minute). Please try again in \
                     {seconds} seconds (at {hour:02}:{minute:02}:{second:02} UTC)."
                )
            }
            Refusal::Day(daily) => format!(
                "Your daily quota for {} requests has been exceeded. Please try again in {} (at \
                 00:00:00 UTC).",
                daily.name(),
                in_words(self.reset_seconds())
            ),
            Refusal::Pool(daily) => format!(
                "The service's daily pool for {} requests has been used up. Please try again in {} \
                 (at 00:00:00 UTC).",
                daily.name(),
                in_words(self.reset_seconds())
            ),
        })
    }
}

/// A time in its two largest units that are not zero.
fn in_words(seconds: u64) -> String {
    let units =
        [(seconds / 3_600, "hour"), (seconds / 60 % 60, "minute"), (seconds % 60, "second")];
    let parts = units.into_iter().filter(|(count, _)| *count > 0).take(2).map(|(count, unit)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {unit}{plural}")
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// How full the limits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Clients that are known.
    pub clients: u32,
    /// Clients that may be.
    pub clients_max: u32,
    /// Clients forgotten for others, ever.
    pub clients_forgotten: u64,
    /// Lists and searches of today, of all clients together.
    pub pool: [u64; 2],
    /// How many there may be.
    pub pool_max: [u64; 2],
}

/// Counts requests against limits.
pub struct Counters {
    limits: Limits,
    clock: Box<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    table: Table,
    /// The latest day there was.
    day: u32,
    pool: [u64; 2],
    /// The day on which it was said last that clients are forgotten.
    told_on: Option<u32>,
    /// Clients forgotten for others, ever.
    forgotten: u64,
}

impl Counters {
    /// Nothing counted yet.
    pub fn new(limits: Limits, clock: Box<dyn Clock>) -> Counters {
        let table = Table::new(limits.clients_max);
        let state = State { table, day: 0, pool: [0; 2], told_on: None, forgotten: 0 };
        Counters { limits, clock, state: Mutex::new(state) }
    }

    /// Counts a request of a client.
    ///
    /// Cost: a look-up in a table, under a lock.
    pub fn count(&self, client: u64, daily: Option<Daily>) -> Verdict {
        let mut state = self.lock();
        // Within the lock, so that time does not go back from one request to the next.
        let at = self.clock.now();
        state.begin_day(at);
        let State { table, day, pool, told_on, forgotten } = &mut *state;
        let (counts, has_forgotten) = table.see(client);
        *forgotten += u64::from(has_forgotten);
        if has_forgotten && told_on.replace(*day) != Some(*day) {
            tracing::warn!(
                clients_max = self.limits.clients_max,
                "more clients than are counted exactly; those seen longest ago begin anew"
            );
        }
        counts.refresh(*day, at);
        let refusal = self.refusal(counts, pool, daily);
        if refusal != Some(Refusal::Minute) {
            if counts.minute == 0 {
                counts.minute_from = at.monotonic;
            }
            counts.minute += 1;
        }
        if let (None, Some(daily)) = (refusal, daily) {
            counts.of_day[daily as usize] += 1;
            pool[daily as usize] += 1;
        }
        Verdict { refusal, standing: self.standing(counts, at), at }
    }

    /// How a client stands, who asks for nothing.
    pub fn look(&self, client: u64) -> Standing {
        let mut state = self.lock();
        let at = self.clock.now();
        state.begin_day(at);
        let mut counts = state.table.peek(client);
        counts.refresh(state.day, at);
        self.standing(&counts, at)
    }

    /// How full they are.
    pub fn usage(&self) -> Usage {
        let mut state = self.lock();
        state.begin_day(self.clock.now());
        Usage {
            clients: state.table.clients(),
            clients_max: self.limits.clients_max,
            clients_forgotten: state.forgotten,
            pool: state.pool,
            pool_max: self.limits.pool,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in the lock panics half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusal(&self, counts: &Counts, pool: &[u64; 2], daily: Option<Daily>) -> Option<Refusal> {
        if counts.minute >= self.limits.minute {
            return Some(Refusal::Minute);
        }
        let daily = daily?;
        if counts.of_day[daily as usize] >= self.limits.daily[daily as usize] {
            return Some(Refusal::Day(daily));
        }
        let is_used_up = pool[daily as usize] >= self.limits.pool[daily as usize];
        is_used_up.then_some(Refusal::Pool(daily))
    }

    fn standing(&self, counts: &Counts, at: Moment) -> Standing {
        let minute_left = match counts.minute {
            0 => MINUTE_MILLIS,
            _ => (counts.minute_from + MINUTE_MILLIS).saturating_sub(at.monotonic),
        };
        let left = |limit: u32, used: u32, millis: u64| Left {
            limit,
            remaining: limit.saturating_sub(used),
            reset_millis: millis,
        };
        let daily = |daily: Daily| {
            let number = daily as usize;
            let millis = DAY_MILLIS - at.utc % DAY_MILLIS;
            left(self.limits.daily[number], counts.of_day[number], millis)
        };
        Standing {
            minute: left(self.limits.minute, counts.minute, minute_left),
            daily: [daily(Daily::List), daily(Daily::Search)],
        }
    }
}

impl State {
    /// Begins the day of a moment, if it comes after the one there is.
    fn begin_day(&mut self, at: Moment) {
        let day = u32::try_from(at.utc / DAY_MILLIS).unwrap_or(u32::MAX);
        if day > self.day {
            self.day = day;
            self.pool = [0; 2];
        }
    }
}

impl Counts {
    /// Ends the windows that are over.
    fn refresh(&mut self, day: u32, at: Moment) {
        if self.minute > 0 && at.monotonic >= self.minute_from + MINUTE_MILLIS {
            self.minute = 0;
        }
        if self.day != day {
            self.day = day;
            self.of_day = [0; 2];
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::admission::limits::clock::by_hand::{BEGUN, ByHand};

    const LIMITS: Limits =
        Limits { minute: 30, daily: [500, 50], pool: [10_000, 1_000], clients_max: 1_000 };

    fn counters(limits: Limits) -> (Counters, ByHand) {
        let clock = ByHand::new();
        (Counters::new(limits, Box::new(clock.clone())), clock)
    }

    #[test]
    fn thirty_a_minute_are_let_through_and_the_minute_begins_with_the_first() {
        let (counters, clock) = counters(LIMITS);
        assert_eq!(
            counters.look(1).minute,
            Left { limit: 30, remaining: 30, reset_millis: 60_000 }
        );
        for at in 1..=30 {
            let verdict = counters.count(1, None);
            assert_eq!((verdict.refusal, verdict.standing.minute.remaining), (None, 30 - at));
            clock.pass(1_000);
        }
        let refused = counters.count(1, Some(Daily::List));
        assert_eq!(refused.refusal, Some(Refusal::Minute));
        assert_eq!(refused.standing.minute, Left { limit: 30, remaining: 0, reset_millis: 30_000 });
        assert_eq!(
            refused.message().unwrap(),
            "IP rate limit exceeded (max 30 requests per minute). Please try again in 30 seconds \
             (at 20:49:01 UTC)."
        );
        assert_eq!(refused.standing.daily[0].remaining, 500, "what is refused uses nothing");
        assert_eq!(counters.count(2, None).refusal, None, "others are not refused");
        clock.pass(29_999);
        assert_eq!(counters.count(1, None).standing.minute.reset_seconds(), 1);
        assert_eq!(counters.count(1, None).refusal, Some(Refusal::Minute));
        clock.pass(1);
        let again = counters.count(1, None);
        assert_eq!((again.refusal, again.standing.minute.reset_seconds()), (None, 60));
    }

    #[test]
    fn lists_and_searches_have_days_of_their_own() {
        let (counters, clock) = counters(Limits { minute: 1_000, ..LIMITS });
        for _ in 0..500 {
            assert_eq!(counters.count(1, Some(Daily::List)).refusal, None);
        }
        let refused = counters.count(1, Some(Daily::List));
        assert_eq!(refused.refusal, Some(Refusal::Day(Daily::List)));
        assert_eq!(
            refused.standing.minute.remaining, 499,
            "the minute counts what the day refuses"
        );
        assert_eq!(
            refused.message().unwrap(),
            "Your daily quota for List/Filter requests has been exceeded. Please try again in \
             3 hours 12 minutes (at 00:00:00 UTC)."
        );
        assert_eq!(refused.reset_seconds(), 3 * 3_600 + 12 * 60);
        assert_eq!(refused.reset_at() % 86_400, 0);
        assert_eq!(counters.count(1, None).refusal, None, "records are not counted by the day");
        for _ in 0..50 {
            assert_eq!(counters.count(1, Some(Daily::Search)).refusal, None);
        }
        let refused = counters.count(1, Some(Daily::Search));
        assert_eq!(refused.refusal, Some(Refusal::Day(Daily::Search)));
        assert!(refused.message().unwrap().starts_with("Your daily quota for Search requests"));
        // To the last millisecond of the day, and not beyond.
        clock.pass(DAY_MILLIS - BEGUN % DAY_MILLIS - 1);
        assert_eq!(counters.count(1, Some(Daily::List)).refusal, Some(Refusal::Day(Daily::List)));
        assert_eq!(counters.count(1, Some(Daily::List)).reset_seconds(), 1);
        clock.pass(1);
        assert_eq!(counters.count(1, Some(Daily::List)).standing.daily[0].remaining, 499);
    }

    #[test]
    fn a_pool_is_for_all_clients_together() {
        let (counters, clock) = counters(Limits { pool: [40, 3], ..LIMITS });
        for client in 0..40 {
            assert_eq!(counters.count(client, Some(Daily::List)).refusal, None);
        }
        let refused = counters.count(99, Some(Daily::List));
        assert_eq!(refused.refusal, Some(Refusal::Pool(Daily::List)));
        assert!(refused.message().unwrap().starts_with(
            "The service's daily pool for List/Filter requests has been used up. Please try again in "
        ));
        assert_eq!(refused.standing.daily[0].remaining, 500);
        assert_eq!(counters.count(99, Some(Daily::Search)).refusal, None);
        assert_eq!(counters.count(99, None).refusal, None);
        clock.pass(DAY_MILLIS);
        assert_eq!(counters.count(99, Some(Daily::List)).refusal, None);
    }

    #[test]
    fn a_clock_that_is_set_gives_no_day_back() {
        let (counters, clock) = counters(Limits { minute: 1_000, ..LIMITS });
        let used = |counters: &Counters| 500 - counters.look(1).daily[0].remaining;
        for _ in 0..5 {
            counters.count(1, Some(Daily::List));
        }
        clock.set_utc(BEGUN - 24 * 3_600_000);
        counters.count(1, Some(Daily::List));
        assert_eq!(used(&counters), 6, "yesterday does not come back");
        clock.set_utc(BEGUN + 24 * 3_600_000);
        assert_eq!(used(&counters), 0);
        counters.count(1, Some(Daily::List));
        clock.set_utc(BEGUN);
        assert_eq!(used(&counters), 1);
        // The minute does not look at it.
        assert_eq!(counters.look(1).minute.remaining, 1_000 - 7);
    }

    #[test]
    fn a_thousand_at_once_let_exactly_thirty_through() {
        for _ in 0..20 {
            let (counters, _) = counters(LIMITS);
            let passed = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for _ in 0..125 {
                            let is_through = counters.count(1, None).refusal.is_none();
                            passed.fetch_add(is_through.into(), Relaxed);
                        }
                    });
                }
            });
            assert_eq!(passed.load(Relaxed), 30);
        }
    }

    #[test]
    fn what_is_counted_stops_at_the_largest_number() {
        let limits =
            Limits { minute: u32::MAX, daily: [u32::MAX; 2], pool: [u64::MAX; 2], ..LIMITS };
        let (counters, _) = counters(limits);
        counters.count(1, Some(Daily::List));
        {
            let mut state = counters.lock();
            let (counts, _) = state.table.see(1);
            (counts.minute, counts.of_day[Daily::List as usize]) = (u32::MAX - 1, u32::MAX - 1);
        }
        let last = counters.count(1, Some(Daily::List));
        let remaining = |verdict: &Verdict| {
            (verdict.standing.minute.remaining, verdict.standing.daily[0].remaining)
        };
        assert_eq!((last.refusal, remaining(&last)), (None, (0, 0)));
        for _ in 0..2 {
            let beyond = counters.count(1, Some(Daily::List));
            assert_eq!((beyond.refusal, remaining(&beyond)), (Some(Refusal::Minute), (0, 0)));
        }
    }

    #[test]
    fn a_time_is_told_in_two_units() {
        let check = |seconds, expected: &str| assert_eq!(in_words(seconds), expected);
        check(1, "1 second");
        check(45, "45 seconds");
        check(65, "1 minute 5 seconds");
        check(120, "2 minutes");
        check(3_600, "1 hour");
        check(3_605, "1 hour 5 seconds");
        check(11_521, "3 hours 12 minutes");
        check(86_400, "24 hours");
    }
}
