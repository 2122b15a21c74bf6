//! Progress of a run: bars on a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::{
    fmt, fs,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use rustix::time::{ClockId, clock_gettime};
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
    /// Processor seconds of all threads of this process, in user and in system mode.
    pub cpu_seconds: f64,
    /// Threads of the pool that runs the stage.
    pub threads: usize,
    /// `cpu_seconds` as a fraction of what `threads` processors have in `seconds`.
    pub utilisation: f64,
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

/// Processor seconds that all threads of this process have taken.
fn cpu_seconds_so_far() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
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
                    "{prefix:>10} {wide_bar} {human_pos}/{human_len} {rate} {eta} left"
                } else {
                    "{prefix:>10} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta} left"
                });
                let style = style.map(|style| style.with_key("rate", write_rate));
                let bar = ProgressBar::new(total).with_prefix(stage);
                if let Ok(style) = style { bar.with_style(style) } else { bar }
            }
            Progress::Lines | Progress::Quiet => ProgressBar::hidden(),
        };
        let (begun, cpu_seconds, bytes) = (Instant::now(), cpu_seconds_so_far(), bytes_so_far());
        Bar { bar, stage, things, count, begun, cpu_seconds, bytes, progress: self }
    }
}

/// Writes the units of a second, without a fraction.
fn write_rate(state: &ProgressState, out: &mut dyn fmt::Write) {
    // A failed write leaves the line without its rate.
    let _ = write!(out, "{}/s", HumanCount(state.per_sec().round() as u64));
}

/// The width of the terminal that standard error is; `None` of other files.
pub fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// The progress of one stage.
pub struct Bar {
    bar: ProgressBar,
    stage: &'static str,
    things: &'static str,
    count: u64,
    begun: Instant,
    /// Processor seconds of the process before the stage.
    cpu_seconds: f64,
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
        let cpu_seconds = cpu_seconds_so_far() - self.cpu_seconds;
        let threads = rayon::current_num_threads();
        // A stage may end before the clock advances.
        let utilisation = cpu_seconds / (seconds.max(1e-6) * threads as f64);
        if self.progress != Progress::Quiet {
            let (stage, count, things) = (self.stage, self.count, self.things);
            eprintln!(
                "{stage:>10} {count} {things} in {seconds:.1} s: {cpu_seconds:.1} CPU-s, {:.0} % of {threads} threads",
                utilisation * 100.0
            );
        }
        let cost = StageCost {
            stage: self.stage,
            seconds,
            cpu_seconds,
            threads,
            utilisation,
            read_bytes,
            written_bytes,
        };
        STAGES.lock().unwrap_or_else(PoisonError::into_inner).push(cost);
    }
}
