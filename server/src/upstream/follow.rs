//! The publications of the mirrors: the first one, newer ones, and the chunks that nobody asked for yet.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use arc_swap::ArcSwap;
use minisign::PublicKey;
use pinakes_format::snapshot::{PARTIAL, Snapshot};
use pinakes_format::storage::absent::{ChunkSource, Missing};
use pinakes_store::error::StoreError;
use pinakes_store::partial::{Found, MirrorDirectory};

use crate::upstream::cache::{Hand, Turn};
use crate::upstream::transfers::{SnapshotSource, Transfers};

/// Chunks that are fetched together while nobody asks: 1 MiB.
const FILL_CHUNKS: usize = 128;
/// The pause of the filling while requests fetch, and after a failure.
const FILL_PAUSE: Duration = Duration::from_millis(100);
const FILL_PAUSE_FAILED: Duration = Duration::from_secs(5);
/// The pause before the filling asks again for the chunks that no mirror sends right.
const FILL_PAUSE_LEFT: Duration = Duration::from_secs(60);

/// The pause while attempts end that may read what is removed.
const ATTEMPTS_PAUSE: Duration = Duration::from_millis(5);

/// The mirrors that a server fetches from, and the directory that it writes.
pub struct Upstream {
    pub(crate) transfers: Arc<Transfers>,
    pub(crate) directory: MirrorDirectory,
    keys: Vec<PublicKey>,
    pub(crate) upkeep: Upkeep,
    /// Whether the last look for a publication failed, or its snapshot cannot be opened.
    is_look_refused: AtomicBool,
    /// Whether the server has made files of a snapshot anew since its start.
    has_mended_files: AtomicBool,
    /// Held by each attempt of a request: its count tells when all attempts that began before have ended.
    attempts: ArcSwap<()>,
}

/// The work of a mirror besides answers.
pub struct Upkeep {
    /// How often the server looks for a newer publication.
    pub interval: Duration,
    /// Whether the server fetches what nobody asked for.
    pub fills: bool,
    /// The most bytes on the disk.
    pub cache_bytes: Option<u64>,
}

impl Upstream {
    /// Locks the directory, and makes the published snapshot current. If no host answers, the snapshot that is here
    /// stays current.
    ///
    /// # Errors
    ///
    /// Where the directory is in use or cannot be written, or no host answers and no snapshot is here.
    pub(crate) fn open(
        path: &Path,
        transfers: Transfers,
        keys: Vec<PublicKey>,
        upkeep: Upkeep,
    ) -> Result<Upstream, StoreError> {
        let directory = MirrorDirectory::lock(path)?;
        let upstream = Upstream {
            transfers: Arc::new(transfers),
            directory,
            keys,
            upkeep,
            is_look_refused: AtomicBool::new(false),
            has_mended_files: AtomicBool::new(false),
            attempts: ArcSwap::default(),
        };
        match upstream
            .find_newer()
            .and_then(|newer| newer.map(|id| upstream.directory.make_current(&id)).transpose())
        {
            Err(error) if upstream.directory.current().is_some() => {
                tracing::warn!(%error, "no newer snapshot; answering from what is here");
            }
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        Ok(upstream)
    }

    /// A token that an attempt of a request holds while it reads, so that nothing it reads is removed.
    /// `None` where nothing is removed.
    pub(crate) fn attempt(&self) -> Option<Arc<()>> {
        self.upkeep.cache_bytes.is_some().then(|| self.attempts.load_full())
    }

    /// The right of a request to fetch, if there is room; `None` where it must wait.
    pub(crate) fn try_turn(&self) -> Option<Turn> {
        self.transfers.room.try_turn()
    }

    /// Waits for the right of a request to fetch. A request that waits reads nothing, so that chunks are removed.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        self.transfers.room.turn(self.transfers.timeout).await
    }

    /// Removes what was not used for longest, if the files take more than the cache has.
    pub(crate) fn remove_excess(&self, snapshot: &Snapshot, hand: &mut Hand) {
        let Some(limit) = self.upkeep.cache_bytes else { return };
        let used = snapshot.allocated_bytes();
        self.transfers.room.measure(used);
        if !self.directory.is_partial(&snapshot.manifest().id) || !hand.mark(snapshot, used, limit)
        {
            return;
        }
        let before = self.attempts.swap(Arc::new(()));
        while Arc::strong_count(&before) > 1 {
            thread::sleep(ATTEMPTS_PAUSE);
        }
        let bytes = hand.remove_unused();
        self.transfers.room.measure(snapshot.allocated_bytes());
        tracing::debug!(bytes, "removed what was not used for longest");
    }

    /// Where the chunks of a snapshot come from.
    pub(crate) fn source(&self, place: &Path) -> Arc<dyn ChunkSource> {
        Arc::new(self.snapshot_source(place))
    }

    /// As [`Upstream::source`].
    pub(crate) fn snapshot_source(&self, place: &Path) -> SnapshotSource {
        let id = place.file_name().unwrap_or_default().to_string_lossy();
        SnapshotSource::new(&self.transfers, &id, !place.join(PARTIAL).exists())
    }

    /// Looks for a newer publication on each host until one answers. Makes the files of its snapshot, and returns the
    /// snapshot's id; `None` where the snapshot is current.
    ///
    /// # Errors
    ///
    /// The failure of the last host.
    pub(crate) fn find_newer(&self) -> Result<Option<String>, StoreError> {
        let mut outcome = Ok(None);
        for host in self.transfers.hosts.each() {
            let found = match self.directory.find_newer(host, &self.keys) {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(%error, "cannot use the publication of a mirror");
                    outcome = Err(error);
                    continue;
                }
            };
            self.transfers.note_here();
            outcome = Ok(None);
            match found {
                Found::Newer(snapshot) => {
                    let host = host.display("");
                    tracing::info!(
                        snapshot,
                        host,
                        "a snapshot is published; its chunks are fetched when requests touch them"
                    );
                    outcome = Ok(Some(snapshot));
                }
                Found::Blocked(blocked) => tracing::warn!("{}", blocked.warning()),
                Found::Nothing => {}
            }
            break;
        }
        // A newer snapshot must open, too.
        if !matches!(outcome, Ok(Some(_))) {
            self.set_look_refused(outcome.is_err());
        }
        outcome
    }

    /// Whether the last look for a publication failed, or its snapshot cannot be opened.
    pub(crate) fn is_look_refused(&self) -> bool {
        self.is_look_refused.load(Ordering::Relaxed)
    }

    pub(crate) fn set_look_refused(&self, is_refused: bool) {
        self.is_look_refused.store(is_refused, Ordering::Relaxed);
    }

    /// Whether bytes of a complete snapshot were damaged on the disk since the start.
    pub(crate) fn is_disk_damaged(&self) -> bool {
        self.transfers.mended() > 0 || self.has_mended_files.load(Ordering::Relaxed)
    }

    /// Makes the files of a snapshot anew that are gone or were cut. Their chunks are fetched when requests touch them.
    pub(crate) fn mend(&self, place: &Path) {
        let id = place.file_name().unwrap_or_default().to_string_lossy();
        let hosts: Vec<_> = self.transfers.hosts.each().collect();
        match self.directory.mend(&id, &hosts) {
            Ok(files) if files.is_empty() => {}
            Ok(files) => {
                self.has_mended_files.store(true, Ordering::Relaxed);
                tracing::error!(
                    snapshot = %id,
                    ?files,
                    "the disk lied: files were gone or cut, and are made anew; their chunks are fetched again"
                );
            }
            Err(error) => tracing::error!(snapshot = %id, %error, "cannot mend the snapshot"),
        }
    }

    /// Fetches what most requests read first. If no host sends it now, the requests ask for it again.
    pub(crate) fn fetch_ends(&self, snapshot: &Snapshot) {
        let missing = snapshot.missing_ends();
        if !missing.is_empty() {
            let _ = self.source(snapshot.path()).fetch(missing);
        }
    }

    /// Fetches all chunks that are absent, while no request fetches any. Ends when the snapshot is complete but for chunks
    /// that no mirror sends right, or when `goes_on` is false.
    pub(crate) fn fill(&self, snapshot: &Snapshot, goes_on: impl Fn() -> bool) {
        let id = &snapshot.manifest().id;
        let source = self.source(snapshot.path());
        let mut left: Vec<Missing> = Vec::new();
        for (file, chunks) in snapshot.chunk_counts().into_iter().enumerate() {
            let mut next = 0;
            while next < chunks {
                if !goes_on() {
                    return;
                }
                // Requests of clients come first.
                if !self.transfers.are_idle() {
                    thread::sleep(FILL_PAUSE);
                    continue;
                }
                let end = chunks.min(next + FILL_CHUNKS);
                let missing = snapshot.missing_in(file, next..end);
                if !missing.is_empty() && source.fetch(missing).is_err() {
                    // All hosts, or the disk, refuse for a while: the same chunks are asked for again.
                    if self.transfers.hosts.are_paused() || self.transfers.is_write_refused() {
                        thread::sleep(FILL_PAUSE_FAILED);
                        continue;
                    }
                    // The mirrors answer, but send no right bytes for these chunks: the filling goes on without them.
                    left.extend(snapshot.missing_in(file, next..end));
                }
                next = end;
            }
        }
        if let Some(first) = left.first() {
            tracing::error!(
                snapshot = id,
                ranges = left.len(),
                file = first.path(),
                from = first.range().start,
                "everything is here but what no mirror sends right; asking again in a minute"
            );
            return thread::sleep(FILL_PAUSE_LEFT);
        }
        match self.directory.complete(snapshot.manifest()) {
            Ok(()) => tracing::info!(snapshot = id, "the snapshot is complete"),
            Err(error) => tracing::error!(snapshot = id, %error, "cannot complete the snapshot"),
        }
    }

    /// Copies to a snapshot the chunks that an earlier one has too, at the same place of the same file.
    pub(crate) fn take_over(&self, snapshot: &Snapshot, earlier: &Snapshot) {
        let source = self.source(snapshot.path());
        let copied = snapshot.take_over(earlier, &*source);
        tracing::info!(
            snapshot = snapshot.manifest().id,
            earlier = earlier.manifest().id,
            bytes = copied,
            "took chunks over that did not change"
        );
    }
}
