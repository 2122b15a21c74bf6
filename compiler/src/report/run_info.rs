//! How a run went: when it began and ended, with what, and what each stage took.

use std::fs;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

use crate::terminal::progress::{StageCost, stages};

/// What a run is at, or came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is under way, or was ended by force.
    Running,
    /// It ended well.
    Done,
    /// It ended otherwise; what was published before is as it was.
    Failed,
}

/// How a run went.
#[derive(Clone, Debug, Serialize)]
pub struct Course {
    /// What it is at, or came to.
    pub state: State,
    /// The command.
    pub command: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// Its process.
    pub pid: u32,
    /// When it began, in UTC.
    #[serde(serialize_with = "seconds")]
    pub started: DateTime<Utc>,
    /// When it ended; `null` while it runs.
    #[serde(serialize_with = "seconds_if_any")]
    pub ended: Option<DateTime<Utc>>,
    /// The exit code; `null` while it runs.
    pub exit_code: Option<u8>,
    /// What it ended with where it did not end well, as standard error says it.
    pub error: Option<String>,
    /// Every stage that ended, in order.
    pub stages: Vec<StageCost>,
    /// The most memory that was in use, with pages of mapped files, which the system may take back.
    pub peak_memory_bytes: Option<u64>,
}

impl Course {
    /// A run that begins now.
    pub fn begin(command: &'static str) -> Course {
        Course {
            state: State::Running,
            command,
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            started: Utc::now(),
            ended: None,
            exit_code: None,
            error: None,
            stages: Vec::new(),
            peak_memory_bytes: None,
        }
    }

    /// Ends it now.
    pub fn end(&mut self, exit_code: u8, error: Option<String>) {
        self.state = if exit_code == 0 { State::Done } else { State::Failed };
        self.ended = Some(Utc::now());
        self.exit_code = Some(exit_code);
        self.error = error;
        self.stages = stages();
        self.peak_memory_bytes = peak_memory_bytes();
    }
}

fn seconds<S: serde::Serializer>(moment: &DateTime<Utc>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&moment.to_rfc3339_opts(SecondsFormat::Secs, true))
}

fn seconds_if_any<S: serde::Serializer>(
    moment: &Option<DateTime<Utc>>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match moment {
        Some(moment) => seconds(moment, out),
        None => out.serialize_none(),
    }
}

/// What the system says was the peak; `None` where it does not.
fn peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}
