//! The commands that compile and link.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use super::options::{BuildArgs, CompileArgs, InputArgs, LinkArgs, Share, WorkArgs};
use crate::{
    compile::{Stage, compile},
    error::{Error, Result},
    input, interrupt,
    link::{check_out, publish},
    object::Object,
    progress::Progress,
    report::{Budget, RunReport},
};

fn begin_work(work: &WorkArgs) -> Result<Progress> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(work.threads)
        .build_global()
        .map_err(|error| Error::Internal(format!("threads: {error}")))?;
    // A report that cannot be written is better known before the work than after it.
    if let Some(path) = &work.report {
        let is_new = !path.exists();
        std::fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|_| if is_new { std::fs::remove_file(path) } else { Ok(()) })
            .map_err(Error::output(path))?;
    }
    Ok(Progress::detect(work.quiet))
}

pub(super) fn build(args: BuildArgs) -> Result<()> {
    let begun = Instant::now();
    let progress = begin_work(&args.work)?;
    let inputs = input::find(&args.input.inputs)?;
    let lock = check_out(&args.out)?;
    interrupt::begin(lock.scratch());
    let objects_path = args.objects.unwrap_or_else(|| args.out.join("objects"));
    let (stage, mut report) = compile_stage(inputs, &args.input, &objects_path, progress)?;
    say_parsed(&stage, progress);
    let objects: Vec<Object> = stage.parts.into_iter().map(|part| part.object).collect();
    let published = publish(&objects, &lock, memory_bytes(&args.work), progress)?;
    take_published(&mut report, &published);
    drop(lock);
    interrupt::end();
    end(report, &args.work, progress, begun)?;
    println!("{}", published.path.display());
    Ok(())
}

pub(super) fn compile_only(args: CompileArgs) -> Result<()> {
    let begun = Instant::now();
    let progress = begin_work(&args.work)?;
    let inputs = input::find(&args.input.inputs)?;
    let (stage, report) = compile_stage(inputs, &args.input, &args.objects, progress)?;
    say_parsed(&stage, progress);
    end(report, &args.work, progress, begun)
}

pub(super) fn link_only(args: LinkArgs) -> Result<()> {
    let begun = Instant::now();
    let progress = begin_work(&args.work)?;
    let objects = open_all(&object_paths(&args.objects)?)?;
    let lock = check_out(&args.out)?;
    interrupt::begin(lock.scratch());
    let published = publish(&objects, &lock, memory_bytes(&args.work), progress)?;
    let mut report = RunReport { parts: objects.len() as u64, ..RunReport::default() };
    take_published(&mut report, &published);
    drop(lock);
    interrupt::end();
    end(report, &args.work, progress, begun)?;
    println!("{}", published.path.display());
    Ok(())
}

fn memory_bytes(work: &WorkArgs) -> usize {
    usize::try_from(work.memory).unwrap_or(usize::MAX)
}

fn compile_stage(
    inputs: input::Inputs,
    args: &InputArgs,
    objects_path: &Path,
    progress: Progress,
) -> Result<(Stage, RunReport)> {
    let stage = compile(inputs.parts.clone(), objects_path, progress)?;
    let list = objects_path.join("bad-records.jsonl");
    let (report, budget) = RunReport::begin(&inputs, &stage, &list)?;
    check_budget(args, budget, list)?;
    Ok((stage, report))
}

fn check_budget(args: &InputArgs, budget: Budget, list: PathBuf) -> Result<()> {
    let share = if args.strict { Share(0.0) } else { args.max_bad };
    let allowed = (budget.read as f64 * share.0).floor();
    if budget.quarantined as f64 > allowed {
        return Err(Error::TooManyBad {
            quarantined: budget.quarantined,
            read: budget.read,
            allowed: format!("{}%", share.0 * 100.0),
            report: list,
        });
    }
    if budget.read == budget.quarantined && !args.allow_empty {
        return Err(Error::Empty);
    }
    Ok(())
}

fn open_all(paths: &[PathBuf]) -> Result<Vec<Object>> {
    use rayon::prelude::*;
    paths
        .par_iter()
        .map(|path| {
            let object = Object::open(path).map_err(Error::input(path))?;
            object.ok_or_else(|| Error::Damaged {
                path: path.clone(),
                reason: "it does not have its own hash; compile its part again".into(),
            })
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
            reason: "holds no object; compile into it first".into(),
        });
    }
    Ok(paths)
}

fn say_parsed(stage: &Stage, progress: Progress) {
    if progress == Progress::Quiet {
        return;
    }
    let parsed = stage.parts.iter().filter(|part| !part.was_cached).count();
    let all = stage.parts.len();
    match parsed {
        0 => eprintln!("{:>10} nothing: the objects of all {all} parts are there", "parsed"),
        _ => eprintln!("{:>10} {parsed} of {all} parts, {} bytes", "parsed", stage.parsed_bytes),
    }
}

fn take_published(report: &mut RunReport, published: &crate::link::Published) {
    report.snapshot = Some(published.path.clone());
    report.snapshot_bytes = published.manifest.files.iter().map(|file| file.size_bytes).sum();
    report.entities = published.tallies.clone();
    for (code, count) in &published.warnings {
        *report.warnings.entry(code.clone()).or_default() += count;
    }
}

fn end(mut report: RunReport, work: &WorkArgs, progress: Progress, begun: Instant) -> Result<()> {
    report.seconds = begun.elapsed().as_secs_f64();
    if progress != Progress::Quiet {
        eprint!("{}", report.table());
    }
    match &work.report {
        Some(path) => report.write(path),
        None => Ok(()),
    }
}
