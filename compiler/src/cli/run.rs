//! A run of `build`, `compile` or `link`: its lock, its report, its list of bad records, and what it prints.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_store::directory::current;
use pinakes_store::lock::LockedDirectory;
use pinakes_store::rolled_back::BlockedSnapshot;
use pinakes_store::suppressed::{name_ids, shown_again};
use rayon::prelude::*;

use crate::cli::acceptance::find_excess;
use crate::cli::options::{AcceptanceArgs, PublishArgs, WorkArgs};
use crate::compile::CompileStage;
use crate::error::{Error, Result};
use crate::frontend::reader::NO_PARENT;
use crate::link::Published;
use crate::link::forecast::LinkForecast;
use crate::link::selection::RecordSelection;
use crate::object::{Check, Object, ObjectStore};
use crate::report::file::{ReportFiles, print_published};
use crate::report::quarantine::BadRecord;
use crate::report::{RunReport, quarantine};
use crate::store::prune::PruneReport;
use crate::store::{interrupt, lock_output};
use crate::terminal::escape::escape_path;
use crate::terminal::progress::{Progress, terminal_width};

/// Most parsed parts that the progress line names; the report names all.
const PARSED_SHOWN_MAX: usize = 10;

/// A run of `build`, `compile` or `link`.
pub(crate) struct Run {
    pub begun: Instant,
    pub begun_at: SystemTime,
    pub work: WorkArgs,
    /// The `--where` filters; `None` publishes a full snapshot.
    pub selection: Option<RecordSelection>,
    pub progress: Progress,
    pub report: RunReport,
    pub files: ReportFiles,
    /// The new snapshot, if it was not published because of an earlier rollback.
    pub blocked: Option<BlockedSnapshot>,
}

/// More threads than any machine has use for.
const THREADS_MAX: usize = 4_096;

/// Sets the number of threads; 0 means one per processor. With 1, all work runs on the calling thread,
/// so that it happens in the same order every time.
pub(crate) fn use_threads(threads: usize) -> Result<()> {
    if threads > THREADS_MAX {
        return Err(Error::Usage(format!("`--threads {threads}` is more than {THREADS_MAX}")));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = if threads == 1 { pool.use_current_thread() } else { pool };
    pool.build_global().map_err(|error| Error::Internal(format!("threads: {error}")))
}

impl Run {
    pub(crate) fn begin(
        command: &'static str,
        work: WorkArgs,
        selection: Option<RecordSelection>,
    ) -> Result<Run> {
        use_threads(work.threads)?;
        let progress = Progress::detect(work.quiet);
        let mut report = RunReport::new(command);
        let files = ReportFiles { report: work.report.clone(), textfile: work.textfile.clone() };
        report.link_records_per_second = files.last_link_rate();
        let begun_at = SystemTime::now();
        let begun = Instant::now();
        Ok(Run { begun, begun_at, work, selection, progress, report, files, blocked: None })
    }

    /// Runs a step of the compile stage with as many threads as memory holds parts for.
    pub(crate) fn within_memory<T: Send>(
        &self,
        step: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        let threads = self.work.compile_threads();
        if threads == rayon::current_num_threads() {
            return step();
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map_err(|error| Error::Internal(format!("threads: {error}")))?.install(step)
    }

    /// Writes the report of a run that holds its lock, and has a signal write the final report.
    pub(crate) fn write_begin(&self) -> Result<()> {
        self.files.write_begin(&self.report)?;
        let (files, mut report) = (self.files.clone(), self.report.clone());
        interrupt::on_signal(move |code, cause| {
            report.run_info.end(code, Some(cause));
            // The process exits; an error could no longer be reported.
            let _ = files.write_end(&report);
        });
        Ok(())
    }

    /// Locks the output, and writes the report of the run that now holds it.
    pub(crate) fn lock(&self, publish: &PublishArgs) -> Result<LockedDirectory> {
        let lock = lock_output(&publish.out)?;
        interrupt::remove_on_signal(lock.scratch(), interrupt::NOTHING_PUBLISHED);
        self.check_suppression(publish)?;
        self.write_begin()?;
        Ok(lock)
    }

    /// Refuses to show what the current snapshot leaves out, unless an option allows it.
    fn check_suppression(&self, publish: &PublishArgs) -> Result<()> {
        let none = SuppressionList::default();
        let list = self.selection.as_ref().map_or(&none, RecordSelection::suppression);
        let Some(before) = current(&publish.out).filter(|_| !publish.allow_unsuppress) else {
            return Ok(());
        };
        let shown = match shown_again(&publish.out, &before, list) {
            Some(shown) if shown.is_empty() => return Ok(()),
            Some(shown) => name_ids(&shown),
            None => "records of another suppression list".to_owned(),
        };
        Err(Error::Unsuppressed { shown, before })
    }

    /// Lists the bad records of the compile stage, and checks their number.
    pub(crate) fn judge_bad(
        &mut self,
        objects: &[NamedObject],
        args: &AcceptanceArgs,
        quarantine: PathBuf,
    ) -> Result<()> {
        self.list_bad(objects, &BTreeSet::new(), quarantine)?;
        let reports = objects.iter().map(|named| (&*named.file, named.object.report()));
        let Some(excess) = find_excess(reports, args) else { return Ok(()) };
        Err(excess.into_error(self.report.quarantine.list.clone().unwrap_or_default()))
    }

    /// Lists the bad records of the compile stage, and the topics that the link stage refused.
    pub(crate) fn list_bad(
        &mut self,
        objects: &[NamedObject],
        orphans: &BTreeSet<[u8; 16]>,
        directory: PathBuf,
    ) -> Result<()> {
        let directory = self.work.quarantine.clone().unwrap_or(directory);
        let records = objects.iter().flat_map(|NamedObject { file, object }| {
            let report = object.report();
            let bad = report.bad_lines.iter().map(move |line| BadRecord {
                file,
                line: line.line,
                byte_offset: line.byte_offset,
                code: &line.code,
                id: line.id.as_deref(),
                raw: object.raw(line.raw),
            });
            // Whether a topic lacks its parent is known after the link, so objects keep the lines of all topics.
            let topics = report.topics.iter().filter(|line| orphans.contains(&line.line_hash));
            bad.chain(topics.map(move |line| BadRecord {
                file,
                line: line.line,
                byte_offset: line.byte_offset,
                code: NO_PARENT,
                id: None,
                raw: object.raw(line.raw),
            }))
        });
        self.report.quarantine = quarantine::write(&directory, records)?;
        Ok(())
    }

    /// Prints and reports what the link is expected to take.
    pub(crate) fn forecast(
        &mut self,
        objects: &[NamedObject],
        lock: &LockedDirectory,
    ) -> LinkForecast {
        let linked = objects.iter().map(|named| &named.object);
        let last_rate = self.report.link_records_per_second;
        let forecast = LinkForecast::new(linked, lock.scratch(), self.work.memory, last_rate);
        if self.progress != Progress::Quiet {
            eprintln!("{:>10} {}", "expects", forecast.describe());
        }
        if let Some(warning) = forecast.warning() {
            eprintln!("warning: {warning}");
        }
        self.report.forecast = Some(forecast.clone());
        forecast
    }

    pub(crate) fn add_finished(&mut self, finished: &Published) {
        let report = &mut self.report;
        report.snapshot_bytes = finished.manifest.files.iter().map(|file| file.size_bytes).sum();
        report.newest_updated_date = finished.manifest.source.newest_updated_date.clone();
        report.entities = finished.tallies.clone();
        report.side_tables = finished.side_tallies.clone();
        report.rows_reused = finished.rows_reused.clone();
        report.not_taken_over = finished.not_taken_over.clone();
        for (code, count) in &finished.warnings {
            *report.warnings.entry(code.clone()).or_default() += count;
        }
    }

    pub(crate) fn print_parsed(&self, stage: &CompileStage) {
        if self.progress == Progress::Quiet {
            return;
        }
        let parsed = stage.parts.iter().filter(|part| !part.was_cached).count();
        let all = stage.parts.len();
        if parsed == 0 {
            return eprintln!(
                "{:>10} nothing: all {all} parts have objects from earlier runs",
                "parsed"
            );
        }
        let mut names = String::new();
        // If all parts were parsed, a list of them says nothing.
        if parsed < all {
            let changed = stage.parts.iter().filter(|part| !part.was_cached);
            let first = changed.take(PARSED_SHOWN_MAX).map(|part| escape_path(&part.part.path));
            names = format!(": {}", first.collect::<Vec<_>>().join(", "));
            if let Some(more) = parsed.checked_sub(PARSED_SHOWN_MAX).filter(|more| *more > 0) {
                names.push_str(&format!(" and {more} more"));
            }
        }
        let copied = match stage.copied_lines {
            0 => String::new(),
            lines => format!(", {lines} lines copied from earlier objects"),
        };
        eprintln!(
            "{:>10} {parsed} of {all} parts, {} bytes{copied}{names}",
            "parsed", stage.parsed_bytes
        );
    }

    pub(crate) fn print_linked(&self, id: &str) {
        if self.progress != Progress::Quiet {
            eprintln!("{:>10} nothing: `{id}` was linked from the same objects", "linked");
        }
    }

    /// Ends the run: prints the table if inputs were read, writes the report, prints the result, and returns
    /// the outcome's error.
    pub(crate) fn end(mut self, outcome: Result<Option<PathBuf>>) -> Result<()> {
        self.report.seconds = self.begun.elapsed().as_secs_f64();
        let failed = outcome.as_ref().err();
        let code = failed.map_or(0, Error::exit_code);
        self.report.run_info.end(code, failed.map(Error::to_string));
        if self.progress != Progress::Quiet && self.report.parts > 0 {
            eprint!("{}{}", self.report.table(terminal_width()), self.report.outcome());
        }
        if let Some(blocked) = &self.blocked {
            eprintln!("warning: {}", blocked.warning());
        }
        self.report.pruned.iter().for_each(PruneReport::print_failed);
        // The run that holds the lock writes these files.
        let is_locked = matches!(failed, Some(Error::Locked { .. }));
        let written = if is_locked { Ok(()) } else { self.files.write_end(&self.report) };
        let Some(path) = outcome? else { return written };
        print_published(&path, written);
        Ok(())
    }
}

impl Drop for Run {
    /// Writes the final report of a run that panics.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.report.run_info.end(1, Some("the compiler panicked".into()));
            let _ = self.files.write_end(&self.report);
        }
    }
}

/// An object, and the escaped path of its part.
pub(crate) struct NamedObject {
    pub(crate) file: String,
    pub(crate) object: Object,
}

/// Names the objects of the compile stage by their parts.
pub(crate) fn named(stage: CompileStage) -> Vec<NamedObject> {
    let named = stage
        .parts
        .into_iter()
        .map(|part| NamedObject { file: escape_path(&part.part.path), object: part.object });
    named.collect()
}

/// Opens and checks all objects of a directory or a bucket.
pub(crate) fn open_all(objects: &ObjectStore, check: Check) -> Result<Vec<NamedObject>> {
    let names = objects.names()?;
    if names.is_empty() {
        let reason = "contains no object; run `compile --objects` with this directory first";
        return Err(Error::Input { path: objects.place(), reason: reason.into() });
    }
    objects.prepare_cache()?;
    names
        .into_par_iter()
        .map(|name| {
            let object = objects.open(&name, check)?.object().ok_or_else(|| Error::Damaged {
                path: objects.place().join(format!("{name}.object")),
                reason: "its content does not match its hash; compile its part again".into(),
            })?;
            Ok(NamedObject { file: format!("part {}", object.part()), object })
        })
        .collect()
}
