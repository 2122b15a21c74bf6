//! Which snapshot may be served in place of one that cannot be.

use std::{collections::BTreeSet, fs, path::Path};

use pinakes_format::snapshot::{HISTORY, Snapshot};
use pinakes_format::storage::manifest::Manifest;

/// Those that may be served in place of a lost one, the best last.
///
/// The best is the one published before it, as near before as there is one that opens; of those whose order
/// is not known the one with the newest data. None is among them that `current` was led back from, none
/// that proved damaged, and none that shows what was left out of the lost one.
pub fn candidates(snapshots: &Path, lost: &Manifest, poisoned: &BTreeSet<String>) -> Vec<Snapshot> {
    let history = fs::read_to_string(snapshots.join(HISTORY)).unwrap_or_default();
    let history: Vec<&str> = history.lines().collect();
    let place_of = |id: &str| history.iter().rposition(|line| *line == id);
    let before = place_of(&lost.id);
    let withheld = |of: &Manifest| of.suppressed.values().sum::<u64>();
    let mut found: Vec<Snapshot> = fs::read_dir(snapshots)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .filter_map(|entry| Snapshot::open(&entry.path()).ok())
        .filter(|snapshot| {
            let manifest = snapshot.manifest();
            let is_later = before.is_some() && place_of(&manifest.id) > before;
            let shows_more = withheld(manifest) < withheld(lost);
            let may_be = !poisoned.contains(&manifest.id) && !is_later;
            if may_be && shows_more {
                tracing::warn!(
                    snapshot = manifest.id,
                    "not served instead: it shows records that `--suppress` left out of the one that is lost; \
                     build that one again, or restore it"
                );
            }
            may_be && !shows_more
        })
        .collect();
    found.sort_by_key(|snapshot| {
        let manifest = snapshot.manifest();
        let newest = manifest.source.newest_updated_date.clone();
        (place_of(&manifest.id), newest, manifest.id.clone())
    });
    found
}
