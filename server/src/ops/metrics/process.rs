//! What the system knows of this process: time, memory, page faults, files. The names that Prometheus'
//! own libraries give them, and ours for the rest.

use std::time::{SystemTime, UNIX_EPOCH};

use procfs::process::{LimitValue, Process, Stat, Status};

use crate::ops::metrics::family::Families;

/// Bytes in what the system counts memory in.
const KILOBYTE: f64 = 1_024.0;

/// All of it; what the system does not tell is left out.
pub fn collect(started: SystemTime, families: &mut Families) {
    // Not the system's word: what that is counted from is hidden from a service that is locked up.
    let started = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    families.gauge(
        "process_start_time_seconds",
        "Start time of the process since 1970 in seconds.",
        started.as_secs_f64(),
    );
    let Ok(process) = Process::myself() else { return };
    if let Ok(stat) = process.stat() {
        times(&stat, families);
    }
    if let Ok(status) = process.status() {
        memory(&status, families);
    }
    if let Ok(files) = process.fd_count() {
        families.gauge("process_open_fds", "Number of open file descriptors.", files as f64);
    }
    if let Ok(limits) = process.limits()
        && let LimitValue::Value(files) = limits.max_open_files.soft_limit
    {
        let help = "Maximum number of open file descriptors.";
        families.gauge("process_max_fds", help, files as f64);
    }
}

fn times(stat: &Stat, families: &mut Families) {
    let ticks = (stat.utime + stat.stime) as f64;
    families.one(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        crate::ops::metrics::family::Kind::Counter,
        &[],
        ticks / procfs::ticks_per_second() as f64,
    );
    families.gauge("process_threads", "Number of threads.", stat.num_threads as f64);
    families.gauge(
        "process_virtual_memory_bytes",
        "Virtual memory size in bytes.",
        stat.vsize as f64,
    );
    families.counters(
        "pinakes_page_faults_total",
        "Page faults: major ones read the disk.",
        "kind",
        [("major", stat.majflt), ("minor", stat.minflt)],
    );
}

fn memory(status: &Status, families: &mut Families) {
    let bytes = |kilobytes: Option<u64>| kilobytes.unwrap_or_default() as f64 * KILOBYTE;
    families.gauge(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
        bytes(status.vmrss),
    );
    families.gauges(
        "pinakes_memory_bytes",
        "Memory by what it is: the program's own, resident pages of mapped files, what is locked, what \
         is swapped out.",
        "kind",
        [
            ("anonymous", bytes(status.rssanon)),
            ("mapped", bytes(status.rssfile)),
            ("locked", bytes(status.vmlck)),
            ("swapped", bytes(status.vmswap)),
        ],
    );
}
