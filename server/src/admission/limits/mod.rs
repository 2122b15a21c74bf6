//! Rate limits: requests per minute and client, lists and searches per day and client, and lists and
//! searches per day of all clients together (the pools).
//!
//! Windows are fixed. A client's minute starts at its first request. Days are UTC days, and follow the clock
//! in both directions; a clock that is set back by less than an hour does not bring the day before back.
//! The limiter checks the minute first, then the day, then the pool. A request that the minute refuses is
//! not counted; one that the day or the pool refuses counts for the minute alone.
//!
//! The pool holds only requests that did the work of a list or a search: [`RateLimiter::refund`] takes back
//! the others. The clients of one network, a /24 or /48, take at most a share of a pool, so that no network
//! can use it up alone.

pub(crate) mod clock;
pub(crate) mod counters;
pub(crate) mod file;
pub(crate) mod fleet;
pub(crate) mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::admission::limits::clock::{Clock, ClockReading, SystemClock};
use crate::admission::limits::counters::Counters;
pub use crate::admission::limits::table::ClientCounts;
use crate::admission::limits::table::ClientTable;
use crate::http::client_address::network_key;

/// Largest number of clients that a limiter can count exactly.
pub const CLIENTS_MAX: u32 = 100_000_000;
const MINUTE_MILLIS: u64 = 60_000;
const DAY_MILLIS: u64 = 86_400_000;
/// A clock may be set back this far without bringing the day before back.
const SET_BACK_MILLIS: u64 = 3_600_000;
/// Clients whose free requests are counted; a new client replaces the least recently seen.
const FREE_CLIENTS_MAX: u32 = 65_536;

/// A class of requests with a daily quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaClass {
    /// A page of a list.
    List = 0,
    /// Autocomplete.
    Search = 1,
}

impl QuotaClass {
    /// The name of the class in messages.
    pub fn name(self) -> &'static str {
        match self {
            QuotaClass::List => "List/Filter",
            QuotaClass::Search => "Search",
        }
    }
}

/// The numbers of requests per minute and per day, each an option of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests per minute and client.
    pub minute: u32,
    /// Requests per minute and client that count towards nothing else.
    pub free: u32,
    /// Lists and searches per day and client.
    pub daily: [u32; 2],
    /// Lists and searches per day of all clients together.
    pub pool: [u64; 2],
    /// The same of all clients in one network.
    pub network_pool: [u64; 2],
    /// Clients counted exactly; a new client beyond replaces the least recently seen.
    pub clients_max: u32,
}

impl Limits {
    /// The limits in words, for the log.
    fn in_words(&self) -> String {
        let Limits { minute, daily: [lists, searches], pool: [all_lists, all_searches], .. } = self;
        format!(
            "limits are on, for clients of this machine too: each client gets {minute} requests a minute, and \
             {lists} lists and {searches} searches a day; all clients together get {all_lists} lists and \
             {all_searches} searches a day; --no-limits turns the limits off"
        )
    }
}

/// One limit of a client, after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub limit: u32,
    /// Requests left.
    pub remaining: u32,
    /// Milliseconds until the window ends.
    pub reset_millis: u64,
}

impl Quota {
    /// Seconds until the window ends, rounded up, at least 1.
    pub fn reset_seconds(&self) -> u64 {
        self.reset_millis.div_ceil(1_000).max(1)
    }
}

/// The limits of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    pub minute: Quota,
    /// Lists and searches of the day.
    pub daily: [Quota; 2],
}

/// Which limit refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client's minute.
    Minute,
    /// The client's day.
    Day(QuotaClass),
    /// The day of all clients together, or of the client's network.
    Pool(QuotaClass),
    /// The client's minute of requests that count towards nothing else.
    Free(Quota),
}

/// The limiter's decision on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The limit that refuses the request; `None` admits it.
    pub refusal: Option<Refusal>,
    /// The client's limits after the request.
    pub quotas: Quotas,
    /// When the limiter decided.
    pub at: ClockReading,
}

impl Verdict {
    /// The quota that refused the request.
    fn exhausted(&self) -> Option<Quota> {
        Some(match self.refusal? {
            Refusal::Minute => self.quotas.minute,
            Refusal::Free(quota) => quota,
            // The days of clients and of pools end at the same time.
            Refusal::Day(_) | Refusal::Pool(_) => self.quotas.daily[QuotaClass::List as usize],
        })
    }

    /// Seconds until the client may repeat the refused request, rounded up; 0 if admitted.
    pub fn reset_seconds(&self) -> u64 {
        self.exhausted().map_or(0, |left| left.reset_seconds())
    }

    /// The same moment in seconds since 1970, rounded up.
    pub fn reset_at(&self) -> u64 {
        let left_millis = self.exhausted().map_or(0, |left| left.reset_millis);
        (self.at.utc + left_millis).div_ceil(1_000)
    }

    /// The message to the refused client.
    pub fn message(&self) -> Option<String> {
        Some(match self.refusal? {
            Refusal::Minute | Refusal::Free(_) => {
                let limit = self.exhausted().map_or(0, |quota| quota.limit);
                let seconds = self.reset_seconds();
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

/// Formats a duration in its two largest units that are not zero: `3 hours 12 minutes`.
fn in_words(seconds: u64) -> String {
    let units =
        [(seconds / 3_600, "hour"), (seconds / 60 % 60, "minute"), (seconds % 60, "second")];
    let parts = units.into_iter().filter(|(count, _)| *count > 0).take(2).map(|(count, unit)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {unit}{plural}")
    });
    parts.collect::<Vec<_>>().join(" ")
}

impl Verdict {
    /// The message to a client whose request would count as many.
    pub fn message_of_many(&self, requests: u64, what: &str) -> Option<String> {
        let (class, whose) = match self.refusal? {
            Refusal::Day(class) => {
                let Quota { limit, remaining, .. } = self.quotas.daily[class as usize];
                (class, format!("your daily quota has {remaining} left of {limit}"))
            }
            Refusal::Pool(class) => (class, "the service's daily pool has fewer left".to_owned()),
            Refusal::Minute | Refusal::Free(_) => return self.message(),
        };
        Some(format!(
            "{what} counts as {requests} {} requests, but {whose}. Please narrow the list, or try again in {} \
             (at 00:00:00 UTC).",
            class.name(),
            in_words(self.reset_seconds())
        ))
    }
}

/// How much of the limits is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Clients in the table.
    pub clients: u32,
    /// Capacity of the table.
    pub clients_max: u32,
    /// Clients that others replaced since the start.
    pub clients_replaced: u64,
    /// Lists and searches of all clients today.
    pub pool: [u64; 2],
    /// Limits of the pools.
    pub pool_max: [u64; 2],
}

/// Counts requests against the limits.
pub struct RateLimiter {
    limits: Limits,
    clock: Box<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    table: ClientTable,
    /// The current day, in days since 1970.
    day: u32,
    pool: [u64; 2],
    /// The use of the pools by network.
    networks: ClientTable,
    /// Requests of a minute that count towards nothing else.
    free: ClientTable,
    /// The day of the last warning that clients are replaced.
    warned_on: Option<u32>,
    /// Clients that others replaced since the start.
    replaced: u64,
}

impl RateLimiter {
    /// Makes a limiter without counts; reserves its whole table.
    pub fn new(limits: Limits, clock: Box<dyn Clock>) -> RateLimiter {
        let table = ClientTable::new(limits.clients_max);
        // A network with a count has used a pool at least once.
        let pools = limits.pool[0].saturating_add(limits.pool[1]);
        let networks = u32::try_from(pools).unwrap_or(u32::MAX).min(limits.clients_max);
        let networks = ClientTable::new(networks);
        let free = ClientTable::new(FREE_CLIENTS_MAX.min(limits.clients_max));
        let (pool, warned_on) = ([0; 2], None);
        let state = State { table, day: 0, pool, networks, free, warned_on, replaced: 0 };
        RateLimiter { limits, clock, state: Mutex::new(state) }
    }

    /// Makes the system provide memory for the table, a MiB at a time, so that no request waits long.
    pub fn provide_pages(&self) {
        let provide = |mib| {
            let mut state = self.lock();
            // Both, whatever the first returns.
            state.table.provide_pages(mib) | state.free.provide_pages(mib)
        };
        let _ = (0..).take_while(|mib| provide(*mib)).count();
    }

    /// Counts a request of a client, or refuses it.
    ///
    /// Cost: one table lookup under a lock.
    pub fn count(&self, client: u64, daily: Option<QuotaClass>) -> Verdict {
        let mut state = self.lock();
        // Read under the lock, so that time never goes back between two requests.
        let at = self.clock.now();
        state.start_day(at);
        let State { table, day, pool, networks, warned_on, replaced, .. } = &mut *state;
        let (counts, has_replaced) = table.touch(client);
        *replaced += u64::from(has_replaced);
        if has_replaced && warned_on.replace(*day) != Some(*day) {
            tracing::warn!(
                clients_max = self.limits.clients_max,
                "more clients than --clients-max; the least recently seen clients start at zero again"
            );
        }
        counts.refresh(*day, at);
        let mut of_network = networks.peek(network_key(client));
        of_network.refresh(*day, at);
        let refusal = self.refusal(counts, pool, &of_network, daily);
        if refusal != Some(Refusal::Minute) {
            if counts.minute == 0 {
                counts.minute_started = at.monotonic;
            }
            counts.minute += 1;
        }
        if let (None, Some(daily)) = (refusal, daily) {
            counts.daily[daily as usize] += 1;
            pool[daily as usize] += 1;
            let (of_network, _) = networks.touch(network_key(client));
            of_network.refresh(*day, at);
            of_network.daily[daily as usize] += 1;
        }
        Verdict { refusal, quotas: self.quotas(counts, at), at }
    }

    /// Counts `more` requests of the day for an admitted request, or refuses them. A refusal also takes the
    /// admitted request back from the client's day. The minute does not change.
    pub fn count_more(
        &self,
        client: u64,
        daily: QuotaClass,
        more: u64,
        admitted: ClockReading,
    ) -> Verdict {
        let mut state = self.lock();
        let at = self.clock.now();
        state.start_day(at);
        let State { table, day, pool, networks, .. } = &mut *state;
        let (counts, _) = table.touch(client);
        counts.refresh(*day, at);
        let (of_network, _) = networks.touch(network_key(client));
        of_network.refresh(*day, at);
        let refusal = self.daily_refusal(counts, pool, of_network, daily, more);
        let number = daily as usize;
        if refusal.is_none() {
            // At most the limit, a u32.
            counts.daily[number] += more as u32;
            pool[number] += more;
            of_network.daily[number] += more as u32;
        } else if day_of(admitted) == *day {
            counts.daily[number] = counts.daily[number].saturating_sub(1);
        }
        Verdict { refusal, quotas: self.quotas(counts, at), at }
    }

    /// Takes requests that [`RateLimiter::count_more`] counted back: their reply was not sent.
    pub fn take_back(&self, client: u64, daily: QuotaClass, more: u64, counted: ClockReading) {
        let mut state = self.lock();
        let at = self.clock.now();
        state.start_day(at);
        let State { table, day, pool, networks, .. } = &mut *state;
        if day_of(counted) != *day {
            return;
        }
        let number = daily as usize;
        pool[number] = pool[number].saturating_sub(more);
        let (counts, _) = table.touch(client);
        let (of_network, _) = networks.touch(network_key(client));
        for counts in [counts, of_network] {
            counts.refresh(*day, at);
            // At most the limit, a u32.
            counts.daily[number] = counts.daily[number].saturating_sub(more as u32);
        }
    }

    /// Counts a request that counts towards nothing else, or refuses it.
    pub fn count_free(&self, client: u64) -> Verdict {
        let mut state = self.lock();
        let at = self.clock.now();
        state.start_day(at);
        let State { table, free, day, .. } = &mut *state;
        let (counts, _) = free.touch(client);
        counts.refresh(*day, at);
        let is_refused = counts.minute >= self.limits.free;
        if counts.minute == 0 {
            counts.minute_started = at.monotonic;
        }
        counts.minute = counts.minute.saturating_add(1);
        let refusal = is_refused.then(|| {
            let ends = counts.minute_started + MINUTE_MILLIS;
            let reset_millis = ends.saturating_sub(at.monotonic);
            Refusal::Free(Quota { limit: self.limits.free, remaining: 0, reset_millis })
        });
        let mut counts = table.peek(client);
        counts.refresh(*day, at);
        Verdict { refusal, quotas: self.quotas(&counts, at), at }
    }

    /// Takes a request back from the pool: it did not do the work of a list or a search. The counts of the
    /// client stay.
    pub fn refund(&self, client: u64, daily: QuotaClass, admitted: ClockReading) {
        let mut state = self.lock();
        let at = self.clock.now();
        state.start_day(at);
        let State { day, pool, networks, .. } = &mut *state;
        // The pool of another day no longer has the request.
        if day_of(admitted) != *day {
            return;
        }
        let number = daily as usize;
        pool[number] = pool[number].saturating_sub(1);
        let (of_network, _) = networks.touch(network_key(client));
        of_network.refresh(*day, at);
        of_network.daily[number] = of_network.daily[number].saturating_sub(1);
    }

    /// Returns the limits of a client without counting a request.
    pub fn client_quotas(&self, client: u64) -> Quotas {
        let mut state = self.lock();
        let at = self.clock.now();
        state.start_day(at);
        let mut counts = state.table.peek(client);
        counts.refresh(state.day, at);
        self.quotas(&counts, at)
    }

    /// The limits in words, for the log.
    pub fn in_words(&self) -> String {
        self.limits.in_words()
    }

    /// Returns how much of the limits is in use.
    pub fn usage(&self) -> Usage {
        let mut state = self.lock();
        state.start_day(self.clock.now());
        Usage {
            clients: state.table.clients(),
            clients_max: self.limits.clients_max,
            clients_replaced: state.replaced,
            pool: state.pool,
            pool_max: self.limits.pool,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusal(
        &self,
        counts: &ClientCounts,
        pool: &[u64; 2],
        of_network: &ClientCounts,
        daily: Option<QuotaClass>,
    ) -> Option<Refusal> {
        if counts.minute >= self.limits.minute {
            return Some(Refusal::Minute);
        }
        self.daily_refusal(counts, pool, of_network, daily?, 1)
    }

    /// The limit of a day that refuses this many further requests.
    fn daily_refusal(
        &self,
        counts: &ClientCounts,
        pool: &[u64; 2],
        of_network: &ClientCounts,
        daily: QuotaClass,
        requests: u64,
    ) -> Option<Refusal> {
        let number = daily as usize;
        let exceeds = |used: u64, max: u64| used.saturating_add(requests) > max;
        if exceeds(counts.daily[number].into(), self.limits.daily[number].into()) {
            return Some(Refusal::Day(daily));
        }
        let Limits { pool: pool_max, network_pool, .. } = self.limits;
        let is_used_up = exceeds(pool[number], pool_max[number])
            || exceeds(of_network.daily[number].into(), network_pool[number]);
        is_used_up.then_some(Refusal::Pool(daily))
    }

    fn quotas(&self, counts: &ClientCounts, at: ClockReading) -> Quotas {
        let minute_left = match counts.minute {
            0 => MINUTE_MILLIS,
            _ => (counts.minute_started + MINUTE_MILLIS).saturating_sub(at.monotonic),
        };
        let left = |limit: u32, used: u32, millis: u64| Quota {
            limit,
            remaining: limit.saturating_sub(used),
            reset_millis: millis,
        };
        let daily = |daily: QuotaClass| {
            let number = daily as usize;
            let millis = DAY_MILLIS - at.utc % DAY_MILLIS;
            left(self.limits.daily[number], counts.daily[number], millis)
        };
        Quotas {
            minute: left(self.limits.minute, counts.minute, minute_left),
            daily: [daily(QuotaClass::List), daily(QuotaClass::Search)],
        }
    }
}

impl Counters for RateLimiter {
    async fn count(&self, client: u64, daily: Option<QuotaClass>) -> Verdict {
        RateLimiter::count(self, client, daily)
    }

    async fn count_free(&self, client: u64) -> Verdict {
        RateLimiter::count_free(self, client)
    }

    async fn client_quotas(&self, client: u64) -> Quotas {
        RateLimiter::client_quotas(self, client)
    }
}

impl State {
    /// Starts the day of a reading, if that is another day. Around midnight the clock may step back a little.
    fn start_day(&mut self, at: ClockReading) {
        let day = day_of(at);
        let is_before = day < self.day;
        let stepped = ClockReading { utc: at.utc.saturating_add(SET_BACK_MILLIS), ..at };
        if day == self.day || is_before && day_of(stepped) == self.day {
            return;
        }
        self.day = day;
        self.pool = [0; 2];
    }
}

/// The day of a reading, in days since 1970.
fn day_of(at: ClockReading) -> u32 {
    u32::try_from(at.utc / DAY_MILLIS).unwrap_or(u32::MAX)
}

impl ClientCounts {
    /// Resets the counts of windows that have ended.
    fn refresh(&mut self, day: u32, at: ClockReading) {
        if self.minute > 0 && at.monotonic >= self.minute_started + MINUTE_MILLIS {
            self.minute = 0;
        }
        if self.day != day {
            self.day = day;
            self.daily = [0; 2];
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::admission::limits::clock::manual::{ManualClock, START_MILLIS};
    use crate::http::client_address::client_key;

    const LIMITS: Limits = Limits {
        minute: 30,
        free: 1_200,
        daily: [500, 50],
        pool: [10_000, 1_000],
        network_pool: [10_000, 1_000],
        clients_max: 1_000,
    };

    fn counters(limits: Limits) -> (RateLimiter, ManualClock) {
        let clock = ManualClock::new();
        (RateLimiter::new(limits, Box::new(clock.clone())), clock)
    }

    #[test]
    fn thirty_requests_pass_per_minute_from_the_first_request_on() {
        let (counters, clock) = counters(LIMITS);
        assert_eq!(
            counters.client_quotas(1).minute,
            Quota { limit: 30, remaining: 30, reset_millis: 60_000 }
        );
        for at in 1..=30 {
            let verdict = counters.count(1, None);
            assert_eq!((verdict.refusal, verdict.quotas.minute.remaining), (None, 30 - at));
            clock.advance(1_000);
        }
        let refused = counters.count(1, Some(QuotaClass::List));
        assert_eq!(refused.refusal, Some(Refusal::Minute));
        assert_eq!(refused.quotas.minute, Quota { limit: 30, remaining: 0, reset_millis: 30_000 });
        assert_eq!(
            refused.message().unwrap(),
            "IP rate limit exceeded (max 30 requests per minute). Please try again in 30 seconds \
             (at 20:49:01 UTC)."
        );
        assert_eq!(refused.quotas.daily[0].remaining, 500, "a refused request is not counted");
        assert_eq!(counters.count(2, None).refusal, None, "other clients are not refused");
        clock.advance(29_999);
        assert_eq!(counters.count(1, None).quotas.minute.reset_seconds(), 1);
        assert_eq!(counters.count(1, None).refusal, Some(Refusal::Minute));
        clock.advance(1);
        let again = counters.count(1, None);
        assert_eq!((again.refusal, again.quotas.minute.reset_seconds()), (None, 60));
    }

    #[test]
    fn lists_and_searches_have_separate_daily_quotas() {
        let (counters, clock) = counters(Limits { minute: 1_000, ..LIMITS });
        for _ in 0..500 {
            assert_eq!(counters.count(1, Some(QuotaClass::List)).refusal, None);
        }
        let refused = counters.count(1, Some(QuotaClass::List));
        assert_eq!(refused.refusal, Some(Refusal::Day(QuotaClass::List)));
        assert_eq!(
            refused.quotas.minute.remaining, 499,
            "a request that the day refuses counts for the minute"
        );
        assert_eq!(
            refused.message().unwrap(),
            "Your daily quota for List/Filter requests has been exceeded. Please try again in \
             3 hours 12 minutes (at 00:00:00 UTC)."
        );
        assert_eq!(refused.reset_seconds(), 3 * 3_600 + 12 * 60);
        assert_eq!(refused.reset_at() % 86_400, 0);
        assert_eq!(counters.count(1, None).refusal, None, "records have no daily quota");
        for _ in 0..50 {
            assert_eq!(counters.count(1, Some(QuotaClass::Search)).refusal, None);
        }
        let refused = counters.count(1, Some(QuotaClass::Search));
        assert_eq!(refused.refusal, Some(Refusal::Day(QuotaClass::Search)));
        assert!(refused.message().unwrap().starts_with("Your daily quota for Search requests"));
        // The quota lasts to the last millisecond of the day.
        clock.advance(DAY_MILLIS - START_MILLIS % DAY_MILLIS - 1);
        assert_eq!(
            counters.count(1, Some(QuotaClass::List)).refusal,
            Some(Refusal::Day(QuotaClass::List))
        );
        assert_eq!(counters.count(1, Some(QuotaClass::List)).reset_seconds(), 1);
        clock.advance(1);
        assert_eq!(counters.count(1, Some(QuotaClass::List)).quotas.daily[0].remaining, 499);
    }

    #[test]
    fn a_pool_counts_all_clients_together() {
        let (counters, clock) = counters(Limits { pool: [40, 3], ..LIMITS });
        for client in 0..40 {
            assert_eq!(counters.count(client, Some(QuotaClass::List)).refusal, None);
        }
        let refused = counters.count(99, Some(QuotaClass::List));
        assert_eq!(refused.refusal, Some(Refusal::Pool(QuotaClass::List)));
        assert!(refused.message().unwrap().starts_with(
            "The service's daily pool for List/Filter requests has been used up. Please try again in "
        ));
        assert_eq!(refused.quotas.daily[0].remaining, 500);
        assert_eq!(counters.count(99, Some(QuotaClass::Search)).refusal, None);
        assert_eq!(counters.count(99, None).refusal, None);
        clock.advance(DAY_MILLIS);
        assert_eq!(counters.count(99, Some(QuotaClass::List)).refusal, None);
    }

    #[test]
    fn one_network_takes_at_most_its_share_of_a_pool() {
        let limits = Limits { pool: [40, 3], network_pool: [10, 1], ..LIMITS };
        let (counters, clock) = counters(limits);
        let client = |network: u8, host: u8| client_key([192, 0, network, host].into());
        let lists = |network: u8| {
            (0..=255)
                .filter(|host| {
                    counters.count(client(network, *host), Some(QuotaClass::List)).refusal.is_none()
                })
                .count()
        };
        assert_eq!(lists(1), 10);
        let refused = counters.count(client(1, 7), Some(QuotaClass::List)).refusal;
        assert_eq!(refused, Some(Refusal::Pool(QuotaClass::List)));
        assert_eq!(counters.count(client(1, 7), Some(QuotaClass::Search)).refusal, None);
        assert_eq!([lists(2), lists(3), lists(4), lists(5)], [10, 10, 10, 0]);
        clock.advance(DAY_MILLIS);
        assert_eq!(lists(1), 10);
    }

    #[test]
    fn free_requests_have_a_minute_of_their_own() {
        let (counters, clock) = counters(Limits { free: 3, ..LIMITS });
        let refusals = || (0..5).map(|_| counters.count_free(1).refusal).collect::<Vec<_>>();
        clock.advance(500);
        let found = refusals();
        let quota = Quota { limit: 3, remaining: 0, reset_millis: 60_000 };
        assert_eq!(found[..3], [None; 3]);
        assert_eq!(found[3..], [Some(Refusal::Free(quota)); 2]);
        assert_eq!(counters.count_free(2).refusal, None);
        let verdict = counters.count(1, None);
        assert_eq!((verdict.refusal, verdict.quotas.minute.remaining), (None, 29));
        let message = counters.count_free(1).message().unwrap();
        assert!(message.starts_with("IP rate limit exceeded (max 3 requests per minute)."));
        clock.advance(60_000);
        assert_eq!(counters.count_free(1).refusal, None);
    }

    #[test]
    fn a_refund_frees_the_pool_and_not_the_quota() {
        let (counters, clock) = counters(Limits { pool: [2, 1], network_pool: [2, 1], ..LIMITS });
        for _ in 0..20 {
            let verdict = counters.count(1, Some(QuotaClass::List));
            assert_eq!(verdict.refusal, None);
            counters.refund(1, QuotaClass::List, verdict.at);
        }
        assert_eq!(counters.client_quotas(1).daily[0].remaining, 480);
        assert_eq!(counters.usage().pool, [0, 0]);
        let late = counters.count(1, Some(QuotaClass::List));
        clock.advance(DAY_MILLIS);
        counters.count(1, Some(QuotaClass::List));
        counters.refund(1, QuotaClass::List, late.at);
        assert_eq!(counters.usage().pool, [1, 0], "yesterday's request is not in today's pool");
    }

    #[test]
    fn a_request_that_counts_as_many_is_counted_whole_or_not_at_all() {
        let limits = Limits { daily: [10, 1], pool: [12, 1], network_pool: [12, 1], ..LIMITS };
        let (counters, clock) = counters(limits);
        let stream = |client: u64, more: u64| {
            let admitted = counters.count(client, Some(QuotaClass::List));
            assert_eq!(admitted.refusal, None);
            let verdict = counters.count_more(client, QuotaClass::List, more, admitted.at);
            if verdict.refusal.is_some() {
                counters.refund(client, QuotaClass::List, admitted.at);
            }
            (verdict.refusal, verdict.quotas.daily[0].remaining, counters.usage().pool[0])
        };
        assert_eq!(stream(1, 0), (None, 9, 1));
        assert_eq!(stream(1, 5), (None, 3, 7));
        assert_eq!(stream(1, 3), (Some(Refusal::Day(QuotaClass::List)), 3, 7));
        assert_eq!(stream(1, 2), (None, 0, 10));
        assert_eq!(stream(2, 2), (Some(Refusal::Pool(QuotaClass::List)), 10, 10));
        assert_eq!(stream(2, u64::MAX), (Some(Refusal::Day(QuotaClass::List)), 10, 10));
        assert_eq!(stream(2, 1), (None, 8, 12));
        assert_eq!(counters.client_quotas(2).minute.remaining, 27);
        let counted = counters.client_quotas(2);
        let at = counters.count_free(2).at;
        counters.take_back(2, QuotaClass::List, 1, at);
        assert_eq!(
            (counters.client_quotas(2).daily[0].remaining, counters.usage().pool[0]),
            (9, 11)
        );
        clock.advance(DAY_MILLIS);
        counters.take_back(2, QuotaClass::List, 1, at);
        assert_eq!(counters.client_quotas(2).daily[0].remaining, counted.daily[0].limit);
    }

    #[test]
    fn days_follow_the_clock_but_for_a_step_of_less_than_an_hour() {
        let (counters, clock) = counters(Limits { minute: 1_000, ..LIMITS });
        let used = || 500 - counters.client_quotas(1).daily[0].remaining;
        for _ in 0..5 {
            counters.count(1, Some(QuotaClass::List));
        }
        // A jump ahead begins another day, and the way back the day of the clock.
        clock.set_utc(START_MILLIS + 30 * DAY_MILLIS);
        counters.count(1, Some(QuotaClass::List));
        assert_eq!(used(), 1);
        clock.set_utc(START_MILLIS);
        assert_eq!((used(), counters.usage().pool), (0, [0, 0]));
        let midnight = (START_MILLIS / DAY_MILLIS + 1) * DAY_MILLIS;
        clock.set_utc(midnight);
        counters.count(1, Some(QuotaClass::List));
        for (back_millis, expected) in [(1, 1), (SET_BACK_MILLIS, 1), (SET_BACK_MILLIS + 1, 0)] {
            clock.set_utc(midnight - back_millis);
            assert_eq!(used(), expected, "{back_millis}");
        }
        // The minute does not depend on UTC.
        assert_eq!(counters.client_quotas(1).minute.remaining, 1_000 - 7);
    }

    #[test]
    fn a_thousand_concurrent_requests_admit_exactly_thirty() {
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
    fn counts_stop_at_the_largest_integer() {
        let limits = Limits {
            minute: u32::MAX,
            free: u32::MAX,
            daily: [u32::MAX; 2],
            pool: [u64::MAX; 2],
            network_pool: [u64::MAX; 2],
            ..LIMITS
        };
        let (counters, _) = counters(limits);
        counters.count(1, Some(QuotaClass::List));
        {
            let mut state = counters.lock();
            let (counts, _) = state.table.touch(1);
            (counts.minute, counts.daily[QuotaClass::List as usize]) = (u32::MAX - 1, u32::MAX - 1);
        }
        let last = counters.count(1, Some(QuotaClass::List));
        let remaining = |verdict: &Verdict| {
            (verdict.quotas.minute.remaining, verdict.quotas.daily[0].remaining)
        };
        assert_eq!((last.refusal, remaining(&last)), (None, (0, 0)));
        for _ in 0..2 {
            let beyond = counters.count(1, Some(QuotaClass::List));
            assert_eq!((beyond.refusal, remaining(&beyond)), (Some(Refusal::Minute), (0, 0)));
        }
    }

    #[test]
    fn a_duration_is_formatted_in_two_units() {
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
