//! Opening a snapshot for serving: verified if so configured, and without the suppressed records.

use std::{collections::BTreeSet, path::Path, path::PathBuf, sync::Arc};

use chrono::Utc;
use pinakes_format::index::kept_sets::KeptSets;
use pinakes_format::snapshot::next::{CURRENT, LinkError, NextSnapshot, resolve_link};
use pinakes_format::snapshot::{OpenError, Snapshot, read_manifest};
use pinakes_format::storage::{LoadMode, ReadError};

use crate::event_counts::{LOADS, Load};
use crate::snapshots::fallback;
use crate::snapshots::suppression::SuppressionListFile;
use crate::upstream::follow::Upstream;

/// How the server opens each snapshot.
pub struct OpenOptions {
    /// Verifies the whole snapshot before the server uses it.
    pub verify: bool,
    /// Maps the snapshot, or copies the snapshot into locked memory.
    pub load_mode: LoadMode,
    /// List of records to suppress, if any.
    pub suppression: Option<SuppressionListFile>,
    /// Earlier snapshots that stay open for requests that name them.
    pub keep_open: usize,
    /// The sets of recent filters, of all open snapshots.
    pub kept_sets: Arc<KeptSets>,
    /// The mirrors that send chunks which are absent or damaged.
    pub upstream: Option<Arc<Upstream>>,
}

/// Why a snapshot cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// `current` is not a link to a directory in the same directory.
    #[error(
        "{0}; expected a symbolic link to a snapshot in the same directory, which `pinakes-compiler build \
         --out` creates"
    )]
    Current(#[from] LinkError),
    /// The snapshot is invalid.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The snapshot proved damaged while the server looked up the suppressed records.
    #[error("snapshot `{}`: {error}", path.display())]
    Damaged {
        /// Path of the snapshot.
        path: PathBuf,
        /// Error of the first corrupt read.
        error: ReadError,
    },
}

impl OpenOptions {
    /// Opens a snapshot, verifies the snapshot if so configured, and prepares it.
    pub(super) fn open(&self, path: &Path) -> Result<Snapshot, LoadError> {
        let snapshot = self.map(path)?;
        let manifest = snapshot.manifest();
        if self.verify {
            tracing::info!(snapshot = manifest.id, "verifying every byte and record");
            snapshot.waiting().verify()?;
        }
        tracing::info!(
            snapshot = manifest.id,
            path = %path.display(),
            newest_updated_date = manifest.source.newest_updated_date,
            "snapshot opened; each chunk is verified at its first read"
        );
        self.prepare(snapshot)
    }

    /// Maps the files of a snapshot.
    pub(super) fn map(&self, path: &Path) -> Result<Snapshot, OpenError> {
        let Some(upstream) = &self.upstream else {
            return Snapshot::open_with_mode(path, self.load_mode);
        };
        upstream.mend(path);
        let snapshot = Snapshot::open_fetched(path, upstream.source(path))?;
        upstream.fetch_ends(&snapshot);
        Ok(snapshot)
    }

    /// Maps the files of a snapshot that may be served later. Never copies them.
    pub(super) fn look(&self, path: &Path) -> Result<Snapshot, OpenError> {
        match &self.upstream {
            Some(upstream) => Snapshot::open_fetched(path, upstream.source(path)),
            None => Snapshot::open(path),
        }
    }

    /// Gives a snapshot the memory for sets of rows, and applies the suppression list.
    pub(super) fn prepare(&self, snapshot: Snapshot) -> Result<Snapshot, LoadError> {
        let snapshot = snapshot.keeping(&self.kept_sets);
        match self.suppressed(&snapshot) {
            Ok(suppressed) => Ok(suppressed.unwrap_or(snapshot)),
            Err(error) => Err(LoadError::Damaged { path: snapshot.path().to_path_buf(), error }),
        }
    }

    /// The snapshot without the records of the list in force; `None` if it is without them already.
    pub(super) fn suppressed(&self, snapshot: &Snapshot) -> Result<Option<Snapshot>, ReadError> {
        let Some(suppression) = &self.suppression else { return Ok(None) };
        let _reading = self.upstream.as_ref().and_then(|upstream| upstream.attempt());
        let list = suppression.list();
        if snapshot.suppresses(&list) {
            return Ok(None);
        }
        let suppressed = snapshot.suppressing_as(&snapshot.waiting().without(&list)?);
        let rows = suppressed.suppressed();
        // Omits the ids, because a log outlives the list.
        tracing::info!(
            snapshot = suppressed.manifest().id,
            records = rows.records(),
            unknown_ids = rows.unknown_ids(),
            "applied the suppression list"
        );
        Ok(Some(suppressed))
    }

    /// Opens the snapshot to serve first: that of `next` if its time has come, else that of `current`, else a
    /// fallback for it, whose id is then in `poisoned`.
    pub(super) fn open_first(
        &self,
        directory: &Path,
        poisoned: &mut BTreeSet<String>,
    ) -> Result<Snapshot, LoadError> {
        // The first check of `next` reports a refused snapshot, and tries again.
        if let Some(next) = NextSnapshot::read_due(directory, Utc::now())
            && let Ok(opened) = self.open(&next.path)
        {
            return Ok(opened);
        }
        let path = resolve_link(&directory.join(CURRENT))?;
        self.open(&path).or_else(|error| self.open_fallback(directory, &path, error, poisoned))
    }

    /// Opens the best fallback for a refused snapshot, and adds the refused snapshot to `poisoned`.
    ///
    /// Returns the refusal `error` if there is no fallback. There is none if the manifest is unreadable: a
    /// fallback might then show records that were suppressed in the refused snapshot.
    fn open_fallback(
        &self,
        directory: &Path,
        path: &Path,
        error: LoadError,
        poisoned: &mut BTreeSet<String>,
    ) -> Result<Snapshot, LoadError> {
        let Ok(lost) = read_manifest(path) else { return Err(error) };
        poisoned.insert(lost.id.clone());
        let mut candidates =
            fallback::candidates(directory, &lost, poisoned, |path| self.look(path));
        while let Some(best) = candidates.pop() {
            match self.open(best.path()) {
                Ok(fallback) => {
                    LOADS.count(Load::Refused);
                    tracing::error!(%error, snapshot = lost.id, "refused the snapshot of `current`");
                    let snapshot = &fallback.manifest().id;
                    tracing::warn!(snapshot, "serving another snapshot in its place");
                    return Ok(fallback);
                }
                Err(error) => tracing::error!(%error, "cannot serve this snapshot as fallback"),
            }
        }
        Err(error)
    }
}
