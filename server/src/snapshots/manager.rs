//! The snapshots that are open, and the one that requests are answered from.
//!
//! One [`Owner`], behind one lock, decides which snapshot is served, which stay open, and which proved damaged.
//! Requests never wait for the owner: they read pointers that the owner swaps, and hold a [`ServedSnapshot`] by
//! reference count. Files are opened without the lock, one load at a time.
//!
//! ```text
//!          ┌── the snapshot of `current` is refused or damaged ──► Other
//! Target ──┤                                                        │ `current` changes, or a retry succeeds
//!          ◄────────────────────────────────────────────────────────┘
//! ```
//!
//! A poisoned snapshot without another to serve stays in place; every request gets 503 until a load succeeds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use chrono::{DateTime, Utc};
use pinakes_answer::ServedSnapshot;
use pinakes_format::index::kept_sets::KeptSets;
use pinakes_format::snapshot::next::{CURRENT, resolve_link};
use pinakes_format::storage::{LoadMode, ReadError};
use tokio::sync::watch;

use crate::event_counts::{LOADS, Load, POISONED, Poison};
use crate::snapshots::activation::{LinkVersion, NextLink};
use crate::snapshots::freshness::{self, newly_opened};
use crate::snapshots::health::{HealthState, Reminder};
use crate::snapshots::open::{LoadError, OpenOptions};
use crate::snapshots::{fallback, health};
use crate::upstream::follow::Upstream;

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
/// Interval at which a waiting load checks for such requests.
const RELEASE_INTERVAL: Duration = Duration::from_millis(2);
/// The memory for the sets of recent filters, where no option sets it.
const KEPT_SETS_BYTES: usize = 64 << 20;

/// Location of the snapshot to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotSource {
    /// A directory whose link `current` points to the snapshot.
    Current(PathBuf),
    /// The snapshot's directory.
    Fixed(PathBuf),
}

/// Serves one snapshot at a time, and replaces the snapshot when `current` changes or damage shows.
pub struct SnapshotManager {
    served: ArcSwap<ServedSnapshot>,
    /// Earlier snapshots that stay open for requests that name them, the latest first.
    retained: ArcSwap<Vec<Arc<ServedSnapshot>>>,
    /// Directory with `current`; `None` for a fixed snapshot.
    directory: Option<PathBuf>,
    options: OpenOptions,
    health: Arc<HealthState>,
    pub(super) owner: Mutex<Owner>,
    /// Locked while a snapshot is loaded from `current` or `next`.
    loading: Mutex<()>,
    /// Time of the scheduled snapshot.
    pub(super) activates_at: watch::Sender<Option<DateTime<Utc>>>,
}

/// The state of the open snapshots, besides the pointers that requests read.
pub(super) struct Owner {
    serving: Serving,
    /// `current` at the last check.
    link: Option<LinkVersion>,
    /// When a check first found `current` broken, if the last check did.
    broken_since: Option<Instant>,
    /// Ids of snapshots that proved damaged. They are not served again before they are verified.
    poisoned: BTreeSet<String>,
    /// The snapshot closed last, while requests still read it.
    closed: Weak<ServedSnapshot>,
    pub(super) next: NextLink,
    reminder: Reminder,
}

/// Which snapshot is served.
enum Serving {
    /// The snapshot of `current`, or of `next` from its time on.
    Target,
    /// Another one, because that one was refused or is damaged.
    Other {
        /// When to load that one again, and the pause before; `None` waits for a change of `current`.
        retry: Option<(Instant, Duration)>,
        /// Reason and time of the last logged refusal.
        refused: Option<(String, Instant)>,
    },
}

impl SnapshotManager {
    /// Opens a mapped snapshot without a suppression list; `verify` reads the whole snapshot first.
    pub fn open(source: &SnapshotSource, verify: bool) -> Result<SnapshotManager, LoadError> {
        let options = OpenOptions {
            verify,
            load_mode: LoadMode::Mapped,
            suppression: None,
            keep_open: 0,
            kept_sets: KeptSets::new(KEPT_SETS_BYTES),
            upstream: None,
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
        let health = Arc::new(HealthState::new(options.upstream.clone()));
        let mut poisoned = BTreeSet::new();
        // The version first: a link that replaces this link meanwhile then has another version.
        let (link, opened, directory) = match source {
            SnapshotSource::Fixed(path) => (None, options.open(path)?, None),
            SnapshotSource::Current(directory) => {
                let link = LinkVersion::read(&directory.join(CURRENT));
                let opened = options.open_first(directory, &mut poisoned)?;
                (link, opened, Some(directory.clone()))
            }
        };
        let is_other = !poisoned.is_empty();
        health.set_fallback(is_other);
        let serving = match is_other {
            true => Serving::Other { retry: None, refused: None },
            false => Serving::Target,
        };
        let manager = SnapshotManager {
            served: ArcSwap::from_pointee(newly_opened(opened)),
            retained: ArcSwap::default(),
            directory,
            options,
            owner: Mutex::new(Owner {
                serving,
                link,
                broken_since: None,
                poisoned,
                closed: Weak::new(),
                next: NextLink::default(),
                reminder: Reminder::default(),
            }),
            loading: Mutex::default(),
            activates_at: watch::Sender::new(None),
            health,
        };
        manager.retain(None);
        Ok(manager)
    }

    /// The snapshot to answer a request from; a request calls this once.
    pub fn served(&self) -> Arc<ServedSnapshot> {
        self.served.load_full()
    }

    /// The ids of the open snapshots.
    pub(crate) fn open_ids(&self) -> Vec<String> {
        let retained = self.retained.load();
        let ids = retained.iter().map(|kept| kept.id().to_owned());
        ids.chain([self.served().id().to_owned()]).collect()
    }

    /// The open snapshot with this id: the served one, or one that is kept open.
    pub fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>> {
        let served = self.served();
        if served.id() == id {
            return Some(served);
        }
        self.retained.load().iter().find(|retained| retained.id() == id).cloned()
    }

    /// The mirrors that send absent chunks, if any.
    pub(crate) fn upstream(&self) -> Option<&Arc<Upstream>> {
        self.options.upstream.as_ref()
    }

    /// Issues that outlive a served snapshot.
    pub fn health(&self) -> &HealthState {
        &self.health
    }

    /// The bytes of the rows of recent filters.
    pub fn kept_sets_bytes(&self) -> u64 {
        self.options.kept_sets.bytes()
    }

    pub(super) fn owner(&self) -> MutexGuard<'_, Owner> {
        // A panic while the lock is held leaves whole values.
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_load(&self) -> MutexGuard<'_, ()> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies changes since the last call: a changed suppression list, an expiry, a changed `next`, and a changed
    /// `current`.
    ///
    /// Also watches the system's clock, and logs reminders of issues that persist. Cost without changes: four `stat` calls.
    pub fn apply_changes(&self) {
        self.health.watch_clock();
        self.apply_suppression(false);
        let served = self.served();
        freshness::log_expiry(&served);
        self.log_reminders(&served);
        let Some(directory) = &self.directory else { return };
        self.follow_next(directory);
        if self.needs_load(directory) {
            self.load_target();
        }
    }

    /// Loads the suppression list and the snapshot of `current` again, whether they changed or not.
    ///
    /// On failure, the previous list or snapshot stays. Waits up to 10 s for requests to the snapshot closed
    /// last, so that at most one more snapshot is mapped than are served and kept open.
    pub fn reload(&self) {
        self.apply_suppression(true);
        self.load_target();
    }

    /// Logs issues that persist, when a reminder is due.
    fn log_reminders(&self, served: &ServedSnapshot) {
        let issues = self.health.issues(served, Utc::now());
        if self.owner().reminder.is_due(!issues.is_empty(), Instant::now()) {
            issues.into_iter().for_each(|issue| health::log_reminder(served.id(), issue));
        }
    }

    /// Whether the snapshot of `current` has to be loaded: the link changed or is whole again, or a retry is due.
    /// A link that stays broken is loaded once, which reports it.
    fn needs_load(&self, directory: &Path) -> bool {
        let current = directory.join(CURRENT);
        let link = LinkVersion::read(&current);
        let mut owner = self.owner();
        let is_there = current.metadata().is_ok() || owner.next.due_path(directory).is_some();
        let is_changed = link.is_some() && link != owner.link;
        let (is_other, is_retry) = match &owner.serving {
            Serving::Target => (false, false),
            Serving::Other { retry, .. } => {
                (true, retry.is_some_and(|(at, _)| Instant::now() >= at))
            }
        };
        let is_broken_or_mended = match is_there {
            true => owner.broken_since.take().is_some() && is_other,
            false => {
                let now = Instant::now();
                let since = *owner.broken_since.get_or_insert(now);
                now.duration_since(since) >= BROKEN_LINK_TIMEOUT && !is_other
            }
        };
        is_changed || is_retry || is_broken_or_mended
    }

    /// Path of the snapshot to serve: that of `next` from its time on, else that of `current`.
    pub(super) fn find_target(&self) -> Result<PathBuf, LoadError> {
        let Some(directory) = &self.directory else {
            return Ok(self.served().snapshot.path().to_path_buf());
        };
        match self.owner().next.due_path(directory) {
            Some(path) => Ok(path),
            None => Ok(resolve_link(&directory.join(CURRENT))?),
        }
    }

    /// Loads the snapshot to serve, unless it is served and intact. On failure the served snapshot stays.
    pub(super) fn load_target(&self) {
        let _loading = self.begin_load();
        let served = self.served();
        if let Some(directory) = &self.directory {
            let link = LinkVersion::read(&directory.join(CURRENT));
            let mut owner = self.owner();
            if link != owner.link {
                owner.forget_refusal();
            }
            owner.link = link;
        }
        // Opened without the lock of the owner, which requests that find damage need.
        let loaded = self.find_target().and_then(|path| {
            if path == served.snapshot.path() && !served.is_poisoned() {
                return Ok(None);
            }
            self.await_release();
            self.open_served(&path).map(Some)
        });
        match loaded {
            Ok(Some(loaded)) => self.serve(loaded),
            Ok(None) => {
                self.set_serving(&mut self.owner(), Serving::Target);
                freshness::refresh(&served);
                tracing::info!(
                    snapshot = served.id(),
                    "`current` still points to the served snapshot"
                );
            }
            Err(error) => self.refuse(&served, &error),
        }
    }

    /// Keeps the served snapshot, because the snapshot to serve cannot be loaded, and plans a retry.
    fn refuse(&self, served: &ServedSnapshot, error: &LoadError) {
        let mut owner = self.owner();
        let (retry, refused) = match &mut owner.serving {
            Serving::Target => (None, None),
            Serving::Other { retry, refused } => (*retry, refused.take()),
        };
        let pause = retry.map_or(RETRY_PAUSE_FIRST, |(_, pause)| (pause * 2).min(RETRY_PAUSE_MAX));
        let (text, now) = (error.to_string(), Instant::now());
        let repeated = refused
            .filter(|(before, at)| *before == text && now.duration_since(*at) < REPEATED_REFUSAL);
        let is_new = repeated.is_none();
        let refused = repeated.or(Some((text, now)));
        let retry = Some((now + pause, pause));
        self.set_serving(&mut owner, Serving::Other { retry, refused });
        // After the change, so that `/health` says it to whoever reads the log.
        if is_new {
            LOADS.count(Load::Refused);
            tracing::error!(
                %error,
                snapshot = served.id(),
                "cannot load the snapshot of `current`; keeping the served snapshot"
            );
        }
    }

    fn set_serving(&self, owner: &mut Owner, serving: Serving) {
        self.health.set_fallback(matches!(serving, Serving::Other { .. }));
        owner.serving = serving;
    }

    /// Opens a snapshot for serving; verifies a snapshot that proved damaged before.
    pub(crate) fn open_served(&self, path: &Path) -> Result<Arc<ServedSnapshot>, LoadError> {
        let opened = self.options.open(path)?;
        let id = opened.manifest().id.clone();
        if self.owner().poisoned.contains(&id) {
            tracing::info!(
                snapshot = id,
                "the snapshot was damaged before; verifying every byte and record"
            );
            opened.waiting().verify()?;
            self.owner().poisoned.remove(&id);
            tracing::info!(snapshot = id, "the snapshot is intact again");
        }
        Ok(Arc::new(newly_opened(opened)))
    }

    /// Answers from another snapshot.
    pub(super) fn serve(&self, loaded: Arc<ServedSnapshot>) {
        let before = {
            let mut owner = self.owner();
            self.set_serving(&mut owner, Serving::Target);
            self.served.swap(loaded)
        };
        let closed = self.retain(Some(before));
        self.owner().closed = closed.as_ref().map_or_else(Weak::new, Arc::downgrade);
    }

    /// Waits until requests have released the snapshot closed last, at most [`RELEASE_TIMEOUT`].
    pub(super) fn await_release(&self) {
        let closed = self.owner().closed.clone();
        let start = Instant::now();
        while closed.strong_count() > 0 && start.elapsed() < RELEASE_TIMEOUT {
            std::thread::sleep(RELEASE_INTERVAL);
        }
    }

    /// Chooses the snapshots that stay open besides the served one, and closes the others. Returns one of
    /// those.
    fn retain(&self, before: Option<Arc<ServedSnapshot>>) -> Option<Arc<ServedSnapshot>> {
        let (Some(directory), 1..) = (&self.directory, self.options.keep_open) else {
            return before;
        };
        let mut unwanted = self.owner().poisoned.clone();
        let mut known = self.retained.load().to_vec();
        known.extend(before);
        let open = |path: &Path| {
            let opened = self.options.open(path)?;
            Ok(Arc::new(newly_opened(opened)))
        };
        let served = self.served();
        unwanted.insert(served.id().to_owned());
        let manifest = served.snapshot.manifest();
        let count_max = self.options.keep_open;
        let look = |path: &Path| self.options.look(path);
        let mut chosen =
            fallback::retained(directory, manifest, &known, &unwanted, look, open, count_max);
        let closed = known.into_iter().find(|of| !chosen.iter().any(|kept| Arc::ptr_eq(kept, of)));
        let owner = self.owner();
        // A request may have found one of them damaged meanwhile.
        chosen.retain(|kept| !owner.poisoned.contains(kept.id()));
        self.retained.store(Arc::new(chosen));
        closed
    }

    /// Reads the suppression list if its file changed or `is_forced`, and applies the list to every open snapshot.
    ///
    /// A snapshot that cannot apply the list is not served: the list protects people.
    pub(super) fn apply_suppression(&self, is_forced: bool) {
        let Some(suppression) = &self.options.suppression else { return };
        suppression.reload(is_forced);
        self.health.set_list_refused(suppression.is_refused());
        let mut owner = self.owner();
        let served = self.served();
        match self.with_list(&served) {
            Ok(None) => {}
            Ok(Some(updated)) => self.served.store(updated),
            Err(ReadError::Absent { file }) => {
                // Tried again at the next check.
                self.health.set_list_refused(true);
                tracing::error!(
                    file,
                    "no mirror sends what the suppression list needs; the previous list stays in force"
                );
            }
            Err(error) if served.is_poisoned() => {
                tracing::error!(%error, "cannot apply the suppression list to a poisoned snapshot");
            }
            Err(error) => self.poison_owned(&mut owner, &served, &error),
        }
        let mut retained = self.retained.load().to_vec();
        retained.retain_mut(|kept| self.is_suppressed("an earlier snapshot", kept));
        self.retained.store(Arc::new(retained));
        if let Some(scheduled) = &mut owner.next.scheduled {
            let opened = scheduled.opened.take();
            scheduled.opened = opened.and_then(|mut of| {
                self.is_suppressed("the scheduled snapshot", &mut of).then_some(of)
            });
        }
    }

    /// Applies the list in force to a snapshot that is not served; false if that fails.
    fn is_suppressed(&self, what: &str, opened: &mut Arc<ServedSnapshot>) -> bool {
        match self.with_list(opened) {
            Ok(None) => true,
            Ok(Some(updated)) => {
                *opened = updated;
                true
            }
            Err(error) => {
                let snapshot = opened.id();
                tracing::error!(snapshot, %error, "cannot suppress records of {what}; closing it");
                false
            }
        }
    }

    /// The snapshot with the suppression list in force; `None` if it has the list already.
    pub(super) fn with_list(
        &self,
        opened: &ServedSnapshot,
    ) -> Result<Option<Arc<ServedSnapshot>>, ReadError> {
        let updated = self.options.suppressed(&opened.snapshot)?;
        Ok(updated.map(|snapshot| {
            let updated = freshness::served(snapshot);
            if opened.is_poisoned() {
                updated.poison();
            }
            Arc::new(updated)
        }))
    }

    /// Checks the files of the open snapshots for outside changes.
    ///
    /// A file whose size changed poisons the snapshot; a file that was written to is verified again. Cost: one
    /// system call per file.
    pub fn check_files(&self) {
        let served = self.served();
        for opened in self.retained.load().iter().chain([&served]).filter(|of| !of.is_poisoned()) {
            match opened.snapshot.check_files() {
                Err(fault) => self.poison(opened, &fault.into()),
                Ok(written) => written.into_iter().for_each(|file| {
                    tracing::warn!(
                        snapshot = opened.id(),
                        file,
                        "a published file was written to or touched; verifying all its chunks again"
                    );
                }),
            }
        }
    }

    /// Takes a damaged snapshot out of service, and serves a fallback if there is one. Chunks that no mirror sends are no
    /// damage.
    pub fn poison(&self, damaged: &Arc<ServedSnapshot>, error: &ReadError) {
        if !damaged.is_poisoned() && !matches!(error, ReadError::Absent { .. }) {
            self.poison_owned(&mut self.owner(), damaged, error);
        }
    }

    fn poison_owned(&self, owner: &mut Owner, damaged: &Arc<ServedSnapshot>, error: &ReadError) {
        // Of several requests that find the damage, one acts.
        if damaged.poison() {
            return;
        }
        POISONED.count(match error {
            ReadError::Damage(_) => Poison::Damage,
            ReadError::Fault(_) => Poison::Fault,
            _ => Poison::Content,
        });
        let id = damaged.id();
        tracing::error!(snapshot = id, %error, "snapshot poisoned: no more requests are answered from it");
        // Each chunk of a mirror is verified at its next touch, and so a mended snapshot is no other danger.
        let is_mended = damaged.snapshot.is_fetched() && matches!(error, ReadError::Fault(_));
        if !is_mended {
            owner.poisoned.insert(id.to_owned());
        }
        let mut retained = self.retained.load().to_vec();
        retained.retain(|kept| kept.id() != id);
        self.retained.store(Arc::new(retained));
        // An earlier snapshot needs no replacement, and a served one may be replaced already.
        if !Arc::ptr_eq(&self.served(), damaged) {
            return;
        }
        if is_mended {
            let retry = Some((Instant::now(), RETRY_PAUSE_FIRST));
            return self.set_serving(owner, Serving::Other { retry, refused: None });
        }
        let Some(fallback) = self.open_fallback(owner, damaged) else {
            return tracing::error!(
                "no other snapshot can be served; answering 503 until `current` changes or SIGHUP arrives, and the \
                 snapshot of `current` is intact"
            );
        };
        // First, so that `/health` never says that the snapshot of `current` is served.
        self.set_serving(owner, Serving::Other { retry: None, refused: None });
        self.served.store(Arc::clone(&fallback));
        tracing::warn!(snapshot = fallback.id(), "serving another snapshot in its place");
    }

    /// Opens the best snapshot to serve in place of a damaged one. Only the chosen one is opened for serving.
    fn open_fallback(
        &self,
        owner: &mut Owner,
        damaged: &ServedSnapshot,
    ) -> Option<Arc<ServedSnapshot>> {
        let directory = self.directory.as_ref()?;
        let lost = damaged.snapshot.manifest();
        let mut candidates =
            fallback::candidates(directory, lost, &owner.poisoned, |path| self.options.look(path));
        while let Some(best) = candidates.pop() {
            let opened = self.options.map(best.path());
            let opened = opened.map_err(LoadError::from).and_then(|of| self.options.prepare(of));
            match opened {
                Ok(opened) => {
                    return Some(Arc::new(newly_opened(opened)));
                }
                Err(error) => {
                    if matches!(error, LoadError::Damaged { .. }) {
                        owner.poisoned.insert(best.manifest().id.clone());
                    }
                    tracing::warn!(%error, "cannot serve this snapshot as fallback");
                }
            }
        }
        None
    }
}

impl Owner {
    /// Forgets why `current` was refused, because `current` is another link now.
    fn forget_refusal(&mut self) {
        if let Serving::Other { refused, .. } = &mut self.serving {
            *refused = None;
        }
    }
}
