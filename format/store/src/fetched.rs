//! A published snapshot, opened by a program whose threads may wait for chunks that are not here.

use std::{path::Path, sync::Arc};

use minisign::PublicKey;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::absent::ChunkSource;
use pinakes_remote::error::RemoteError;
use pinakes_remote::host::Host;

use crate::chunks::HostChunks;
use crate::directory::find_snapshot;
use crate::error::{Result, StoreError};
use crate::partial::{Found, MirrorDirectory};
use crate::rolled_back::BlockedSnapshot;

/// A published snapshot, and where its chunks come from. The directory is locked until it is dropped.
pub struct FetchedSnapshot {
    /// The snapshot. A read of an absent chunk fails; [`Snapshot::waiting`] waits for the chunk.
    pub snapshot: Snapshot,
    /// The published snapshot that stays behind, because this machine was rolled back from it.
    pub blocked: Option<BlockedSnapshot>,
    chunks: Arc<HostChunks>,
    _directory: MirrorDirectory,
}

impl FetchedSnapshot {
    /// Makes the snapshot that a host publishes the current one of a directory, which may be empty, and opens it.
    ///
    /// # Errors
    ///
    /// The directory is in use or cannot be written, the host fails, or no key has signed what the host publishes.
    pub fn open(path: &Path, host: Host, keys: &[PublicKey]) -> Result<FetchedSnapshot> {
        let directory = MirrorDirectory::lock(path)?;
        let blocked = match directory.find_newer(&host, keys)? {
            Found::Newer(id) => directory.make_current(&id).map(|()| None)?,
            Found::Blocked(blocked) => Some(blocked),
            Found::Nothing => None,
        };
        let place = find_snapshot(path)?;
        let id = place.file_name().unwrap_or_default().to_string_lossy();
        let chunks = Arc::new(HostChunks::new(host, &id));
        let source: Arc<dyn ChunkSource> = Arc::clone(&chunks) as Arc<dyn ChunkSource>;
        let snapshot = Snapshot::open_fetched(&place, source)
            .map_err(|error| StoreError::Refused(error.to_string()))?;
        Ok(FetchedSnapshot { snapshot, blocked, chunks, _directory: directory })
    }

    /// Fetches chunks of the snapshot.
    pub fn chunks(&self) -> &HostChunks {
        &self.chunks
    }

    /// The first transfer that failed, once: the cause of the reads that failed after it.
    pub fn take_failure(&self) -> Option<RemoteError> {
        self.chunks.take_failure()
    }
}
