//! State, times, stages and memory of a run: the members that all reports share.

use std::{collections::BTreeMap, fs};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

use crate::parallel::cost::{Phase, TaskCost};
use crate::terminal::progress::{StageCost, stages};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Under way, or killed.
    Running,
    /// Ended with exit code 0.
    Done,
    /// Ended with another exit code; the snapshot published before is unchanged.
    Failed,
}

/// The members that the reports of all commands share.
#[derive(Clone, Debug, Serialize)]
pub struct RunInfo {
    pub state: RunState,
    /// Name of the command.
    pub command: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Process id.
    pub pid: u32,
    #[serde(serialize_with = "seconds")]
    pub started: DateTime<Utc>,
    /// End, in UTC; `null` while the run is under way.
    #[serde(serialize_with = "seconds_if_any")]
    pub ended: Option<DateTime<Utc>>,
    /// Exit code; `null` while the run is under way.
    pub exit_code: Option<u8>,
    /// The error message, as printed on standard error; `null` unless the run failed.
    pub error: Option<String>,
    /// The finished stages, in order.
    pub stages: Vec<StageCost>,
    /// Work and span of the compile stages and of the link stages, summed.
    pub tasks: BTreeMap<Phase, TaskCost>,
    /// Peak resident memory, including reclaimable pages of mapped files.
    pub peak_memory_bytes: Option<u64>,
}

impl RunInfo {
    /// Describes a run that begins now.
    pub fn new(command: &'static str) -> RunInfo {
        RunInfo {
            state: RunState::Running,
            command,
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            started: Utc::now(),
            ended: None,
            exit_code: None,
            error: None,
            stages: Vec::new(),
            tasks: BTreeMap::new(),
            peak_memory_bytes: None,
        }
    }

    /// Ends the run now.
    pub fn end(&mut self, exit_code: u8, error: Option<String>) {
        self.state = if exit_code == 0 { RunState::Done } else { RunState::Failed };
        self.ended = Some(Utc::now());
        self.exit_code = Some(exit_code);
        self.error = error;
        self.stages = stages();
        self.tasks = sums(&self.stages);
        self.peak_memory_bytes = peak_memory_bytes();
    }
}

/// Sums the tasks of the stages of each phase.
pub(crate) fn sums(stages: &[StageCost]) -> BTreeMap<Phase, TaskCost> {
    let mut sums: BTreeMap<Phase, TaskCost> = BTreeMap::new();
    for stage in stages {
        if let (Some(phase), Some(tasks)) = (stage.phase, &stage.tasks) {
            sums.entry(phase).or_default().add(tasks);
        }
    }
    sums
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

/// Reads the peak resident memory from `/proc/self/status`.
fn peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}
