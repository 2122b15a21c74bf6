//! The program around the answerer, which gives other snapshots, the state of the disk, its issues, and a clock.

use std::sync::Arc;

use crate::clock::HostClock;
use crate::define::served::ServedSnapshot;

/// The program that answers are made in.
pub trait Host: Sync {
    /// The clock of the program.
    fn clock(&self) -> HostClock;

    /// Whether reads of a snapshot that is not in memory wait for a busy disk.
    fn is_disk_busy(&self) -> bool;

    /// The snapshot with an id, if the program keeps it open.
    fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>>;

    /// The current issues, the most severe first, while this snapshot is served.
    fn issues(&self, served: &ServedSnapshot) -> Vec<HealthIssue>;

    /// Counts an event, for the metrics.
    fn count(&self, event: Event);
}

/// An event that the status of a reply does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A GraphQL request ended.
    Graphql(GraphqlOutcome),
    /// A part of a request reached its timeout or its processor time.
    Deadline,
}

/// Outcome of a GraphQL request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphqlOutcome {
    /// Answered.
    Answered,
    /// Refused: malformed, invalid by the schema, or too deep.
    Invalid,
    /// Refused: its estimated cost exceeds a limit.
    Costly,
    /// Stopped at the limit of bytes or processor time.
    Stopped,
    /// Stopped at the timeout.
    Timeout,
    /// Stopped because the client left.
    Gone,
}

impl GraphqlOutcome {
    /// Names in metrics, in the order of the outcomes.
    pub const NAMES: [&str; 6] = ["answered", "invalid", "costly", "stopped", "timeout", "gone"];
}

/// An issue that an operator should resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthIssue {
    /// No snapshot can be served: the served snapshot proved damaged, and no fallback exists.
    Unavailable,
    /// The server refused the snapshot of `current`, or found it damaged, and serves another.
    Fallback,
    /// The server refused the suppression list's file and keeps the previous list.
    SuppressionListRefused,
    /// A chunk of a complete snapshot was damaged on the disk, and was fetched from a mirror and written again.
    DiskDamaged,
    /// A chunk that a mirror sent could not be written.
    DiskRefused,
    /// No mirror sends what is not here.
    MirrorAway,
    /// A mirror sends wrong bytes of some chunks.
    MirrorDamaged,
    /// The last look for a newer publication failed, or the newer snapshot cannot be opened.
    PublicationRefused,
    /// The publication of the served snapshot has expired.
    Stale,
    /// The store of a fleet's counters is away, so that the server counts alone.
    CountersAway,
    /// The system's clock jumped within the last hour.
    ClockJumped,
}

impl HealthIssue {
    /// All issues, the most severe first.
    pub const ALL: [HealthIssue; 11] = [
        HealthIssue::Unavailable,
        HealthIssue::Fallback,
        HealthIssue::SuppressionListRefused,
        HealthIssue::DiskDamaged,
        HealthIssue::DiskRefused,
        HealthIssue::MirrorAway,
        HealthIssue::MirrorDamaged,
        HealthIssue::PublicationRefused,
        HealthIssue::Stale,
        HealthIssue::CountersAway,
        HealthIssue::ClockJumped,
    ];

    /// Name in `/health`, metrics and log.
    pub fn name(self) -> &'static str {
        match self {
            HealthIssue::Unavailable => "unavailable",
            HealthIssue::Fallback => "fallback",
            HealthIssue::SuppressionListRefused => "takedowns_refused",
            HealthIssue::DiskDamaged => "disk_damaged",
            HealthIssue::DiskRefused => "disk_refused",
            HealthIssue::MirrorAway => "mirror_away",
            HealthIssue::MirrorDamaged => "mirror_damaged",
            HealthIssue::PublicationRefused => "publication_refused",
            HealthIssue::Stale => "stale",
            HealthIssue::CountersAway => "counters_away",
            HealthIssue::ClockJumped => "clock_jumped",
        }
    }
}
