//! Progress of a run: bars on a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::{
    fs,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// The finished stages of this process, in order.
static STAGES: Mutex<Vec<StageCost>> = Mutex::new(Vec::new());

/// Time and bytes of one finished stage, as `--report` writes them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageCost {
    /// Name of the stage.
    pub stage: &'static str,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Bytes read by system calls, without mapped files; `null` where the system does not count them.
    pub read_bytes: Option<u64>,
    /// Bytes written by system calls; `null` where the system does not count them.
    pub written_bytes: Option<u64>,
}

/// Returns the cost of each finished stage, in order.
pub fn stages() -> Vec<StageCost> {
    STAGES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Reads from `/proc/self/io` how many bytes this process has read and written.
fn bytes_so_far() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    let count = |name| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some([count("rchar:")?, count("wchar:")?])
}

/// How a run shows its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A progress bar for each stage.
    Bars,
    /// One line as each stage ends.
    Lines,
    /// No progress output.
    Quiet,
}

impl Progress {
    /// Selects bars if standard error is a terminal, lines otherwise, and nothing if `quiet`.
    pub fn detect(quiet: bool) -> Progress {
        match quiet {
            true => Progress::Quiet,
            false if std::io::stderr().is_terminal() => Progress::Bars,
            false => Progress::Lines,
        }
    }

    /// Begins a stage that handles `count` things, `total` units of work together.
    pub fn begin(self, stage: &'static str, things: &'static str, count: u64, total: u64) -> Bar {
        let bar = match self {
            Progress::Bars => {
                let style = ProgressStyle::with_template(if total == count {
                    "{prefix:>10} {bar:30} {human_pos}/{human_len} {per_sec} {eta} left"
                } else {
                    "{prefix:>10} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left"
                });
                let bar = ProgressBar::new(total).with_prefix(stage);
                if let Ok(style) = style { bar.with_style(style) } else { bar }
            }
            Progress::Lines | Progress::Quiet => ProgressBar::hidden(),
        };
        let (begun, bytes) = (Instant::now(), bytes_so_far());
        Bar { bar, stage, things, count, begun, bytes, progress: self }
    }
}

/// The progress of one stage.
pub struct Bar {
    bar: ProgressBar,
    stage: &'static str,
    things: &'static str,
    count: u64,
    begun: Instant,
    bytes: Option<[u64; 2]>,
    progress: Progress,
}

impl Bar {
    /// Adds `units` of finished work.
    pub fn advance(&self, units: u64) {
        self.bar.inc(units);
    }

    /// Ends the stage, records its cost and prints its line.
    pub fn end(self) {
        self.bar.finish_and_clear();
        let seconds = self.begun.elapsed().as_secs_f64();
        let [read_bytes, written_bytes] = match (self.bytes, bytes_so_far()) {
            (Some(before), Some(now)) => [0, 1].map(|at| now[at].checked_sub(before[at])),
            _ => [None; 2],
        };
        let cost = StageCost { stage: self.stage, seconds, read_bytes, written_bytes };
        STAGES.lock().unwrap_or_else(PoisonError::into_inner).push(cost);
        if self.progress != Progress::Quiet {
            eprintln!("{:>10} {} {} in {seconds:.1} s", self.stage, self.count, self.things);
        }
    }
}
