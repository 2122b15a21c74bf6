//! What a run shows while it works: bars on a terminal, plain lines elsewhere, nothing if quiet.

use std::{io::IsTerminal, time::Instant};

use indicatif::{ProgressBar, ProgressStyle};

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
        Bar { bar, stage, things, count, begun: Instant::now(), progress: self }
    }
}

/// One stage's progress.
pub struct Bar {
    bar: ProgressBar,
    stage: &'static str,
    things: &'static str,
    count: u64,
    begun: Instant,
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
        if self.progress != Progress::Quiet {
            let seconds = self.begun.elapsed().as_secs_f64();
            eprintln!("{:>10} {} {} in {seconds:.1} s", self.stage, self.count, self.things);
        }
    }
}
