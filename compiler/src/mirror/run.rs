//! A run of `pull` or `publish`: its report at the begin, after a signal, and at the end.

use std::{path::PathBuf, time::Instant};

use crate::error::{Error, Result};
use crate::report::file::{ReportFiles, print_published};
use crate::report::mirror::MirrorReport;
use crate::store::interrupt;
use crate::store::prune::PruneReport;
use crate::terminal::escape::escape_path;
use crate::terminal::progress::Progress;

/// A run of `pull` or `publish`.
pub struct MirrorRun {
    begun: Instant,
    progress: Progress,
    files: ReportFiles,
    /// The report so far.
    pub report: MirrorReport,
}

impl MirrorRun {
    /// Starts a run.
    pub fn new(command: &'static str, files: ReportFiles, progress: Progress) -> MirrorRun {
        MirrorRun { begun: Instant::now(), progress, files, report: MirrorReport::new(command) }
    }

    /// Writes the report of a run that holds its lock, and has a signal write the final report.
    pub fn write_begin(&self) -> Result<()> {
        self.files.write_begin(&self.report)?;
        let (files, mut report) = (self.files.clone(), self.report.clone());
        interrupt::on_signal(move |code, cause| {
            report.run_info.end(code, Some(cause));
            // The process exits; an error could no longer be reported.
            let _ = files.write_end(&report);
        });
        Ok(())
    }

    /// Prints a line of progress, unless the run is quiet.
    pub fn print_progress(&self, what: &str, of: &str) {
        if self.progress != Progress::Quiet {
            eprintln!("{what:>10} {of}");
        }
    }

    /// Ends the run: writes the report, prints the result, and returns the outcome's error.
    pub fn end(mut self, outcome: Result<PathBuf>) -> Result<()> {
        self.report.seconds = self.begun.elapsed().as_secs_f64();
        let failed = outcome.as_ref().err();
        self.report.snapshot = outcome.as_ref().ok().map(|path| escape_path(path));
        let code = failed.map_or(0, Error::exit_code);
        self.report.run_info.end(code, failed.map(Error::to_string));
        if self.progress != Progress::Quiet {
            eprint!("{}", self.report.outcome());
        }
        self.report.pruned.iter().for_each(PruneReport::print_failed);
        // The run that holds the lock writes these files.
        let is_locked = matches!(failed, Some(Error::Locked { .. }));
        let written = if is_locked { Ok(()) } else { self.files.write_end(&self.report) };
        print_published(&outcome?, written);
        Ok(())
    }
}

impl Drop for MirrorRun {
    /// Writes the final report of a run that panics.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.report.run_info.end(1, Some("the compiler panicked".into()));
            let _ = self.files.write_end(&self.report);
        }
    }
}
