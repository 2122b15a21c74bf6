//! The link `next`: makes a scheduled snapshot current when its time has come, or makes way for another.
//!
//! `pull` schedules a snapshot by [`crate::publish`]. The time passes without a process of its own:
//! servers switch by themselves, and the next run that locks the directory renames the link to `current`.

use std::{fs, io, path::Path};

use chrono::Utc;
use pinakes_format::snapshot::next::{CURRENT, NEXT, NextSnapshot};

use crate::error::{Result, StoreError};
use crate::files::sync_directory;
use crate::history;

/// Makes the snapshot of `next` current, if its time has come.
///
/// # Errors
///
/// The system refuses a step; `next` still means the snapshot.
pub fn settle(snapshots: &Path) -> Result<()> {
    let Some(next) = NextSnapshot::read_due(snapshots, Utc::now()) else { return Ok(()) };
    history::append(snapshots, &next.id)?;
    let path = snapshots.join(CURRENT);
    fs::rename(snapshots.join(NEXT), &path)
        .and_then(|()| sync_directory(snapshots))
        .map_err(StoreError::write(path))
}

/// Prepares to replace a link. A due snapshot becomes current first, because servers answer from it already.
/// A snapshot whose time has not come gives way to a new `current`.
pub fn make_way(snapshots: &Path, link: &str) -> Result<()> {
    settle(snapshots)?;
    let path = snapshots.join(NEXT);
    if link != CURRENT || !path.is_symlink() {
        return Ok(());
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::write(path)(error))
        }
        _ => Ok(()),
    }
}
