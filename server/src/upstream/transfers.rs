//! Fetches what requests lack. Each chunk is fetched once, however many requests wait for it.
//!
//! A batch is what one attempt of a request lacks: it starts all its transfers at once, and writes what has the right
//! hash, values of the hash tree before the chunks below them. A batch goes on when its request has given up, so that
//! the next one finds the chunks.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use pinakes_format::storage::absent::{ChunkSource, Missing, Refused};
use pinakes_format::storage::error::ReadError;
use pinakes_remote::manifest::snapshot_path;
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::JoinHandle,
};

use crate::upstream::hosts::{Hosts, Unreachable};

/// Transfers at the same time.
const TRANSFERS_MAX: usize = 64;
/// Transfers that wait or run: those of 32 attempts that note all they can. A batch beyond fails at once.
const WAITING_MAX: usize = 16_384;

/// Fetches chunks of one snapshot after another from hosts that publish them.
pub(crate) struct Transfers {
    pub hosts: Hosts,
    /// The longest time for which a request waits.
    pub timeout: Duration,
    /// Lives as long as the process: a batch may end after everything else.
    runtime: &'static Runtime,
    waiting: AtomicUsize,
    /// The batches that fetch chunks now.
    underway: Mutex<HashMap<ChunkKey, watch::Receiver<()>>>,
    /// Chunks that were damaged in a snapshot that had been complete.
    mended: AtomicU64,
    /// Whether the last write failed.
    is_write_refused: AtomicBool,
}

/// The snapshot and the file of chunks, and the offset of the first.
type ChunkKey = (Arc<str>, String, u64);

/// Fetches the chunks of one snapshot.
pub(crate) struct SnapshotSource {
    transfers: Arc<Transfers>,
    id: Arc<str>,
    /// Whether all chunks were here once.
    is_complete: bool,
}

/// The right to fetch chunks, which other batches wait for. Given up when the batch ends.
struct Claim<'t> {
    transfers: &'t Transfers,
    keys: Vec<ChunkKey>,
    _ended: watch::Sender<()>,
}

impl Transfers {
    /// Transfers from these hosts.
    pub fn new(hosts: Hosts, timeout: Duration) -> io::Result<Transfers> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(TRANSFERS_MAX)
            .thread_name("upstream")
            .build()?;
        Ok(Transfers {
            hosts,
            timeout,
            runtime: Box::leak(Box::new(runtime)),
            waiting: AtomicUsize::new(0),
            underway: Mutex::default(),
            mended: AtomicU64::new(0),
            is_write_refused: AtomicBool::new(false),
        })
    }

    /// Chunks that were damaged in a snapshot that had been complete, and were fetched again.
    pub fn mended(&self) -> u64 {
        self.mended.load(Ordering::Relaxed)
    }

    /// Whether the last fetched chunk could not be written.
    pub fn is_write_refused(&self) -> bool {
        self.is_write_refused.load(Ordering::Relaxed)
    }

    /// Whether no transfer waits or runs.
    pub fn are_idle(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Starts to fetch what is missing of a snapshot.
    pub fn begin(
        self: &Arc<Self>,
        source: &SnapshotSource,
        missing: Vec<Missing>,
    ) -> JoinHandle<Result<(), Unreachable>> {
        let (transfers, id) = (Arc::clone(self), Arc::clone(&source.id));
        let is_complete = source.is_complete;
        self.runtime.spawn(async move { transfers.fetch(id, is_complete, missing).await })
    }

    async fn fetch(
        self: Arc<Self>,
        id: Arc<str>,
        is_complete: bool,
        missing: Vec<Missing>,
    ) -> Result<(), Unreachable> {
        let count = missing.len();
        if self.waiting.fetch_add(count, Ordering::Relaxed) + count > WAITING_MAX {
            self.waiting.fetch_sub(count, Ordering::Relaxed);
            return Err(Unreachable);
        }
        let (claim, mine, others) = self.claim(&id, missing);
        let fetched = Arc::clone(&self).fetch_mine(&id, is_complete, mine).await;
        drop(claim);
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        for mut other in others {
            // Ends with an error when the other batch does.
            while other.changed().await.is_ok() {}
        }
        fetched
    }

    /// Claims what no other batch fetches. Values of the hash tree are fetched by each batch that needs them.
    fn claim(
        &self,
        id: &Arc<str>,
        missing: Vec<Missing>,
    ) -> (Claim<'_>, Vec<Missing>, Vec<watch::Receiver<()>>) {
        let (sender, receiver) = watch::channel(());
        let mut claim = Claim { transfers: self, keys: Vec::new(), _ended: sender };
        let (mut mine, mut others) = (Vec::new(), Vec::new());
        let mut underway = self.lock();
        for part in missing {
            if !part.is_values() {
                let key = (Arc::clone(id), part.path().to_owned(), part.range().start);
                if let Some(other) = underway.get(&key) {
                    others.push(other.clone());
                    continue;
                }
                underway.insert(key.clone(), receiver.clone());
                claim.keys.push(key);
            }
            mine.push(part);
        }
        drop(underway);
        (claim, mine, others)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ChunkKey, watch::Receiver<()>>> {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch_mine(
        self: Arc<Self>,
        id: &Arc<str>,
        is_complete: bool,
        mut missing: Vec<Missing>,
    ) -> Result<(), Unreachable> {
        // Each host that sends wrong bytes is left alone, and the others are asked.
        for _ in 0..self.hosts.count() {
            let reads: Vec<_> = missing
                .iter()
                .map(|part| {
                    let (transfers, part) = (Arc::clone(&self), part.clone());
                    let path = snapshot_path(id, part.path());
                    let read = move || transfers.hosts.read(&path, part.range(), part.file_bytes());
                    self.runtime.handle().spawn_blocking(read)
                })
                .collect();
            let mut sent = Vec::with_capacity(reads.len());
            for read in reads {
                sent.push(read.await.unwrap_or(Err(Unreachable)));
            }
            let transfers = Arc::clone(&self);
            let accept = move || transfers.accept(missing, sent, is_complete);
            let accepted = self.runtime.handle().spawn_blocking(accept).await;
            missing = accepted.unwrap_or(Err(Unreachable))?;
            if missing.is_empty() {
                return Ok(());
            }
        }
        Err(Unreachable)
    }

    /// Writes what was sent and has the right hash. Returns what was not right.
    fn accept(
        &self,
        missing: Vec<Missing>,
        sent: Vec<Result<(usize, Vec<u8>), Unreachable>>,
        is_complete: bool,
    ) -> Result<Vec<Missing>, Unreachable> {
        let (mut wrong, mut is_lost) = (Vec::new(), false);
        for (part, sent) in missing.into_iter().zip(sent) {
            let Ok((host, bytes)) = sent else {
                is_lost = true;
                continue;
            };
            match part.accept(&bytes) {
                Ok(()) => {
                    self.is_write_refused.store(false, Ordering::Relaxed);
                    if is_complete {
                        self.mended.fetch_add(1, Ordering::Relaxed);
                        let (file, from) = (part.path(), part.range().start);
                        tracing::error!(
                            file,
                            from,
                            "the disk lied: a chunk was damaged, and is fetched and written again"
                        );
                    }
                }
                // The values above a wrong value are missing still, and so what is below is not known to be wrong.
                Err(refused @ Refused::Damaged { .. }) => {
                    if wrong.is_empty() && !is_lost {
                        self.hosts.distrust(host, &refused.to_string());
                    }
                    wrong.push(part);
                }
                Err(refused @ Refused::Written { .. }) => {
                    if !self.is_write_refused.swap(true, Ordering::Relaxed) {
                        tracing::error!(error = %refused, "cannot keep a fetched chunk");
                    }
                    is_lost = true;
                }
            }
        }
        if is_lost { Err(Unreachable) } else { Ok(wrong) }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut underway = self.transfers.lock();
        for key in &self.keys {
            underway.remove(key);
        }
    }
}

impl SnapshotSource {
    /// The source of a snapshot's chunks. `is_complete` says that all of them were here once.
    pub fn new(transfers: &Arc<Transfers>, id: &str, is_complete: bool) -> SnapshotSource {
        SnapshotSource { transfers: Arc::clone(transfers), id: id.into(), is_complete }
    }
}

impl ChunkSource for SnapshotSource {
    fn fetch(&self, missing: Vec<Missing>) -> Result<(), ReadError> {
        let file = missing.first().map(|part| part.path().to_owned()).unwrap_or_default();
        let batch = self.transfers.begin(self, missing);
        let (sender, receiver) = mpsc::channel();
        self.transfers.runtime.spawn(async move { sender.send(batch.await) });
        match receiver.recv_timeout(self.transfers.timeout) {
            Ok(Ok(Ok(()))) => Ok(()),
            _ => Err(ReadError::Absent { file }),
        }
    }
}
