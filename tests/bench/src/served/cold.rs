//! Cold reads: what a request reads from disk when nothing of the snapshot is in memory.
//!
//! The counts come from the kernel: `/proc/PID/io` and `/proc/PID/stat` of the server, and the reads of the
//! disk that holds the snapshot, which other programs may add to. They do not depend on the machine's speed.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Instant,
};

use rustix::fs::{Advice, fadvise};

use crate::{
    Result,
    serve::{Client, Server},
    served::workloads::Workload,
};

/// Requests of the first and of the second group. Almost every request of the first touches chunks that are
/// verified then.
const GROUPS: [usize; 2] = [100, 400];

/// Counts since a process started.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    read_bytes: u64,
    major_faults: u64,
    /// Reads of the disk; 0 where the system does not tell.
    disk_reads: u64,
}

/// Measures each workload on a server that starts without any page in memory, and prints the counts.
pub fn run(snapshots: &Path, workloads: &[Workload]) -> Result<()> {
    println!(
        "\ncold, one connection; for each request of the first {} and of the next {}",
        GROUPS[0], GROUPS[1]
    );
    println!("{:<26} {:>30} {:>32}", "request", "KiB, reads, faults, ms", "KiB, reads, faults, ms");
    for workload in workloads {
        evict(&snapshots.join("current").canonicalize()?)?;
        let server = Server::pinakes(snapshots)?;
        let mut client = Client::connect(&server.address)?;
        client.get("/health")?;
        let mut line = format!("{:<26}", workload.name);
        let mut paths = workload.paths.iter().cycle();
        for requests in GROUPS {
            let (before, begun) = (Counts::of(server.pid(), snapshots)?, Instant::now());
            for path in paths.by_ref().take(requests) {
                client.get(path)?;
            }
            let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
            let after = Counts::of(server.pid(), snapshots)?;
            let each = |count: u64| count as f64 / requests as f64;
            line += &format!(
                " {:>9.0} {:>6.1} {:>6.1} {:>6.2}",
                each(after.read_bytes - before.read_bytes) / 1024.0,
                each(after.disk_reads - before.disk_reads),
                each(after.major_faults - before.major_faults),
                milliseconds / requests as f64
            );
        }
        println!("{line}");
    }
    Ok(())
}

/// Drops the pages of every file of a snapshot from memory; no process may map them.
pub fn evict(snapshot: &Path) -> Result<()> {
    for file in files_of(snapshot)? {
        let file = File::open(file)?;
        // Only pages that are on disk can be dropped.
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// Every file of a snapshot.
pub fn files_of(snapshot: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(snapshot)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files.extend(files_of(&path)?),
            false => files.push(path),
        }
    }
    Ok(files)
}

impl Counts {
    fn of(pid: u32, snapshots: &Path) -> Result<Counts> {
        let io = fs::read_to_string(format!("/proc/{pid}/io"))?;
        let read = io.lines().find_map(|line| line.strip_prefix("read_bytes: "));
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The fields after the program's name in parentheses; the tenth is majflt.
        let faults = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(9));
        Ok(Counts {
            read_bytes: read.ok_or("/proc/PID/io has no read_bytes")?.parse()?,
            major_faults: faults.ok_or("/proc/PID/stat is too short")?.parse()?,
            disk_reads: disk_reads(snapshots).unwrap_or_default(),
        })
    }
}

/// Reads that the disk of a path has completed.
fn disk_reads(path: &Path) -> Option<u64> {
    let device = fs::metadata(path).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let stat = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
    stat.split_whitespace().next()?.parse().ok()
}
