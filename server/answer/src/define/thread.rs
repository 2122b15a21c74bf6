//! The two kinds of threads that a host works on.

use pinakes_format::snapshot::Reads;

/// The thread that works on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// One that reads requests of many clients, and must not wait: work that is long, or that would wait for a busy
    /// disk, ends with [`Failure::WouldWait`](crate::define::failure::Failure::WouldWait) and is repeated on the other kind.
    Shared,
    /// One that has this work alone, and waits for the disk.
    Own,
}

impl Thread {
    /// How the thread reads a snapshot. While the disk is idle, every thread reads directly.
    pub fn reads(self, is_disk_busy: bool) -> Reads {
        match self {
            _ if !is_disk_busy => Reads::OneByOne,
            Thread::Shared => Reads::MemoryOnly,
            Thread::Own => Reads::Together,
        }
    }
}
