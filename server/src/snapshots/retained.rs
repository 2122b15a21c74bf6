//! Earlier snapshots that stay open, for requests that name them.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pinakes_format::snapshot::HISTORY;
use pinakes_format::snapshot::suppression_list::SuppressionList;

use crate::snapshots::fallback;
use crate::snapshots::health::HealthState;
use crate::snapshots::manager::LoadError;
use crate::snapshots::served::ServedSnapshot;

/// The snapshots that stay open besides the served one, the latest first.
pub struct RetainedSnapshots {
    /// The most that stay open.
    count_max: usize,
    open: Mutex<Vec<Arc<ServedSnapshot>>>,
}

impl RetainedSnapshots {
    /// Keeps at most this many open; [`RetainedSnapshots::choose`] opens them.
    pub fn new(count_max: usize) -> RetainedSnapshots {
        RetainedSnapshots { count_max, open: Mutex::default() }
    }

    /// The snapshot with this id.
    pub fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>> {
        self.lock().iter().find(|retained| retained.snapshot.manifest().id == id).cloned()
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<ServedSnapshot>> {
        self.lock().clone()
    }

    /// Closes the snapshot with this id; returns whether it was here.
    pub fn remove(&self, id: &str) -> bool {
        let mut open = self.lock();
        let count = open.len();
        open.retain(|retained| retained.snapshot.manifest().id != id);
        open.len() < count
    }

    /// Keeps the snapshots open that were published last before `served`, and closes the others. Returns
    /// one of those.
    ///
    /// A snapshot that shows records which `--suppress` removed from `served` does not stay, nor does a later
    /// one, which a rollback withdrew.
    pub fn choose(
        &self,
        snapshots: &Path,
        served: &ServedSnapshot,
        previous: Option<Arc<ServedSnapshot>>,
        poisoned: &BTreeSet<String>,
        open: impl Fn(&Path) -> Result<ServedSnapshot, LoadError>,
    ) -> Option<Arc<ServedSnapshot>> {
        if self.count_max == 0 {
            return previous;
        }
        let mut unwanted = poisoned.clone();
        unwanted.insert(served.snapshot.manifest().id.clone());
        let history = fs::read_to_string(snapshots.join(HISTORY)).unwrap_or_default();
        let mut known = self.all();
        known.extend(previous);
        let candidates = fallback::candidates(snapshots, served.snapshot.manifest(), &unwanted);
        let chosen: Vec<Arc<ServedSnapshot>> = candidates
            .iter()
            .rev()
            // A snapshot that was never current is nobody's.
            .filter(|candidate| history.lines().any(|id| id == candidate.manifest().id))
            .filter_map(|candidate| {
                let is_same = |known: &&Arc<ServedSnapshot>| {
                    known.snapshot.manifest().id == candidate.manifest().id && !known.is_poisoned()
                };
                if let Some(known) = known.iter().find(is_same) {
                    return Some(Arc::clone(known));
                }
                let opened = open(candidate.path());
                opened
                    .inspect_err(|error| tracing::warn!(%error, "cannot keep this snapshot open"))
                    .map(Arc::new)
                    .ok()
            })
            .take(self.count_max)
            .collect();
        *self.lock() = chosen.clone();
        known.into_iter().find(|known| !chosen.iter().any(|chosen| Arc::ptr_eq(chosen, known)))
    }

    /// Applies a suppression list; closes a snapshot that cannot apply it.
    pub fn suppress(&self, list: &Arc<SuppressionList>, health: &Arc<HealthState>) {
        let mut open = self.lock();
        open.retain_mut(|retained| {
            if retained.snapshot.suppresses(list) {
                return true;
            }
            match retained.snapshot.without(list) {
                Ok(snapshot) => {
                    *retained = Arc::new(ServedSnapshot::new(snapshot, health));
                    true
                }
                Err(error) => {
                    let snapshot = &retained.snapshot.manifest().id;
                    tracing::error!(snapshot, %error, "cannot suppress records; closing the snapshot");
                    false
                }
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ServedSnapshot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
