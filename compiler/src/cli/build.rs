//! The commands `build`, `compile` and `link`.

use std::{
    collections::BTreeSet,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::{Instant, SystemTime},
};

use pinakes_format::snapshot::suppression_list::SuppressionList;

use crate::cli::options::{
    BuildArgs, CompileArgs, InputArgs, LinkArgs, PublishArgs, Share, WorkArgs,
};
use crate::compile::input;
use crate::compile::input::{Inputs, PartKind};
use crate::compile::{CompileStage, CompiledPart, compile};
use crate::error::{Error, Result};
use crate::frontend::reader::NO_PARENT;
use crate::link;
use crate::link::Published;
use crate::link::selection::Selection;
use crate::object::warnings::Warnings;
use crate::object::{Object, gather};
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
    let selection = args.publish.selection.read(args.input.allow_empty)?;
    let mut run = Run::begin("build", args.work, selection)?;
    let outcome = run.build(&args.input, &args.publish, args.objects);
    run.end(outcome)
}

pub(crate) fn compile_only(args: CompileArgs) -> Result<()> {
    let mut run = Run::begin("compile", args.work, None)?;
    let outcome = run.compile(&args.input, &args.objects);
    run.end(outcome.map(|_| None))
}

pub(crate) fn link_only(args: LinkArgs) -> Result<()> {
    let selection = args.publish.selection.read(false)?;
    let mut run = Run::begin("link", args.work, selection)?;
    let outcome = run.link(&args.objects, &args.publish);
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

/// An object, and the escaped path of its part.
struct NamedObject {
    file: String,
    object: Object,
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
        let report = RunReport::new(command);
        let files = ReportFiles { report: work.report.clone(), textfile: work.textfile.clone() };
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

    fn build(
        &mut self,
        input: &InputArgs,
        publish: &PublishArgs,
        objects: Option<PathBuf>,
    ) -> Result<Option<PathBuf>> {
        refuse_inside(input, &publish.out, "--out")?;
        if let Some(objects) = &objects {
            refuse_inside(input, objects, "--objects")?;
        }
        let inputs = input::find(&input.inputs, input.manifest_policy())?;
        let lock = lock_output(&publish.out)?;
        interrupt::remove_on_signal(lock.scratch(), interrupt::NOTHING_PUBLISHED);
        self.check_suppression(publish)?;
        self.write_begin()?;
        let objects = objects.unwrap_or_else(|| publish.out.join("objects"));
        let quarantine = publish.out.join("quarantine");
        let mut compiled = self.compile_inputs(inputs, input, &objects, quarantine.clone())?;
        let objects = ObjectDirectory { directory: &objects, begun: self.begun_at };
        self.publish(&mut compiled, publish, lock, quarantine, Some(objects))
    }

    fn compile(&mut self, input: &InputArgs, objects: &Path) -> Result<()> {
        refuse_inside(input, objects, "--objects")?;
        let inputs = input::find(&input.inputs, input.manifest_policy())?;
        self.write_begin()?;
        self.compile_inputs(inputs, input, objects, objects.join("quarantine"))?;
        Ok(())
    }

    fn link(&mut self, objects: &Path, publish: &PublishArgs) -> Result<Option<PathBuf>> {
        let mut objects = open_all(&object_paths(objects)?)?;
        let lock = lock_output(&publish.out)?;
        interrupt::remove_on_signal(lock.scratch(), interrupt::NOTHING_PUBLISHED);
        self.check_suppression(publish)?;
        self.write_begin()?;
        self.report.parts = objects.len() as u64;
        let mut warnings = Warnings::default();
        for NamedObject { file, object } in &objects {
            warnings.take_positions(file, object.report());
        }
        self.report.first_warnings = warnings.first;
        // `link` does not prune objects, because they are its inputs.
        self.publish(&mut objects, publish, lock, publish.out.join("quarantine"), None)
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

    /// Runs the compile stage and checks the number of records and of bad records.
    fn compile_inputs(
        &mut self,
        inputs: Inputs,
        args: &InputArgs,
        objects: &Path,
        quarantine: PathBuf,
    ) -> Result<Vec<NamedObject>> {
        let stage = compile(
            inputs.parts.clone(),
            objects,
            &args.read_limits(self.work.memory),
            self.progress,
        )?;
        self.print_parsed(&stage);
        self.report.add_compiled(&inputs, &stage);
        let empty = empty_entities(&stage);
        let excess = find_excess(&stage, args);
        let objects: Vec<NamedObject> = stage
            .parts
            .into_iter()
            .map(|part| NamedObject { file: escape_path(&part.part.path), object: part.object })
            .collect();
        self.list_bad(&objects, &BTreeSet::new(), quarantine)?;
        if let Some(excess) = excess {
            return Err(excess.into_error(self.report.quarantine.list.clone().unwrap_or_default()));
        }
        match empty {
            Some(of) if !args.allow_empty => Err(Error::Empty { of }),
            _ => Ok(objects),
        }
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

    /// Runs the link stage, compares the new snapshot with the current one, and publishes it.
    fn publish(
        &mut self,
        objects: &mut [NamedObject],
        args: &PublishArgs,
        lock: OutputLock,
        quarantine: PathBuf,
        kept_objects: Option<ObjectDirectory<'_>>,
    ) -> Result<Option<PathBuf>> {
        gather(objects.iter_mut().map(|named| &mut named.object), lock.scratch())?;
        let objects = &*objects;
        let memory_bytes = usize::try_from(self.work.memory).unwrap_or(usize::MAX);
        let linked: Vec<&Object> = objects.iter().map(|named| &named.object).collect();
        let selection = self.selection.as_ref();
        let mut finished = link::link(&linked, &lock, selection, memory_bytes, self.progress)?;
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
        link::publish(&mut finished, &lock)?;
        self.report.snapshot = Some(escape_path(&finished.path));
        self.report.snapshot_id = Some(finished.manifest.id.clone());
        self.report.pruned = args.keep.map(|keep| prune(&lock, keep, kept_objects));
        drop(lock);
        interrupt::keep_on_signal();
        Ok(Some(finished.path))
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

/// More bad records, or more bad rows of one side table, than allowed.
struct Excess {
    quarantined: u64,
    read: u64,
    /// The counted things: `records`, or the rows of a table.
    of: String,
    option: &'static str,
    share: Share,
}

impl Excess {
    /// Makes the error; `report` is the file that lists the bad records and rows.
    fn into_error(self, report: PathBuf) -> Error {
        let Excess { quarantined, read, of, option, share } = self;
        let allowed = format!("{}%", share.0 * 100.0);
        Error::TooManyBad { quarantined, read, of, option, allowed, report }
    }
}

/// Refuses an output inside an input: the next build would read it.
fn refuse_inside(input: &InputArgs, output: &Path, option: &str) -> Result<()> {
    let Some(directory) = input::is_inside_inputs(&input.inputs, output) else { return Ok(()) };
    Err(Error::Usage(format!(
        "`{option}` lies inside the input `{}`, and the next build would read it; choose a directory \
         outside",
        escape_path(&directory)
    )))
}

/// Compares the bad records of all dumps with `--max-bad`, and the bad rows of each side table with
/// `--max-bad-rows`. Returns the first excess.
fn find_excess(stage: &CompileStage, args: &InputArgs) -> Option<Excess> {
    let (of_records, of_rows) = args.bad_shares();
    let (tables, dumps): (Vec<_>, Vec<_>) =
        stage.parts.iter().partition(|part| part.part.kind.is_side());
    let check = |parts: &[&CompiledPart], of: String, option, share: Share| {
        let reports = || parts.iter().map(|part| part.object.report());
        let read: u64 = reports().flat_map(|report| report.read.values()).sum();
        let quarantined: u64 = reports().flat_map(|report| report.quarantined.values()).sum();
        let is_within = quarantined as f64 <= (read as f64 * share.0).floor();
        (!is_within).then_some(Excess { quarantined, read, of, option, share })
    };
    check(&dumps, "records".into(), "--max-bad", of_records).or_else(|| {
        tables.into_iter().find_map(|table| {
            let of = format!("rows of `{}`", escape_path(&table.part.path));
            check(&[table], of, "--max-bad-rows", of_rows)
        })
    })
}

/// Names the entities whose parts contain no record, as ` of authors, works` for [`Error::Empty`].
/// Returns an empty text if no part contains a good record, and `None` if every entity has records.
fn empty_entities(stage: &CompileStage) -> Option<String> {
    let mut read: std::collections::BTreeMap<&str, u64> = Default::default();
    for part in &stage.parts {
        if let PartKind::Records(entity) | PartKind::Native(entity) = part.part.kind {
            let name = entity.facts().plural;
            *read.entry(name).or_default() += part.object.report().read.get(name).unwrap_or(&0);
        }
    }
    let records = || stage.parts.iter().filter(|part| !part.part.kind.is_side());
    let reports = || records().map(|part| part.object.report());
    let all: u64 = reports().flat_map(|report| report.read.values()).sum();
    let bad: u64 = reports().flat_map(|report| report.quarantined.values()).sum();
    if all == bad {
        return Some(String::new());
    }
    let names: Vec<&str> =
        read.into_iter().filter(|(_, read)| *read == 0).map(|(name, _)| name).collect();
    (!names.is_empty()).then(|| format!(" of {}", names.join(", ")))
}

fn open_all(paths: &[PathBuf]) -> Result<Vec<NamedObject>> {
    use rayon::prelude::*;
    paths
        .par_iter()
        .map(|path| {
            let object = Object::open(path).map_err(Error::input(path))?;
            let object = object.ok_or_else(|| Error::Damaged {
                path: path.clone(),
                reason: "its content does not match its hash; compile its part again".into(),
            })?;
            Ok(NamedObject { file: format!("part {}", object.part()), object })
        })
        .collect()
}

fn object_paths(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory).map_err(Error::input(directory))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::input(directory))?.path();
        if path.extension().is_some_and(|extension| extension == "object") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Error::Input {
            path: directory.to_path_buf(),
            reason: "contains no object; run `compile --objects` with this directory first".into(),
        });
    }
    Ok(paths)
}
