//! Snapshots that may be served in place of a lost snapshot.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use pinakes_answer::ServedSnapshot;
use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_format::snapshot::{HISTORY, OpenError, SUPPRESSION_LISTS, Snapshot};
use pinakes_format::storage::Manifest;

use crate::snapshots::open::LoadError;

/// Opens the snapshots that may be served in place of `lost`, the best last.
///
/// The best is the last snapshot published before `lost`. Snapshots that the history does not list come first,
/// ordered by their newest data. Four kinds are left out: snapshots published after `lost`, poisoned
/// snapshots, snapshots that do not open, and snapshots that show records which `lost` suppresses.
///
/// With the history `a b c d`, `lost` = `c` and `a` poisoned, the candidates are `b` and any unlisted snapshot,
/// with `b` last. `look` opens a snapshot without reading it.
pub fn candidates(
    snapshots: &Path,
    lost: &Manifest,
    poisoned: &BTreeSet<String>,
    look: impl Fn(&Path) -> Result<Snapshot, OpenError>,
) -> Vec<Snapshot> {
    let history = fs::read_to_string(snapshots.join(HISTORY)).unwrap_or_default();
    let history: Vec<&str> = history.lines().collect();
    let history_index = |id: &str| history.iter().rposition(|line| *line == id);
    // A snapshot published after the lost one was withdrawn, or is what was lost: neither replaces it.
    let lost_index = history_index(&lost.id);
    let mut candidates: Vec<Snapshot> = fs::read_dir(snapshots)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .filter_map(|entry| look(&entry.path()).ok())
        .filter(|snapshot| {
            let manifest = snapshot.manifest();
            let is_later = lost_index.is_some() && history_index(&manifest.id) > lost_index;
            let shows_more = shows_suppressed(snapshots, manifest, lost);
            let is_candidate = !poisoned.contains(&manifest.id) && !is_later;
            if is_candidate && shows_more {
                tracing::warn!(
                    snapshot = manifest.id,
                    lost = lost.id,
                    "not a fallback: the snapshot shows records that `--suppress` removed from the lost \
                     snapshot; build or restore the lost snapshot"
                );
            }
            is_candidate && !shows_more
        })
        .collect();
    candidates.sort_by_key(|snapshot| {
        let manifest = snapshot.manifest();
        let newest = manifest.source.newest_updated_date.clone();
        (history_index(&manifest.id), newest, manifest.id.clone())
    });
    candidates
}

/// Whether a snapshot shows, or may show, a record that `lost` suppresses: their sets of ids differ, and the
/// lists are not here to tell that every id of `lost` is suppressed.
fn shows_suppressed(snapshots: &Path, candidate: &Manifest, lost: &Manifest) -> bool {
    if lost.suppression.is_none() || candidate.suppression == lost.suppression {
        return false;
    }
    let list_of = |manifest: &Manifest| {
        let list = SuppressionList::read(&snapshots.join(SUPPRESSION_LISTS).join(&manifest.id));
        list.ok().filter(|list| manifest.suppression.as_deref() == Some(&**list.digits()))
    };
    match (list_of(lost), list_of(candidate)) {
        (Some(lost), Some(candidate)) => lost.without(&candidate).next().is_some(),
        _ => true,
    }
}

/// Opens the snapshots that were published before the served one, the latest first; of the `known` ones, takes
/// those that are open.
///
/// A snapshot that shows records which `--suppress` removed from the served one is not among them, nor is a later
/// one, which a rollback withdrew.
pub fn retained(
    directory: &Path,
    served: &Manifest,
    known: &[Arc<ServedSnapshot>],
    unwanted: &BTreeSet<String>,
    look: impl Fn(&Path) -> Result<Snapshot, OpenError>,
    open: impl Fn(&Path) -> Result<Arc<ServedSnapshot>, LoadError>,
    count_max: usize,
) -> Vec<Arc<ServedSnapshot>> {
    let history = fs::read_to_string(directory.join(HISTORY)).unwrap_or_default();
    let candidates = candidates(directory, served, unwanted, look);
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
