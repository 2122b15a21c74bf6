//! An open snapshot, and where its chunks come from.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use pinakes_answer::ServedSnapshot;
use pinakes_format::index::kept_sets::KeptSets;
use pinakes_format::snapshot::{Reads, Snapshot};
use pinakes_format::storage::ReadError;
use pinakes_format::storage::absent::{ChunkSource, Missing};
use pinakes_format::storage::mmap::survive_faults;
use pinakes_remote::error::RemoteError;
use pinakes_remote::host::{Host, RetryPolicy};
use pinakes_remote::signature::read_public;
use pinakes_store::directory::find_snapshot;
use pinakes_store::error::StoreError;
use pinakes_store::fetched::FetchedSnapshot;
use pinakes_store::rolled_back::BlockedSnapshot;
use tempfile::TempDir;

use crate::errors::Raised;

const USER_AGENT: &str = concat!("pinakes-python/", env!("CARGO_PKG_VERSION"));
/// Bytes of the sets of recent filters that a snapshot keeps.
const KEPT_SETS_BYTES: usize = 64 << 20;

/// An open snapshot. Streams and columns keep it open after it is closed.
pub struct Opened {
    /// The snapshot as answers read it.
    pub served: Arc<ServedSnapshot>,
    /// The host of its chunks; `None` of a snapshot that is whole.
    fetched: Option<FetchedSnapshot>,
    /// The directory of its chunks, if nothing keeps them. Removed when nothing reads from it any more.
    temporary: Option<TempDir>,
    /// The process that opened it.
    pid: u32,
}

impl Drop for Opened {
    fn drop(&mut self) {
        // A forked child leaves the directory to its parent.
        if self.pid != process::id()
            && let Some(directory) = self.temporary.take()
        {
            let _ = directory.keep();
        }
    }
}

/// Where a published snapshot comes from.
pub struct Published {
    /// The address of the published tree.
    pub url: String,
    /// The public keys of the publisher, of which one must have signed.
    pub keys: Vec<PathBuf>,
    /// Root certificates for the host, in place of the usual ones.
    pub tls_ca: Option<PathBuf>,
}

impl Opened {
    /// Opens a snapshot, or the current one of a directory of snapshots.
    pub fn open(path: &Path) -> Result<Opened, Raised> {
        survive()?;
        let place = find_snapshot(path)?;
        let snapshot = Snapshot::open(&place).map_err(|error| Raised::Open(error.to_string()))?;
        Ok(Opened { served: served(snapshot), fetched: None, temporary: None, pid: process::id() })
    }

    /// Opens the snapshot that a host publishes. The directory keeps the chunks that are read; without one, they are removed
    /// at the end.
    pub fn open_published(directory: Option<&Path>, from: &Published) -> Result<Opened, Raised> {
        survive()?;
        let (path, temporary) = match directory {
            Some(directory) => (directory.to_owned(), None),
            None => {
                let made = tempfile::Builder::new().prefix("pinakes-").tempdir();
                let made = made.map_err(|error| {
                    Raised::Open(format!("cannot make a temporary directory: {error}"))
                })?;
                (made.path().to_owned(), Some(made))
            }
        };
        let keys = from.keys.iter().map(|path| read_public(path));
        let keys = keys.collect::<Result<Vec<_>, _>>();
        let keys = keys.map_err(|error| Raised::Value(error.to_string()))?;
        let host =
            Host::new(&from.url, USER_AGENT, RetryPolicy::default(), from.tls_ca.as_deref())?;
        let fetched = FetchedSnapshot::open(&path, host, &keys).map_err(|error| match error {
            StoreError::Locked { pid, .. } if pid == process::id().to_string() => Raised::Open(format!(
                "`{}` is the directory of a snapshot that this process has open; close that one first",
                path.display()
            )),
            error => error.into(),
        })?;
        let served = served(fetched.snapshot.clone());
        let opened = Opened { served, fetched: Some(fetched), temporary, pid: process::id() };
        // Most requests read these chunks first, so one round fetches them.
        let ends = opened.served.snapshot.missing_ends();
        if !ends.is_empty() {
            opened.fetch(ends)?;
        }
        Ok(opened)
    }

    /// Whether its chunks come from a host.
    pub fn is_fetched(&self) -> bool {
        self.fetched.is_some()
    }

    /// Refuses a forked child, which has no thread that fetches chunks.
    pub fn check_process(&self) -> Result<(), Raised> {
        if self.is_fetched() && self.pid != process::id() {
            let message =
                "the snapshot was opened in the process before the fork; open it again in this one";
            return Err(Raised::Open(message.to_owned()));
        }
        Ok(())
    }

    /// Why the snapshot is not the one that the host publishes, for a warning.
    pub fn warning(&self) -> Option<String> {
        self.fetched.as_ref()?.blocked.as_ref().map(BlockedSnapshot::warning)
    }

    /// A handle whose reads wait for chunks that are not here.
    pub fn waiting(&self) -> &Snapshot {
        self.served.waiting_handle(Reads::OneByOne)
    }

    /// Fetches chunks that an answer lacks.
    pub fn fetch(&self, missing: Vec<Missing>) -> Result<(), Raised> {
        let Some(fetched) = &self.fetched else { return Ok(()) };
        fetched.chunks().fetch(missing).map_err(|error| self.raise(&error))
    }

    /// The exception for a failed read.
    pub fn raise(&self, error: &ReadError) -> Raised {
        Raised::of_read(error, self.failure())
    }

    /// The transfer that failed first, once.
    pub fn failure(&self) -> Option<RemoteError> {
        self.fetched.as_ref().and_then(FetchedSnapshot::take_failure)
    }

    /// Checks after reads that no mapped file failed meanwhile: what was read would be zeros.
    pub fn check_readable(&self) -> Result<(), Raised> {
        self.served.snapshot.check_readable().map_err(|error| Raised::Damaged(error.to_string()))
    }
}

fn served(snapshot: Snapshot) -> Arc<ServedSnapshot> {
    let kept = KeptSets::new(KEPT_SETS_BYTES);
    Arc::new(ServedSnapshot::new(snapshot.keeping(&kept)))
}

fn survive() -> Result<(), Raised> {
    survive_faults()
        .map_err(|error| Raised::Internal(format!("cannot install a signal handler: {error}")))
}
