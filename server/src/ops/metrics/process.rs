//! Metrics of the process from `/proc`: processor time, memory, page faults, files.
//!
//! Names that begin with `process_` are the names in Prometheus' client libraries.

use std::time::{SystemTime, UNIX_EPOCH};

use procfs::process::{LimitValue, Process, Stat, Status};

use crate::ops::metrics::family::Families;

/// Unit of memory sizes in `/proc`, in bytes.
const KILOBYTE_BYTES: f64 = 1_024.0;

/// Adds the metrics of the process; omits values that the system does not provide.
pub fn collect(started: SystemTime, families: &Families) {
    // Not from `/proc`: a hardened systemd unit cannot read the boot time in `/proc/stat`.
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

fn times(stat: &Stat, families: &Families) {
    let ticks = (stat.utime + stat.stime) as f64;
    families.counter(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
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
        "Page faults; a major fault reads the disk.",
        "kind",
        [("major", stat.majflt), ("minor", stat.minflt)],
    );
}

fn memory(status: &Status, families: &Families) {
    let bytes = |kilobytes: Option<u64>| kilobytes.unwrap_or_default() as f64 * KILOBYTE_BYTES;
    families.gauge(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
        bytes(status.vmrss),
    );
    families.gauges(
        "pinakes_memory_bytes",
        "Memory of the process: anonymous, resident pages of mapped files, locked, and swapped out.",
        "kind",
        [
            ("anonymous", bytes(status.rssanon)),
            ("mapped", bytes(status.rssfile)),
            ("locked", bytes(status.vmlck)),
            ("swapped", bytes(status.vmswap)),
        ],
    );
}
