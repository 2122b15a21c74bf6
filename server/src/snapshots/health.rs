//! What is not as it should be while the server answers: `/health` and the metrics tell it by the same
//! names, and the log again and again, for whoever was not there when it began.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How often the log says again what has not been put right.
const REMIND_INTERVAL: Duration = Duration::from_secs(3_600);

/// What is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is nothing to answer from: what was served proved damaged, and there is no other.
    Unavailable,
    /// What `current` leads to is refused or proved damaged; another snapshot is served in its place.
    Fallback,
    /// What the list of takedowns holds is refused; the one read before is in force.
    TakedownsRefused,
    /// What is served was pulled from others, and has expired.
    Stale,
}

impl Trouble {
    /// All there are, the gravest first.
    pub const ALL: [Trouble; 4] =
        [Trouble::Unavailable, Trouble::Fallback, Trouble::TakedownsRefused, Trouble::Stale];

    /// How it is called.
    pub fn name(self) -> &'static str {
        match self {
            Trouble::Unavailable => "unavailable",
            Trouble::Fallback => "fallback",
            Trouble::TakedownsRefused => "takedowns_refused",
            Trouble::Stale => "stale",
        }
    }
}

/// What troubles there are beside those that a snapshot knows of itself.
#[derive(Debug, Default)]
pub struct Signs {
    is_fallback: AtomicBool,
    is_list_refused: AtomicBool,
}

impl Signs {
    /// Says whether another snapshot is served than the one that should be.
    pub fn set_fallback(&self, is_fallback: bool) {
        self.is_fallback.store(is_fallback, Relaxed);
    }

    /// Says whether the list of takedowns is refused.
    pub fn set_list_refused(&self, is_refused: bool) {
        self.is_list_refused.store(is_refused, Relaxed);
    }

    /// Whether another snapshot is served than the one that should be, or was until none was left.
    pub fn is_fallback(&self) -> bool {
        self.is_fallback.load(Relaxed)
    }

    /// Whether the list of takedowns is refused.
    pub fn is_list_refused(&self) -> bool {
        self.is_list_refused.load(Relaxed)
    }
}

/// When to say again what was said when it began.
#[derive(Debug, Default)]
pub struct Reminder {
    /// Since when there has been any trouble, or when it was last said.
    told: Option<Instant>,
}

impl Reminder {
    /// Whether it is time to, where there is trouble or none.
    pub fn is_due(&mut self, is_trouble: bool, now: Instant) -> bool {
        match self.told {
            _ if !is_trouble => self.told = None,
            None => self.told = Some(now),
            Some(told) if now.duration_since(told) >= REMIND_INTERVAL => {
                self.told = Some(now);
                return true;
            }
            Some(_) => {}
        }
        false
    }
}

/// Says in the log what has not been put right.
pub fn remind(snapshot: &str, trouble: Trouble) {
    let trouble = trouble.name();
    tracing::error!(
        snapshot,
        trouble,
        "this has not been put right; see where it began, or send SIGHUP"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_again_for_as_long_as_it_lasts() {
        let mut reminder = Reminder::default();
        let begun = Instant::now();
        let mut check = |minutes: u64, is_trouble: bool, expected: bool| {
            let now = begun + Duration::from_secs(60 * minutes);
            assert_eq!(reminder.is_due(is_trouble, now), expected, "after {minutes} minutes");
        };
        check(0, false, false);
        // When it begins, whoever found it says so.
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
