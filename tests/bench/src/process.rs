//! A program run to its end, its memory watched: anonymous and mapped pages apart.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::Result;

/// What a run cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Seconds on the wall.
    pub wall_seconds: f64,
    /// Seconds of all processors, user and system.
    pub cpu_seconds: f64,
    /// The peak of pages that belong to the process alone.
    pub anonymous_bytes_max: u64,
    /// The peak of mapped file pages, which the system may take back.
    pub mapped_bytes_max: u64,
}

/// A program built beside this one.
pub fn beside(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.is_file() {
        return Err(format!("{} is not built; run `make bench`", path.display()).into());
    }
    Ok(path)
}

/// Runs a command to its end.
pub fn measure(command: &mut Command) -> Result<Cost> {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let mut cost = Cost::default();
    let status = loop {
        watch(&proc, &mut cost);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    cost.wall_seconds = begun.elapsed().as_secs_f64();
    if !status.success() {
        let mut errors = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut errors)?;
        }
        return Err(format!("{command:?} ended with {status}: {errors}").into());
    }
    Ok(cost)
}

/// Takes one look at a process that may be gone already.
fn watch(proc: &std::path::Path, cost: &mut Cost) {
    /// The kernel's ticks per second, for every platform Linux runs on today.
    const TICKS_PER_SECOND: f64 = 100.0;
    if let Ok(status) = std::fs::read_to_string(proc.join("status")) {
        let bytes = |name| bytes_in(&status, name).unwrap_or(0);
        cost.anonymous_bytes_max = cost.anonymous_bytes_max.max(bytes("RssAnon:"));
        cost.mapped_bytes_max = cost.mapped_bytes_max.max(bytes("RssFile:"));
    }
    if let Ok(stat) = std::fs::read_to_string(proc.join("stat")) {
        // The fields after the name in brackets, which may hold spaces: utime and stime are the
        // twelfth and thirteenth of them.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let mut ticks =
            after.split_whitespace().skip(11).map_while(|field| field.parse::<f64>().ok());
        if let (Some(user), Some(system)) = (ticks.next(), ticks.next()) {
            cost.cpu_seconds = cost.cpu_seconds.max((user + system) / TICKS_PER_SECOND);
        }
    }
}

/// The bytes a line of a process's status tells.
fn bytes_in(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1_024)
}

/// Bytes a line of another process's status tells.
pub fn bytes_of(pid: u32, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(bytes_in(&status, name).ok_or_else(|| format!("no {name} of process {pid}"))?)
}

/// Bytes of this process that belong to it alone.
pub fn anonymous_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    Ok(bytes_in(&status, "RssAnon:").ok_or("no RssAnon in /proc/self/status")?)
}
