//! The windows of one server, in its memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pinakes_answer::{Quota, QuotaClass, Quotas};

use crate::admission::limits::table::{ClientCounts, ClientTable};
use crate::admission::limits::{
    Clock, ClockReading, DAY_MILLIS, Limits, MINUTE_CLIENTS_MAX, MINUTE_MILLIS, Need, Usage,
    Verdict, WindowName, day_of,
};
use crate::http::client_address::network_key;

/// A clock may be set back this far without bringing the day before back.
pub(super) const SET_BACK_MILLIS: u64 = 3_600_000;

/// The counts of one server.
pub(super) struct LocalWindows {
    pub limits: Limits,
    pub clock: Box<dyn Clock>,
    counts: Mutex<Counts>,
}

/// The counts of all windows.
pub(super) struct Counts {
    pub clients: ClientTable,
    /// The current day, in days since 1970.
    pub day: u32,
    pub pool: [u64; QuotaClass::COUNT],
    /// The use of the pools by network.
    pub networks: ClientTable,
    /// Pages for people of a minute.
    pages: ClientTable,
    /// Requests of a minute that count towards nothing else.
    free: ClientTable,
    /// The day of the last warning that clients are replaced.
    warned_on: Option<u32>,
    /// Clients that others replaced since the start.
    replaced: u64,
}

impl LocalWindows {
    /// Windows without counts; reserves the whole table of clients.
    pub fn new(limits: Limits, clock: Box<dyn Clock>) -> LocalWindows {
        // A network with a count has used a pool at least once.
        let pools = limits.pool.into_iter().fold(0, u64::saturating_add);
        let networks = u32::try_from(pools).unwrap_or(u32::MAX).min(limits.clients_max);
        let counts = Counts {
            clients: ClientTable::new(limits.clients_max),
            day: 0,
            pool: [0; QuotaClass::COUNT],
            networks: ClientTable::new(networks),
            pages: ClientTable::new(MINUTE_CLIENTS_MAX.min(limits.clients_max)),
            free: ClientTable::new(MINUTE_CLIENTS_MAX.min(limits.clients_max)),
            warned_on: None,
            replaced: 0,
        };
        LocalWindows { limits, clock, counts: Mutex::new(counts) }
    }

    /// Makes the system provide memory for the tables, a MiB at a time, so that no request waits long.
    pub fn provide_pages(&self) {
        let provide = |mib| {
            let mut counts = self.lock();
            // All, whatever the first returns.
            counts.clients.provide_pages(mib)
                | counts.pages.provide_pages(mib)
                | counts.free.provide_pages(mib)
        };
        let _ = (0..).take_while(|mib| provide(*mib)).count();
    }

    /// As [`super::Windows::take`].
    pub fn take(&self, client: u64, needs: &[Need]) -> (Option<WindowName>, Verdict) {
        let (mut counts, at) = self.lock_now();
        if let [(WindowName::Free, need)] = needs {
            return self.take_free(&mut counts, client, *need, at);
        }
        let Counts { clients, day, pool, networks, pages, warned_on, replaced, .. } = &mut *counts;
        let (of_client, has_replaced) = clients.touch(client);
        *replaced += u64::from(has_replaced);
        if has_replaced && warned_on.replace(*day) != Some(*day) {
            tracing::warn!(
                clients_max = self.limits.clients_max,
                "more clients than --clients-max; the least recently seen clients start at zero again"
            );
        }
        of_client.refresh(*day, at);
        // A refused request adds no network to the table.
        let mut of_network = networks.peek(network_key(client));
        of_network.refresh(*day, at);
        let is_page = needs.iter().any(|(window, _)| *window == WindowName::Pages);
        let mut of_pages = if is_page { pages.peek(client) } else { ClientCounts::default() };
        of_pages.refresh(*day, at);
        let used = |window: WindowName| match window {
            WindowName::Minute | WindowName::Free => of_client.minute.into(),
            WindowName::Pages => of_pages.minute.into(),
            WindowName::Day(class) => of_client.daily[class as usize].into(),
            WindowName::Network(class) => of_network.daily[class as usize].into(),
            WindowName::Pool(class) => pool[class as usize],
        };
        let refuses = |(window, need): &&Need| {
            *need > 0 && used(*window).saturating_add(*need) > window.limit(&self.limits)
        };
        let refused = needs.iter().find(refuses).map(|(window, _)| *window);
        for (window, need) in needs {
            // Requests that pass are at most the limit, a u32.
            let need_u32 = *need as u32;
            match window {
                _ if refused == Some(*window) => {}
                _ if refused.is_some() && !window.counts_refused() => {}
                WindowName::Minute | WindowName::Free => of_client.begin_minute(need_u32, at),
                WindowName::Pages => of_pages.begin_minute(need_u32, at),
                WindowName::Day(class) => of_client.daily[*class as usize] += need_u32,
                WindowName::Network(class) => of_network.daily[*class as usize] += need_u32,
                WindowName::Pool(class) => pool[*class as usize] += need,
            }
        }
        let is_pooled = needs.iter().any(|(window, _)| matches!(window, WindowName::Pool(_)));
        if is_pooled && refused.is_none() {
            *networks.touch(network_key(client)).0 = of_network;
        }
        if is_page {
            *pages.touch(client).0 = of_pages;
        }
        let quotas = self.quotas_of(of_client, at);
        // Only a free request is refused by the free minute.
        let (limit, reset_millis) = (self.limits.pages, of_pages.minute_left(at));
        let refusal =
            refused.map(|window| window.refusal(|| Quota { limit, remaining: 0, reset_millis }));
        (refused, Verdict { refusal, quotas, at })
    }

    fn take_free(
        &self,
        counts: &mut Counts,
        client: u64,
        need: u64,
        at: ClockReading,
    ) -> (Option<WindowName>, Verdict) {
        let Counts { clients, free, day, .. } = counts;
        let (of_client, _) = free.touch(client);
        of_client.refresh(*day, at);
        let limit = self.limits.free;
        let is_refused = u64::from(of_client.minute) + need > limit.into();
        of_client.begin_minute(need as u32, at);
        let reset_millis = of_client.minute_left(at);
        let refused = is_refused.then_some(WindowName::Free);
        let refusal =
            refused.map(|window| window.refusal(|| Quota { limit, remaining: 0, reset_millis }));
        let mut of_client = clients.peek(client);
        of_client.refresh(*day, at);
        (refused, Verdict { refusal, quotas: self.quotas_of(&of_client, at), at })
    }

    /// As [`super::Windows::give_back`].
    pub fn give_back(&self, client: u64, needs: &[Need], counted: ClockReading) {
        let (mut counts, at) = self.lock_now();
        let Counts { clients, day, pool, networks, .. } = &mut *counts;
        // The counts of another day are gone.
        if day_of(counted) != *day {
            return;
        }
        for (window, requests) in needs {
            let (of_one, class) = match window {
                WindowName::Day(class) => (clients.touch(client).0, *class as usize),
                WindowName::Network(class) => {
                    (networks.touch(network_key(client)).0, *class as usize)
                }
                WindowName::Pool(class) => {
                    let used = &mut pool[*class as usize];
                    *used = used.saturating_sub(*requests);
                    continue;
                }
                // No minute gets requests back.
                WindowName::Minute | WindowName::Pages | WindowName::Free => continue,
            };
            of_one.refresh(*day, at);
            let requests = u32::try_from(*requests).unwrap_or(u32::MAX);
            of_one.daily[class] = of_one.daily[class].saturating_sub(requests);
        }
    }

    /// The limits of a client.
    pub fn quotas(&self, client: u64) -> Quotas {
        let (counts, at) = self.lock_now();
        let mut of_client = counts.clients.peek(client);
        of_client.refresh(counts.day, at);
        self.quotas_of(&of_client, at)
    }

    /// How much of the limits is in use.
    pub fn usage(&self) -> Usage {
        let (counts, _) = self.lock_now();
        Usage {
            clients: counts.clients.clients(),
            clients_max: self.limits.clients_max,
            clients_replaced: counts.replaced,
            pool: counts.pool,
            pool_max: self.limits.pool,
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Counts> {
        // No code panics while it holds the lock.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the counts and reads the clock, so that time never goes back between two requests.
    pub fn lock_now(&self) -> (MutexGuard<'_, Counts>, ClockReading) {
        let mut counts = self.lock();
        let at = self.clock.now();
        counts.start_day(at);
        (counts, at)
    }

    fn quotas_of(&self, of_client: &ClientCounts, at: ClockReading) -> Quotas {
        let left = |limit: u32, used: u32, reset_millis: u64| Quota {
            limit,
            remaining: limit.saturating_sub(used),
            reset_millis,
        };
        let daily = |class: QuotaClass| {
            let (limit, used) =
                (self.limits.daily[class as usize], of_client.daily[class as usize]);
            left(limit, used, DAY_MILLIS - at.utc % DAY_MILLIS)
        };
        Quotas {
            minute: left(self.limits.minute, of_client.minute, of_client.minute_left(at)),
            daily: QuotaClass::ALL.map(daily),
        }
    }
}

impl Counts {
    /// Starts the day of a reading, if that is another day. Around midnight the clock may step back a little.
    fn start_day(&mut self, at: ClockReading) {
        let day = day_of(at);
        let is_before = day < self.day;
        let stepped = ClockReading { utc: at.utc.saturating_add(SET_BACK_MILLIS), ..at };
        if day == self.day || is_before && day_of(stepped) == self.day {
            return;
        }
        self.day = day;
        self.pool = [0; QuotaClass::COUNT];
    }
}

impl ClientCounts {
    /// Resets the counts of windows that have ended.
    pub(super) fn refresh(&mut self, day: u32, at: ClockReading) {
        if self.minute > 0 && at.monotonic >= self.minute_started + MINUTE_MILLIS {
            self.minute = 0;
        }
        if self.day != day {
            self.day = day;
            self.daily = [0; QuotaClass::COUNT];
        }
    }

    /// Adds requests to the minute, which the first request begins.
    fn begin_minute(&mut self, requests: u32, at: ClockReading) {
        if self.minute == 0 {
            self.minute_started = at.monotonic;
        }
        self.minute = self.minute.saturating_add(requests);
    }

    /// Milliseconds until the minute ends; a whole minute if none has begun.
    fn minute_left(&self, at: ClockReading) -> u64 {
        match self.minute {
            0 => MINUTE_MILLIS,
            _ => (self.minute_started + MINUTE_MILLIS).saturating_sub(at.monotonic),
        }
    }
}
