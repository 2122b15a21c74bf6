//! The scheduled snapshot: opened ahead of its time, and served from that instant on.
//!
//! `pull` writes the link `next` for a publication with `activate_at`. Servers of a fleet open the snapshot when
//! they see the link, and switch when their clocks reach the time. They need no message from each other.
//!
//! From its time on, `next` means what `current` means: a snapshot that could not be opened ahead is loaded
//! with the retries of `current`. The check at the instant reads the link again, so a link that was replaced or
//! withdrawn a moment before has no effect.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chrono::{DateTime, SecondsFormat, Utc};
use pinakes_format::snapshot::next::{NEXT, NextSnapshot};
use tokio::sync::Notify;

use crate::snapshots::manager::{LinkVersion, LoadError, SnapshotManager};
use crate::snapshots::served::ServedSnapshot;

/// The scheduled snapshot, if there is one.
#[derive(Default)]
pub(super) struct Activation {
    state: Mutex<ActivationState>,
    /// Notified when a snapshot is scheduled.
    scheduled: Notify,
}

#[derive(Default)]
struct ActivationState {
    /// The link `next` at the last check.
    link: Option<LinkVersion>,
    scheduled: Option<Scheduled>,
    /// The link whose time has come. It stays due when the clock jumps back.
    due: Option<LinkVersion>,
}

struct Scheduled {
    path: PathBuf,
    activates_at: DateTime<Utc>,
    /// The open snapshot; `None` if it was refused, or is being opened.
    opened: Option<Arc<ServedSnapshot>>,
}

impl Activation {
    fn state(&self) -> MutexGuard<'_, ActivationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Path of the snapshot of `next`, if its time has come.
    pub(super) fn due_path(&self, snapshots: &Path) -> Option<PathBuf> {
        let link = LinkVersion::read(&snapshots.join(NEXT))?;
        let next = NextSnapshot::read(snapshots).ok().flatten()?;
        let mut state = self.state();
        let is_due = state.due == Some(link) || next.activates_at <= Utc::now();
        state.due = is_due.then_some(link);
        is_due.then_some(next.path)
    }
}

impl SnapshotManager {
    /// Opens the snapshot of a new link `next`, and drops a snapshot whose link was removed or replaced.
    ///
    /// Cost without changes: one `lstat` call.
    pub(super) fn follow_next(&self, snapshots: &Path) {
        let link = LinkVersion::read(&snapshots.join(NEXT));
        {
            let mut state = self.activation.state();
            if link == state.link {
                drop(state);
                return self.suppress_scheduled();
            }
            state.link = link;
        }
        let next = match NextSnapshot::read(snapshots) {
            Ok(next) => next,
            Err(error) => {
                tracing::error!(%error, "refused the scheduled snapshot; `current` stays in force");
                None
            }
        };
        let Some(next) = next else {
            if let Some(withdrawn) = self.activation.state().scheduled.take() {
                let path = withdrawn.path.display();
                tracing::info!(%path, "the snapshot is no longer scheduled");
            }
            return;
        };
        if next.activates_at <= Utc::now() {
            self.activation.state().scheduled = None;
            return self.reload_snapshot();
        }
        self.schedule(&next);
    }

    /// Opens a snapshot ahead of its time. A refused snapshot stays scheduled, and is tried again at its time.
    fn schedule(&self, next: &NextSnapshot) {
        let NextSnapshot { path, activates_at, .. } = next;
        let before = self.activation.state().scheduled.take().and_then(|before| before.opened);
        let opened = match before.filter(|before| before.snapshot.path() == path) {
            Some(opened) => {
                opened.freshness.refresh(&opened.snapshot);
                Ok(opened)
            }
            None => {
                // At most the served, the scheduled and one other snapshot are mapped.
                self.await_release();
                self.open_served(path)
            }
        };
        let at = activates_at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        match &opened {
            Ok(_) => tracing::info!(snapshot = next.id, at, "opened a snapshot ahead of its time"),
            Err(error) => tracing::error!(
                %error, snapshot = next.id, at,
                "refused the scheduled snapshot; trying again at its time"
            ),
        }
        let (path, activates_at, opened) = (path.clone(), *activates_at, opened.ok());
        self.activation.state().scheduled = Some(Scheduled { path, activates_at, opened });
        self.activation.scheduled.notify_one();
    }

    /// Applies a changed suppression list to the scheduled snapshot.
    fn suppress_scheduled(&self) {
        let opened = self.activation.state().scheduled.as_ref().and_then(|of| of.opened.clone());
        let Some(opened) = opened else { return };
        let updated = match self.with_current_list(&opened) {
            Ok(Some(updated)) => Some(Arc::new(updated)),
            Ok(None) => return,
            Err(error) => {
                tracing::error!(%error, "cannot apply the suppression list to the scheduled snapshot");
                None
            }
        };
        // Another thread may have begun to serve it meanwhile.
        if let Some(scheduled) = &mut self.activation.state().scheduled {
            scheduled.opened = updated;
        }
    }

    /// Waits until the scheduled snapshot's time, at most `longest`. Returns early when one is scheduled.
    pub async fn await_activation(&self, longest: Duration) {
        let at = self.activation.state().scheduled.as_ref().map(|of| of.activates_at);
        // A negative difference is no duration: the time has come.
        let left = at.map_or(longest, |at| (at - Utc::now()).to_std().unwrap_or_default());
        let left = left.min(longest);
        let _ = tokio::time::timeout(left, self.activation.scheduled.notified()).await;
    }

    /// Whether the scheduled snapshot's time has come.
    pub fn is_activation_due(&self) -> bool {
        self.activates_at().is_some_and(|at| at <= Utc::now())
    }

    /// Time of the scheduled snapshot, if there is one.
    pub fn activates_at(&self) -> Option<DateTime<Utc>> {
        self.activation.state().scheduled.as_ref().map(|of| of.activates_at)
    }

    /// Serves the scheduled snapshot if its time has come.
    pub fn activate(&self) {
        if !self.is_activation_due() {
            return;
        }
        let Some(scheduled) = self.activation.state().scheduled.take() else { return };
        let is_target = self.find_target().is_ok_and(|target| target == scheduled.path);
        match scheduled.opened.filter(|_| is_target).map(|opened| self.serve_scheduled(opened)) {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::error!(%error, "cannot serve the snapshot opened ahead; loading it again");
                self.reload_snapshot();
            }
            None => self.reload_snapshot(),
        }
    }

    fn serve_scheduled(&self, opened: Arc<ServedSnapshot>) -> Result<(), LoadError> {
        let opened = match self.with_current_list(&opened)? {
            Some(updated) => Arc::new(updated),
            None => opened,
        };
        let snapshot = opened.snapshot.manifest().id.clone();
        let is_other = self.served().snapshot.path() != opened.snapshot.path();
        if is_other {
            self.replace_served(opened);
        }
        tracing::info!(snapshot, "the snapshot's time has come; answering from it");
        // The list may have changed between the two steps above.
        self.update_suppression(false);
        Ok(())
    }
}
