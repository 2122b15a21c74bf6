//! The limits of a fleet of servers, counted together in a store that speaks the Redis protocol.
//!
//! Windows and messages are those of [`super::RateLimiter`]. The store's clock alone decides when a window
//! begins and ends; this server's monotonic clock measures what is left, and its UTC clock counts only before
//! the store first answers.
//!
//! A server holds some requests of each window in advance, and a client's request uses one of them. If the
//! server holds too few, it asks the store, with one call of `take.lua` for all windows of the request. The
//! store gives more of a window to a server that has used more of it:
//!
//! ```text
//! 600 a minute, two servers, one client: 1, 2, 3, 6, 12, 24, 38, 38, … requests for each question
//! ```
//!
//! No other server can use these requests until the window ends. A server holds at most an eighth of a client's
//! limit divided by the servers, and a 64th of a pool divided by them. A server names totals and not increments.
//! A question whose answer was late therefore takes nothing twice, and a store that lost its memory learns the
//! counts again.

pub(crate) mod report;
pub(crate) mod store;
pub(crate) mod window;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pinakes_answer::{Quota, QuotaClass, Quotas};

use crate::admission::limits::fleet::store::{Answer, Question, Store, StoreCalls};
use crate::admission::limits::fleet::window::{Known, Window};
use crate::admission::limits::table::ClientTable;
use crate::admission::limits::{
    Clock, ClockReading, Limits, MINUTE_CLIENTS_MAX, MINUTE_MILLIS, Need, Usage, Verdict,
    WindowName, day_of,
};
use crate::http::client_address::network_key;

/// Of a client's limit, a server holds one of this many at most, divided by the servers of the fleet.
const CLIENT_LEASE_SHARE: u32 = 8;
/// The same of a pool.
const POOL_LEASE_SHARE: u32 = 64;
/// The limits of a client that only asks for them are this old at most.
const QUOTAS_AGE_MAX_MILLIS: u64 = 1_000;

/// The windows of one client.
#[derive(Clone, Copy, Debug, Default)]
struct ClientWindows {
    minute: Window,
    daily: [Window; QuotaClass::COUNT],
    /// When the store last answered for the client, in milliseconds of the monotonic clock.
    answered: u64,
}

/// The windows of a fleet, as one server knows them.
pub struct FleetWindows {
    limits: Limits,
    clock: Box<dyn Clock>,
    store: Store,
    servers: u32,
    state: Mutex<FleetCounts>,
}

struct FleetCounts {
    clients: ClientTable<ClientWindows>,
    networks: ClientTable<[Window; QuotaClass::COUNT]>,
    pages: ClientTable<Window>,
    free: ClientTable<Window>,
    pool: [Window; QuotaClass::COUNT],
    /// The store's clock at the start of the monotonic clock; `None` before the store first answers.
    store_epoch: Option<u64>,
    /// Clients that others replaced since the start.
    replaced: u64,
    /// Number of the last [`Window::holder`].
    holder: u32,
}

impl FleetWindows {
    /// Makes a limiter of a fleet of `servers`; [`FleetWindows::keep_store`] connects.
    pub fn new(
        limits: Limits,
        clock: Box<dyn Clock>,
        client: redis::Client,
        servers: u32,
        timeout: Duration,
    ) -> FleetWindows {
        // Random for each process: a server that starts again knows nothing of what it held.
        let server = RandomState::new().hash_one(std::process::id());
        let state = FleetCounts {
            clients: ClientTable::new(limits.clients_max),
            networks: ClientTable::new(limits.clients_max),
            pages: ClientTable::new(MINUTE_CLIENTS_MAX.min(limits.clients_max)),
            free: ClientTable::new(MINUTE_CLIENTS_MAX.min(limits.clients_max)),
            pool: [Window::default(); QuotaClass::COUNT],
            store_epoch: None,
            replaced: 0,
            holder: 0,
        };
        let store = Store::new(client, server, servers, timeout);
        FleetWindows { limits, clock, store, servers, state: Mutex::new(state) }
    }

    /// Whether the store is away, so that this server counts alone.
    pub fn is_alone(&self) -> bool {
        self.store.is_away()
    }

    /// Calls to the store since the start.
    pub fn store_calls(&self) -> StoreCalls {
        self.store.calls()
    }

    /// Returns how much of the limits is in use.
    pub fn usage(&self) -> Usage {
        let state = self.lock();
        let now = self.clock.now().monotonic;
        Usage {
            clients: state.clients.clients(),
            clients_max: self.limits.clients_max,
            clients_replaced: state.replaced,
            pool: state.pool.map(|window| window.used_of_fleet(now).into()),
            pool_max: self.limits.pool,
        }
    }

    /// The limits in words, for the log.
    pub fn in_words(&self) -> String {
        format!(
            "{}; {} servers share the counts in {}",
            self.limits.in_words(),
            self.servers,
            self.store.address()
        )
    }

    /// Makes the system provide memory for the counts.
    pub fn provide_pages(&self) {
        let provide = |mib| {
            let mut state = self.lock();
            // All, whatever the first returns.
            state.clients.provide_pages(mib)
                | state.networks.provide_pages(mib)
                | state.pages.provide_pages(mib)
                | state.free.provide_pages(mib)
        };
        let _ = (0..).take_while(|mib| provide(*mib)).count();
    }

    /// Takes back requests that were counted at a time of the current day.
    pub(super) fn give_back(&self, client: u64, needs: &[Need], counted: ClockReading) {
        let mut state = self.lock();
        if day_of(counted) == day_of(state.now(&*self.clock)) {
            for (window, requests) in needs {
                let window = state.window(*window, client);
                let requests = u32::try_from(*requests).unwrap_or(u32::MAX);
                window.used = window.used.saturating_sub(requests);
            }
        }
    }

    /// The limits of a client, as far as this server knows.
    pub(super) fn known_quotas(&self, client: u64) -> Quotas {
        let state = self.lock();
        self.verdict(&state, client, None, state.now(&*self.clock)).quotas
    }

    /// The limits of a client, as the store knew them within the last second.
    pub(super) async fn fresh_quotas(&self, client: u64) -> Quotas {
        let needs = [
            (WindowName::Minute, 0),
            (WindowName::Day(QuotaClass::List), 0),
            (WindowName::Day(QuotaClass::Search), 0),
        ];
        let (answered, now) = {
            let state = self.lock();
            (state.clients.peek(client).answered, self.clock.now().monotonic)
        };
        if now.saturating_sub(answered) > QUOTAS_AGE_MAX_MILLIS && !self.is_alone() {
            let asking = Asking::begin(self, client, &needs);
            if let Some(answer) = self.store.ask(&asking.questions).await {
                self.apply(&mut self.lock(), client, &needs, &answer, asking.sent);
            }
        }
        self.known_quotas(client)
    }

    fn lock(&self) -> MutexGuard<'_, FleetCounts> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`super::Windows::take`].
    pub(super) async fn take(&self, client: u64, needs: &[Need]) -> (Option<WindowName>, Verdict) {
        if let Some(decided) = self.take_known(client, needs) {
            return decided;
        }
        // Dropped after the requests are used, so that no other request takes what this one asked for.
        let asking = (!self.is_alone()).then(|| Asking::begin(self, client, needs));
        let answer = match &asking {
            Some(asking) => self.store.ask(&asking.questions).await,
            None => None,
        };
        let mut state = self.lock();
        if let (Some(answer), Some(asking)) = (&answer, &asking) {
            self.apply(&mut state, client, needs, answer, asking.sent);
        }
        let at = state.now(&*self.clock);
        // A single late answer refuses nobody: the server divides no limit before the store is away.
        let servers = if self.is_alone() { self.servers } else { 1 };
        let refused = needs.iter().find(|(name, need)| {
            let limit = self.limit(*name);
            let window = state.window(*name, client);
            match answer {
                Some(_) => !window.holds(*need),
                None => !window.holds_alone(*need, limit, servers, at.monotonic, name.left(at)),
            }
        });
        let refused = refused.map(|(name, _)| *name);
        state.consume(client, needs, refused);
        (refused, self.verdict(&state, client, refused, at))
    }

    /// Decides without the store, if this server knows the decision.
    fn take_known(&self, client: u64, needs: &[Need]) -> Option<(Option<WindowName>, Verdict)> {
        let mut state = self.lock();
        let at = state.now(&*self.clock);
        let known = needs.iter().find_map(|(name, need)| {
            let known = state.window(*name, client).known(*need, self.limit(*name), at.monotonic);
            (known != Known::Passes).then_some((*name, known))
        });
        let refused = match known {
            Some((_, Known::Asks)) => return None,
            Some((name, _)) => Some(name),
            None => None,
        };
        state.consume(client, needs, refused);
        Some((refused, self.verdict(&state, client, refused, at)))
    }

    fn apply(
        &self,
        state: &mut FleetCounts,
        client: u64,
        needs: &[Need],
        answer: &Answer,
        sent: u64,
    ) {
        state.store_epoch = Some(answer.now.saturating_sub(sent));
        for ((name, _), reply) in needs.iter().zip(&answer.windows) {
            state.window(*name, client).apply(*reply, sent);
        }
        if needs.iter().any(|(name, _)| *name == WindowName::Minute) {
            state.clients.touch(client).0.answered = sent;
        }
    }

    /// The question for a window, and for `asked` requests of it.
    fn question(&self, name: WindowName, client: u64, window: &Window, now: u64) -> Question {
        let limit = self.limit(name);
        let Window { holder, id, used, held, asking, .. } = *window;
        let share = match name {
            WindowName::Network(_) | WindowName::Pool(_) => POOL_LEASE_SHARE,
            _ => CLIENT_LEASE_SHARE,
        };
        let lease_max = limit / share.saturating_mul(self.servers);
        let length = match name {
            WindowName::Minute | WindowName::Pages | WindowName::Free => MINUTE_MILLIS,
            _ => 0,
        };
        let numbers = [
            holder.into(),
            limit.into(),
            length,
            id,
            window.left_millis(now),
            held.max(used).into(),
            used.into(),
            asking.into(),
            used.min(lease_max).into(),
        ];
        Question { key: name.key(client), numbers }
    }

    fn limit(&self, window: WindowName) -> u32 {
        u32::try_from(window.limit(&self.limits)).unwrap_or(u32::MAX)
    }

    fn verdict(
        &self,
        state: &FleetCounts,
        client: u64,
        refused: Option<WindowName>,
        at: ClockReading,
    ) -> Verdict {
        let is_alone = self.is_alone();
        let windows = state.clients.peek(client);
        let quota = |window: &Window, name: WindowName| Quota {
            limit: self.limit(name),
            remaining: window.remaining(self.limit(name), self.servers, at.monotonic, is_alone),
            reset_millis: match name {
                WindowName::Minute | WindowName::Pages | WindowName::Free
                    if window.is_open(at.monotonic) =>
                {
                    window.left_millis(at.monotonic)
                }
                _ => name.left(at),
            },
        };
        let daily =
            |class: QuotaClass| quota(&windows.daily[class as usize], WindowName::Day(class));
        let quotas = Quotas {
            minute: quota(&windows.minute, WindowName::Minute),
            daily: QuotaClass::ALL.map(daily),
        };
        let left = |window| match window {
            WindowName::Pages => quota(&state.pages.peek(client), window),
            _ => quota(&state.free.peek(client), WindowName::Free),
        };
        let refusal = refused.map(|window| window.refusal(|| left(window)));
        Verdict { refusal, quotas, at }
    }
}

/// A question under way; the windows remember how many requests it asks for, until it is dropped.
struct Asking<'a> {
    limiter: &'a FleetWindows,
    client: u64,
    needs: &'a [Need],
    questions: Vec<Question>,
    /// When the question was sent, in milliseconds of the monotonic clock.
    sent: u64,
}

impl<'a> Asking<'a> {
    fn begin(limiter: &'a FleetWindows, client: u64, needs: &'a [Need]) -> Asking<'a> {
        let mut state = limiter.lock();
        let sent = limiter.clock.now().monotonic;
        let questions = needs
            .iter()
            .map(|(name, need)| {
                let window = state.held_window(*name, client);
                // At most the limit, a u32.
                window.asking = window.asking.saturating_add(*need as u32);
                let asked = if *need > 0 { window.asking } else { 0 };
                limiter.question(*name, client, &Window { asking: asked, ..*window }, sent)
            })
            .collect();
        Asking { limiter, client, needs, questions, sent }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.limiter.lock();
        for (name, need) in self.needs {
            let window = state.window(*name, self.client);
            window.asking = window.asking.saturating_sub(*need as u32);
        }
    }
}

impl WindowName {
    /// The key of the window in the store.
    fn key(self, client: u64) -> String {
        match self {
            WindowName::Minute => format!("pinakes:minute:{client:016x}"),
            WindowName::Pages => format!("pinakes:pages:{client:016x}"),
            WindowName::Free => format!("pinakes:free:{client:016x}"),
            WindowName::Day(class) => format!("pinakes:{}:{client:016x}", class.label()),
            WindowName::Network(class) => {
                format!("pinakes:{}-network:{:016x}", class.label(), network_key(client))
            }
            WindowName::Pool(class) => format!("pinakes:{}-pool", class.label()),
        }
    }
}

impl FleetCounts {
    /// Reads the clock; UTC is the store's, once the store has answered.
    fn now(&self, clock: &dyn Clock) -> ClockReading {
        let own = clock.now();
        let utc = self.store_epoch.map_or(own.utc, |epoch| epoch.saturating_add(own.monotonic));
        ClockReading { utc, ..own }
    }

    fn window(&mut self, name: WindowName, client: u64) -> &mut Window {
        match name {
            WindowName::Minute => &mut self.client(client).minute,
            WindowName::Day(class) => &mut self.client(client).daily[class as usize],
            WindowName::Pages => self.pages.touch(client).0,
            WindowName::Free => self.free.touch(client).0,
            WindowName::Network(class) => {
                &mut self.networks.touch(network_key(client)).0[class as usize]
            }
            WindowName::Pool(class) => &mut self.pool[class as usize],
        }
    }

    /// A window that the store knows this server to hold.
    fn held_window(&mut self, name: WindowName, client: u64) -> &mut Window {
        let next = self.holder.wrapping_add(1).max(1);
        let is_new = self.window(name, client).holder == 0;
        if is_new {
            self.holder = next;
        }
        let window = self.window(name, client);
        if is_new {
            window.holder = next;
        }
        window
    }

    fn client(&mut self, client: u64) -> &mut ClientWindows {
        let (windows, has_replaced) = self.clients.touch(client);
        self.replaced += u64::from(has_replaced);
        windows
    }

    /// Uses the requests of all windows; of a refused request only that of the minute, unless the minute
    /// refused it.
    fn consume(&mut self, client: u64, needs: &[Need], refused: Option<WindowName>) {
        for (name, need) in needs {
            if refused == Some(*name) || refused.is_some() && !name.counts_refused() {
                return;
            }
            let window = self.window(*name, client);
            // At most the limit, a u32.
            window.used = window.used.saturating_add(*need as u32);
        }
    }
}
