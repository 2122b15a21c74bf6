//! Throughput of a server whose memory, page cache included, is a seventh of the snapshot.

use std::{fs, path::Path};

use crate::{
    Result,
    control_group::ControlGroup,
    serve::Server,
    served::{
        cold::{evict, files_of},
        workloads::Workload,
        wrk,
    },
};

/// The snapshot's size divided by the server's memory.
const SHARE: u64 = 7;
/// The smallest memory in which the server starts and answers without eviction of its own pages.
const BYTES_MIN: u64 = 100 << 20;
const SECONDS: u32 = 10;

/// Measures the workload under the limit and prints the result, or why it is skipped.
pub fn run(snapshots: &Path, workload: &Workload, dir: &Path) -> Result<()> {
    let snapshot = snapshots.join("current").canonicalize()?;
    let sizes =
        files_of(&snapshot)?.into_iter().map(|file| fs::metadata(file).map(|found| found.len()));
    let snapshot_bytes: u64 = sizes.sum::<std::io::Result<u64>>()?;
    let bytes = (snapshot_bytes / SHARE).max(BYTES_MIN);
    let group = match ControlGroup::new(bytes) {
        Ok(group) => group,
        Err(reason) => {
            println!("\nlimited memory: skipped, because no control group can be made: {reason}");
            return Ok(());
        }
    };
    evict(&snapshot)?;
    let server = Server::pinakes(snapshots)?;
    group.add(server.pid())?;
    let script = dir.join("paths.lua");
    wrk::run(&server.address, &workload.paths, SECONDS / 2, &script)?;
    let load = wrk::run(&server.address, &workload.paths, SECONDS, &script)?;
    println!(
        "\nrandom {}, {} connections, {:.0} MB of memory for a snapshot of {:.0} MB: {:.0} requests/s, \
         p50 {:.2} ms, p99 {:.2} ms",
        workload.name,
        wrk::CONNECTIONS,
        bytes as f64 / 1e6,
        snapshot_bytes as f64 / 1e6,
        load.requests_per_second,
        load.p50,
        load.p99
    );
    drop(server);
    Ok(())
}
