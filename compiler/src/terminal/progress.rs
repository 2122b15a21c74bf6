//! What a run shows while it works: bars on a terminal, plain lines elsewhere, nothing if quiet.

use std::{
    fs,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// The stages of this process that ended.
static STAGES: Mutex<Vec<StageCost>> = Mutex::new(Vec::new());

/// What a stage took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageCost {
    /// Its name.
    pub stage: &'static str,
    /// On the wall.
    pub seconds: f64,
    /// Asked of the system by reading: mapped files are not among them. `null` where it does not say.
    pub read_bytes: Option<u64>,
    /// Given to the system by writing.
    pub written_bytes: Option<u64>,
}

/// What each stage took that ended, in order.
pub fn stages() -> Vec<StageCost> {
    STAGES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Bytes that this process read and wrote so far, as the system counts them.
fn bytes_so_far() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    let count = |name| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some([count("rchar:")?, count("wchar:")?])
}

/// How a run shows its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Bars.
    Bars,
    /// One line as each stage ends.
    Lines,
    /// Nothing.
    Quiet,
}

impl Progress {
    /// Bars on a terminal, lines elsewhere, nothing if quiet.
    pub fn detect(quiet: bool) -> Progress {
        match quiet {
            true => Progress::Quiet,
            false if std::io::stderr().is_terminal() => Progress::Bars,
            false => Progress::Lines,
        }
    }

    /// Begins a stage of `count` things of `total` units altogether.
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

/// One stage's progress.
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
    /// Notes that `units` more are done.
    pub fn advance(&self, units: u64) {
        self.bar.inc(units);
    }

    /// Ends the stage.
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
