//! Bounds the disk space of a mirror: what was not used for longest is removed.
//!
//! A clock hand walks over the stretches of all files. It marks the chunks of a stretch as not verified, and later removes
//! the stretch if no reader has verified one of them again. So a stretch in use costs one more hash of each chunk in use,
//! and readers keep no books.
//!
//! A reader may hold a reference to bytes that it verified before the mark. So a stretch is removed only when all attempts
//! that began before the mark have ended.

use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::absent::{CachedStretch, StretchPlace};

/// Space is freed down to this share of the limit, in percent.
const FREED_TO_PERCENT: u64 = 90;

/// The clock hand over the stretches of a snapshot.
#[derive(Default)]
pub(crate) struct Hand {
    next: StretchPlace,
    marked: Vec<CachedStretch>,
}

impl Hand {
    /// Marks as many stretches as must be removed to fall below the limit; false if the files are below.
    pub fn mark(&mut self, snapshot: &Snapshot, limit_bytes: u64) -> bool {
        let used = snapshot.allocated_bytes();
        if used <= limit_bytes {
            return false;
        }
        let mut excess = used.saturating_sub(limit_bytes / 100 * FREED_TO_PERCENT);
        let mut turns = 0;
        while excess > 0 && turns < 2 {
            match snapshot.next_stretch(&mut self.next) {
                Some(stretch) => {
                    stretch.mark();
                    excess = excess.saturating_sub(stretch.bytes());
                    self.marked.push(stretch);
                }
                None => {
                    self.next = StretchPlace::default();
                    turns += 1;
                }
            }
        }
        true
    }

    /// Removes the marked stretches, except where a reader has verified a chunk again. Every attempt that began before the
    /// mark must have ended. Returns the removed bytes.
    pub fn remove_marked(&mut self) -> u64 {
        self.marked.drain(..).map(|stretch| stretch.remove_unused()).sum()
    }
}
