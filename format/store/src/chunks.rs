//! Chunks of a published snapshot for a program whose threads may wait.

use std::{ops::Range, panic::resume_unwind, sync::Mutex, thread::ScopedJoinHandle};

use pinakes_format::storage::absent::{ChunkSource, Missing, Sent};
use pinakes_format::storage::error::ReadError;
use pinakes_remote::error::RemoteError;
use pinakes_remote::host::{Failure, Host};
use pinakes_remote::manifest::snapshot_path;

/// Transfers at the same time.
const TRANSFERS_MAX: usize = 16;

/// Fetches the chunks of one snapshot from one host, with the retries of the host.
pub struct HostChunks {
    host: Host,
    id: String,
    /// The first failure, which a reader sees without its cause.
    failure: Mutex<Option<RemoteError>>,
}

impl HostChunks {
    /// The chunks of a snapshot that the host publishes.
    pub fn new(host: Host, id: &str) -> HostChunks {
        HostChunks { host, id: id.to_owned(), failure: Mutex::default() }
    }

    /// The first failure, once.
    pub fn take_failure(&self) -> Option<RemoteError> {
        self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }

    fn read(&self, part: &Missing) -> Result<Vec<u8>, RemoteError> {
        let path = snapshot_path(&self.id, part.path());
        let read = self.host.retry(|| self.host.read_range(&path, part.range(), part.file_bytes()));
        read.map_err(|failure| self.host.error(&path, failure))
    }

    fn fetch_all(&self, missing: &[Missing]) -> Result<(), RemoteError> {
        for some in missing.chunks(TRANSFERS_MAX) {
            let sent: Vec<_> = std::thread::scope(|scope| {
                let reads: Vec<_> =
                    some.iter().map(|part| scope.spawn(|| self.read(part))).collect();
                let join = |read: ScopedJoinHandle<'_, _>| {
                    read.join().unwrap_or_else(|panic| resume_unwind(panic))
                };
                reads.into_iter().map(join).collect()
            });
            for (part, bytes) in some.iter().zip(sent) {
                let path = snapshot_path(&self.id, part.path());
                accept(part, &bytes?).map_err(|failure| self.host.error(&path, failure))?;
            }
        }
        Ok(())
    }
}

/// Writes what a host sent.
///
/// # Errors
///
/// Bytes are proved to be wrong, or cannot be written. The right chunks beside them are written.
pub(crate) fn accept(part: &Missing, bytes: &[u8]) -> Result<Sent, Failure> {
    let sent = part.accept(bytes).map_err(|refused| Failure::Write {
        path: part.snapshot().join(part.path()),
        source: refused.error,
    })?;
    let Some(wrong) = sent.wrong.first() else { return Ok(sent) };
    let Range { start, end } = wrong.range();
    Err(Failure::Mismatch(format!("bytes {start} to {end} do not have the published hash")))
}

impl ChunkSource for HostChunks {
    fn fetch(&self, missing: Vec<Missing>) -> Result<(), ReadError> {
        self.fetch_all(&missing).map_err(|error| {
            let mut failure = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            failure.get_or_insert(error);
            let file = missing.first().map(|part| part.path().to_owned());
            ReadError::Absent { file: file.unwrap_or_default() }
        })
    }
}
