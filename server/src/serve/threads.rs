//! The threads that do work: how many requests work at once, and the blocking threads.

use std::{cell::Cell, sync::Arc};

use pinakes_answer::Cost;
use rustix::process::nice;
use tokio::task::{self, JoinHandle};

use crate::admission::fair_queue::{FairQueue, Permit, PermitLimits};
use crate::event_counts::Overload;
use crate::http::client_address::Client;

/// Lists and autocompletes of several words computed concurrently, for each core.
const LISTS_PER_CORE: usize = 4;
/// Lists of one client computed concurrently.
const CLIENT_LISTS_MAX: usize = 4;
/// Reads from disk of one client: all permits but one of this many.
const SPARED_READS: usize = 4;
/// Requests of one client that wait for a work permit: as many as connections of one client.
const CLIENT_WAITING_MAX: usize = 64;
/// Requests of one client that wait for a permit to read from disk, which takes a millisecond.
const CLIENT_READS_WAITING_MAX: usize = 1_024;
/// Requests whose chunks are fetched at the same time, of which one client has a quarter.
const FETCHES: usize = 64;
/// Default of `--disk-reads` for each core.
const DISK_READS_PER_CORE: usize = 8;
/// How far blocking threads yield the processor to threads that read requests.
const WORK_NICE: i32 = 10;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Default of `--disk-reads`: enough that a solid-state disk is always at work.
pub fn default_disk_reads() -> usize {
    cores() * DISK_READS_PER_CORE
}

/// The permits of work on blocking threads.
pub(super) struct Permits {
    work: Arc<FairQueue>,
    disk: Arc<FairQueue>,
    fetch: Arc<FairQueue>,
}

impl Permits {
    /// Permits for work, four for each core, and for reads from disk.
    pub fn new(disk_reads: usize) -> Permits {
        let total = disk_reads.max(1);
        let work = PermitLimits {
            total: cores() * LISTS_PER_CORE,
            held: CLIENT_LISTS_MAX,
            waiting: CLIENT_WAITING_MAX,
        };
        let disk = PermitLimits {
            total,
            held: total - (total - 1) / SPARED_READS,
            waiting: CLIENT_READS_WAITING_MAX,
        };
        let fetch = PermitLimits {
            total: FETCHES,
            held: FETCHES / SPARED_READS,
            waiting: CLIENT_WAITING_MAX,
        };
        let [work, disk, fetch] =
            [work, disk, fetch].map(|limits| Arc::new(FairQueue::new(limits)));
        Permits { work, disk, fetch }
    }

    /// Waits for the permit to fetch what a request lacks; `None` if there is none in time.
    pub async fn acquire_fetch(&self, client: Client) -> Option<Permit> {
        self.fetch.acquire(client.key()).await
    }

    /// Waits for the permit of work with a cost; the error is what is short.
    pub async fn acquire(&self, cost: Cost, client: Client) -> Result<Permit, Overload> {
        let (queue, overload) = match cost {
            Cost::Small => (&self.disk, Overload::Disk),
            Cost::Short | Cost::Large => (&self.work, Overload::Concurrency),
        };
        queue.acquire(client.key()).await.ok_or(overload)
    }
}

/// Does work on a blocking thread, which yields the processor to threads that read requests.
pub(super) fn spawn_work<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    thread_local! {
        static YIELDS: Cell<bool> = const { Cell::new(false) };
    }
    task::spawn_blocking(|| {
        if !YIELDS.replace(true) {
            // On Linux the niceness is the thread's own. Without it, answers are the same.
            let _ = nice(WORK_NICE);
        }
        work()
    })
}
