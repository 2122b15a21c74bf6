//! Measures a served snapshot: warm throughput, cold reads, and throughput with little memory.

mod capped;
pub(crate) mod cold;
pub(crate) mod nginx;
mod warm;
pub(crate) mod workloads;
pub(crate) mod wrk;

use std::path::{Path, PathBuf};

use pinakes_format::snapshot::Snapshot;
use pinakes_generate::Plan;

use crate::{Result, build};

/// Requests of each kind.
const REQUESTS: usize = 2_000;
/// Requests for records under a limit of memory: so many that their pages do not fit it.
const CAPPED_REQUESTS: usize = 400_000;

/// Measures the snapshot that a benchmark of this many outputs built, or builds it.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<()> {
    let snapshots = dir.join(format!("snapshots-{outputs}"));
    if !snapshots.join("current").exists() {
        let dump = dir.join(format!("dump-{outputs}"));
        build::generate(&Plan::new(outputs, 1), &dump)?;
        build::compile(&dump, &snapshots, memory, &dir.join("served.json"))?;
    }
    let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
    let workloads = workloads::all(&snapshot, REQUESTS)?;
    let records = workloads::records(&snapshot, CAPPED_REQUESTS)?;
    // A map of the snapshot would keep its pages in memory.
    drop(snapshot);
    cold::run(&snapshots, &workloads)?;
    if !wrk::is_installed() {
        println!("\nthroughput: skipped, because `wrk` is not installed");
        return Ok(());
    }
    capped::run(&snapshots, &records, dir)?;
    warm::run(&snapshots, &workloads, dir)
}

/// Measures cold reads on lean dumps of several sizes: the counts should not grow with the size.
pub fn run_sizes(sizes: &[u64], dir: &Path, memory: &str) -> Result<()> {
    for outputs in sizes {
        let snapshots = lean_snapshots(*outputs, dir, memory)?;
        let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
        let workloads = workloads::all(&snapshot, REQUESTS)?;
        drop(snapshot);
        println!("\n{outputs} lean outputs");
        cold::run(&snapshots, &workloads)?;
    }
    Ok(())
}

/// The directory with the snapshot of a lean dump; builds the snapshot unless it exists.
pub fn lean_snapshots(outputs: u64, dir: &Path, memory: &str) -> Result<PathBuf> {
    let snapshots = dir.join(format!("cold-snapshots-{outputs}"));
    if !snapshots.join("current").exists() {
        let dump = dir.join(format!("lists-dump-{outputs}"));
        build::generate(&Plan::lean(outputs, 1), &dump)?;
        let (cost, report) = build::compile(&dump, &snapshots, memory, &dir.join("cold.json"))?;
        build::print_cost(&format!("\nbuild of {outputs} lean outputs"), &cost);
        println!("  snapshot {} bytes", report["snapshot_bytes"]);
    }
    Ok(snapshots)
}
