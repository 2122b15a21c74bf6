//! Throughput of a server whose memory, page cache included, is a seventh of the snapshot.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Result,
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

/// A control group with a limit of memory; removed when dropped.
struct Group(PathBuf);

impl Group {
    /// Makes a group in either version of control groups; the error is why the machine does not allow it.
    fn new(bytes: u64) -> std::result::Result<Group, String> {
        let name = format!("pinakes-bench-{}", std::process::id());
        let places =
            [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
        let mut reason = String::new();
        for (root, limit) in places {
            let group = Path::new(root).join(&name);
            let made = fs::create_dir(&group)
                .and_then(|()| fs::write(group.join(limit), bytes.to_string()));
            match made {
                Ok(()) => return Ok(Group(group)),
                Err(error) => {
                    let _ = fs::remove_dir(&group);
                    reason = format!("{}: {error}", group.display());
                }
            }
        }
        Err(reason)
    }

    fn add(&self, pid: u32) -> Result<()> {
        Ok(fs::write(self.0.join("cgroup.procs"), pid.to_string())?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Measures the workload under the limit and prints the result, or why it is skipped.
pub fn run(snapshots: &Path, workload: &Workload, dir: &Path) -> Result<()> {
    let snapshot = snapshots.join("current").canonicalize()?;
    let sizes =
        files_of(&snapshot)?.into_iter().map(|file| fs::metadata(file).map(|found| found.len()));
    let snapshot_bytes: u64 = sizes.sum::<std::io::Result<u64>>()?;
    let bytes = (snapshot_bytes / SHARE).max(BYTES_MIN);
    let group = match Group::new(bytes) {
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
