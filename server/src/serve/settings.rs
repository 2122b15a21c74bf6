//! Options and limits of the service.

use std::time::Duration;

use pinakes_answer::Settings;

/// Options and limits of the service.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Which answers exist, and the limits of making one.
    pub answers: Settings,
    /// Records and candidates that are read from disk concurrently.
    pub disk_reads: usize,
    /// Memory for replies that clients have not taken.
    pub reply_memory_bytes: usize,
    /// Time for a client to take a reply.
    pub reply_timeout: Duration,
    /// Log lines per second of refused requests and of requests that no limit counts.
    pub refused_lines: u32,
}
