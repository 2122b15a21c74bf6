//! The commands `build`, `compile` and `link`, also of a unit and of a plan.

use std::{
    collections::BTreeSet,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::{Instant, SystemTime},
};

use pinakes_format::snapshot::next::CURRENT;
use pinakes_format::snapshot::suppression_list::SuppressionList;

use crate::cli::acceptance::{empty_entities, find_excess};
use crate::cli::objects::{NamedObject, named, open_all};
use crate::cli::options::{
    AcceptanceArgs, BuildArgs, CompileArgs, InputArgs, LinkArgs, PublishArgs, WorkArgs,
};
use crate::cli::transfer::BucketArgs;
use crate::cli::units::unit_number;
use crate::compile::input;
use crate::compile::input::Inputs;
use crate::compile::{CompileStage, compile};
use crate::error::{Error, Result};
use crate::frontend::reader::NO_PARENT;
use crate::link;
use crate::link::forecast::LinkForecast;
use crate::link::reuse;
use crate::link::selection::Selection;
use crate::link::{Published, link_snapshot};
use crate::object::warnings::Warnings;
use crate::object::{Check, Object, ObjectStore, gather};
use crate::plan::Plan;
use crate::report::file::ReportFiles;
use crate::report::quarantine::BadRecord;
use crate::report::{RunReport, quarantine};
use crate::store::interrupt;
use crate::store::lock::{OutputLock, lock_output};
use crate::store::prune::{ObjectDirectory, prune};
use crate::store::rolled_back::{BlockedSnapshot, find_blocked};
use crate::store::suppressed;
use crate::store::suppressed::refuse_unsuppressing;
use crate::terminal::escape::escape_path;
use crate::terminal::progress::Progress;

pub(crate) fn build(args: BuildArgs) -> Result<()> {
    let selection = args.publish.selection.read(args.acceptance.allow_empty)?;
    let mut run = Run::begin("build", args.work.clone(), selection)?;
    args.bucket.transfer.configure();
    let outcome = run.build(&args);
    run.end(outcome)
}

pub(crate) fn compile_only(args: CompileArgs) -> Result<()> {
    let CompileArgs { input, acceptance, plan, unit, objects, work, bucket } = args;
    bucket.transfer.configure();
    let mut run = Run::begin("compile", work, None)?;
    let outcome = match plan {
        Some(plan) => run.compile_unit(&plan, unit, &objects, &bucket),
        None => run.compile(&input, &acceptance, &objects, &bucket),
    };
    run.end(outcome.map(|_| None))
}

pub(crate) fn link_only(args: LinkArgs) -> Result<()> {
    let LinkArgs { objects, plan, acceptance, publish, work, bucket } = args;
    bucket.transfer.configure();
    let objects = bucket.store(&objects, Some(publish.out.join("objects")))?;
    let selection = publish.selection.read(acceptance.allow_empty)?;
    let mut run = Run::begin("link", work, selection)?;
    let outcome = match plan {
        Some(plan) => run.link_plan(&plan, &objects, &acceptance, &publish),
        None => run.link(&objects, &acceptance, &publish),
    };
    run.end(outcome)
}

/// Most parsed parts that the progress line names; the report names all.
const PARSED_SHOWN_MAX: usize = 10;

/// A run of `build`, `compile` or `link`.
struct Run {
    begun: Instant,
    begun_at: SystemTime,
    work: WorkArgs,
    /// The `--where` filters; `None` publishes a full snapshot.
    selection: Option<Selection>,
    progress: Progress,
    report: RunReport,
    files: ReportFiles,
    /// The new snapshot, if it was not published because of an earlier rollback.
    blocked: Option<BlockedSnapshot>,
}

/// Sets the number of threads; 0 means one per processor. With 1, all work runs on the calling thread,
/// so that it happens in the same order every time.
pub(crate) fn use_threads(threads: usize) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = if threads == 1 { pool.use_current_thread() } else { pool };
    pool.build_global().map_err(|error| Error::Internal(format!("threads: {error}")))
}

impl Run {
    fn begin(command: &'static str, work: WorkArgs, selection: Option<Selection>) -> Result<Run> {
        use_threads(work.threads)?;
        let progress = Progress::detect(work.quiet);
        let mut report = RunReport::new(command);
        let files = ReportFiles { report: work.report.clone(), textfile: work.textfile.clone() };
        report.link_bytes_per_second = files.last_link_rate();
        let begun_at = SystemTime::now();
        let begun = Instant::now();
        Ok(Run { begun, begun_at, work, selection, progress, report, files, blocked: None })
    }

    /// Writes the report of a run that holds its lock, and has a signal write the final report.
    fn write_begin(&self) -> Result<()> {
        self.files.write_begin(&self.report)?;
        let (files, mut report) = (self.files.clone(), self.report.clone());
        interrupt::on_signal(move |code| {
            report.run_info.end(code, Some("interrupted".into()));
            // The process exits; an error could no longer be reported.
            let _ = files.write_end(&report);
        });
        Ok(())
    }

    fn build(&mut self, args: &BuildArgs) -> Result<Option<PathBuf>> {
        let BuildArgs { input, acceptance, publish, objects, bucket, .. } = args;
        refuse_inside(input, &publish.out, "--out")?;
        let own = publish.out.join("objects");
        let objects = objects.as_ref().unwrap_or(&own);
        if *objects != own {
            refuse_inside(input, objects, "--objects")?;
        }
        let objects = bucket.store(objects, Some(own.clone()))?.paranoid(self.work.paranoid);
        let inputs = input::find(&input.inputs, input.manifest_policy())?;
        let lock = self.lock(publish)?;
        let quarantine = publish.out.join("quarantine");
        let (stage, linked) = self.compile_inputs(inputs, input, &objects, Some(&publish.out))?;
        let mut compiled = self.accept(stage, acceptance, quarantine.clone())?;
        let objects = ObjectDirectory { directory: objects.directory(), begun: self.begun_at };
        self.publish(&mut compiled, linked, publish, lock, quarantine, Some(objects))
    }

    fn compile(
        &mut self,
        input: &InputArgs,
        acceptance: &AcceptanceArgs,
        objects: &Path,
        bucket: &BucketArgs,
    ) -> Result<()> {
        refuse_inside(input, objects, "--objects")?;
        let objects = bucket.store(objects, None)?.paranoid(self.work.paranoid);
        let inputs = input::find(&input.inputs, input.manifest_policy())?;
        self.write_begin()?;
        let (stage, _) = self.compile_inputs(inputs, input, &objects, None)?;
        self.accept(stage, acceptance, objects.directory().join("quarantine"))?;
        Ok(())
    }

    /// Compiles a unit of a plan. Lists its bad records only where `--quarantine` says, because units share
    /// the directory of objects.
    fn compile_unit(
        &mut self,
        plan: &Path,
        unit: Option<u32>,
        objects: &Path,
        bucket: &BucketArgs,
    ) -> Result<()> {
        let unit = unit.map_or_else(|| unit_number(|name| std::env::var(name).ok()), Ok)?;
        let plan = Plan::read(plan)?;
        plan.unit(unit)?;
        let cache = bucket.temporary_cache(objects)?;
        let cache = cache.as_ref().map(tempfile::TempDir::path);
        if let Some(cache) = cache {
            interrupt::remove_on_signal(cache, interrupt::NOTHING_PUBLISHED);
        }
        let objects = bucket.store(objects, cache.map(Path::to_path_buf))?;
        let objects = objects.paranoid(self.work.paranoid);
        self.write_begin()?;
        let part_memory_bytes = self.work.part_memory_bytes();
        let stage = plan.compile_unit(unit, &objects, part_memory_bytes, self.progress)?;
        self.print_parsed(&stage);
        self.report.add_compiled(Vec::new(), Warnings::default(), &stage);
        if let Some(quarantine) = self.work.quarantine.clone() {
            self.list_bad(&named(stage), &BTreeSet::new(), quarantine)?;
        }
        Ok(())
    }

    /// Links the objects of a plan, as `build` links those of its inputs.
    fn link_plan(
        &mut self,
        plan: &Path,
        objects: &ObjectStore,
        acceptance: &AcceptanceArgs,
        publish: &PublishArgs,
    ) -> Result<Option<PathBuf>> {
        let plan = Plan::read(plan)?;
        let open = |check| plan.open(objects, check);
        let find = |stage: &CompileStage| self.find_linked(stage.objects(), &publish.out);
        let (stage, linked, lock) = self.open_to_link(open, find, publish)?;
        self.report.add_compiled(plan.facts.skipped, plan.facts.warnings, &stage);
        let quarantine = publish.out.join("quarantine");
        let mut objects = self.accept(stage, acceptance, quarantine.clone())?;
        self.publish(&mut objects, linked, publish, lock, quarantine, None)
    }

    /// Opens the objects to link with `open`, and locks the output. Returns the snapshot that an earlier run linked
    /// from the same objects, which `find` finds; without such a snapshot, checks all bytes of the objects.
    fn open_to_link<T>(
        &self,
        open: impl Fn(Check) -> Result<T>,
        find: impl Fn(&T) -> Option<Published>,
        publish: &PublishArgs,
    ) -> Result<(T, Option<Published>, OutputLock)> {
        let mut opened = open(Check::Directory)?;
        let was_linked = find(&opened).is_some();
        if !was_linked {
            opened = open(Check::Whole)?;
        }
        let lock = self.lock(publish)?;
        let linked = was_linked.then(|| find(&opened)).flatten();
        if was_linked && linked.is_none() {
            // Another run has removed the snapshot meanwhile.
            opened = open(Check::Whole)?;
        }
        Ok((opened, linked, lock))
    }

    /// Locks the output, and writes the report of the run that now holds it.
    fn lock(&self, publish: &PublishArgs) -> Result<OutputLock> {
        let lock = lock_output(&publish.out)?;
        interrupt::remove_on_signal(lock.scratch(), interrupt::NOTHING_PUBLISHED);
        self.check_suppression(publish)?;
        self.write_begin()?;
        Ok(lock)
    }

    fn link(
        &mut self,
        objects: &ObjectStore,
        acceptance: &AcceptanceArgs,
        publish: &PublishArgs,
    ) -> Result<Option<PathBuf>> {
        let open = |check| open_all(objects, check);
        let find = |opened: &Vec<NamedObject>| {
            self.find_linked(opened.iter().map(|named| &named.object), &publish.out)
        };
        let (mut opened, linked, lock) = self.open_to_link(open, find, publish)?;
        self.report.parts = opened.len() as u64;
        let mut warnings = Warnings::default();
        for NamedObject { file, object } in &opened {
            warnings.take_positions(file, object.report());
        }
        self.report.first_warnings = warnings.first;
        let quarantine = publish.out.join("quarantine");
        self.judge_bad(&opened, acceptance, quarantine.clone())?;
        // `link` does not prune objects, because they are its inputs.
        self.publish(&mut opened, linked, publish, lock, quarantine, None)
    }

    /// Refuses to show what the current snapshot leaves out, unless an option allows it.
    fn check_suppression(&self, publish: &PublishArgs) -> Result<()> {
        let none = SuppressionList::default();
        let list = self.selection.as_ref().map_or(&none, Selection::suppression);
        if publish.allow_unsuppress {
            return Ok(());
        }
        refuse_unsuppressing(&publish.out, list)
    }

    /// Runs the compile stage and reports it. Returns the snapshot in `snapshots` that an earlier run linked from
    /// the same objects; without such a snapshot, checks all bytes of the objects.
    fn compile_inputs(
        &mut self,
        inputs: Inputs,
        args: &InputArgs,
        objects: &ObjectStore,
        snapshots: Option<&Path>,
    ) -> Result<(CompileStage, Option<Published>)> {
        let skipped = inputs.skipped_paths();
        let limits = args.read_limits(self.work.part_memory_bytes());
        let mut stage = compile(inputs.parts, objects, &limits, Check::Directory, self.progress)?;
        let linked = snapshots.and_then(|out| self.find_linked(stage.objects(), out));
        if linked.is_none() {
            stage.check_whole(objects, &limits)?;
        }
        self.print_parsed(&stage);
        self.report.add_compiled(skipped, inputs.warnings, &stage);
        Ok((stage, linked))
    }

    /// Returns the snapshot that an earlier run linked from the same objects and selection.
    fn find_linked<'o>(
        &self,
        objects: impl Iterator<Item = &'o Object>,
        snapshots: &Path,
    ) -> Option<Published> {
        if self.work.paranoid {
            return None;
        }
        reuse::find(snapshots, &reuse::identify(objects, self.selection.as_ref()))
    }

    /// Lists the bad records of the compile stage, and checks the number of records and of bad records.
    fn accept(
        &mut self,
        stage: CompileStage,
        args: &AcceptanceArgs,
        quarantine: PathBuf,
    ) -> Result<Vec<NamedObject>> {
        let empty = empty_entities(&stage);
        let objects = named(stage);
        self.judge_bad(&objects, args, quarantine)?;
        match empty {
            Some(of) if !args.allow_empty => Err(Error::Empty { of }),
            _ => Ok(objects),
        }
    }

    /// Lists the bad records of the compile stage, and checks their number.
    fn judge_bad(
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
    fn list_bad(
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

    /// Runs the link stage, unless an earlier run has linked the same objects. Compares the snapshot with the current
    /// one, and publishes it.
    fn publish(
        &mut self,
        objects: &mut [NamedObject],
        linked: Option<Published>,
        args: &PublishArgs,
        lock: OutputLock,
        quarantine: PathBuf,
        kept_objects: Option<ObjectDirectory<'_>>,
    ) -> Result<Option<PathBuf>> {
        let is_linked = linked.is_some();
        let mut finished = match linked {
            Some(linked) => {
                self.print_linked(&linked.manifest.id);
                linked
            }
            None => self.link_objects(objects, &lock)?,
        };
        let objects = &*objects;
        self.add_finished(&finished);
        let count = finished.orphans.read;
        if count > 0 {
            self.list_bad(objects, &finished.orphans.line_hashes, quarantine)?;
            *self.report.bad_records.entry(NO_PARENT.into()).or_default() += count;
            let topics = &finished.tallies["topics"];
            if count.saturating_mul(100) > topics.read {
                return Err(Error::Orphans {
                    refused: count,
                    read: topics.read,
                    report: self.report.quarantine.list.clone().unwrap_or_default(),
                });
            }
        }
        if let Some(blocked) = find_blocked(&args.out, &finished.manifest.id)? {
            self.report.set_blocked(&blocked);
            drop(lock);
            interrupt::keep_on_signal();
            let path = blocked.path.clone();
            self.blocked = Some(blocked);
            return Ok(Some(path));
        }
        if !args.allow_shrink {
            link::refuse_shrinking(&args.out, &finished.manifest)?;
        }
        let list = self.selection.as_ref().map(Selection::suppression);
        if let Some(list) = list.filter(|list| !list.is_empty()) {
            suppressed::keep(lock.directory(), &finished.manifest.id, list)?;
        }
        if is_linked {
            link_snapshot(&lock, &finished.manifest.id, CURRENT)?;
        } else {
            link::publish(&mut finished, &lock)?;
            self.remember_link(&finished, objects, &args.out);
        }
        self.report.snapshot = Some(escape_path(&finished.path));
        self.report.snapshot_id = Some(finished.manifest.id.clone());
        self.report.pruned = args.keep.map(|keep| prune(&lock, keep, kept_objects));
        drop(lock);
        interrupt::keep_on_signal();
        Ok(Some(finished.path))
    }

    /// Runs the link stage.
    fn link_objects(
        &mut self,
        objects: &mut [NamedObject],
        lock: &OutputLock,
    ) -> Result<Published> {
        let forecast = self.forecast(objects, lock);
        let begun = Instant::now();
        gather(objects.iter_mut().map(|named| &mut named.object), lock.scratch())?;
        let memory_bytes = usize::try_from(self.work.memory).unwrap_or(usize::MAX);
        let linked: Vec<&Object> = objects.iter().map(|named| &named.object).collect();
        let selection = self.selection.as_ref();
        let finished = link::link(&linked, lock, selection, memory_bytes, self.progress)?;
        let rate = forecast.object_bytes as f64 / begun.elapsed().as_secs_f64();
        self.report.link_bytes_per_second = Some(rate).filter(|rate| rate.is_finite());
        Ok(finished)
    }

    fn print_linked(&self, id: &str) {
        if self.progress != Progress::Quiet {
            eprintln!("{:>10} nothing: `{id}` was linked from the same objects", "linked");
        }
    }

    /// Remembers what a published snapshot was linked from.
    fn remember_link(&self, finished: &Published, objects: &[NamedObject], snapshots: &Path) {
        let linked = objects.iter().map(|named| &named.object);
        let inputs = reuse::identify(linked, self.selection.as_ref());
        if let Err(error) = reuse::remember(finished, snapshots, inputs) {
            eprintln!("warning: published, but {}", error.message_after_publishing());
        }
    }

    /// Prints and reports what the link is expected to take.
    fn forecast(&mut self, objects: &[NamedObject], lock: &OutputLock) -> LinkForecast {
        let linked = objects.iter().map(|named| &named.object);
        let last_rate = self.report.link_bytes_per_second;
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

    fn add_finished(&mut self, finished: &Published) {
        let report = &mut self.report;
        report.snapshot_bytes = finished.manifest.files.iter().map(|file| file.size_bytes).sum();
        report.newest_updated_date = finished.manifest.source.newest_updated_date.clone();
        report.entities = finished.tallies.clone();
        report.side_tables = finished.side_tallies.clone();
        for (code, count) in &finished.warnings {
            *report.warnings.entry(code.clone()).or_default() += count;
        }
    }

    fn print_parsed(&self, stage: &CompileStage) {
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
        if parsed < all {
            let changed = stage.parts.iter().filter(|part| !part.was_cached);
            let first = changed.take(PARSED_SHOWN_MAX).map(|part| escape_path(&part.part.path));
            names = format!(": {}", first.collect::<Vec<_>>().join(", "));
            if let Some(more) = parsed.checked_sub(PARSED_SHOWN_MAX).filter(|more| *more > 0) {
                names.push_str(&format!(" and {more} more"));
            }
        }
        eprintln!("{:>10} {parsed} of {all} parts, {} bytes{names}", "parsed", stage.parsed_bytes);
    }

    /// Ends the run: prints the table if inputs were read, writes the report, prints the result, and returns
    /// the outcome's error.
    fn end(mut self, outcome: Result<Option<PathBuf>>) -> Result<()> {
        self.report.seconds = self.begun.elapsed().as_secs_f64();
        let failed = outcome.as_ref().err();
        let code = failed.map_or(0, Error::exit_code);
        self.report.run_info.end(code, failed.map(Error::to_string));
        if self.progress != Progress::Quiet && self.report.parts > 0 {
            eprint!("{}{}", self.report.table(), self.report.outcome());
        }
        if let Some(blocked) = &self.blocked {
            eprintln!("warning: {}", blocked.warning());
        }
        for failed in self.report.pruned.iter().flat_map(|pruned| &pruned.failed) {
            eprintln!("warning: published, but `--keep` could not remove everything: {failed}");
        }
        // The run that holds the lock writes these files.
        let is_locked = matches!(failed, Some(Error::Locked { .. }));
        let written = if is_locked { Ok(()) } else { self.files.write_end(&self.report) };
        let Some(path) = outcome? else { return written };
        let line = [path.as_os_str().as_bytes(), b"\n"].concat();
        let printed = std::io::stdout().write_all(&line).map_err(Error::output("standard output"));
        // The snapshot is published, so that the exit code must be 0.
        for error in [written, printed].into_iter().filter_map(Result::err) {
            eprintln!("warning: published, but {}", error.message_after_publishing());
        }
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

/// Refuses an output inside an input: the next build would read it.
pub(crate) fn refuse_inside(input: &InputArgs, output: &Path, option: &str) -> Result<()> {
    let Some(directory) = input::is_inside_inputs(&input.inputs, output) else { return Ok(()) };
    Err(Error::Usage(format!(
        "`{option}` lies inside the input `{}`, and the next build would read it; choose a directory \
         outside",
        escape_path(&directory)
    )))
}
