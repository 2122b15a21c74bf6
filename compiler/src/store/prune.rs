//! `--keep`: removes old snapshots, and objects that no remaining snapshot was built from.

use std::{
    collections::BTreeSet, fmt::Write, fs, io, num::NonZeroUsize, path::Path, time::SystemTime,
};

use pinakes_format::snapshot::next::{CURRENT, NEXT};
use pinakes_format::storage::{MANIFEST, Manifest};
use pinakes_store::directory::linked;
use pinakes_store::lock::LockedDirectory;
use pinakes_store::publish::remove_snapshot;
use pinakes_store::{history, rolled_back};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::object::directory::part_of;

/// The object directory of the run that just published.
#[derive(Clone, Copy, Debug)]
pub struct ObjectDirectory<'d> {
    pub directory: &'d Path,
    /// Start of the run. A younger object may belong to another run that has not published yet.
    pub begun: SystemTime,
}

/// Snapshots and objects that [`prune`] removed or could not remove.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PruneReport {
    /// Ids of the removed snapshots, the oldest first.
    pub snapshots: Vec<String>,
    /// Ids of old snapshots that another process has open, the oldest first. The next run tries again.
    pub in_use: Vec<String>,
    /// Number of removed objects.
    pub objects: u64,
    /// Bytes of the removed objects.
    pub object_bytes: u64,
    /// One message for each failure.
    pub failed: Vec<String>,
}

impl PruneReport {
    /// Prints a warning for each failure.
    pub(crate) fn print_failed(&self) {
        for failed in &self.failed {
            eprintln!("warning: published, but `--keep` could not remove everything: {failed}");
        }
    }

    /// Formats one line about removed snapshots and objects, and one about snapshots in use.
    pub fn outcome(&self) -> String {
        let mut text = String::new();
        if !self.snapshots.is_empty() || self.objects > 0 {
            let ids = match self.snapshots.is_empty() {
                true => "none".to_owned(),
                false => self.snapshots.join(", "),
            };
            let objects = self.objects;
            let _ = writeln!(text, "{:>10} snapshots: {ids}; objects: {objects}", "removed");
        }
        if !self.in_use.is_empty() {
            let ids = self.in_use.join(", ");
            let _ = writeln!(text, "{:>10} snapshots beyond --keep, still in use: {ids}", "kept");
        }
        text
    }
}

/// Keeps `keep` snapshots: the current one, a scheduled one and the most recently published ones. Removes
/// the others, except those that a process has open. Removes the objects that no remaining snapshot was built from.
///
/// Failures become messages in the report, because the new snapshot is published already.
pub fn prune(
    lock: &LockedDirectory,
    keep: NonZeroUsize,
    objects: Option<ObjectDirectory<'_>>,
) -> PruneReport {
    let mut pruned = PruneReport::default();
    let snapshots = lock.directory();
    match history::read_order(snapshots).and_then(|ids| Ok((ids, rolled_back::read(snapshots)?))) {
        Ok((ids, rolled_back_ids)) => {
            // Snapshots that were rolled back from are removed before older ones that were served.
            let (rolled_back_ids, served): (Vec<_>, Vec<_>) =
                ids.into_iter().partition(|id| rolled_back_ids.contains(id));
            prune_snapshots(snapshots, [rolled_back_ids, served].concat(), keep, &mut pruned);
        }
        Err(error) => pruned.failed.push(error.to_string()),
    }
    if let Some(objects) = objects {
        let outcome = prune_objects(snapshots, objects, &mut pruned);
        pruned.failed.extend(outcome.err().map(|error| error.message_without_publishing()));
    }
    pruned
}

fn prune_snapshots(
    snapshots: &Path,
    ids: Vec<String>,
    keep: NonZeroUsize,
    pruned: &mut PruneReport,
) {
    let links = [CURRENT, NEXT].map(|link| linked(snapshots, link));
    // The current and the scheduled snapshot count as kept, whatever their position in the order.
    let (linked, others): (Vec<String>, Vec<String>) =
        ids.into_iter().partition(|id| links.iter().flatten().any(|linked| linked == id));
    let beyond = others.len().saturating_sub(keep.get().saturating_sub(linked.len().max(1)));
    for id in others.into_iter().take(beyond) {
        match remove_snapshot(snapshots, &id) {
            Ok(true) => pruned.snapshots.push(id),
            Ok(false) => pruned.in_use.push(id),
            Err(error) => pruned.failed.push(error.to_string()),
        }
    }
}

fn prune_objects(
    snapshots: &Path,
    objects: ObjectDirectory<'_>,
    pruned: &mut PruneReport,
) -> Result<()> {
    let needed = parts_of_snapshots(snapshots)?;
    let directory = objects.directory;
    for entry in fs::read_dir(directory).map_err(Error::output(directory))? {
        let path = entry.map_err(Error::output(directory))?.path();
        // The hash of the part: of an object, or of a version of a part.
        let extension = path.extension().and_then(|extension| extension.to_str());
        let part = match extension {
            Some("object") => part_of(&path),
            Some("hash") => fs::read_to_string(&path).ok(),
            _ => continue,
        };
        let Some(metadata) = unless_removed(fs::metadata(&path), &path)? else { continue };
        let is_older = metadata.modified().is_ok_and(|modified| modified < objects.begun);
        // An object without a readable part hash is damaged or of another version, and useless.
        let is_needed = part.is_some_and(|part| needed.contains(&part));
        if is_older && !is_needed {
            let removed = unless_removed(fs::remove_file(&path), &path)?.is_some();
            if removed && extension == Some("object") {
                pruned.objects += 1;
                pruned.object_bytes += metadata.len();
            }
        }
    }
    Ok(())
}

/// The result of a step on a file of the directory of objects; `None` if another run has removed the file.
fn unless_removed<T>(result: io::Result<T>, path: &Path) -> Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some).map_err(Error::output(path)),
    }
}

/// Returns the hashes of the parts that the remaining snapshots were built from. Skips a snapshot with
/// an unreadable manifest: it can be neither served nor rebuilt.
fn parts_of_snapshots(snapshots: &Path) -> Result<BTreeSet<String>> {
    let mut parts = BTreeSet::new();
    for id in history::read_order(snapshots)? {
        let text = fs::read(snapshots.join(id).join(MANIFEST)).unwrap_or_default();
        if let Ok(manifest) = Manifest::read(&text) {
            parts.extend(manifest.source.parts);
        }
    }
    Ok(parts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{os::unix::fs::symlink, time::Duration};

    use super::*;

    #[test]
    fn objects_that_another_run_removes_meanwhile_are_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let (snapshots, objects) =
            (directory.path().join("snapshots"), directory.path().join("objects"));
        fs::create_dir(&snapshots).unwrap();
        fs::create_dir(&objects).unwrap();
        fs::write(objects.join("useless.object"), "bytes").unwrap();
        // The listing of the directory has these names, and there is no file of these names.
        for number in 0..20 {
            symlink("nowhere", objects.join(format!("{number}.object"))).unwrap();
        }
        let begun = SystemTime::now() + Duration::from_secs(10);
        let objects = ObjectDirectory { directory: &objects, begun };
        let mut pruned = PruneReport::default();
        prune_objects(&snapshots, objects, &mut pruned).unwrap();
        assert_eq!((pruned.objects, pruned.object_bytes), (1, 5));
    }
}
