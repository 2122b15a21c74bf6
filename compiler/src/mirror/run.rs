//! A run of `pull` or `publish`: what it says of itself as it begins, when a signal ends it, and at its end.

use std::{io::Write, os::unix::ffi::OsStrExt, path::PathBuf, time::Instant};

use crate::error::{Error, Result};
use crate::report::file::ReportFiles;
use crate::report::mirror::MirrorReport;
use crate::store::interrupt;
use crate::terminal::escape::shown;
use crate::terminal::progress::Progress;

/// A run under way.
pub struct MirrorRun {
    begun: Instant,
    progress: Progress,
    files: ReportFiles,
    /// What it did so far.
    pub report: MirrorReport,
}

impl MirrorRun {
    /// One that begins.
    pub fn begin(command: &'static str, files: ReportFiles, progress: Progress) -> MirrorRun {
        MirrorRun { begun: Instant::now(), progress, files, report: MirrorReport::begin(command) }
    }

    /// Says that it is under way, once no other can be in its way; a signal says that it ended.
    ///
    /// # Errors
    ///
    /// Where that cannot be written.
    pub fn say_begun(&self) -> Result<()> {
        self.files.say_begun(&self.report)?;
        let (files, mut report) = (self.files.clone(), self.report.clone());
        interrupt::tell(move |code| {
            report.course.end(code, Some("interrupted".into()));
            // The process ends; there is nobody left to tell.
            let _ = files.say_ended(&report);
        });
        Ok(())
    }

    /// Says a line of progress.
    pub fn say(&self, what: &str, of: &str) {
        if self.progress != Progress::Quiet {
            eprintln!("{what:>10} {of}");
        }
    }

    /// Says what came of it; of one that failed, too.
    ///
    /// # Errors
    ///
    /// Those of the outcome.
    pub fn end(mut self, outcome: Result<PathBuf>) -> Result<()> {
        self.report.seconds = self.begun.elapsed().as_secs_f64();
        let failed = outcome.as_ref().err();
        self.report.snapshot = outcome.as_ref().ok().map(|path| shown(path));
        let code = failed.map_or(0, Error::exit_code);
        self.report.course.end(code, failed.map(Error::to_string));
        if self.progress != Progress::Quiet {
            eprint!("{}", self.report.outcome());
        }
        for failed in self.report.pruned.iter().flat_map(|pruned| &pruned.failed) {
            eprintln!("published, but not all that is beyond --keep was removed: {failed}");
        }
        // What another run is doing there is that run's to report.
        let is_locked = matches!(failed, Some(Error::Locked { .. }));
        let written = if is_locked { Ok(()) } else { self.files.say_ended(&self.report) };
        let line = [outcome?.as_os_str().as_bytes(), b"\n"].concat();
        let said = std::io::stdout().write_all(&line).map_err(Error::output("standard output"));
        // It is published; any exit code but 0 would say that it is not.
        for error in [written, said].into_iter().filter_map(Result::err) {
            eprintln!("published all the same: {}", error.without_consequence());
        }
        Ok(())
    }
}

impl Drop for MirrorRun {
    /// A run that panics has an end, too.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.report.course.end(1, Some("a part of the compiler panicked".into()));
            let _ = self.files.say_ended(&self.report);
        }
    }
}
