//! The server as the host of answers.

use std::sync::Arc;

use chrono::Utc;
use pinakes_answer::{Event, HealthIssue, Host, HostClock, ServedSnapshot};

use crate::event_counts::{GRAPHQL_OUTCOMES, OVERLOADS, Overload};
use crate::process_clock::PROCESS_CLOCK;
use crate::snapshots::disk_activity::DiskActivity;
use crate::snapshots::manager::SnapshotManager;

/// The open snapshots, and the state of the disk.
pub struct ServerHost {
    pub snapshots: SnapshotManager,
    pub disk_activity: DiskActivity,
}

impl Host for ServerHost {
    fn clock(&self) -> HostClock {
        &PROCESS_CLOCK
    }

    fn is_disk_busy(&self) -> bool {
        self.disk_activity.is_busy()
    }

    fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>> {
        self.snapshots.named(id)
    }

    fn issues(&self, served: &ServedSnapshot) -> Vec<HealthIssue> {
        self.snapshots.health().issues(served, Utc::now())
    }

    fn count(&self, event: Event) {
        match event {
            Event::Graphql(outcome) => GRAPHQL_OUTCOMES.count(outcome),
            Event::Deadline => OVERLOADS.count(Overload::Deadline),
        }
    }
}
