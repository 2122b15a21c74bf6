//! What is served: which snapshot, how old, how much of it is verified.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use pinakes_format::entity::CATALOG;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::integrity::CHUNK_BYTES;
use pinakes_format::storage::manifest::MANIFEST;
use pinakes_format::storage::mmap;

use crate::ops::metrics::family::{Families, Kind};
use crate::snapshots::health::Trouble;
use crate::snapshots::library::Library;

/// All of it.
pub fn collect(library: &Library, families: &mut Families) {
    let served = library.served();
    let snapshot = &served.snapshot;
    let troubles = served.troubles(Utc::now());
    families.gauges(
        "pinakes_trouble",
        "What is not as it should be, as /health tells it: 1 where it is so.",
        "kind",
        Trouble::ALL.map(|of| (of.name(), f64::from(u8::from(troubles.contains(&of))))),
    );
    families.gauge(
        "pinakes_ready",
        "Whether there is a snapshot to answer from: 0 where the one served proved damaged.",
        if served.is_poisoned() { 0.0 } else { 1.0 },
    );
    families.counter(
        "pinakes_mapped_file_faults_total",
        "Mapped files that could not be read any more.",
        mmap::fault_count(),
    );
    identity(snapshot, families);
    ages(snapshot, families);
    let records =
        CATALOG.iter().map(|facts| (facts.plural, f64::from(snapshot.count(facts.entity))));
    families.gauges("pinakes_snapshot_records", "Records, by entity.", "entity", records);
    families.gauge(
        "pinakes_suppressed_records",
        "Records that the list of takedowns withholds.",
        served.snapshot.suppressed().records() as f64,
    );
    families.gauge(
        "pinakes_suppress_list_refused",
        "1 where the list's file is refused, so that an older one is in force.",
        f64::from(u8::from(troubles.contains(&Trouble::TakedownsRefused))),
    );
    chunks(snapshot, families);
}

fn identity(snapshot: &Snapshot, families: &mut Families) {
    let manifest = snapshot.manifest();
    let newest = manifest.source.newest_updated_date.as_deref().unwrap_or_default();
    let version = manifest.format_version.to_string();
    families.one(
        "pinakes_snapshot_info",
        "Which snapshot is served; always 1.",
        Kind::Gauge,
        &[
            ("id", manifest.id.as_str()),
            ("newest_updated_date", newest),
            ("format_version", version.as_str()),
        ],
        1.0,
    );
    let bytes: u64 = manifest.files.iter().map(|file| file.size_bytes).sum();
    families.gauge("pinakes_snapshot_size_bytes", "Bytes of its files.", bytes as f64);
}

fn ages(snapshot: &Snapshot, families: &mut Families) {
    let now = SystemTime::now();
    // A clock that was set back makes nothing younger than new.
    let age = |since: SystemTime| now.duration_since(since).unwrap_or_default().as_secs_f64();
    // Written last, and never again.
    let manifest = fs::metadata(snapshot.path().join(MANIFEST));
    if let Ok(published) = manifest.and_then(|metadata| metadata.modified()) {
        let help = "Seconds since the snapshot was published.";
        families.gauge("pinakes_snapshot_age_seconds", help, age(published));
    }
    let newest = snapshot.manifest().source.newest_updated_date.as_deref();
    if let Some(newest) = newest.and_then(moment) {
        let help = "Seconds since its newest record changed.";
        families.gauge("pinakes_snapshot_newest_record_age_seconds", help, age(newest));
    }
}

/// The moment of an `updated_date`: a date, with a time or without.
fn moment(text: &str) -> Option<SystemTime> {
    let at: DateTime<Utc> = text
        .parse::<DateTime<Utc>>()
        .or_else(|_| text.parse::<NaiveDateTime>().map(|at| at.and_utc()))
        .or_else(|_| {
            text.parse::<NaiveDate>().map(|day| day.and_time(Default::default()).and_utc())
        })
        .ok()?;
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(at.timestamp()).ok()?))
}

fn chunks(snapshot: &Snapshot, families: &mut Families) {
    let mut by_kind: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for archive in snapshot.archives() {
        let (chunks, verified) = archive.progress();
        let sums = by_kind.entry(archive.header().kind.file_name()).or_default();
        *sums = (sums.0 + chunks, sums.1 + verified);
    }
    let of = |part: fn(&(u64, u64)) -> u64| {
        by_kind.iter().map(move |(kind, sums)| (*kind, part(sums) as f64)).collect::<Vec<_>>()
    };
    let help = format!("Chunks of {} KiB, by kind of file.", CHUNK_BYTES >> 10);
    families.gauges("pinakes_snapshot_chunks", &help, "kind", of(|sums| sums.0));
    families.gauges(
        "pinakes_snapshot_chunks_verified",
        "Chunks that were held against their hash, by kind of file; the others will be when they are \
         first touched.",
        "kind",
        of(|sums| sums.1),
    );
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_any_form_is_a_moment() {
        let check = |text: &str, expected: Option<u64>| {
            let found = moment(text).map(|at| at.duration_since(UNIX_EPOCH).unwrap().as_secs());
            assert_eq!(found, expected, "{text}");
        };
        check("2026-01-31", Some(1_769_817_600));
        check("2026-01-31T20:48:01", Some(1_769_892_481));
        check("2026-01-31T20:48:01.123456", Some(1_769_892_481));
        check("2026-01-31T20:48:01.123Z", Some(1_769_892_481));
        for text in ["", "yesterday", "2026-13-01", "1900-01-01"] {
            check(text, None);
        }
    }
}
