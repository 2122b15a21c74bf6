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
mod quota;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod verdict;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::admission::limits::clock::{Clock, ClockReading, SystemClock};
use crate::admission::limits::counters::Counters;
pub use crate::admission::limits::quota::{Limits, Quota, QuotaClass, Quotas, Usage};
pub use crate::admission::limits::table::ClientCounts;
use crate::admission::limits::table::ClientTable;
pub use crate::admission::limits::verdict::{Refusal, Verdict};
use crate::http::client_address::network_key;

/// Largest number of clients that a limiter can count exactly.
pub const CLIENTS_MAX: u32 = 100_000_000;
const MINUTE_MILLIS: u64 = 60_000;
const DAY_MILLIS: u64 = 86_400_000;
/// A clock may be set back this far without bringing the day before back.
const SET_BACK_MILLIS: u64 = 3_600_000;
/// Clients whose free requests are counted; a new client replaces the least recently seen.
const FREE_CLIENTS_MAX: u32 = 65_536;

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
