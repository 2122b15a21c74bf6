//! `rollback`: points `current` at an earlier snapshot.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use pinakes_format::snapshot::next::{CURRENT, NEXT};
use pinakes_format::snapshot::{Snapshot, read_manifest};

use crate::directory::{current, linked};
use crate::error::{Result, StoreError};
use crate::lock::refuse_shared;
use crate::publish::point_link;
use crate::suppressed::{list_of, name_ids, shown_again};
use crate::{history, next, rolled_back};

/// The result of a rollback.
#[derive(Debug)]
pub struct Rollback {
    /// Id of the previous current snapshot; `None` if `current` pointed at none.
    pub from: Option<String>,
    /// Id of the scheduled snapshot that the rollback withdrew.
    pub withdrawn: Option<String>,
    /// Id of the previous or withdrawn snapshot, if no run makes it current again.
    pub blocked: Option<String>,
    /// Path of the current snapshot.
    pub path: PathBuf,
    /// Newest `updated_date` of the current snapshot, from its manifest.
    pub newest_updated_date: Option<String>,
    /// The records that the previous snapshot left out and the current one shows, as a message names them;
    /// `None` if there are none.
    pub unsuppressed: Option<String>,
}

/// Points `current` at `id`, or else at the snapshot published before the current one.
///
/// Withdraws a scheduled snapshot; without `id`, nothing else. A scheduled snapshot whose time has come becomes current
/// first, by `next::settle`. Records the snapshots it goes back from, so that no run makes them current again.
/// Takes no lock: a run under way continues and publishes at its end.
///
/// # Errors
///
/// No such snapshot exists, or a server could not open it.
pub fn roll_back(snapshots: &Path, id: Option<&str>) -> Result<Rollback> {
    refuse_shared(snapshots)?;
    next::settle(snapshots)?;
    let ids = history::read_order(snapshots)?;
    let (from, scheduled) = (current(snapshots), linked(snapshots, NEXT));
    // The scheduled snapshot was published after the current one.
    let newest = scheduled.clone().or_else(|| from.clone());
    let rolled_back = rolled_back::read(snapshots)?;
    let id = find(&ids, &rolled_back, newest.as_deref(), id)
        .map_err(|reason| StoreError::Content { path: snapshots.to_path_buf(), reason })?;
    let path = snapshots.join(id);
    // No run removes the snapshot while it is open here.
    let snapshot = Snapshot::open(&path).map_err(|error| StoreError::Refused(error.to_string()))?;
    let rolled_back = rolled_back::update(snapshots, &ids, newest.as_deref(), id)?;
    let blocked = newest.filter(|newest| rolled_back.contains(newest));
    next::make_way(snapshots, CURRENT)?;
    if from.as_deref() != Some(id) {
        point_link(snapshots, CURRENT, id).map_err(StoreError::write(snapshots.join(CURRENT)))?;
    }
    let unsuppressed = from.as_ref().and_then(|from| name_unsuppressed(snapshots, from, id));
    let newest_updated_date = snapshot.manifest().source.newest_updated_date.clone();
    let withdrawn = scheduled.filter(|scheduled| scheduled != id);
    Ok(Rollback { from, withdrawn, blocked, path, newest_updated_date, unsuppressed })
}

/// Names the records that the snapshot `from` left out and the snapshot `to` shows.
fn name_unsuppressed(snapshots: &Path, from: &str, to: &str) -> Option<String> {
    let unknown = || "records of another suppression list".to_owned();
    let Some(list) = list_of(snapshots, to) else {
        // Without the list, equal digits alone show that the sets are equal.
        let digits = |id: &str| read_manifest(&snapshots.join(id)).ok()?.suppression;
        return (digits(from).is_some() && digits(from) != digits(to)).then(unknown);
    };
    match shown_again(snapshots, from, &list) {
        Some(shown) if shown.is_empty() => None,
        Some(shown) => Some(name_ids(&shown)),
        None => Some(unknown()),
    }
}

/// Returns the requested id, or the last id before the current one that was not rolled back from.
fn find<'i>(
    ids: &'i [String],
    rolled_back: &BTreeSet<String>,
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
        let reason = "`current` points at no snapshot, so no snapshot precedes it";
        return Err(format!("{reason}; name one with `--to`: there are {there}, the oldest first"));
    };
    // Ids are in the order of publishing, so the last of the older ones precedes the current one.
    let at = ids.iter().position(|other| other == from);
    let older = at.and_then(|at| ids.get(..at)).unwrap_or_default();
    let before = older.iter().rev().find(|id| !rolled_back.contains(*id));
    before.map(String::as_str).ok_or_else(|| {
        let newer = if ids.len() > 1 { "; choose another with `--to`: " } else { "" };
        let others: Vec<&str> = ids.iter().map(String::as_str).filter(|id| *id != from).collect();
        format!(
            "holds no snapshot older than `{from}`, the current one, that was not rolled back from{newer}{}",
            others.join(", ")
        )
    })
}
