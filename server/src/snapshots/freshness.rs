//! Reads the publication that a mirror stored beside a snapshot, for its expiry and licence.

use chrono::Utc;
use pinakes_answer::ServedSnapshot;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::publication::{Publication, read_kept};

use crate::event_counts::{LOADS, Load};

/// A snapshot to answer from, with the facts of its publication.
pub fn served(snapshot: Snapshot) -> ServedSnapshot {
    let served = ServedSnapshot::new(snapshot);
    refresh(&served);
    served
}

/// A newly opened snapshot to answer from; counts the load.
pub fn newly_opened(snapshot: Snapshot) -> ServedSnapshot {
    LOADS.count(Load::Opened);
    served(snapshot)
}

/// Reads the publication again; a host may publish the same snapshot again with a later expiry.
pub fn refresh(served: &ServedSnapshot) {
    served.freshness.set(read_publication(&served.snapshot));
}

/// Logs the expiry once.
pub fn log_expiry(served: &ServedSnapshot) {
    if let Some(expired) = served.freshness.newly_expired_at(Utc::now()) {
        tracing::warn!(
            snapshot = served.id(),
            expired,
            "stale: the publication of the served snapshot has expired; pull a newer publication"
        );
    }
}

fn read_publication(snapshot: &Snapshot) -> Option<Publication> {
    let manifest = snapshot.manifest();
    // Canonical, because the parent of a relative path such as `.` is empty.
    let path = snapshot.path().canonicalize().ok()?;
    let publication = read_kept(path.parent()?, &manifest.id)?;
    (publication.snapshot.root == manifest.root).then_some(publication)
}
