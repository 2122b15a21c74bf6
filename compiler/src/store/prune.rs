//! Removing the snapshots that are beyond those to keep, and the objects that no snapshot is made of.

use std::{collections::BTreeSet, fmt::Write, fs, num::NonZeroUsize, path::Path, time::SystemTime};

use pinakes_format::storage::manifest::{MANIFEST, Manifest};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::object::directory::part_of;
use crate::store::directory::current;
use crate::store::lock::OutputLock;
use crate::store::publish::discard;
use crate::store::{history, rolled_back};

/// Where a run that just published keeps its objects.
#[derive(Clone, Copy, Debug)]
pub struct Objects<'d> {
    /// The directory.
    pub directory: &'d Path,
    /// When the run began: what is younger may be another run's, which has not published yet.
    pub begun: SystemTime,
}

/// What was removed, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Snapshots removed, the oldest first.
    pub snapshots: Vec<String>,
    /// Snapshots beyond those to keep that somebody has open, the oldest first; the next run tries again.
    pub in_use: Vec<String>,
    /// Objects removed.
    pub objects: u64,
    /// Bytes of the objects removed.
    pub object_bytes: u64,
    /// What could not be looked at or removed.
    pub failed: Vec<String>,
}

impl Pruned {
    /// What is said of it at a run's end: a line of what was removed, one of what was not.
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
            let _ = writeln!(text, "{:>10} beyond --keep, since it is open: {ids}", "left");
        }
        text
    }
}

/// Keeps so many snapshots, the current one and those published last, and any that somebody has open;
/// of the objects those that a snapshot still there is made of.
///
/// Whatever fails is in what it says, and nothing else: the snapshot is published already.
pub fn prune(lock: &OutputLock, keep: NonZeroUsize, objects: Option<Objects<'_>>) -> Pruned {
    let mut pruned = Pruned::default();
    let snapshots = lock.directory();
    match history::order(snapshots).and_then(|ids| Ok((ids, rolled_back::read(snapshots)?))) {
        Ok((ids, held)) => {
            // What was rolled back from goes before what was served longer ago.
            let (held, served): (Vec<_>, Vec<_>) =
                ids.into_iter().partition(|id| held.contains(id));
            prune_snapshots(snapshots, [held, served].concat(), keep, &mut pruned);
        }
        Err(error) => pruned.failed.push(error.without_consequence()),
    }
    if let Some(objects) = objects {
        let outcome = prune_objects(snapshots, objects, &mut pruned);
        pruned.failed.extend(outcome.err().map(|error| error.without_consequence()));
    }
    pruned
}

fn prune_snapshots(snapshots: &Path, ids: Vec<String>, keep: NonZeroUsize, pruned: &mut Pruned) {
    let current = current(snapshots);
    let is_current = |id: &String| Some(id) == current.as_ref();
    // The current one is among those to keep, wherever it stands.
    let others: Vec<String> = ids.into_iter().filter(|id| !is_current(id)).collect();
    let beyond = others.len().saturating_sub(keep.get() - 1);
    for id in others.into_iter().take(beyond) {
        match discard(snapshots, &id) {
            Ok(true) => pruned.snapshots.push(id),
            Ok(false) => pruned.in_use.push(id),
            Err(error) => pruned.failed.push(error.without_consequence()),
        }
    }
}

fn prune_objects(snapshots: &Path, objects: Objects<'_>, pruned: &mut Pruned) -> Result<()> {
    let needed = parts_of_all(snapshots)?;
    let directory = objects.directory;
    for entry in fs::read_dir(directory).map_err(Error::output(directory))? {
        let path = entry.map_err(Error::output(directory))?.path();
        if path.extension().is_none_or(|extension| extension != "object") {
            continue;
        }
        let metadata = fs::metadata(&path).map_err(Error::output(&path))?;
        let is_older = metadata.modified().is_ok_and(|modified| modified < objects.begun);
        // One that names no part is damaged or of another version: nobody can use it.
        let is_needed = part_of(&path).is_some_and(|part| needed.contains(&part));
        if is_older && !is_needed {
            fs::remove_file(&path).map_err(Error::output(&path))?;
            pruned.objects += 1;
            pruned.object_bytes += metadata.len();
        }
    }
    Ok(())
}

/// The hashes of the parts that the snapshots still there were made of. One whose manifest cannot be
/// read needs none: it can be neither served nor made again as it is.
fn parts_of_all(snapshots: &Path) -> Result<BTreeSet<String>> {
    let mut parts = BTreeSet::new();
    for id in history::order(snapshots)? {
        let text = fs::read(snapshots.join(id).join(MANIFEST)).unwrap_or_default();
        if let Ok(manifest) = Manifest::read(&text) {
            parts.extend(manifest.source.parts);
        }
    }
    Ok(parts)
}
