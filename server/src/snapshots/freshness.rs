//! Expiry date and licence of the served snapshot, read from its publication.
//!
//! A snapshot that was built on this machine has no publication and never expires.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, Ordering},
};

use arc_swap::ArcSwapOption;
use chrono::{DateTime, SecondsFormat, Utc};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::publication::{Publication, read_kept};

/// Expiry of a snapshot without a publication.
const NEVER: i64 = i64::MAX;

/// Licence of OpenAlex, ROR and ORCID data; the default.
const DEFAULT_LICENCE: &str = "CC0-1.0";

/// Expiry date and licence of a snapshot.
#[derive(Debug)]
pub struct Freshness {
    /// Microseconds since 1970, or [`NEVER`].
    expires_micros: AtomicI64,
    /// Whether the log has reported the expiry.
    is_logged: AtomicBool,
    /// Licence stated by the publication, if any.
    licence: ArcSwapOption<String>,
}

impl Freshness {
    /// Reads the publication of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Freshness {
        let freshness = Freshness {
            expires_micros: AtomicI64::new(NEVER),
            is_logged: AtomicBool::new(false),
            licence: ArcSwapOption::empty(),
        };
        freshness.refresh(snapshot);
        freshness
    }

    /// Reads the publication again; a host may publish the same snapshot again with a later expiry.
    pub fn refresh(&self, snapshot: &Snapshot) {
        let publication = read_publication(snapshot);
        let expires = publication.as_ref().map_or(NEVER, |of| of.expires_at().timestamp_micros());
        self.expires_micros.store(expires, Ordering::Relaxed);
        self.is_logged.store(false, Ordering::Relaxed);
        self.licence.store(publication.and_then(|of| of.licence).map(Arc::new));
    }

    /// Licence of the data: the operator's setting, else the publication's licence, else the default.
    pub fn licence(&self, setting: Option<&str>) -> String {
        let published = self.licence.load();
        let published = published.as_ref().map(|licence| licence.as_str());
        setting.or(published).unwrap_or(DEFAULT_LICENCE).to_owned()
    }

    /// Date of expiry as RFC 3339, if the snapshot has expired.
    pub fn expired_at(&self, now: DateTime<Utc>) -> Option<String> {
        let expires = self.expires_micros.load(Ordering::Relaxed);
        let expires = DateTime::from_timestamp_micros(expires).filter(|_| expires != NEVER)?;
        (expires <= now).then(|| expires.to_rfc3339_opts(SecondsFormat::Secs, true))
    }

    /// Logs the expiry once.
    pub fn log_expiry(&self, snapshot: &Snapshot) {
        let Some(expired) = self.expired_at(Utc::now()) else { return };
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                snapshot = snapshot.manifest().id,
                expired,
                "stale: the publication of the served snapshot has expired; pull a newer publication"
            );
        }
    }
}

/// Reads the publication that a mirror stored beside the snapshot.
fn read_publication(snapshot: &Snapshot) -> Option<Publication> {
    let manifest = snapshot.manifest();
    // Canonical, because the parent of a relative path such as `.` is empty.
    let path = snapshot.path().canonicalize().ok()?;
    let publication = read_kept(path.parent()?, &manifest.id)?;
    (publication.snapshot.root == manifest.root).then_some(publication)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expired_snapshot_has_a_date_of_expiry() {
        let check = |expires_micros: i64, now: i64, expected: Option<&str>| {
            let is_logged = AtomicBool::new(false);
            let licence = ArcSwapOption::empty();
            let expires_micros = AtomicI64::new(expires_micros);
            let freshness = Freshness { expires_micros, is_logged, licence };
            let now = DateTime::from_timestamp_micros(now).unwrap_or_default();
            assert_eq!(freshness.expired_at(now).as_deref(), expected);
        };
        check(NEVER, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_001, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_000, 1_700_000_000_000_000, Some("2023-11-14T22:13:20Z"));
        check(0, 1_700_000_000_000_000, Some("1970-01-01T00:00:00Z"));
    }
}
