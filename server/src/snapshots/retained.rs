//! Earlier snapshots that stay open, for requests that name them.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use pinakes_answer::ServedSnapshot;
use pinakes_format::snapshot::{HISTORY, OpenError, Snapshot};
use pinakes_format::storage::manifest::Manifest;

use crate::snapshots::fallback;
use crate::snapshots::open::LoadError;

/// Opens the snapshots that were published before the served one, the latest first; of the `known` ones, takes
/// those that are open.
///
/// A snapshot that shows records which `--suppress` removed from the served one is not among them, nor is a later
/// one, which a rollback withdrew.
pub fn choose(
    directory: &Path,
    served: &Manifest,
    known: &[Arc<ServedSnapshot>],
    unwanted: &BTreeSet<String>,
    look: impl Fn(&Path) -> Result<Snapshot, OpenError>,
    open: impl Fn(&Path) -> Result<Arc<ServedSnapshot>, LoadError>,
    count_max: usize,
) -> Vec<Arc<ServedSnapshot>> {
    let history = fs::read_to_string(directory.join(HISTORY)).unwrap_or_default();
    let candidates = fallback::candidates(directory, served, unwanted, look);
    let mut chosen = Vec::new();
    for candidate in candidates.iter().rev() {
        let id = &candidate.manifest().id;
        // A snapshot that was never current is nobody's.
        if !history.lines().any(|line| line == id) {
            continue;
        }
        if chosen.len() == count_max {
            break;
        }
        match known.iter().find(|known| known.id() == id && !known.is_poisoned()) {
            Some(known) => chosen.push(Arc::clone(known)),
            None => match open(candidate.path()) {
                Ok(opened) => chosen.push(opened),
                Err(error) => tracing::warn!(%error, "cannot keep this snapshot open"),
            },
        }
    }
    chosen
}
