//! Keeps the connection to the store, and tells a store that returns what it does not know.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use pinakes_answer::QuotaClass;
use redis::aio::MultiplexedConnection;
use tokio::time;

use crate::admission::limits::WindowName;
use crate::admission::limits::fleet::store::StoreError;
use crate::admission::limits::fleet::window::Window;
use crate::admission::limits::fleet::{ClientWindows, FleetCounts, FleetWindows};

/// Pause between two attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Clients looked at under one lock.
const CLIENTS_PER_LOCK: u32 = 256;
/// Windows reported with one call.
const WINDOWS_PER_CALL: usize = 64;

/// Which windows a store has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// Every open window: the store lost its memory.
    All,
    /// Windows of which this server used more than the store gave it.
    Overdrawn,
}

impl FleetWindows {
    /// Connects to the store, and connects again whenever the connection is lost; never ends.
    pub async fn keep_store(&self) {
        let mut known_memory: Option<String> = None;
        let mut has_warned = false;
        loop {
            let memory = format!("{:016x}", RandomState::new().hash_one(()));
            match self.begin(&memory, &mut known_memory).await {
                Ok(()) => {
                    tracing::info!(store = %self.store.address(), "the store of counters answers");
                    self.store.lost().await;
                    has_warned = true;
                }
                Err(error) => {
                    if !has_warned {
                        tracing::error!(
                            store = %self.store.address(),
                            %error,
                            "cannot reach the store of counters; this server counts alone, each limit divided \
                             by --fleet-size; check --counters and the store"
                        );
                    }
                    has_warned = true;
                    time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }

    /// Connects, reports what the store does not know, and lets requests ask the store.
    async fn begin(
        &self,
        memory: &str,
        known_memory: &mut Option<String>,
    ) -> Result<(), StoreError> {
        let (mut link, memory) = self.store.connect(memory).await?;
        let unknown = match known_memory.as_deref() == Some(memory.as_str()) {
            true => Unknown::Overdrawn,
            false => Unknown::All,
        };
        self.report(&mut link, unknown).await?;
        *known_memory = Some(memory);
        self.store.set_link(link);
        Ok(())
    }

    async fn report(
        &self,
        link: &mut MultiplexedConnection,
        unknown: Unknown,
    ) -> Result<(), StoreError> {
        // The pools first: they concern every client.
        let pools = QuotaClass::ALL.map(|class| (WindowName::Pool(class), 0));
        self.report_some(link, unknown, pools.to_vec()).await?;
        let mut from = 0;
        loop {
            let to = from + CLIENTS_PER_LOCK;
            let (windows, is_last) = {
                let state = self.lock();
                let tables = [
                    state.clients.clients(),
                    state.networks.clients(),
                    state.pages.clients(),
                    state.free.clients(),
                ];
                (state.windows(from, to), tables.iter().all(|clients| *clients <= to))
            };
            self.report_some(link, unknown, windows).await?;
            if is_last {
                return Ok(());
            }
            from = to;
        }
    }

    async fn report_some(
        &self,
        link: &mut MultiplexedConnection,
        unknown: Unknown,
        mut windows: Vec<(WindowName, u64)>,
    ) -> Result<(), StoreError> {
        windows.retain(|(name, client)| self.is_unknown(*name, *client, unknown));
        for windows in windows.chunks(WINDOWS_PER_CALL) {
            let sent = self.clock.now().monotonic;
            let questions: Vec<_> = {
                let mut state = self.lock();
                let question = |(name, client): &(WindowName, u64)| {
                    let window = Window { asking: 0, ..*state.held_window(*name, *client) };
                    self.question(*name, *client, &window, sent)
                };
                windows.iter().map(question).collect()
            };
            let answer = self.store.report(link, &questions).await?;
            let mut state = self.lock();
            for ((name, client), reply) in windows.iter().zip(&answer.windows) {
                state.window(*name, *client).apply(*reply, sent);
            }
        }
        Ok(())
    }

    fn is_unknown(&self, name: WindowName, client: u64, unknown: Unknown) -> bool {
        let mut state = self.lock();
        let window = *state.window(name, client);
        let is_overdrawn = window.used > window.held;
        window.is_open(self.clock.now().monotonic)
            && (is_overdrawn || unknown == Unknown::All && window.held > 0)
    }
}

impl FleetCounts {
    /// Names the windows of the clients in a range of slots of each table.
    fn windows(&self, from: u32, to: u32) -> Vec<(WindowName, u64)> {
        let of_clients = self.clients.slots(from..to).flat_map(|(client, windows)| {
            let ClientWindows { minute, daily, .. } = windows;
            let days = QuotaClass::ALL.map(|class| (WindowName::Day(class), daily[class as usize]));
            let used = [(WindowName::Minute, minute)].into_iter().chain(days);
            used.filter(|(_, window)| window.ends > 0).map(move |(name, _)| (name, client))
        });
        let of_networks = self.networks.slots(from..to).flat_map(|(network, _)| {
            QuotaClass::ALL.map(|class| (WindowName::Network(class), network))
        });
        let of_pages = self.pages.slots(from..to).map(|(client, _)| (WindowName::Pages, client));
        let of_free = self.free.slots(from..to).map(|(client, _)| (WindowName::Free, client));
        of_clients.chain(of_networks).chain(of_pages).chain(of_free).collect()
    }
}
