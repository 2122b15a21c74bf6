//! The commands `build`, `compile` and `link`, also of a unit and of a plan.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use pinakes_format::snapshot::next::CURRENT;
use pinakes_store::lock::LockedDirectory;
use pinakes_store::rolled_back::find_blocked;
use pinakes_store::suppressed;

use crate::cli::acceptance::empty_entities;
use crate::cli::options::{
    AcceptanceArgs, BuildArgs, CompileArgs, InputArgs, LinkArgs, PublishArgs,
};
use crate::cli::run::{NamedObject, Run, named, open_all};
use crate::cli::transfer::BucketArgs;
use crate::cli::units::unit_number;
use crate::compile::input::Inputs;
use crate::compile::{CompileStage, compile, input};
use crate::drift::Allowed;
use crate::error::{Error, Result};
use crate::frontend::reader::NO_PARENT;
use crate::link::selection::RecordSelection;
use crate::link::{Published, UnchangedSource, link_snapshot, reuse};
use crate::object::{Check, Object, ObjectStore, Warnings, gather};
use crate::plan::Plan;
use crate::store::interrupt;
use crate::store::prune::{ObjectDirectory, prune};
use crate::terminal::escape::escape_path;
use crate::{drift, link};

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

impl Run {
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
        let (part_memory_bytes, progress) = (self.work.part_memory_bytes(), self.progress);
        let stage =
            self.within_memory(|| plan.compile_unit(unit, &objects, part_memory_bytes, progress))?;
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
    ) -> Result<(T, Option<Published>, LockedDirectory)> {
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
        let limits = args.read_limits(self.work.memory, self.work.part_memory_bytes());
        let (parts, progress) = (inputs.parts, self.progress);
        let mut stage =
            self.within_memory(|| compile(parts, objects, &limits, Check::Directory, progress))?;
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

    /// Runs the link stage, unless an earlier run has linked the same objects. Compares the snapshot with the current
    /// one, and publishes it.
    fn publish(
        &mut self,
        objects: &mut [NamedObject],
        linked: Option<Published>,
        args: &PublishArgs,
        lock: LockedDirectory,
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
            // More than one refused topic in a hundred is a broken part, not a few bad lines.
            if count.saturating_mul(100) > topics.read {
                return Err(Error::Orphans {
                    refused: count,
                    read: topics.read,
                    report: self.report.quarantine.list.clone().unwrap_or_default(),
                });
            }
        }
        // An operator rolled back from this snapshot, so no run may bring it back by itself.
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
        self.check_drift(&finished, args)?;
        // A server may open the snapshot as soon as it is published, and then needs the list.
        let list = self.selection.as_ref().map(RecordSelection::suppression);
        if let Some(list) = list.filter(|list| !list.is_empty()) {
            suppressed::keep(lock.directory(), &finished.manifest.id, list)?;
        }
        // The snapshot has its name since the earlier run, so only the link moves.
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
        lock: &LockedDirectory,
    ) -> Result<Published> {
        let forecast = self.forecast(objects, lock);
        let begun = Instant::now();
        gather(objects.iter_mut().map(|named| &mut named.object), lock.scratch())?;
        let memory_bytes = usize::try_from(self.work.memory).unwrap_or(usize::MAX);
        let linked: Vec<&Object> = objects.iter().map(|named| &named.object).collect();
        let selection = self.selection.as_ref();
        let unchanged = match self.work.paranoid {
            true => UnchangedSource::Objects,
            false => UnchangedSource::Current,
        };
        let finished =
            link::link(&linked, lock, selection, unchanged, memory_bytes, self.progress)?;
        let rate = forecast.records as f64 / begun.elapsed().as_secs_f64();
        self.report.link_records_per_second = Some(rate).filter(|rate| rate.is_finite());
        Ok(finished)
    }

    /// Reports how far the members of a finished snapshot differ from the current one, and refuses members past their
    /// limits.
    fn check_drift(&mut self, finished: &Published, args: &PublishArgs) -> Result<()> {
        let new = (finished.path.as_path(), &finished.manifest);
        let allowed = Allowed { members: &args.allow_drift, shrinking: args.allow_shrink };
        let drift = drift::compare(&args.out, new, allowed, self.progress)?;
        let Some(drift) = drift else { return Ok(()) };
        if let Some(reason) = &drift.not_compared {
            eprintln!(
                "warning: not compared with the current snapshot, {}: {reason}",
                drift.before
            );
        }
        self.report.drift.insert(drift).check()
    }

    /// Remembers what a published snapshot was linked from.
    fn remember_link(&self, finished: &Published, objects: &[NamedObject], snapshots: &Path) {
        let linked = objects.iter().map(|named| &named.object);
        let inputs = reuse::identify(linked, self.selection.as_ref());
        if let Err(error) = reuse::remember(finished, snapshots, inputs) {
            eprintln!("warning: published, but {}", error.message_without_publishing());
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
