//! Metrics of the served snapshot: id, age, health issues, and verified chunks.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use pinakes_answer::HealthIssue;
use pinakes_format::entity::CATALOG;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::{CHUNK_BYTES, MANIFEST, mmap};

use crate::ops::metrics::family::Families;
use crate::snapshots::manager::SnapshotManager;
use crate::upstream::transfers::Transfers;

/// Adds the metrics of the served snapshot.
pub fn collect(snapshots: &SnapshotManager, families: &Families) {
    // One snapshot for all metrics, even if the server switches to another meanwhile.
    let served = snapshots.served();
    let snapshot = &served.snapshot;
    let issues = snapshots.health().issues(&served, Utc::now());
    let is_present = |issue: HealthIssue| f64::from(u8::from(issues.contains(&issue)));
    families.gauges(
        "pinakes_trouble",
        "1 for each health issue that /health lists as a trouble, else 0.",
        "kind",
        HealthIssue::ALL.map(|issue| (issue.name(), is_present(issue))),
    );
    families.gauge(
        "pinakes_ready",
        "1 while the server answers from a snapshot; 0 after the snapshot proved damaged.",
        if served.is_poisoned() { 0.0 } else { 1.0 },
    );
    families.counter(
        "pinakes_mapped_file_faults_total",
        "Mapped files that became unreadable.",
        mmap::fault_count() as f64,
    );
    families.gauge(
        "pinakes_activation_timestamp_seconds",
        "Time at which the server switches to the scheduled snapshot; 0 without one.",
        snapshots.activates_at().map_or(0.0, |at| at.timestamp_millis() as f64 / 1_000.0),
    );
    identity(snapshot, families);
    ages(snapshot, families);
    let records =
        CATALOG.iter().map(|facts| (facts.plural, f64::from(snapshot.count(facts.entity))));
    families.gauges(
        "pinakes_snapshot_records",
        "Records of the snapshot, by entity.",
        "entity",
        records,
    );
    families.gauge(
        "pinakes_suppressed_records",
        "Records that the suppression list suppresses.",
        snapshot.suppressed().records() as f64,
    );
    families.gauge(
        "pinakes_suppress_list_refused",
        "1 while the suppression list's file is refused and the previous list stays in force.",
        is_present(HealthIssue::SuppressionListRefused),
    );
    chunks(snapshot, families);
    if let Some(upstream) = snapshots.upstream() {
        mirror(&upstream.transfers, snapshot, families);
    }
}

fn mirror(transfers: &Transfers, snapshot: &Snapshot, families: &Families) {
    let (bytes, requests) = transfers.hosts.fetched();
    families.counter(
        "pinakes_mirror_fetched_bytes_total",
        "Bytes that the mirrors of --from sent.",
        bytes as f64,
    );
    families.counter(
        "pinakes_mirror_requests_total",
        "Requests to the mirrors of --from.",
        requests as f64,
    );
    families.counter(
        "pinakes_mirror_mended_chunks_total",
        "Damaged chunks of a complete snapshot that were fetched and written again.",
        transfers.mended() as f64,
    );
    families.gauge(
        "pinakes_mirror_disk_bytes",
        "Disk space of the served snapshot.",
        snapshot.allocated_bytes() as f64,
    );
}

fn identity(snapshot: &Snapshot, families: &Families) {
    let manifest = snapshot.manifest();
    let newest = manifest.source.newest_updated_date.as_deref().unwrap_or_default();
    let version = manifest.format_version.to_string();
    families.info(
        "pinakes_snapshot_info",
        "The served snapshot; the value is 1.",
        [
            ("id", manifest.id.as_str()),
            ("newest_updated_date", newest),
            ("format_version", version.as_str()),
        ],
    );
    let bytes: u64 = manifest.files.iter().map(|file| file.size_bytes).sum();
    families.gauge("pinakes_snapshot_size_bytes", "Size of the snapshot's files.", bytes as f64);
}

fn ages(snapshot: &Snapshot, families: &Families) {
    let now = SystemTime::now();
    // Not negative after the clock was set back.
    let age = |since: SystemTime| now.duration_since(since).unwrap_or_default().as_secs_f64();
    // The compiler writes the manifest last, and once.
    let manifest = fs::metadata(snapshot.path().join(MANIFEST));
    if let Ok(published) = manifest.and_then(|metadata| metadata.modified()) {
        let help = "Seconds since the snapshot was published.";
        families.gauge("pinakes_snapshot_age_seconds", help, age(published));
    }
    let newest = snapshot.manifest().source.newest_updated_date.as_deref();
    if let Some(newest) = newest.and_then(parse_time) {
        let help = "Seconds since the newest record of the snapshot changed.";
        families.gauge("pinakes_snapshot_newest_record_age_seconds", help, age(newest));
    }
}

/// Parses an `updated_date`: a date, with or without a time and a zone.
fn parse_time(text: &str) -> Option<SystemTime> {
    let at: DateTime<Utc> = text
        .parse::<DateTime<Utc>>()
        .or_else(|_| text.parse::<NaiveDateTime>().map(|at| at.and_utc()))
        .or_else(|_| {
            text.parse::<NaiveDate>().map(|day| day.and_time(Default::default()).and_utc())
        })
        .ok()?;
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(at.timestamp()).ok()?))
}

fn chunks(snapshot: &Snapshot, families: &Families) {
    let mut by_kind: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for archive in snapshot.archives() {
        let (chunks, verified) = archive.progress();
        let sums = by_kind.entry(archive.header().kind.file_name()).or_default();
        *sums = (sums.0 + chunks, sums.1 + verified);
    }
    let samples = |sum: fn(&(u64, u64)) -> u64| {
        by_kind.iter().map(move |(kind, sums)| (*kind, sum(sums) as f64)).collect::<Vec<_>>()
    };
    let help = format!("Chunks of {} KiB, by kind of file.", CHUNK_BYTES >> 10);
    families.gauges("pinakes_snapshot_chunks", &help, "kind", samples(|sums| sums.0));
    families.gauges(
        "pinakes_snapshot_chunks_verified",
        "Chunks verified against their hash, by kind of file; other chunks are verified at their first read.",
        "kind",
        samples(|sums| sums.1),
    );
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_any_form_is_parsed() {
        let check = |text: &str, expected: Option<u64>| {
            let found = parse_time(text).map(|at| at.duration_since(UNIX_EPOCH).unwrap().as_secs());
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
