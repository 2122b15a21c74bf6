//! Going back to a snapshot that was published before.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use pinakes_format::snapshot::{Snapshot, read_manifest};
use pinakes_format::storage::manifest::Manifest;

use crate::error::{Error, Result};
use crate::store::directory::{CURRENT, current};
use crate::store::lock::refuse_shared;
use crate::store::publish::point;
use crate::store::{history, rolled_back};

/// Where `current` led and leads.
#[derive(Debug)]
pub struct RolledBack {
    /// The id of the snapshot that was in use; `None` where `current` led nowhere.
    pub from: Option<String>,
    /// Whether that one is held back from now on.
    pub is_held_back: bool,
    /// The snapshot in use now.
    pub path: PathBuf,
    /// Its newest record, as its manifest says it.
    pub newest_updated_date: Option<String>,
    /// Records that `--suppress` left out of the one that was in use, beyond those left out of this one.
    pub shown_again: u64,
}

/// Has `current` lead to the snapshot that was published before the one it leads to, or to the one
/// named, and notes which it goes back from: no run makes them current again. Beside that nothing but the
/// link is written, and nobody is waited for: a run under way goes on, and publishes when it is done.
///
/// # Errors
///
/// Where there is no such snapshot, or it cannot be opened as a server would open it.
pub fn roll_back(snapshots: &Path, id: Option<&str>) -> Result<RolledBack> {
    refuse_shared(snapshots)?;
    let ids = history::order(snapshots)?;
    let from = current(snapshots);
    let held = rolled_back::read(snapshots)?;
    let id = find(&ids, &held, from.as_deref(), id)
        .map_err(|reason| Error::Input { path: snapshots.to_path_buf(), reason })?;
    let path = snapshots.join(id);
    // As long as it is open nobody removes it.
    let snapshot = Snapshot::open(&path).map_err(|error| Error::Refused(error.to_string()))?;
    let held = rolled_back::note(snapshots, &ids, from.as_deref(), id)?;
    let is_held_back = from.as_ref().is_some_and(|from| held.contains(from));
    if from.as_deref() != Some(id) {
        point(snapshots, id).map_err(Error::output(snapshots.join(CURRENT)))?;
    }
    let suppressed = |of: &Manifest| of.suppressed.values().sum::<u64>();
    let before = from.as_ref().and_then(|from| read_manifest(&snapshots.join(from)).ok());
    let before = before.as_ref().map_or(0, suppressed);
    let shown_again = before.saturating_sub(suppressed(snapshot.manifest()));
    let newest_updated_date = snapshot.manifest().source.newest_updated_date.clone();
    Ok(RolledBack { from, is_held_back, path, newest_updated_date, shown_again })
}

/// The one named, or the last one before the current one that was not rolled back from.
fn find<'i>(
    ids: &'i [String],
    held: &BTreeSet<String>,
    from: Option<&str>,
    id: Option<&str>,
) -> std::result::Result<&'i str, String> {
    if ids.is_empty() {
        return Err("holds no snapshot; `build` makes one".into());
    }
    let there = ids.join(", ");
    if let Some(id) = id {
        let found = ids.iter().find(|other| *other == id);
        return found.map(String::as_str).ok_or_else(|| {
            format!("holds no snapshot `{id}`; there are {there}, the oldest first")
        });
    }
    let Some(from) = from else {
        let reason = "`current` leads to no snapshot, so none is before it";
        return Err(format!("{reason}; name one with `--to`: there are {there}, the oldest first"));
    };
    let at = ids.iter().position(|other| other == from);
    let older = at.and_then(|at| ids.get(..at)).unwrap_or_default();
    let before = older.iter().rev().find(|id| !held.contains(*id));
    before.map(String::as_str).ok_or_else(|| {
        let newer = if ids.len() > 1 { "; `--to` leads to another: " } else { "" };
        let others: Vec<&str> = ids.iter().map(String::as_str).filter(|id| *id != from).collect();
        format!(
            "holds no snapshot older than `{from}`, the current one, that was not rolled back from{newer}{}",
            others.join(", ")
        )
    })
}
