//! A snapshot that requests are answered from.

use std::sync::atomic::{AtomicBool, Ordering};

use pinakes_format::snapshot::{Reads, Snapshot};

use crate::define::freshness::Freshness;
use crate::reply::etag::SnapshotHeaders;

/// A snapshot that requests are answered from.
pub struct ServedSnapshot {
    /// The snapshot, without the suppressed records.
    pub snapshot: Snapshot,
    /// Handles of the snapshot that read ahead, and from memory alone.
    together: Snapshot,
    memory_only: Snapshot,
    /// A handle that waits until chunks are fetched that are not on this disk, for bodies in pieces.
    waiting: Snapshot,
    /// Expiry and licence.
    pub freshness: Freshness,
    reply_headers: SnapshotHeaders,
    poisoned: AtomicBool,
}

impl ServedSnapshot {
    /// A snapshot to answer from, which its host keeps open.
    pub fn new(snapshot: Snapshot) -> ServedSnapshot {
        let edition = snapshot.edition();
        ServedSnapshot {
            together: snapshot.reading(Reads::Together),
            memory_only: snapshot.reading(Reads::MemoryOnly),
            waiting: snapshot.waiting(),
            freshness: Freshness::default(),
            reply_headers: SnapshotHeaders::for_edition(&snapshot.manifest().id, &edition),
            poisoned: AtomicBool::new(false),
            snapshot,
        }
    }

    /// The snapshot's id.
    pub fn id(&self) -> &str {
        &self.snapshot.manifest().id
    }

    /// The handle of the snapshot that reads so.
    pub fn handle(&self, reads: Reads) -> &Snapshot {
        match reads {
            Reads::OneByOne => &self.snapshot,
            Reads::Together | Reads::Collecting => &self.together,
            Reads::MemoryOnly => &self.memory_only,
        }
    }

    /// The handle for a thread that may wait for the disk, and for a mirror where chunks are fetched.
    pub fn waiting_handle(&self, reads: Reads) -> &Snapshot {
        if self.snapshot.is_fetched() { &self.waiting } else { self.handle(reads) }
    }

    /// Headers of every reply from this snapshot.
    pub fn reply_headers(&self) -> &SnapshotHeaders {
        &self.reply_headers
    }

    /// Whether the snapshot proved damaged; no request is answered from a poisoned snapshot.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Relaxed)
    }

    /// Marks the snapshot as damaged; returns whether it was marked before.
    pub fn poison(&self) -> bool {
        self.poisoned.swap(true, Ordering::Relaxed)
    }
}
