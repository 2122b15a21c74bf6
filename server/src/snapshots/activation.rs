//! The scheduled snapshot: opened ahead of its time, and served from that instant on.
//!
//! `pull` writes the link `next` for a publication with `activate_at`. Servers of a fleet open the snapshot when
//! they see the link, and switch when their clocks reach the time. They need no message from each other.
//!
//! From its time on, `next` means what `current` means: a snapshot that could not be opened ahead is loaded
//! with the retries of `current`. The check at the instant reads the link again, so a link that was replaced or
//! withdrawn a moment before has no effect.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use pinakes_answer::ServedSnapshot;
use pinakes_format::snapshot::next::{NEXT, NextSnapshot};

use crate::snapshots::freshness;
use crate::snapshots::manager::SnapshotManager;

/// The link `next`, as the owner last saw it.
#[derive(Default)]
pub(super) struct NextLink {
    /// The link at the last check.
    link: Option<LinkVersion>,
    pub(super) scheduled: Option<Scheduled>,
    /// The link whose time has come. It stays due when the clock jumps back.
    due: Option<LinkVersion>,
}

/// A snapshot that is served from [`SnapshotManager::activates_at`] on.
pub(super) struct Scheduled {
    path: PathBuf,
    /// The open snapshot; `None` if it was refused.
    pub(super) opened: Option<Arc<ServedSnapshot>>,
}

impl NextLink {
    /// Path of the snapshot of `next`, if its time has come.
    pub(super) fn due_path(&mut self, directory: &Path) -> Option<PathBuf> {
        let link = LinkVersion::read(&directory.join(NEXT))?;
        let next = NextSnapshot::read(directory).ok().flatten()?;
        let is_due = self.due == Some(link) || next.activates_at <= Utc::now();
        self.due = is_due.then_some(link);
        is_due.then_some(next.path)
    }
}

impl SnapshotManager {
    /// Opens the snapshot of a new link `next`, and drops a snapshot whose link was removed or replaced.
    ///
    /// Cost without changes: one `lstat` call.
    pub(super) fn follow_next(&self, directory: &Path) {
        let link = LinkVersion::read(&directory.join(NEXT));
        let before = {
            let mut owner = self.owner();
            if link == owner.next.link {
                return;
            }
            owner.next.link = link;
            owner.next.scheduled.take()
        };
        let next = match NextSnapshot::read(directory) {
            Ok(next) => next,
            Err(error) => {
                tracing::error!(%error, "refused the scheduled snapshot; `current` stays in force");
                None
            }
        };
        // A time that has passed makes `next` the target, which is loaded as `current` is.
        match next {
            Some(next) if next.activates_at > Utc::now() => self.schedule(&next, before),
            Some(_) => {
                self.set_activation(None);
                self.load_target();
            }
            None => {
                self.set_activation(None);
                if let Some(withdrawn) = before {
                    let path = withdrawn.path.display();
                    tracing::info!(%path, "the snapshot is no longer scheduled");
                }
            }
        }
    }

    /// Opens a snapshot ahead of its time, unless it is the one scheduled before. A refused snapshot stays
    /// scheduled, and is tried again at its time.
    fn schedule(&self, next: &NextSnapshot, before: Option<Scheduled>) {
        let NextSnapshot { path, activates_at, .. } = next;
        let known = before.and_then(|before| before.opened);
        let opened = match known.filter(|known| known.snapshot.path() == path) {
            Some(known) => {
                freshness::refresh(&known);
                Ok(known)
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
        let (path, opened) = (path.clone(), opened.ok());
        self.owner().next.scheduled = Some(Scheduled { path, opened });
        self.set_activation(Some(*activates_at));
        // The list may have changed while the snapshot was opened.
        self.apply_suppression(false);
    }

    fn set_activation(&self, at: Option<DateTime<Utc>>) {
        self.activates_at.send_replace(at);
    }

    /// Time of the scheduled snapshot, if there is one.
    pub fn activates_at(&self) -> Option<DateTime<Utc>> {
        *self.activates_at.borrow()
    }

    /// Whether the scheduled snapshot's time has come.
    pub fn is_activation_due(&self) -> bool {
        self.activates_at().is_some_and(|at| at <= Utc::now())
    }

    /// Waits until the scheduled snapshot's time, at most `longest`. Returns early when one is scheduled.
    pub async fn await_activation(&self, longest: Duration) {
        let mut scheduled = self.activates_at.subscribe();
        let at = *scheduled.borrow_and_update();
        // A negative difference is no duration: the time has come.
        let left = at.map_or(longest, |at| (at - Utc::now()).to_std().unwrap_or_default());
        let _ = tokio::time::timeout(left.min(longest), scheduled.changed()).await;
    }

    /// Serves the scheduled snapshot if its time has come.
    pub fn activate(&self) {
        if !self.is_activation_due() {
            return;
        }
        let Some(scheduled) = self.owner().next.scheduled.take() else { return };
        self.set_activation(None);
        let is_target = self.find_target().is_ok_and(|target| target == scheduled.path);
        let Some(opened) = scheduled.opened.filter(|_| is_target) else {
            return self.load_target();
        };
        // The list may have changed since the last check.
        match self.with_list(&opened) {
            Ok(updated) => self.serve_scheduled(updated.unwrap_or(opened)),
            Err(error) => {
                tracing::error!(%error, "cannot serve the snapshot opened ahead; loading it again");
                self.load_target();
            }
        }
    }

    fn serve_scheduled(&self, opened: Arc<ServedSnapshot>) {
        let snapshot = opened.id().to_owned();
        if self.served().snapshot.path() != opened.snapshot.path() {
            self.serve(opened);
        }
        tracing::info!(snapshot, "the snapshot's time has come; answering from it");
        // The list may have changed between the two steps above.
        self.apply_suppression(false);
    }
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
    pub fn read(link: &Path) -> Option<LinkVersion> {
        let metadata = fs::symlink_metadata(link).ok()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Some(LinkVersion { inode: metadata.ino(), changed })
    }
}
