//! Progress of a run: bars on a terminal, plain lines elsewhere, JSON lines for a program, nothing with `--quiet`.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, fs};

use clap::ValueEnum;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::parallel;
use crate::parallel::cost::{Phase, TaskCost};

/// How long after a JSON line of a stage the next one may come.
const JSON_PAUSE: Duration = Duration::from_millis(100);

/// Whether a program reads the progress of this process.
static IS_JSON: AtomicBool = AtomicBool::new(false);

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
    /// Work and span of the stage; `null` of a stage that records no tasks.
    pub tasks: Option<TaskCost>,
    /// The phase of the run to which the stage belongs, if the stage records its tasks.
    #[serde(skip)]
    pub phase: Option<Phase>,
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
    /// The same lines, and while a stage runs its progress as JSON.
    Json,
    /// No progress output.
    Quiet,
}

/// The values of `--progress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressForm {
    /// A JSON object on a line of standard error, at most ten each second: `{"stage":…,"unit":…,"done":…,"total":…}`.
    Json,
}

/// Sets the form of the progress of this process.
pub(crate) fn set_form(form: Option<ProgressForm>) {
    IS_JSON.store(form == Some(ProgressForm::Json), Ordering::Relaxed);
}

impl Progress {
    /// Selects nothing if `quiet`, JSON if `--progress` says so, bars if standard error is a terminal, and lines otherwise.
    pub fn detect(quiet: bool) -> Progress {
        match quiet {
            true => Progress::Quiet,
            false if IS_JSON.load(Ordering::Relaxed) => Progress::Json,
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
            Progress::Json => {
                // Nothing is drawn, but the lines of JSON read the position of the bar.
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden())
            }
            Progress::Lines | Progress::Quiet => ProgressBar::hidden(),
        };
        let unit = if total == count { things } else { "bytes" };
        let (begun, cpu_seconds, bytes) = (Instant::now(), cpu_seconds_so_far(), bytes_so_far());
        let bar = Bar {
            bar,
            stage,
            things,
            unit,
            count,
            begun,
            shown_millis: AtomicU64::new(0),
            cpu_seconds,
            bytes,
            progress: self,
            phase: None,
        };
        bar.show();
        bar
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
    /// The unit of the bar: bytes, or `things`.
    unit: &'static str,
    count: u64,
    begun: Instant,
    /// When the last JSON line was written, in milliseconds since the beginning.
    shown_millis: AtomicU64,
    /// Processor seconds of the process before the stage.
    cpu_seconds: f64,
    bytes: Option<[u64; 2]>,
    progress: Progress,
    phase: Option<Phase>,
}

impl Bar {
    /// Records the tasks of the stage. The thread that begins the stage must end it.
    pub(crate) fn recorded(self, phase: Phase) -> Bar {
        parallel::begin_stage(self.stage);
        Bar { phase: Some(phase), ..self }
    }

    /// Adds `units` of finished work.
    pub fn advance(&self, units: u64) {
        self.bar.inc(units);
        if self.progress != Progress::Json {
            return;
        }
        let now = self.begun.elapsed().as_millis() as u64;
        let before = self.shown_millis.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(before) >= JSON_PAUSE.as_millis() as u64;
        // Of several threads, one writes the line.
        let ordering = Ordering::Relaxed;
        if is_due && self.shown_millis.compare_exchange(before, now, ordering, ordering).is_ok() {
            self.show();
        }
    }

    /// Writes the progress as JSON, if a program reads it.
    fn show(&self) {
        if self.progress == Progress::Json {
            let (stage, unit, done) = (self.stage, self.unit, self.bar.position());
            let total = self.bar.length().unwrap_or_default();
            eprintln!(r#"{{"stage":"{stage}","unit":"{unit}","done":{done},"total":{total}}}"#);
        }
    }

    /// Ends the stage, records its cost and prints its line.
    pub fn end(self) {
        // Not every stage counts each step.
        self.bar.set_position(self.bar.length().unwrap_or_default());
        self.show();
        self.bar.finish_and_clear();
        let seconds = self.begun.elapsed().as_secs_f64();
        let [read_bytes, written_bytes] = match (self.bytes, bytes_so_far()) {
            (Some(before), Some(now)) => [0, 1].map(|at| now[at].checked_sub(before[at])),
            _ => [None; 2],
        };
        let cpu_seconds = cpu_seconds_so_far() - self.cpu_seconds;
        let threads = rayon::current_num_threads();
        let tasks = self.phase.map(|_| TaskCost::of(&parallel::end_stage()));
        // A stage may end before the clock advances.
        let utilisation = cpu_seconds / (seconds.max(1e-6) * threads as f64);
        if self.progress != Progress::Quiet {
            let (stage, count, things) = (self.stage, self.count, self.things);
            let span = tasks.as_ref().map(|tasks| format!(", span {:.2} s", tasks.span_seconds));
            eprintln!(
                "{stage:>10} {count} {things} in {seconds:.1} s: {cpu_seconds:.1} CPU-s, {:.0} % of {threads} threads{}",
                utilisation * 100.0,
                span.unwrap_or_default()
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
            tasks,
            phase: self.phase,
        };
        STAGES.lock().unwrap_or_else(PoisonError::into_inner).push(cost);
    }
}
