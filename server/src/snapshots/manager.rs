//! The snapshot that requests are answered from, and its replacement.
//!
//! Requests hold a [`ServedSnapshot`] by reference count, so a replacement never waits for requests. A
//! snapshot that proves damaged is poisoned: the manager serves a fallback in its place, or none.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use chrono::Utc;
use pinakes_format::index::kept_sets::KeptSets;
use pinakes_format::snapshot::next::{CURRENT, LinkError, NextSnapshot, resolve_link};
use pinakes_format::snapshot::{OpenError, Snapshot, read_manifest};
use pinakes_format::storage::error::ReadError;
use pinakes_format::storage::mmap::LoadMode;

use crate::event_counts::{LOADS, Load, POISONED, Poison};
use crate::snapshots::activation::Activation;
use crate::snapshots::fallback;
use crate::snapshots::health::{self, HealthState, Reminder};
use crate::snapshots::retained::RetainedSnapshots;
use crate::snapshots::served::ServedSnapshot;
use crate::snapshots::suppression::SuppressionListFile;

/// Pauses before the snapshot of `current` is loaded again after a failure, which may pass: the first, and
/// the longest. Each is twice the one before.
const RETRY_PAUSE_FIRST: Duration = Duration::from_secs(1);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long `current` may be broken; a tool may replace the link in two steps, removal and creation.
const BROKEN_LINK_TIMEOUT: Duration = Duration::from_secs(2);
/// A refusal with the same reason within this time is not logged again, because a changed link and a SIGHUP
/// may report one refusal twice.
const REPEATED_REFUSAL: Duration = Duration::from_secs(1);
/// How long a load waits for requests to the snapshot served before.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);
/// The memory for the sets of recent filters, where no option sets it.
const KEPT_SETS_BYTES: usize = 64 << 20;
/// Interval at which a waiting load checks for such requests.
const RELEASE_INTERVAL: Duration = Duration::from_millis(2);

/// Serves one snapshot at a time, and replaces the snapshot when `current` changes or damage shows.
pub struct SnapshotManager {
    served: ArcSwap<ServedSnapshot>,
    /// Directory with `current`; `None` for a fixed snapshot.
    snapshots: Option<PathBuf>,
    options: OpenOptions,
    /// Locked while another snapshot is loaded from `current`.
    current: Mutex<CurrentState>,
    /// Ids of snapshots that proved damaged. They are not served again before [`Self::readmit`].
    poisoned: Mutex<BTreeSet<String>>,
    /// Earlier snapshots, for requests that name them.
    retained: RetainedSnapshots,
    /// Opens a scheduled snapshot ahead of its time.
    pub(super) activation: Activation,
    /// The snapshot closed last, while requests still read it.
    previous: Mutex<Weak<ServedSnapshot>>,
    health: Arc<HealthState>,
    reminder: Mutex<Reminder>,
}

/// Location of the snapshot to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotSource {
    /// A directory whose link `current` points to the snapshot.
    Current(PathBuf),
    /// The snapshot's directory.
    Fixed(PathBuf),
}

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
}

/// State of `current` at the last check.
#[derive(Debug, Default)]
struct CurrentState {
    link: Option<LinkVersion>,
    /// When a check first found `current` broken, if the last check did.
    broken_since: Option<Instant>,
    /// Reason and time of the last logged refusal.
    refused: Option<(String, Instant)>,
    /// When to load the snapshot of `current` again after a failure, and the pause before.
    retry: Option<(Instant, Duration)>,
}

/// Metadata that differs between two links, even links with the same target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkVersion {
    inode: u64,
    /// Change time: seconds and nanoseconds since 1970.
    changed: (i64, i64),
}

impl LinkVersion {
    /// Reads the version of a link; `None` if the link does not exist.
    pub(super) fn read(link: &Path) -> Option<LinkVersion> {
        let metadata = fs::symlink_metadata(link).ok()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(LinkVersion { inode: metadata.ino(), changed })
    }
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

impl SnapshotManager {
    /// Opens a mapped snapshot without a suppression list; `verify` reads the whole snapshot first.
    ///
    /// # Errors
    ///
    /// As [`SnapshotManager::open_with`].
    pub fn open(source: &SnapshotSource, verify: bool) -> Result<SnapshotManager, LoadError> {
        let options = OpenOptions {
            verify,
            load_mode: LoadMode::Mapped,
            suppression: None,
            keep_open: 0,
            kept_sets: KeptSets::new(KEPT_SETS_BYTES),
        };
        SnapshotManager::open_with(source, options)
    }

    /// Opens a snapshot with options, or a fallback if the snapshot of `current` is damaged.
    ///
    /// The fallback lets a server start again after the damage that ended the server before.
    ///
    /// # Errors
    ///
    /// `current` is broken, or the snapshot is refused and has no fallback.
    pub fn open_with(
        source: &SnapshotSource,
        options: OpenOptions,
    ) -> Result<SnapshotManager, LoadError> {
        let (health, mut poisoned) = (Arc::new(HealthState::default()), BTreeSet::new());
        // The version first: a link that replaces this link meanwhile then has another version.
        let (link, snapshot, snapshots) = match source {
            SnapshotSource::Fixed(path) => (None, options.open(path)?, None),
            SnapshotSource::Current(snapshots) => {
                let link = LinkVersion::read(&snapshots.join(CURRENT));
                let opened = options.open_current(snapshots, &health, &mut poisoned)?;
                (link, opened, Some(snapshots.clone()))
            }
        };
        let served = ArcSwap::from_pointee(ServedSnapshot::newly_opened(snapshot, &health));
        let manager = SnapshotManager {
            served,
            snapshots,
            retained: RetainedSnapshots::new(options.keep_open),
            options,
            current: Mutex::new(CurrentState { link, ..CurrentState::default() }),
            poisoned: Mutex::new(poisoned),
            activation: Activation::default(),
            previous: Mutex::new(Weak::new()),
            health,
            reminder: Mutex::default(),
        };
        manager.retain(None);
        Ok(manager)
    }

    /// Issues that outlive a served snapshot.
    pub fn health(&self) -> &HealthState {
        &self.health
    }

    /// Applies changes since the last call: a changed suppression list, an expiry, a changed `next`, and a changed
    /// `current`.
    ///
    /// Also watches the system's clock, and logs reminders of issues that persist. Cost without changes: four `stat` calls.
    pub fn apply_changes(&self) {
        self.health.watch_clock();
        self.update_suppression(false);
        let served = self.served();
        served.freshness.log_expiry(&served.snapshot);
        self.log_reminders(&served);
        let Some(snapshots) = &self.snapshots else { return };
        self.follow_next(snapshots);
        let link = LinkVersion::read(&snapshots.join(CURRENT));
        let mut current = self.lock_current();
        let is_changed = link.is_some() && link != current.link;
        let is_fallback = self.health.is_fallback();
        let is_retry = current.retry.is_some_and(|(at, _)| Instant::now() >= at);
        let is_there = fs::metadata(snapshots.join(CURRENT)).is_ok()
            || self.activation.due_path(snapshots).is_some();
        let needs_reload = if is_there {
            current.broken_since.take().is_some() && is_fallback
        } else {
            // The reload reports a link that stays broken, once.
            let now = Instant::now();
            let since = *current.broken_since.get_or_insert(now);
            now.duration_since(since) >= BROKEN_LINK_TIMEOUT && !is_fallback
        };
        drop(current);
        if is_changed || is_retry || needs_reload {
            self.reload_snapshot();
        }
    }

    /// Logs issues that persist, when a reminder is due.
    fn log_reminders(&self, served: &ServedSnapshot) {
        let issues = served.health_issues(Utc::now());
        let mut reminder = self.reminder.lock().unwrap_or_else(PoisonError::into_inner);
        if reminder.is_due(!issues.is_empty(), Instant::now()) {
            let snapshot = &served.snapshot.manifest().id;
            issues.into_iter().for_each(|issue| health::log_reminder(snapshot, issue));
        }
    }

    /// Loads the suppression list and the snapshot of `current` again, whether they changed or not.
    ///
    /// On failure, the previous list or snapshot stays. Waits up to 10 s for requests to the snapshot closed
    /// last, so that at most one more snapshot is mapped than are served and kept open.
    pub fn reload(&self) {
        self.update_suppression(true);
        self.reload_snapshot();
    }

    /// Reads the suppression list if its file changed or `is_forced`, and applies the list.
    pub(super) fn update_suppression(&self, is_forced: bool) {
        let Some(suppression) = &self.options.suppression else { return };
        suppression.reload(is_forced);
        self.health.set_list_refused(suppression.is_refused());
        let list = suppression.list();
        self.retained.suppress(&list, &self.health);
        // Repeats if another thread replaces the served snapshot meanwhile.
        loop {
            let served = self.served();
            if served.snapshot.suppresses(&list) {
                return;
            }
            let updated = match served.snapshot.without(&list) {
                Ok(snapshot) => ServedSnapshot::new(snapshot, &self.health),
                Err(error) if served.is_poisoned() => {
                    return tracing::error!(%error, "cannot apply the suppression list to a poisoned snapshot");
                }
                // A snapshot that cannot apply the list must not be served.
                Err(error) => return self.poison(&served, &error),
            };
            if served.is_poisoned() {
                updated.poison();
            }
            log_suppressed(&updated.snapshot);
            self.served.compare_and_swap(&served, Arc::new(updated));
        }
    }

    /// Path of the snapshot to serve: that of `next` from its time on, else that of `current`.
    pub(super) fn find_target(&self) -> Result<PathBuf, LoadError> {
        let Some(snapshots) = &self.snapshots else {
            return Ok(self.served().snapshot.path().to_path_buf());
        };
        match self.activation.due_path(snapshots) {
            Some(path) => Ok(path),
            None => Ok(resolve_link(&snapshots.join(CURRENT))?),
        }
    }

    /// Opens a snapshot for serving; verifies a snapshot that proved damaged before.
    pub(super) fn open_served(&self, path: &Path) -> Result<Arc<ServedSnapshot>, LoadError> {
        let snapshot = self.options.open(path).and_then(|snapshot| self.readmit(snapshot))?;
        Ok(Arc::new(ServedSnapshot::newly_opened(snapshot, &self.health)))
    }

    /// Answers from another snapshot.
    pub(super) fn replace_served(&self, loaded: Arc<ServedSnapshot>) {
        self.health.set_fallback(false);
        let previous = self.served.swap(loaded);
        let left = self.retain(Some(previous));
        *self.previous.lock().unwrap_or_else(PoisonError::into_inner) =
            left.as_ref().map_or_else(Weak::new, Arc::downgrade);
    }

    /// Applies the suppression list to a snapshot; `None` if the snapshot applies it already.
    pub(super) fn with_current_list(
        &self,
        opened: &ServedSnapshot,
    ) -> Result<Option<ServedSnapshot>, LoadError> {
        let Some(suppression) = &self.options.suppression else { return Ok(None) };
        let list = suppression.list();
        if opened.snapshot.suppresses(&list) {
            return Ok(None);
        }
        let path = opened.snapshot.path().to_path_buf();
        let snapshot =
            opened.snapshot.without(&list).map_err(|error| LoadError::Damaged { path, error })?;
        log_suppressed(&snapshot);
        Ok(Some(ServedSnapshot::new(snapshot, &self.health)))
    }

    pub(super) fn reload_snapshot(&self) {
        let mut current = self.lock_current();
        let served = self.served();
        let id = &served.snapshot.manifest().id;
        let path = match &self.snapshots {
            Some(snapshots) => {
                let link = LinkVersion::read(&snapshots.join(CURRENT));
                if link != current.link {
                    current.refused = None;
                }
                current.link = link;
                self.find_target()
            }
            None => Ok(served.snapshot.path().to_path_buf()),
        };
        let loaded = path.and_then(|path| {
            if path == served.snapshot.path() && !served.is_poisoned() {
                return Ok(None);
            }
            self.await_release();
            self.open_served(&path).map(Some)
        });
        current.retry = match (&loaded, current.retry) {
            (Ok(_), _) => None,
            (Err(_), None) => Some((Instant::now() + RETRY_PAUSE_FIRST, RETRY_PAUSE_FIRST)),
            (Err(_), Some((_, pause))) => {
                let pause = (pause * 2).min(RETRY_PAUSE_MAX);
                Some((Instant::now() + pause, pause))
            }
        };
        match loaded {
            Ok(None) => {
                self.health.set_fallback(false);
                served.freshness.refresh(&served.snapshot);
                tracing::info!(snapshot = id, "`current` still points to the served snapshot");
            }
            Ok(Some(loaded)) => self.replace_served(loaded),
            Err(error) => {
                self.health.set_fallback(true);
                let (text, now) = (error.to_string(), Instant::now());
                let is_repeated = |(before, at): &(String, Instant)| {
                    *before == text && now.duration_since(*at) < REPEATED_REFUSAL
                };
                if !current.refused.as_ref().is_some_and(is_repeated) {
                    LOADS.count(Load::Refused);
                    tracing::error!(
                        %error,
                        snapshot = id,
                        "cannot load the snapshot of `current`; keeping the served snapshot"
                    );
                    current.refused = Some((text, now));
                }
            }
        }
    }

    /// Verifies a snapshot that proved damaged before, and allows the server to use the snapshot again.
    ///
    /// Returns other snapshots as they are.
    fn readmit(&self, snapshot: Snapshot) -> Result<Snapshot, LoadError> {
        let id = snapshot.manifest().id.clone();
        if !self.poisoned().contains(&id) {
            return Ok(snapshot);
        }
        tracing::info!(
            snapshot = id,
            "the snapshot was damaged before; verifying every byte and record"
        );
        snapshot.verify()?;
        self.poisoned().remove(&id);
        tracing::info!(snapshot = id, "the snapshot is intact again");
        Ok(snapshot)
    }

    /// Waits until requests have released the snapshot served before, at most [`RELEASE_TIMEOUT`].
    pub(super) fn await_release(&self) {
        let previous = self.previous.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let start = Instant::now();
        while previous.strong_count() > 0 && start.elapsed() < RELEASE_TIMEOUT {
            std::thread::sleep(RELEASE_INTERVAL);
        }
    }

    fn lock_current(&self) -> MutexGuard<'_, CurrentState> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poisoned(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.poisoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the files of the open snapshots for outside changes.
    ///
    /// A file whose size changed poisons the snapshot; a file that was written to is verified again. Cost: one
    /// system call per file.
    pub fn check_files(&self) {
        let served = self.served();
        for snapshot in self.retained.all().iter().chain([&served]) {
            self.check_files_of(snapshot);
        }
    }

    fn check_files_of(&self, served: &Arc<ServedSnapshot>) {
        if served.is_poisoned() {
            return;
        }
        match served.snapshot.check_files() {
            Err(fault) => self.poison(served, &fault.into()),
            Ok(written) => written.into_iter().for_each(|file| {
                let snapshot = &served.snapshot.manifest().id;
                tracing::warn!(
                    snapshot,
                    file,
                    "a published file was written to or touched; verifying all its chunks again"
                );
            }),
        }
    }

    /// The bytes of the rows of recent filters.
    pub fn kept_sets_bytes(&self) -> u64 {
        self.options.kept_sets.bytes()
    }

    /// The snapshot to answer a request from; a request calls this once.
    pub fn served(&self) -> Arc<ServedSnapshot> {
        self.served.load_full()
    }

    /// The open snapshot with this id: the served one, or one that is kept open.
    pub fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>> {
        let served = self.served();
        if served.snapshot.manifest().id == id { Some(served) } else { self.retained.named(id) }
    }

    /// Chooses the snapshots that stay open besides the served one, and closes the others. Returns one of
    /// those.
    fn retain(&self, previous: Option<Arc<ServedSnapshot>>) -> Option<Arc<ServedSnapshot>> {
        let Some(snapshots) = &self.snapshots else { return previous };
        let (served, poisoned) = (self.served(), self.poisoned().clone());
        let open = |path: &Path| {
            let opened = self.options.open(path)?;
            Ok(ServedSnapshot::newly_opened(opened, &self.health))
        };
        self.retained.choose(snapshots, &served, previous, &poisoned, open)
    }

    /// Takes a damaged snapshot out of service, and serves a fallback if there is one.
    pub fn poison(&self, served: &Arc<ServedSnapshot>, error: &ReadError) {
        if served.poison() {
            return;
        }
        POISONED.count(match error {
            ReadError::Damage(_) => Poison::Damage,
            ReadError::Fault(_) => Poison::Fault,
            _ => Poison::Content,
        });
        let id = &served.snapshot.manifest().id;
        tracing::error!(snapshot = id, %error, "snapshot poisoned: no more requests are answered from it");
        let mut poisoned = self.poisoned();
        poisoned.insert(id.clone());
        if self.retained.remove(id) && self.served().snapshot.manifest().id != *id {
            return;
        }
        let fallback = loop {
            let Some(candidate) = self.find_fallback(served, &poisoned) else {
                tracing::error!(
                    "no other snapshot can be served; answering 503 until `current` changes or SIGHUP \
                     arrives, and the snapshot of `current` is intact"
                );
                return;
            };
            let id = candidate.manifest().id.clone();
            match self.options.suppress(candidate) {
                Ok(fallback) => break fallback,
                Err(error) => {
                    tracing::error!(snapshot = id, %error, "cannot serve this snapshot as fallback")
                }
            }
            poisoned.insert(id);
        };
        tracing::warn!(snapshot = fallback.manifest().id, "serving another snapshot in its place");
        let fallback = Arc::new(ServedSnapshot::newly_opened(fallback, &self.health));
        // If `current` changed meanwhile, its snapshot is already served, and stays.
        if Arc::ptr_eq(&self.served.compare_and_swap(served, fallback), served) {
            self.health.set_fallback(true);
        }
    }

    /// Opens the best fallback for a snapshot.
    fn find_fallback(
        &self,
        served: &ServedSnapshot,
        poisoned: &BTreeSet<String>,
    ) -> Option<Snapshot> {
        let snapshots = self.snapshots.as_ref()?;
        let mut candidates = fallback::candidates(snapshots, served.snapshot.manifest(), poisoned);
        while let Some(best) = candidates.pop() {
            // Only the chosen candidate is opened for serving.
            match Snapshot::open_with_mode(best.path(), self.options.load_mode) {
                Ok(opened) => return Some(opened.keeping(&self.options.kept_sets)),
                Err(error) => tracing::warn!(%error, "cannot serve this snapshot as fallback"),
            }
        }
        None
    }
}

impl OpenOptions {
    /// Opens a snapshot, verifies the snapshot if so configured, and applies the suppression list.
    fn open(&self, path: &Path) -> Result<Snapshot, LoadError> {
        let snapshot = Snapshot::open_with_mode(path, self.load_mode)?;
        let manifest = snapshot.manifest();
        if self.verify {
            tracing::info!(snapshot = manifest.id, "verifying every byte and record");
            snapshot.verify()?;
        }
        tracing::info!(
            snapshot = manifest.id,
            path = %path.display(),
            newest_updated_date = manifest.source.newest_updated_date,
            "snapshot opened; each chunk is verified at its first read"
        );
        self.suppress(snapshot.keeping(&self.kept_sets))
    }

    /// Opens the snapshot to serve first: that of `next` if its time has come, else that of `current`, else a
    /// fallback for it.
    fn open_current(
        &self,
        snapshots: &Path,
        health: &HealthState,
        poisoned: &mut BTreeSet<String>,
    ) -> Result<Snapshot, LoadError> {
        // The first check of `next` reports a refused snapshot, and tries again.
        if let Some(next) = NextSnapshot::read_due(snapshots, Utc::now())
            && let Ok(opened) = self.open(&next.path)
        {
            return Ok(opened);
        }
        let path = resolve_link(&snapshots.join(CURRENT))?;
        self.open(&path).or_else(|error| {
            health.set_fallback(true);
            self.open_fallback(snapshots, &path, error, poisoned)
        })
    }

    /// Opens the best fallback for a refused snapshot, and adds the refused snapshot to `poisoned`.
    ///
    /// Returns the refusal `error` if there is no fallback. There is none if the manifest is unreadable: a
    /// fallback might then show records that were suppressed in the refused snapshot.
    fn open_fallback(
        &self,
        snapshots: &Path,
        path: &Path,
        error: LoadError,
        poisoned: &mut BTreeSet<String>,
    ) -> Result<Snapshot, LoadError> {
        let Ok(lost) = read_manifest(path) else { return Err(error) };
        poisoned.insert(lost.id.clone());
        let mut candidates = fallback::candidates(snapshots, &lost, poisoned);
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

    /// Applies the suppression list to a snapshot.
    fn suppress(&self, snapshot: Snapshot) -> Result<Snapshot, LoadError> {
        let Some(suppression) = &self.suppression else { return Ok(snapshot) };
        let path = snapshot.path().to_path_buf();
        let snapshot = snapshot
            .without(&suppression.list())
            .map_err(|error| LoadError::Damaged { path, error })?;
        log_suppressed(&snapshot);
        Ok(snapshot)
    }
}

/// Logs how many records are suppressed. Omits the ids, because a log outlives the list.
fn log_suppressed(snapshot: &Snapshot) {
    let suppressed = snapshot.suppressed();
    tracing::info!(
        snapshot = snapshot.manifest().id,
        records = suppressed.records(),
        unknown_ids = suppressed.unknown_ids(),
        "applied the suppression list"
    );
}
