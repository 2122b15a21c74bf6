//! The program around the answerer, which gives other snapshots, the state of the disk, its issues, and a clock.

use std::sync::Arc;

use crate::clock::HostClock;
use crate::define::health::HealthIssue;
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
