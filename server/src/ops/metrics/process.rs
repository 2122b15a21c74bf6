//! Metrics of the process from `/proc`: processor time, memory, page faults, files.
//!
//! Names that begin with `process_` are the names in Prometheus' client libraries.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::param::clock_ticks_per_second;
use rustix::process::{Resource, getrlimit};

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
    if let Some(stat) = fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(Stat::parse)
    {
        times(&stat, families);
    }
    if let Ok(status) = fs::read_to_string("/proc/self/status") {
        memory(&status, families);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        // The list has the descriptor that reads the list.
        let files = files.count().saturating_sub(1);
        families.gauge("process_open_fds", "Number of open file descriptors.", files as f64);
    }
    if let Some(files) = getrlimit(Resource::Nofile).current {
        let help = "Maximum number of open file descriptors.";
        families.gauge("process_max_fds", help, files as f64);
    }
}

/// Fields of `/proc/self/stat`.
struct Stat {
    minor_faults: u64,
    major_faults: u64,
    /// Processor time in user and system mode, in clock ticks.
    ticks: u64,
    threads: u64,
    virtual_bytes: u64,
}

impl Stat {
    /// Reads `7 (name) S 1 …`. The name may have spaces and brackets, so fields count from the last bracket.
    fn parse(text: &str) -> Option<Stat> {
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        // `proc(5)` numbers the state, the first field after the name, as 3.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Stat {
            minor_faults: field(10)?,
            major_faults: field(12)?,
            ticks: field(14)? + field(15)?,
            threads: field(20)?,
            virtual_bytes: field(23)?,
        })
    }
}

fn times(stat: &Stat, families: &Families) {
    families.counter(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        stat.ticks as f64 / clock_ticks_per_second() as f64,
    );
    families.gauge("process_threads", "Number of threads.", stat.threads as f64);
    families.gauge(
        "process_virtual_memory_bytes",
        "Virtual memory size in bytes.",
        stat.virtual_bytes as f64,
    );
    families.counters(
        "pinakes_page_faults_total",
        "Page faults; a major fault reads the disk.",
        "kind",
        [("major", stat.major_faults), ("minor", stat.minor_faults)],
    );
}

/// Adds the sizes in the lines of `/proc/self/status`, such as `VmRSS:     1234 kB`; 0 for a line that is missing.
fn memory(status: &str, families: &Families) {
    let bytes = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kilobytes = value.and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok());
        kilobytes.unwrap_or(0.0) * KILOBYTE_BYTES
    };
    families.gauge(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
        bytes("VmRSS"),
    );
    families.gauges(
        "pinakes_memory_bytes",
        "Memory of the process: anonymous, resident pages of mapped files, locked, and swapped out.",
        "kind",
        [
            ("anonymous", bytes("RssAnon")),
            ("mapped", bytes("RssFile")),
            ("locked", bytes("VmLck")),
            ("swapped", bytes("VmSwap")),
        ],
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_process_with_brackets_in_its_name_are_found() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194560 10 0 12 0 14 15 0 0 20 0 20 0 22 23 24 18446744073709551615";
        let stat = Stat::parse(text);
        let fields = stat.map(|stat| (stat.minor_faults, stat.major_faults, stat.ticks));
        assert_eq!(fields, Some((10, 12, 29)));
    }
}
