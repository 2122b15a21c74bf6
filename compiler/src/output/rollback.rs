//! Going back to a snapshot that was published before.

use std::path::{Path, PathBuf};

use pinakes_format::snapshot::Snapshot;

use super::{CURRENT, current, history, place::point, refuse_shared, withdrawn};
use crate::error::{Error, Result};

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
    let id = find(&ids, from.as_deref(), id)
        .map_err(|reason| Error::Input { path: snapshots.to_path_buf(), reason })?;
    let path = snapshots.join(id);
    // As long as it is open nobody removes it.
    let snapshot = Snapshot::open(&path).map_err(|error| Error::Refused(error.to_string()))?;
    let held = withdrawn::note(snapshots, &ids, from.as_deref(), id)?;
    let is_held_back = from.as_ref().is_some_and(|from| held.contains(from));
    if from.as_deref() != Some(id) {
        point(snapshots, id).map_err(Error::output(snapshots.join(CURRENT)))?;
    }
    let newest_updated_date = snapshot.manifest().source.newest_updated_date.clone();
    Ok(RolledBack { from, is_held_back, path, newest_updated_date })
}

/// The one named, or the one before the current one.
fn find<'i>(
    ids: &'i [String],
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
    let before = at.and_then(|at| at.checked_sub(1)).and_then(|before| ids.get(before));
    before.map(String::as_str).ok_or_else(|| {
        let newer = if ids.len() > 1 { "; `--to` leads to another: " } else { "" };
        let others: Vec<&str> = ids.iter().map(String::as_str).filter(|id| *id != from).collect();
        format!(
            "holds no snapshot older than `{from}`, the current one{newer}{}",
            others.join(", ")
        )
    })
}
