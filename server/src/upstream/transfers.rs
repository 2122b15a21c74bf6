//! Fetches what requests lack. Each chunk is fetched once, however many requests wait for it.
//!
//! A batch is what one attempt of a request lacks: it starts all its transfers at once, and writes what has the right
//! hash, values of the hash tree before the chunks below them. A batch goes on when its request has given up, so that
//! the next one finds the chunks.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use pinakes_format::storage::absent::{ChunkSource, Missing};
use pinakes_format::storage::error::ReadError;
use pinakes_remote::manifest::snapshot_path;
use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
    task::JoinHandle,
};

use crate::upstream::cache::Room;
use crate::upstream::hosts::{Hosts, Place, Unreachable};

/// Transfers at the same time.
const TRANSFERS_MAX: usize = 128;
/// Times that a batch asks for what it still lacks.
const ROUNDS_MAX: usize = 32;
/// When to try again after a host that does not answer at all.
const HANG_PAUSE: Duration = Duration::from_secs(10);
/// Transfers that wait or run: those of 32 attempts that note all they can. A batch beyond fails at once.
const WAITING_MAX: usize = 16_384;

/// Fetches chunks of one snapshot after another from hosts that publish them.
pub(crate) struct Transfers {
    pub hosts: Hosts,
    /// The room for what is fetched.
    pub room: Arc<Room>,
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
    /// Whether a request got nothing since a host last sent something.
    is_away: AtomicBool,
}

/// A batch of which no host sends all in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsent {
    /// When a host may be asked again.
    pub again: Instant,
    /// Whether some of the batch was written, by this batch or another.
    pub has_progress: bool,
}

/// The outcome of one round of transfers.
#[derive(Default)]
struct Accepted {
    /// Missing pieces. Values precede the chunks that the values prove.
    missing: Vec<Missing>,
    /// When a host may be asked again for what none sent; `None` if all was sent.
    lost: Option<Instant>,
    has_progress: bool,
    is_write_refused: bool,
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
    pub fn new(hosts: Hosts, timeout: Duration, room: Arc<Room>) -> io::Result<Transfers> {
        let runtime = Builder::new_multi_thread()
            .enable_time()
            .worker_threads(1)
            .max_blocking_threads(TRANSFERS_MAX)
            .thread_name("upstream")
            .build()?;
        Ok(Transfers {
            hosts,
            room,
            timeout,
            runtime: Box::leak(Box::new(runtime)),
            waiting: AtomicUsize::new(0),
            underway: Mutex::default(),
            mended: AtomicU64::new(0),
            is_write_refused: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
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

    /// Whether a request got nothing since a host last sent something.
    pub fn are_hosts_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    /// Notes that a host answered.
    pub fn note_here(&self) {
        self.is_away.store(false, Ordering::Relaxed);
    }

    /// Notes that a request got nothing: of a batch, or because no batch ended in time. Returns the time until another try
    /// may succeed.
    pub fn let_down(&self, unsent: Option<Unsent>) -> Duration {
        if unsent.is_none() || self.hosts.are_paused() {
            self.is_away.store(true, Ordering::Relaxed);
        }
        unsent.map_or(HANG_PAUSE, |of| of.again.saturating_duration_since(Instant::now()))
    }

    /// Whether no transfer waits or runs.
    pub fn are_idle(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Starts to fetch missing pieces of a snapshot, and asks again until the deadline for pieces that no host sent.
    pub fn begin(
        self: &Arc<Self>,
        source: &SnapshotSource,
        missing: Vec<Missing>,
        deadline: Instant,
    ) -> JoinHandle<Result<(), Unsent>> {
        let (transfers, id) = (Arc::clone(self), Arc::clone(&source.id));
        let is_complete = source.is_complete;
        let bytes = missing.iter().map(|part| part.range().end - part.range().start).sum();
        self.room.fetch(bytes);
        self.runtime.spawn(async move { transfers.fetch(id, is_complete, missing, deadline).await })
    }

    async fn fetch(
        self: Arc<Self>,
        id: Arc<str>,
        is_complete: bool,
        missing: Vec<Missing>,
        deadline: Instant,
    ) -> Result<(), Unsent> {
        let count = missing.len();
        if self.waiting.fetch_add(count, Ordering::Relaxed) + count > WAITING_MAX {
            self.waiting.fetch_sub(count, Ordering::Relaxed);
            return Err(Unsent { again: Instant::now(), has_progress: false });
        }
        let (claim, mine, others) = self.claim(&id, missing);
        let fetched = Arc::clone(&self).fetch_mine(&id, is_complete, mine, deadline).await;
        drop(claim);
        self.waiting.fetch_sub(count, Ordering::Relaxed);
        let has_waited = !others.is_empty();
        for mut other in others {
            // Ends with an error when the other batch does.
            while other.changed().await.is_ok() {}
        }
        fetched
            .map_err(|unsent| Unsent { has_progress: unsent.has_progress || has_waited, ..unsent })
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

    /// Fetches pieces until all are here, or no host will send the rest before the deadline.
    async fn fetch_mine(
        self: Arc<Self>,
        id: &Arc<str>,
        is_complete: bool,
        missing: Vec<Missing>,
        deadline: Instant,
    ) -> Result<(), Unsent> {
        let mut missing = missing;
        let mut has_progress = false;
        for _ in 0..ROUNDS_MAX {
            let is_rotten = |piece: &Missing| self.hosts.is_rotten(&place(id, piece));
            missing = missing.into_iter().flat_map(|part| part.set_apart(is_rotten)).collect();
            let reads: Vec<_> = missing
                .iter()
                .map(|part| {
                    let (transfers, part, place) =
                        (Arc::clone(&self), part.clone(), place(id, part));
                    let read =
                        move || transfers.hosts.read(&place, part.range(), part.file_bytes());
                    self.runtime.handle().spawn_blocking(read)
                })
                .collect();
            let mut sent = Vec::with_capacity(reads.len());
            for read in reads {
                sent.push(read.await.unwrap_or(Err(Unreachable { again: Instant::now() })));
            }
            let (transfers, id) = (Arc::clone(&self), Arc::clone(id));
            let accept = move || transfers.accept(&id, missing, sent, is_complete);
            let accepted = self.runtime.handle().spawn_blocking(accept).await;
            let Ok(accepted) = accepted else {
                return Err(Unsent { again: Instant::now(), has_progress });
            };
            has_progress |= accepted.has_progress;
            if accepted.missing.is_empty() && accepted.lost.is_none() {
                return Ok(());
            }
            // Pieces that wait for a pause to end are asked for after it; the others at once.
            let again = accepted.lost.unwrap_or_else(Instant::now);
            if accepted.is_write_refused || again >= deadline {
                return Err(Unsent { again, has_progress });
            }
            tokio::time::sleep_until(again.into()).await;
            missing = accepted.missing;
        }
        Err(Unsent { again: Instant::now(), has_progress })
    }

    /// Writes what was sent and has the right hash.
    fn accept(
        &self,
        id: &Arc<str>,
        parts: Vec<Missing>,
        sent: Vec<Result<(usize, Vec<u8>), Unreachable>>,
        is_complete: bool,
    ) -> Accepted {
        let mut accepted = Accepted::default();
        let mut unproved = BTreeMap::new();
        for (part, sent) in parts.into_iter().zip(sent) {
            let (host, bytes) = match sent {
                Ok(sent) => sent,
                Err(Unreachable { again }) => {
                    accepted.lost = Some(accepted.lost.map_or(again, |before| before.min(again)));
                    accepted.missing.push(part);
                    continue;
                }
            };
            self.note_here();
            let outcome = match part.accept(&bytes) {
                Ok(outcome) => outcome,
                Err(refused) => {
                    if !self.is_write_refused.swap(true, Ordering::Relaxed) {
                        tracing::error!(error = %refused, "cannot keep a fetched chunk");
                    }
                    accepted.is_write_refused = true;
                    accepted.missing.push(part);
                    continue;
                }
            };
            if outcome.written > 0 {
                accepted.has_progress = true;
                self.hosts.note_right(host);
                self.is_write_refused.store(false, Ordering::Relaxed);
                if is_complete {
                    self.mended.fetch_add(outcome.written as u64, Ordering::Relaxed);
                    let (file, from) = (part.path(), part.range().start);
                    tracing::error!(
                        file,
                        from,
                        "the disk lied: a chunk was damaged, and is fetched and written again"
                    );
                }
            }
            for wrong in outcome.wrong {
                self.hosts.note_wrong(host, place(id, &wrong), part.is_single());
                accepted.missing.push(wrong);
            }
            for piece in outcome.unproved {
                unproved.insert(
                    (!piece.is_values(), piece.range().start, piece.path().to_owned()),
                    piece,
                );
            }
        }
        // Values before the chunks that they prove.
        accepted.missing.splice(0..0, unproved.into_values());
        accepted
    }
}

/// The path of a piece at a host, and the offset of the piece.
fn place(id: &str, part: &Missing) -> Place {
    (snapshot_path(id, part.path()), part.range().start)
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
        let deadline = Instant::now() + self.transfers.timeout;
        let batch = self.transfers.begin(self, missing, deadline);
        let (sender, receiver) = mpsc::channel();
        self.transfers.runtime.spawn(async move { sender.send(batch.await) });
        match receiver.recv_timeout(self.transfers.timeout) {
            Ok(Ok(Ok(()))) => Ok(()),
            ended => {
                self.transfers.let_down(ended.ok().and_then(Result::ok).and_then(Result::err));
                Err(ReadError::Absent { file })
            }
        }
    }
}
