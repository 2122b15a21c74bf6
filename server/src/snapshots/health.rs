//! The health issues of the server.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use pinakes_answer::{HealthIssue, ServedSnapshot};

use crate::upstream::follow::Upstream;

/// Interval at which the log repeats an issue that persists.
const REMINDER_INTERVAL: Duration = Duration::from_secs(3_600);
/// A smaller difference between two looks at the clocks is no jump.
const CLOCK_JUMP_SECONDS: f64 = 60.0;
/// How long a jump of the clock is a health issue.
const CLOCK_ISSUE_DURATION: Duration = Duration::from_secs(3_600);

/// Issues that outlive a served snapshot; all snapshots of a server share one state.
#[derive(Default)]
pub struct HealthState {
    is_fallback: AtomicBool,
    is_list_refused: AtomicBool,
    are_counters_away: AtomicBool,
    upstream: Option<Arc<Upstream>>,
    clock: Mutex<ClockWatch>,
}

/// Compares the progress of the wall clock with that of the monotonic clock.
#[derive(Debug, Default)]
struct ClockWatch {
    /// The last look at both clocks.
    last: Option<(SystemTime, Instant)>,
    jumped: Option<Instant>,
}

impl ClockWatch {
    /// Looks at both clocks; returns a jump in seconds, of a minute or more.
    fn look(&mut self, wall: SystemTime, monotonic: Instant) -> Option<f64> {
        let (last_wall, last_monotonic) = self.last.replace((wall, monotonic))?;
        let progress = match wall.duration_since(last_wall) {
            Ok(ahead) => ahead.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        let jump = progress - monotonic.duration_since(last_monotonic).as_secs_f64();
        if jump.abs() < CLOCK_JUMP_SECONDS {
            return None;
        }
        self.jumped = Some(monotonic);
        Some(jump)
    }

    fn has_jumped(&self, now: Instant) -> bool {
        self.jumped.is_some_and(|jumped| now.duration_since(jumped) < CLOCK_ISSUE_DURATION)
    }
}

impl HealthState {
    /// No issue so far, of a server with these mirrors.
    pub(crate) fn new(upstream: Option<Arc<Upstream>>) -> HealthState {
        HealthState { upstream, ..HealthState::default() }
    }

    /// The current issues while a snapshot is served, the most severe first.
    pub fn issues(&self, served: &ServedSnapshot, now: DateTime<Utc>) -> Vec<HealthIssue> {
        let has_mirror = |issue: fn(&Upstream) -> bool| self.has_mirror(issue);
        let is_present = |issue: &HealthIssue| match issue {
            HealthIssue::Unavailable => served.is_poisoned(),
            HealthIssue::Fallback => !served.is_poisoned() && self.is_fallback(),
            HealthIssue::SuppressionListRefused => self.is_list_refused(),
            HealthIssue::DiskDamaged => has_mirror(Upstream::is_disk_damaged),
            HealthIssue::DiskRefused => has_mirror(|of| of.transfers.is_write_refused()),
            HealthIssue::MirrorAway => has_mirror(|of| of.transfers.are_hosts_away()),
            HealthIssue::MirrorDamaged => has_mirror(|of| of.transfers.hosts.are_rotten()),
            HealthIssue::PublicationRefused => has_mirror(Upstream::is_look_refused),
            HealthIssue::Stale => served.freshness.expired_at(now).is_some(),
            HealthIssue::CountersAway => self.are_counters_away(),
            HealthIssue::ClockJumped => self.has_clock_jumped(),
        };
        HealthIssue::ALL.into_iter().filter(is_present).collect()
    }

    /// Whether the mirrors of the server, if any, have an issue.
    fn has_mirror(&self, issue: impl Fn(&Upstream) -> bool) -> bool {
        self.upstream.as_deref().is_some_and(issue)
    }

    /// Sets whether the server serves another snapshot than the snapshot of `current`.
    pub fn set_fallback(&self, is_fallback: bool) {
        self.is_fallback.store(is_fallback, Relaxed);
    }

    /// Sets whether the suppression list's file is refused.
    pub fn set_list_refused(&self, is_refused: bool) {
        self.is_list_refused.store(is_refused, Relaxed);
    }

    /// Sets whether the store of a fleet's counters is away.
    pub fn set_counters_away(&self, are_away: bool) {
        self.are_counters_away.store(are_away, Relaxed);
    }

    /// Whether the store of a fleet's counters is away.
    pub fn are_counters_away(&self) -> bool {
        self.are_counters_away.load(Relaxed)
    }

    /// Whether the server serves another snapshot than the snapshot of `current`.
    ///
    /// Stays true while that other snapshot is damaged too.
    pub fn is_fallback(&self) -> bool {
        self.is_fallback.load(Relaxed)
    }

    /// Looks whether the system's clock has jumped since the last look, and logs a jump.
    pub fn watch_clock(&self) {
        let jump = self.lock_clock().look(SystemTime::now(), Instant::now());
        if let Some(seconds) = jump {
            tracing::error!(
                seconds,
                "the system's clock jumped; the daily limits follow it; check the time service"
            );
        }
    }

    /// Whether the system's clock jumped within the last hour.
    pub fn has_clock_jumped(&self) -> bool {
        self.lock_clock().has_jumped(Instant::now())
    }

    fn lock_clock(&self) -> MutexGuard<'_, ClockWatch> {
        // No code panics while it holds the lock.
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn a_jump_of_the_clock_is_an_issue_for_an_hour() {
        let mut clock = ClockWatch::default();
        let (wall, start) = (SystemTime::now(), Instant::now());
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let mut look = |wall_seconds: i64, seconds: u64| {
            let wall = match wall_seconds {
                0.. => wall + Duration::from_secs(wall_seconds as u64),
                _ => wall - Duration::from_secs(wall_seconds.unsigned_abs()),
            };
            let jump = clock.look(wall, after(seconds));
            (jump.map(f64::round), clock.has_jumped(after(seconds)))
        };
        assert_eq!(look(0, 0), (None, false));
        assert_eq!(look(500, 500), (None, false), "time passed");
        assert_eq!(look(560, 501), (None, false), "a step of 59 seconds");
        assert_eq!(look(86_960, 502), (Some(86_399.0), true));
        assert_eq!(look(86_961, 503), (None, true));
        assert_eq!(look(-10, 504), (Some(-86_972.0), true));
        assert_eq!(look(3_589, 4_103), (None, true));
        assert_eq!(look(3_591, 4_105), (None, false));
    }
}
