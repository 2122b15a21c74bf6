//! A snapshot that requests are answered from.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use chrono::{DateTime, Utc};
use pinakes_format::snapshot::{Reads, Snapshot};

use crate::event_counts::{LOADS, Load};
use crate::reply::etag::SnapshotHeaders;
use crate::snapshots::freshness::Freshness;
use crate::snapshots::health::{HealthIssue, HealthState};
use crate::upstream::follow::Upstream;

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
    health: Arc<HealthState>,
}

impl ServedSnapshot {
    pub(super) fn new(snapshot: Snapshot, health: &Arc<HealthState>) -> ServedSnapshot {
        let edition = snapshot.edition();
        ServedSnapshot {
            together: snapshot.reading(Reads::Together),
            memory_only: snapshot.reading(Reads::MemoryOnly),
            waiting: snapshot.waiting(),
            freshness: Freshness::new(&snapshot),
            reply_headers: SnapshotHeaders::for_edition(&snapshot.manifest().id, &edition),
            poisoned: AtomicBool::new(false),
            health: Arc::clone(health),
            snapshot,
        }
    }

    /// Wraps a newly opened snapshot, and counts the load.
    pub(super) fn newly_opened(snapshot: Snapshot, health: &Arc<HealthState>) -> ServedSnapshot {
        LOADS.count(Load::Opened);
        ServedSnapshot::new(snapshot, health)
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
    pub(super) fn poison(&self) -> bool {
        self.poisoned.swap(true, Ordering::Relaxed)
    }

    /// Current health issues, the most severe first.
    pub fn health_issues(&self, now: DateTime<Utc>) -> Vec<HealthIssue> {
        let has_mirror = |issue: fn(&Upstream) -> bool| self.health.has_mirror(issue);
        let is_present = |issue: &HealthIssue| match issue {
            HealthIssue::Unavailable => self.is_poisoned(),
            HealthIssue::Fallback => !self.is_poisoned() && self.health.is_fallback(),
            HealthIssue::SuppressionListRefused => self.health.is_list_refused(),
            HealthIssue::DiskDamaged => has_mirror(Upstream::is_disk_damaged),
            HealthIssue::DiskRefused => has_mirror(|of| of.transfers.is_write_refused()),
            HealthIssue::MirrorAway => has_mirror(|of| of.transfers.are_hosts_away()),
            HealthIssue::MirrorDamaged => has_mirror(|of| of.transfers.hosts.are_rotten()),
            HealthIssue::PublicationRefused => has_mirror(Upstream::is_look_refused),
            HealthIssue::Stale => self.freshness.expired_at(now).is_some(),
            HealthIssue::CountersAway => self.health.are_counters_away(),
            HealthIssue::ClockJumped => self.health.has_clock_jumped(),
        };
        HealthIssue::ALL.into_iter().filter(is_present).collect()
    }
}
