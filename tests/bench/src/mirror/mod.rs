//! Measures mirrors that begin with an empty disk, before a host of static files that is 50 ms away.
//!
//! - [`cold`] counts what a request costs on an empty mirror, by size of the snapshot.
//! - [`warm`] compares a mirror that has all requested chunks with a complete snapshot.
//! - [`popular`] counts the requests that a small cache answers.

mod cold;
mod popular;
mod publication;
mod warm;

use std::path::Path;

use pinakes_format::snapshot::Snapshot;

use crate::mirror::cold::Cost;
use crate::mirror::publication::Published;
use crate::served::{lean_snapshots, workloads, wrk};
use crate::{Result, search};

/// Requests of each kind, each on an empty mirror of its own.
const REQUESTS: usize = 12;
/// Paths that the warm servers answer.
const WARM_REQUESTS: usize = 300;
/// Outputs of the snapshot that is searched.
const SEARCHED_OUTPUTS: u32 = 1_000_000;

/// Measures snapshots of these numbers of lean outputs, and searches of outputs with texts.
pub fn run(sizes: &[u64], dir: &Path, memory: &str) -> Result<()> {
    let mut costs: Vec<Vec<(&str, Cost)>> = Vec::new();
    for outputs in sizes {
        let snapshots = lean_snapshots(*outputs, dir, memory)?;
        let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
        let mut requests = workloads::all(&snapshot, WARM_REQUESTS)?;
        requests.insert(1, workloads::years(2_005, 18));
        requests.insert(6, workloads::first_pages(REQUESTS as u32));
        let popular = workloads::popular_records(&snapshot, popular::REQUESTS)?;
        drop(snapshot);
        let published = Published::publish(&snapshots, dir)?;
        println!("\n{outputs} outputs, a snapshot of {:.0} MB", published.bytes()? as f64 / 1e6);
        costs.push(cold::run(&published, &requests, REQUESTS)?);
        cold::run_together(&published, &requests)?;
        popular::run(&published, &popular)?;
        if *outputs == sizes[0] && wrk::is_installed() {
            warm::run(&published, &requests, dir)?;
        }
    }
    cold::print_growth(sizes, &costs);
    let (snapshots, searches) = search::three_words(SEARCHED_OUTPUTS, dir, memory)?;
    println!("\n{SEARCHED_OUTPUTS} outputs with texts");
    let published = Published::publish(&snapshots, dir)?;
    cold::run(&published, &[searches], REQUESTS)?;
    Ok(())
}
