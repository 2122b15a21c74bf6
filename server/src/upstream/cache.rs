//! Bounds the disk space of a mirror: what was not used for longest is removed.
//!
//! A clock hand walks over the stretches of all files. It removes the chunks that no reader has verified since it was there
//! before, and marks the others as not verified. So a chunk in use costs one more hash in each turn of the hand, and readers
//! keep no books.
//!
//! A reader may hold a reference to bytes that it verified before the mark. So chunks are removed only when all attempts
//! that began before the hand came have ended, unless one has verified them meanwhile.
//!
//! Requests that fetch take turns, so that the cache never holds more than its size, [`SPARE_BYTES`], and what the requests
//! with a turn read beyond [`TURN_BYTES`] each:
//!
//! ```text
//! on the disk, or fetched since      the size of the cache + the spare
//! ├──────────────────────────┬───────┬───────┤
//! │ chunks                   │ turn  │ turn  │  a third request waits until a turn ends, or until chunks are removed
//! ```
//!
//! A request keeps its turn to its end, and one request always has a turn. So a request that reads what it has fetched waits
//! for none that waits for room.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::absent::{CachedStretch, StretchPlace};

/// Space is freed down to this share of the limit, in percent.
const FREED_TO_PERCENT: u64 = 90;

/// Bytes that requests may fetch beyond the size of the cache.
const SPARE_BYTES: u64 = 4 << 20;
/// About the bytes that a request fetches.
const TURN_BYTES: u64 = 512 << 10;

/// The room of a cache for what requests fetch.
pub(crate) struct Room {
    /// The size of the cache; `None` without a limit.
    limit_bytes: Option<u64>,
    state: Mutex<RoomState>,
    /// Signalled when the cache holds more than its size.
    excess: Condvar,
    /// Signalled when a turn ends, and when chunks were removed.
    freed: tokio::sync::Notify,
}

#[derive(Default)]
struct RoomState {
    /// Bytes on the disk at the last look, and bytes that were fetched since.
    used_bytes: u64,
    turns: u64,
}

/// The right of a request to fetch.
pub(crate) struct Turn(Arc<Room>);

impl Room {
    /// The room of a cache of this size.
    pub fn new(limit_bytes: Option<u64>) -> Arc<Room> {
        let (state, excess, freed) = Default::default();
        Arc::new(Room { limit_bytes, state, excess, freed })
    }

    fn state(&self) -> MutexGuard<'_, RoomState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to fetch, if there is room.
    pub fn try_turn(self: &Arc<Self>) -> Option<Turn> {
        let mut state = self.state();
        if let Some(limit) = self.limit_bytes {
            let bytes = state.used_bytes + (state.turns + 1) * TURN_BYTES;
            if bytes > limit + SPARE_BYTES && state.turns > 0 {
                return None;
            }
        }
        state.turns += 1;
        Some(Turn(Arc::clone(self)))
    }

    /// Waits for the right to fetch; `None` if there is no room in time.
    pub async fn turn(self: &Arc<Self>, longest: Duration) -> Option<Turn> {
        let turn = async {
            loop {
                let freed = self.freed.notified();
                tokio::pin!(freed);
                // From here on, so that nothing is missed between the look and the wait.
                freed.as_mut().enable();
                if let Some(turn) = self.try_turn() {
                    return turn;
                }
                freed.await;
            }
        };
        tokio::time::timeout(longest, turn).await.ok()
    }

    /// Notes bytes that are fetched now.
    pub fn fetch(&self, bytes: u64) {
        let mut state = self.state();
        state.used_bytes += bytes;
        if self.limit_bytes.is_some_and(|limit| state.used_bytes > limit) {
            self.excess.notify_one();
        }
    }

    /// Notes the bytes on the disk.
    pub fn measure(&self, bytes: u64) {
        self.state().used_bytes = bytes;
        self.freed.notify_waiters();
    }

    /// Waits until the cache holds more than its size, at most for a time.
    pub fn await_excess(&self, longest: Duration) {
        let is_within =
            |state: &mut RoomState| self.limit_bytes.is_none_or(|limit| state.used_bytes <= limit);
        let _ = self.excess.wait_timeout_while(self.state(), longest, is_within);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.state().turns -= 1;
        self.0.freed.notify_waiters();
    }
}

/// The clock hand over the stretches of a snapshot.
#[derive(Default)]
pub(crate) struct Hand {
    next: StretchPlace,
    unused: Vec<CachedStretch>,
}

impl Hand {
    /// Goes on until it has found as many unused chunks as must be removed to fall below the limit; false if the files are
    /// below.
    pub fn mark(&mut self, snapshot: &Snapshot, used: u64, limit_bytes: u64) -> bool {
        if used <= limit_bytes {
            return false;
        }
        let mut excess = used.saturating_sub(limit_bytes / 100 * FREED_TO_PERCENT);
        let mut turns = 0;
        while excess > 0 && turns < 2 {
            match snapshot.next_stretch(&mut self.next) {
                Some(mut stretch) => {
                    let bytes = stretch.mark();
                    excess = excess.saturating_sub(bytes);
                    self.unused.extend((bytes > 0).then_some(stretch));
                }
                None => {
                    self.next = StretchPlace::default();
                    turns += 1;
                }
            }
        }
        true
    }

    /// Removes the unused chunks, except where a reader has verified one again. Every attempt that began before the mark must
    /// have ended. Returns the removed bytes.
    pub fn remove_unused(&mut self) -> u64 {
        self.unused.drain(..).map(|stretch| stretch.remove_unused()).sum()
    }
}
