//! Runs a program to its end, and samples its memory: anonymous and mapped pages separately.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::Result;

/// Time and peak memory of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub wall_seconds: f64,
    /// Processor seconds of all threads, user and system.
    pub cpu_seconds: f64,
    /// Peak of anonymous pages (`RssAnon`).
    pub anonymous_bytes_max: u64,
    /// Peak of mapped file pages (`RssFile`), which the kernel may reclaim.
    pub mapped_bytes_max: u64,
}

/// Path of another program in the directory of this program.
pub fn sibling_program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.is_file() {
        return Err(format!("{} is not built; run `make bench`", path.display()).into());
    }
    Ok(path)
}

/// Runs a command to its end; samples its memory and processor time every 10 ms.
pub fn measure(command: &mut Command) -> Result<Cost> {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let mut cost = Cost::default();
    let status = loop {
        sample(&proc, &mut cost);
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

/// Samples a process, which may have ended.
fn sample(proc: &std::path::Path, cost: &mut Cost) {
    /// Clock ticks per second (`USER_HZ`), the same on every platform of Linux.
    const TICKS_PER_SECOND: f64 = 100.0;
    if let Ok(status) = std::fs::read_to_string(proc.join("status")) {
        let bytes = |name| parse_status_bytes(&status, name).unwrap_or(0);
        cost.anonymous_bytes_max = cost.anonymous_bytes_max.max(bytes("RssAnon:"));
        cost.mapped_bytes_max = cost.mapped_bytes_max.max(bytes("RssFile:"));
    }
    if let Ok(stat) = std::fs::read_to_string(proc.join("stat")) {
        // The program's name stands in parentheses and may contain spaces. After the name, utime and
        // stime are the twelfth and thirteenth fields.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let mut ticks =
            after.split_whitespace().skip(11).map_while(|field| field.parse::<f64>().ok());
        if let (Some(user), Some(system)) = (ticks.next(), ticks.next()) {
            cost.cpu_seconds = cost.cpu_seconds.max((user + system) / TICKS_PER_SECOND);
        }
    }
}

/// Parses a line of `/proc/PID/status`, such as `RssAnon: 12 kB`, into bytes.
fn parse_status_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1_024)
}

/// Bytes in a line of another process's `/proc/PID/status`.
pub fn status_bytes(pid: u32, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    Ok(parse_status_bytes(&status, name)
        .ok_or_else(|| format!("no {name} in /proc/{pid}/status"))?)
}

/// Bytes of this process's anonymous pages.
pub fn anonymous_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    Ok(parse_status_bytes(&status, "RssAnon:").ok_or("no RssAnon in /proc/self/status")?)
}
