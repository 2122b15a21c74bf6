//! Until when what is served is to be taken for the newest there is: as the publication says that it was
//! pulled by. What was built here has none, and does not grow stale.

use std::{
    fs::File,
    io::Read,
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
};

use chrono::{DateTime, SecondsFormat, Utc};
use pinakes_format::{
    publication::{PUBLICATION_BYTES_MAX, Publication, kept_path},
    snapshot::Snapshot,
};

/// Of what does not expire.
const NEVER: i64 = i64::MAX;

/// Until when a snapshot is fresh.
#[derive(Debug)]
pub struct Freshness {
    /// Microseconds since 1970; [`NEVER`] where nobody says.
    expires_micros: AtomicI64,
    is_told: AtomicBool,
}

impl Freshness {
    /// What is known of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Freshness {
        let expires_micros = AtomicI64::new(read(snapshot));
        Freshness { expires_micros, is_told: AtomicBool::new(false) }
    }

    /// Reads again what is known: the same snapshot may have been published anew.
    pub fn refresh(&self, snapshot: &Snapshot) {
        self.expires_micros.store(read(snapshot), Ordering::Relaxed);
        self.is_told.store(false, Ordering::Relaxed);
    }

    /// When it expired; `None` where it has not.
    pub fn expired(&self, now: DateTime<Utc>) -> Option<String> {
        let expires = self.expires_micros.load(Ordering::Relaxed);
        let expires = DateTime::from_timestamp_micros(expires).filter(|_| expires != NEVER)?;
        (expires <= now).then(|| expires.to_rfc3339_opts(SecondsFormat::Secs, true))
    }

    /// Says in the log that it has expired, once.
    pub fn tell(&self, snapshot: &Snapshot) {
        let Some(expired) = self.expired(Utc::now()) else { return };
        if !self.is_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                snapshot = snapshot.manifest().id,
                expired,
                "stale: what it was published as has expired; pull a newer one"
            );
        }
    }
}

/// When the publication that a snapshot was pulled by expires.
fn read(snapshot: &Snapshot) -> i64 {
    let manifest = snapshot.manifest();
    let path = snapshot.path().parent().map(|snapshots| kept_path(snapshots, &manifest.id));
    let Some(file) = path.and_then(|path| File::open(path).ok()) else { return NEVER };
    let mut text = Vec::new();
    let read = file.take(PUBLICATION_BYTES_MAX).read_to_end(&mut text);
    let publication = read.ok().and_then(|_| Publication::read(&text).ok());
    publication
        .filter(|publication| publication.snapshot.root == manifest.root)
        .map_or(NEVER, |publication| publication.expires_at().timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_expired_says_when() {
        let check = |expires_micros: i64, now: i64, expected: Option<&str>| {
            let is_told = AtomicBool::new(false);
            let freshness = Freshness { expires_micros: AtomicI64::new(expires_micros), is_told };
            let now = DateTime::from_timestamp_micros(now).unwrap_or_default();
            assert_eq!(freshness.expired(now).as_deref(), expected);
        };
        check(NEVER, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_001, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_000, 1_700_000_000_000_000, Some("2023-11-14T22:13:20Z"));
        check(0, 1_700_000_000_000_000, Some("1970-01-01T00:00:00Z"));
    }
}
