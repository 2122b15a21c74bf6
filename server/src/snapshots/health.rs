//! Health issues of the server, under the same names in `/health`, metrics and log.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Interval at which the log repeats an issue that persists.
const REMINDER_INTERVAL: Duration = Duration::from_secs(3_600);

/// An issue that an operator should resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthIssue {
    /// No snapshot can be served: the served snapshot proved damaged, and no fallback exists.
    Unavailable,
    /// The server refused the snapshot of `current`, or found it damaged, and serves another.
    Fallback,
    /// The server refused the suppression list's file and keeps the previous list.
    SuppressionListRefused,
    /// The publication of the served snapshot has expired.
    Stale,
}

impl HealthIssue {
    /// All issues, the most severe first.
    pub const ALL: [HealthIssue; 4] = [
        HealthIssue::Unavailable,
        HealthIssue::Fallback,
        HealthIssue::SuppressionListRefused,
        HealthIssue::Stale,
    ];

    /// Name in `/health`, metrics and log.
    pub fn name(self) -> &'static str {
        match self {
            HealthIssue::Unavailable => "unavailable",
            HealthIssue::Fallback => "fallback",
            HealthIssue::SuppressionListRefused => "takedowns_refused",
            HealthIssue::Stale => "stale",
        }
    }
}

/// Issues that outlive a served snapshot; all snapshots of a server share one state.
#[derive(Debug, Default)]
pub struct HealthState {
    is_fallback: AtomicBool,
    is_list_refused: AtomicBool,
}

impl HealthState {
    /// Sets whether the server serves another snapshot than the snapshot of `current`.
    pub fn set_fallback(&self, is_fallback: bool) {
        self.is_fallback.store(is_fallback, Relaxed);
    }

    /// Sets whether the suppression list's file is refused.
    pub fn set_list_refused(&self, is_refused: bool) {
        self.is_list_refused.store(is_refused, Relaxed);
    }

    /// Whether the server serves another snapshot than the snapshot of `current`.
    ///
    /// Stays true while that other snapshot is damaged too.
    pub fn is_fallback(&self) -> bool {
        self.is_fallback.load(Relaxed)
    }

    /// Whether the suppression list's file is refused.
    pub fn is_list_refused(&self) -> bool {
        self.is_list_refused.load(Relaxed)
    }
}

/// Decides when the log repeats issues that persist.
#[derive(Debug, Default)]
pub struct Reminder {
    /// When the issues began, or when the log last repeated them.
    last: Option<Instant>,
}

impl Reminder {
    /// Whether a reminder is due: [`REMINDER_INTERVAL`] after the issues began, and then once per interval.
    pub fn is_due(&mut self, has_issues: bool, now: Instant) -> bool {
        match self.last {
            _ if !has_issues => self.last = None,
            None => self.last = Some(now),
            Some(last) if now.duration_since(last) >= REMINDER_INTERVAL => {
                self.last = Some(now);
                return true;
            }
            Some(_) => {}
        }
        false
    }
}

/// Logs an issue that persists.
pub fn log_reminder(snapshot: &str, issue: HealthIssue) {
    let trouble = issue.name();
    tracing::error!(
        snapshot,
        trouble,
        "the issue persists; find its first log line for the cause, or send SIGHUP to try again"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_repeats_an_issue_every_hour_while_it_persists() {
        let mut reminder = Reminder::default();
        let start = Instant::now();
        let mut check = |minutes: u64, has_issues: bool, expected: bool| {
            let now = start + Duration::from_secs(60 * minutes);
            assert_eq!(reminder.is_due(has_issues, now), expected, "after {minutes} minutes");
        };
        check(0, false, false);
        // The code that finds an issue logs the start of the issue.
        check(70, true, false);
        check(129, true, false);
        check(130, true, true);
        check(131, true, false);
        check(189, true, false);
        check(190, true, true);
        check(191, false, false);
        check(400, true, false);
        check(460, true, true);
    }
}
