//! Builds a snapshot, and compares with the ceiling: gunzip and typed parse of the same parts.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use pinakes_compiler::stages::{ManifestPolicy, find, parse_only};
use pinakes_generate::Plan;
use rayon::prelude::*;

use crate::{
    Result,
    control_group::ControlGroup,
    lists::sizes,
    process::{Cost, measure, sibling_program},
    served::cold::{evict, files_of},
};

const MB: f64 = 1e6;
/// The least memory of a build whose objects exceed its memory: twice what it may allocate.
const LITTLE_MEMORY_MIN: u64 = 512 << 20;

/// Generates a dump, builds it twice and prints the measurements; returns the snapshots' directory.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<PathBuf> {
    let dump = dir.join(format!("dump-{outputs}"));
    generate(&Plan::new(outputs, 1), &dump)?;
    let threads = rayon::current_num_threads();
    let (json_bytes, ceiling_seconds) = measure_ceiling(&dump)?;
    let snapshots = dir.join(format!("snapshots-{outputs}"));
    remove(&snapshots);
    let (first, report) = compile(&dump, &snapshots, memory, &dir.join("first.json"))?;
    let (second, again) = compile(&dump, &snapshots, memory, &dir.join("second.json"))?;
    let snapshot_bytes = report["snapshot_bytes"].as_u64().unwrap_or(0);
    let ceiling_speed = json_bytes as f64 / MB / ceiling_seconds;
    let speed = json_bytes as f64 / MB / first.wall_seconds;
    println!(
        "\ndump: {outputs} outputs, {:.1} MB of JSON, {threads} threads",
        json_bytes as f64 / MB
    );
    println!("ceiling (gunzip + typed parse): {ceiling_seconds:.1} s, {ceiling_speed:.0} MB/s");
    print_cost("build (compile + link)", &first);
    println!("  {speed:.0} MB/s of JSON, {:.2} of the ceiling", speed / ceiling_speed);
    println!(
        "  {:.1} CPU-s per GB of JSON; snapshot {snapshot_bytes} bytes, {:.3} of the JSON",
        first.cpu_seconds / (json_bytes as f64 / 1e9),
        snapshot_bytes as f64 / json_bytes as f64
    );
    print_cost("build again, nothing changed", &second);
    println!("  parts parsed: {}", again["parts_parsed"]);
    build_with_little_memory(&dump, &snapshots, &first)?;
    sizes::print(&snapshots.join("current"), outputs)?;
    Ok(snapshots)
}

/// Builds from scratch with memory for half of the objects, the page cache included.
fn build_with_little_memory(dump: &Path, snapshots: &Path, first: &Cost) -> Result<()> {
    let objects = files_of(&snapshots.join("objects"))?;
    let sizes = objects.iter().map(|file| std::fs::metadata(file).map(|found| found.len()));
    let objects_bytes: u64 = sizes.sum::<std::io::Result<u64>>()?;
    let bytes = (objects_bytes / 2).max(LITTLE_MEMORY_MIN);
    let group = match ControlGroup::new(bytes) {
        Ok(group) => group,
        Err(reason) => {
            println!(
                "build with little memory: skipped, because no control group can be made: {reason}"
            );
            return Ok(());
        }
    };
    evict(dump)?;
    let again = snapshots.with_extension("little-memory");
    remove(&again);
    let mut command = group.command(&sibling_program("pinakes-compiler")?);
    command.args(["build", "--quiet", "--memory", "256M", "--out"]).args([&again, dump]);
    let cost = measure(&mut command);
    remove(&again);
    let cost = cost?;
    print_cost("build from scratch with little memory", &cost);
    println!(
        "  {:.0} MB for objects of {:.0} MB, {:.2} times the build without the limit",
        bytes as f64 / MB,
        objects_bytes as f64 / MB,
        cost.wall_seconds / first.wall_seconds
    );
    Ok(())
}

/// Removes a directory of snapshots, whose files are read-only.
pub fn remove(snapshots: &Path) {
    let _ = Command::new("chmod").args(["-R", "u+w"]).arg(snapshots).stderr(Stdio::null()).status();
    let _ = std::fs::remove_dir_all(snapshots);
}

/// Generates a dump unless it exists.
pub fn generate(plan: &Plan, dump: &Path) -> Result<()> {
    if !dump.join("data").exists() {
        println!("generating {}", dump.display());
        let begun = Instant::now();
        pinakes_generate::write_dump(plan, dump, rayon::current_num_threads())?;
        println!("generated in {:.1} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Runs the compiler; returns its cost and its report.
pub fn compile(
    dump: &Path,
    snapshots: &Path,
    memory: &str,
    report: &Path,
) -> Result<(Cost, serde_json::Value)> {
    let cost = measure(
        Command::new(sibling_program("pinakes-compiler")?)
            .args(["build", "--quiet", "--memory", memory, "--out"])
            .args([snapshots, dump])
            .arg("--report")
            .arg(report),
    )?;
    Ok((cost, serde_json::from_slice(&std::fs::read(report)?)?))
}

/// Unzips and parses every part on all cores and drops the records; returns bytes of JSON and seconds.
fn measure_ceiling(dump: &Path) -> Result<(u64, f64)> {
    let mut parts = find(&[dump], ManifestPolicy::default())?.parts;
    parts.sort_by_key(|part| std::cmp::Reverse(part.size_bytes));
    let begun = Instant::now();
    let bytes: u64 = parts
        .par_iter()
        .map(parse_only)
        .collect::<std::result::Result<Vec<u64>, _>>()?
        .into_iter()
        .sum();
    Ok((bytes, begun.elapsed().as_secs_f64()))
}

/// Prints the cost of a run.
pub fn print_cost(what: &str, cost: &Cost) {
    println!(
        "{what}: {:.1} s, {:.1} CPU-s, peak memory {:.0} MB anonymous, {:.0} MB mapped",
        cost.wall_seconds,
        cost.cpu_seconds,
        cost.anonymous_bytes_max as f64 / MB,
        cost.mapped_bytes_max as f64 / MB
    );
}
