//! Expiry date and licence of a snapshot, as its publication states them.
//!
//! A snapshot that was built on this machine has no publication and never expires.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use arc_swap::ArcSwapOption;
use chrono::{DateTime, SecondsFormat, Utc};
use pinakes_format::storage::publication::Publication;

/// Expiry of a snapshot without a publication.
const NEVER: i64 = i64::MAX;

/// Licence of OpenAlex, ROR and ORCID data; the default.
const DEFAULT_LICENCE: &str = "CC0-1.0";

/// Expiry date and licence of a snapshot.
#[derive(Debug)]
pub struct Freshness {
    /// Microseconds since 1970, or [`NEVER`].
    expires_micros: AtomicI64,
    /// Whether the expiry was reported.
    is_reported: AtomicBool,
    /// Licence stated by the publication, if any.
    licence: ArcSwapOption<String>,
}

impl Default for Freshness {
    fn default() -> Freshness {
        Freshness {
            expires_micros: AtomicI64::new(NEVER),
            is_reported: AtomicBool::new(false),
            licence: ArcSwapOption::empty(),
        }
    }
}

impl Freshness {
    /// Takes over a publication; the same snapshot may be published again with a later expiry.
    pub fn set(&self, publication: Option<Publication>) {
        let expires = publication.as_ref().map_or(NEVER, |of| of.expires_at().timestamp_micros());
        self.expires_micros.store(expires, Ordering::Relaxed);
        self.is_reported.store(false, Ordering::Relaxed);
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

    /// The date of expiry, once after the snapshot has expired.
    pub fn newly_expired_at(&self, now: DateTime<Utc>) -> Option<String> {
        let expired = self.expired_at(now)?;
        (!self.is_reported.swap(true, Ordering::Relaxed)).then_some(expired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expired_snapshot_has_a_date_of_expiry_that_is_reported_once() {
        let check = |expires_micros: i64, now: i64, expected: Option<&str>| {
            let expires_micros = AtomicI64::new(expires_micros);
            let freshness = Freshness { expires_micros, ..Freshness::default() };
            let now = DateTime::from_timestamp_micros(now).unwrap_or_default();
            assert_eq!(freshness.expired_at(now).as_deref(), expected);
            assert_eq!(freshness.newly_expired_at(now).as_deref(), expected);
            assert_eq!(freshness.newly_expired_at(now), None);
        };
        check(NEVER, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_001, 1_700_000_000_000_000, None);
        check(1_700_000_000_000_000, 1_700_000_000_000_000, Some("2023-11-14T22:13:20Z"));
        check(0, 1_700_000_000_000_000, Some("1970-01-01T00:00:00Z"));
    }
}
