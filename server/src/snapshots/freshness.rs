//! Until when what is served is to be taken for the newest there is, and what it may be used under: as the
//! publication says that it was pulled by. What was built here has none, and does not grow stale.

use std::{
    fs::File,
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use chrono::{DateTime, SecondsFormat, Utc};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::publication::{PUBLICATION_BYTES_MAX, Publication, kept_path};

/// Of what does not expire.
const NEVER: i64 = i64::MAX;

/// Until when a snapshot is fresh.
#[derive(Debug)]
pub struct Freshness {
    /// Microseconds since 1970; [`NEVER`] where nobody says.
    expires_micros: AtomicI64,
    is_told: AtomicBool,
    /// What it may be used under; `None` where nobody says.
    licence: ArcSwapOption<String>,
}

/// What OpenAlex, ROR and ORCID publish under.
const LICENCE: &str = "CC0-1.0";

impl Freshness {
    /// What is known of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Freshness {
        let freshness = Freshness {
            expires_micros: AtomicI64::new(NEVER),
            is_told: AtomicBool::new(false),
            licence: ArcSwapOption::empty(),
        };
        freshness.refresh(snapshot);
        freshness
    }

    /// Reads again what is known: the same snapshot may have been published anew.
    pub fn refresh(&self, snapshot: &Snapshot) {
        let publication = read(snapshot);
        let expires = publication.as_ref().map_or(NEVER, |of| of.expires_at().timestamp_micros());
        self.expires_micros.store(expires, Ordering::Relaxed);
        self.is_told.store(false, Ordering::Relaxed);
        self.licence.store(publication.and_then(|of| of.licence).map(Arc::new));
    }

    /// What the data may be used under: as whoever runs the server says, else whoever published it.
    pub fn licence(&self, said: Option<&str>) -> String {
        let published = self.licence.load();
        let published = published.as_ref().map(|licence| licence.as_str());
        said.or(published).unwrap_or(LICENCE).to_owned()
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

/// The publication that a snapshot was pulled by.
fn read(snapshot: &Snapshot) -> Option<Publication> {
    let manifest = snapshot.manifest();
    // Of a path like `.` the parent is nobody's name.
    let path = snapshot.path().canonicalize().ok()?;
    let file = File::open(kept_path(path.parent()?, &manifest.id)).ok()?;
    let mut text = Vec::new();
    file.take(PUBLICATION_BYTES_MAX).read_to_end(&mut text).ok()?;
    let publication = Publication::read(&text).ok()?;
    (publication.snapshot.root == manifest.root).then_some(publication)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_expired_says_when() {
        let check = |expires_micros: i64, now: i64, expected: Option<&str>| {
            let is_told = AtomicBool::new(false);
            let licence = ArcSwapOption::empty();
            let expires_micros = AtomicI64::new(expires_micros);
            let freshness = Freshness { expires_micros, is_told, licence };
            let now = DateTime::from_timestamp_micros(now).unwrap_or_default();
            assert_eq!(freshness.expired(now).as_deref(), expected);
        };
        check(NEVER, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_001, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_000, 1_700_000_000_000_000, Some("2023-11-14T22:13:20Z"));
        check(0, 1_700_000_000_000_000, Some("1970-01-01T00:00:00Z"));
    }
}
