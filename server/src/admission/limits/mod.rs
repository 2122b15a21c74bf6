//! Rate limits: requests per minute and client, requests per day, client and [`QuotaClass`], and the same of all
//! clients together (the pools).
//!
//! Windows are fixed. A client's minute starts at its first request. Days are UTC days, and follow the clock
//! in both directions; a clock that is set back by less than an hour does not bring the day before back.
//! The limiter checks the minute first, then the day, then the pool. A request that the minute refuses is
//! not counted; one that the day or the pool refuses counts for the minute alone.
//!
//! Pages for people have a minute and a class of their own, so that readers and programs do not starve each other: those of a
//! campus may share one address. 10 completions of their search box count as one page of the day, and none counts towards
//! the minute: each takes [`COMPLETION_FREE`] requests of the client's free minute.
//!
//! The pool holds only requests that did the work of their class: [`RateLimiter::refund`] takes back
//! the others. The clients of one network, a /24 or /48, take at most a share of a pool, so that no network
//! can use it up alone.
//!
//! [`RateLimiter`] says which windows a request needs. [`local`] keeps the windows in the memory of one server, and
//! [`fleet`] shares them with other servers through a store.

pub(crate) mod clock;
pub(crate) mod counts_file;
pub(crate) mod fleet;
pub(crate) mod local;
mod quota;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod verdict;

use std::{path::Path, sync::Arc, time::Duration};

use pinakes_answer::{Quota, QuotaClass, Quotas};

use crate::admission::limits::counts_file::FileError;
use crate::admission::limits::fleet::FleetWindows;
use crate::admission::limits::local::LocalWindows;

pub use crate::admission::limits::clock::{Clock, ClockReading, SystemClock};
pub use crate::admission::limits::quota::{Limits, Usage};
pub use crate::admission::limits::verdict::{Refusal, Verdict};

/// Largest number of clients that a limiter can count exactly.
pub const CLIENTS_MAX: u32 = 100_000_000;
const MINUTE_MILLIS: u64 = 60_000;
const DAY_MILLIS: u64 = 86_400_000;
/// Clients whose pages are counted, and whose free requests are, for a minute; a new client replaces the least recently seen.
const MINUTE_CLIENTS_MAX: u32 = 65_536;

/// Free requests of the minute that a completion of the pages' search box counts as: a completion reads an index, and
/// a file of pages does not.
const COMPLETION_FREE: u64 = 10;

/// Names a window of a client, or one that the client shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowName {
    Minute,
    /// The minute of pages for people.
    Pages,
    /// The minute of requests that count towards nothing else.
    Free,
    Day(QuotaClass),
    /// The day of the client's network.
    Network(QuotaClass),
    /// The day of all clients.
    Pool(QuotaClass),
}

/// Requests to take from a window of a minute, or [units](QuotaClass::units) from a window of a day; 0 only shows what
/// is left.
type Need = (WindowName, u64);

/// Counts requests against the limits.
pub struct RateLimiter(Windows);

/// Where the windows are kept.
enum Windows {
    Local(Box<LocalWindows>),
    Fleet(Arc<FleetWindows>),
}

impl RateLimiter {
    /// Makes a limiter of one server, without counts; reserves the whole table of clients.
    pub fn new(limits: Limits, clock: Box<dyn Clock>) -> RateLimiter {
        RateLimiter(Windows::Local(Box::new(LocalWindows::new(limits, clock))))
    }

    /// Makes a limiter of a fleet of `servers`, which share the counts in a store. [`FleetWindows::keep_store`]
    /// connects.
    pub fn of_fleet(
        limits: Limits,
        clock: Box<dyn Clock>,
        store: redis::Client,
        servers: u32,
        timeout: Duration,
    ) -> RateLimiter {
        let windows = FleetWindows::new(limits, clock, store, servers, timeout);
        RateLimiter(Windows::Fleet(Arc::new(windows)))
    }

    /// The windows of a fleet; `None` if the server counts for itself.
    pub fn fleet(&self) -> Option<&Arc<FleetWindows>> {
        match &self.0 {
            Windows::Fleet(fleet) => Some(fleet),
            Windows::Local(_) => None,
        }
    }

    /// Counts a request of a client, or refuses it. `daily` is the class of a request that counts towards a day.
    ///
    /// Cost for one server: one table lookup under a lock; the future is ready at once.
    pub async fn count(&self, client: u64, daily: Option<QuotaClass>) -> Verdict {
        let minute = (WindowName::minute_of(daily), 1);
        // Also what the headers of the reply show.
        let shown = |class| (WindowName::Day(class), 0);
        let [list, search] = [shown(QuotaClass::List), shown(QuotaClass::Search)];
        let Some(class) = daily else {
            return self.0.take(client, &[minute, list, search]).await.1;
        };
        let [day, network, pool] = of_day(class, class.units().into());
        let (_, verdict) = match class {
            QuotaClass::List => self.0.take(client, &[minute, day, network, pool, search]).await,
            QuotaClass::Search => self.0.take(client, &[minute, day, network, pool, list]).await,
            QuotaClass::Browse => {
                self.0.take(client, &[minute, day, network, pool, list, search]).await
            }
        };
        verdict
    }

    /// Counts a request that counts towards nothing else, or refuses it.
    pub async fn count_free(&self, client: u64) -> Verdict {
        self.0.take(client, &[(WindowName::Free, 1)]).await.1
    }

    /// Counts a completion of the pages' search box, or refuses it: [`COMPLETION_FREE`] requests of the free minute,
    /// and 1 unit of the day of pages.
    pub async fn count_completion(&self, client: u64) -> Verdict {
        let (refused, verdict) = self.0.take(client, &[(WindowName::Free, COMPLETION_FREE)]).await;
        if refused.is_some() {
            return verdict;
        }
        self.0.take(client, &of_day(QuotaClass::Browse, 1)).await.1
    }

    /// Counts `more` requests of the day for an admitted request, or refuses them. A refusal also takes the
    /// admitted request back from the client's day. The minute does not change.
    pub async fn count_more(
        &self,
        client: u64,
        daily: QuotaClass,
        more: u64,
        admitted: ClockReading,
    ) -> Verdict {
        let units = u64::from(daily.units());
        let needs = of_day(daily, more.saturating_mul(units));
        let (refused, verdict) = self.0.take(client, &needs).await;
        if refused.is_none() {
            return verdict;
        }
        self.0.give_back(client, &[(WindowName::Day(daily), units)], admitted);
        Verdict { quotas: self.0.known_quotas(client), ..verdict }
    }

    /// Counts a further request of the minute for the work of an admitted one, or refuses it. `daily` is the class of the
    /// admitted request.
    pub async fn count_work(&self, client: u64, daily: Option<QuotaClass>) -> Verdict {
        self.0.take(client, &[(WindowName::minute_of(daily), 1)]).await.1
    }

    /// Takes requests that [`RateLimiter::count_more`] counted back: their reply was not sent.
    pub fn take_back(&self, client: u64, daily: QuotaClass, more: u64, counted: ClockReading) {
        let units = more.saturating_mul(daily.units().into());
        self.0.give_back(client, &of_day(daily, units), counted);
    }

    /// Takes the units of a request back from the pool: the request did not do the work of its class. The counts of
    /// the client stay.
    pub fn refund(&self, client: u64, daily: QuotaClass, units: u32, admitted: ClockReading) {
        let [_, network, pool] = of_day(daily, units.into());
        self.0.give_back(client, &[network, pool], admitted);
    }

    /// Returns the limits of a client without counting a request.
    pub async fn client_quotas(&self, client: u64) -> Quotas {
        match &self.0 {
            Windows::Local(windows) => windows.quotas(client),
            Windows::Fleet(windows) => Box::pin(windows.fresh_quotas(client)).await,
        }
    }

    /// Returns how much of the limits is in use.
    pub fn usage(&self) -> Usage {
        match &self.0 {
            Windows::Local(windows) => windows.usage(),
            Windows::Fleet(windows) => windows.usage(),
        }
    }

    /// The limits in words, for the log.
    pub fn in_words(&self) -> String {
        match &self.0 {
            Windows::Local(windows) => windows.limits.in_words(),
            Windows::Fleet(windows) => windows.in_words(),
        }
    }

    /// Makes the system provide memory for the counts.
    pub fn provide_pages(&self) {
        match &self.0 {
            Windows::Local(windows) => windows.provide_pages(),
            Windows::Fleet(windows) => windows.provide_pages(),
        }
    }

    /// Writes the counts of one server to a file; see [`file`]. The store keeps those of a fleet.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        match &self.0 {
            Windows::Local(windows) => windows.save(path),
            Windows::Fleet(_) => Ok(()),
        }
    }

    /// Loads the counts of a file and returns the number of clients; 0 if there is no such file.
    ///
    /// On an error the counts do not change.
    pub fn load(&self, path: &Path) -> Result<u32, FileError> {
        match &self.0 {
            Windows::Local(windows) => windows.load(path),
            Windows::Fleet(_) => Ok(0),
        }
    }
}

impl Windows {
    /// Takes requests from windows, or refuses them: the first window that refuses decides. Of a refused request,
    /// only that of the minute counts, unless the minute refused it.
    async fn take(&self, client: u64, needs: &[Need]) -> (Option<WindowName>, Verdict) {
        match self {
            Windows::Local(windows) => windows.take(client, needs),
            // Boxed, so that the futures of one server stay small.
            Windows::Fleet(windows) => Box::pin(windows.take(client, needs)).await,
        }
    }

    /// Takes back requests that were counted at a time of the current day.
    fn give_back(&self, client: u64, needs: &[Need], counted: ClockReading) {
        match self {
            Windows::Local(windows) => windows.give_back(client, needs, counted),
            Windows::Fleet(windows) => windows.give_back(client, needs, counted),
        }
    }

    /// The limits of a client, as far as this server knows.
    fn known_quotas(&self, client: u64) -> Quotas {
        match self {
            Windows::Local(windows) => windows.quotas(client),
            Windows::Fleet(windows) => windows.known_quotas(client),
        }
    }
}

/// Windows of a request of the day, in the order in which they refuse.
fn of_day(class: QuotaClass, units: u64) -> [Need; 3] {
    [
        (WindowName::Day(class), units),
        (WindowName::Network(class), units),
        (WindowName::Pool(class), units),
    ]
}

impl WindowName {
    /// Milliseconds of a window that begins now.
    fn left(self, at: ClockReading) -> u64 {
        match self {
            WindowName::Minute | WindowName::Pages | WindowName::Free => MINUTE_MILLIS,
            _ => DAY_MILLIS - at.utc % DAY_MILLIS,
        }
    }

    /// The limit of the window.
    fn limit(self, limits: &Limits) -> u64 {
        match self {
            WindowName::Minute => limits.minute.into(),
            WindowName::Pages => limits.pages.into(),
            WindowName::Free => limits.free.into(),
            WindowName::Day(class) => limits.daily[class as usize].into(),
            WindowName::Network(class) => limits.network_pool[class as usize],
            WindowName::Pool(class) => limits.pool[class as usize],
        }
    }

    /// The minute that a request counts towards.
    fn minute_of(daily: Option<QuotaClass>) -> WindowName {
        if daily == Some(QuotaClass::Browse) { WindowName::Pages } else { WindowName::Minute }
    }

    /// Whether refused requests count, too.
    fn counts_refused(self) -> bool {
        matches!(self, WindowName::Minute | WindowName::Pages)
    }

    /// The refusal by this window. `left` is the rest of a minute that the headers of replies do not show.
    fn refusal(self, left: impl FnOnce() -> Quota) -> Refusal {
        match self {
            WindowName::Minute => Refusal::Minute,
            WindowName::Pages => Refusal::Pages(left()),
            WindowName::Free => Refusal::Free(left()),
            WindowName::Day(class) => Refusal::Day(class),
            WindowName::Network(class) | WindowName::Pool(class) => Refusal::Pool(class),
        }
    }
}

/// The day of a reading, in days since 1970.
fn day_of(at: ClockReading) -> u32 {
    u32::try_from(at.utc / DAY_MILLIS).unwrap_or(u32::MAX)
}
