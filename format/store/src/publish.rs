//! Publishes a finished snapshot: moves it to its final name and points `current` or `next` at it, or neither.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use pinakes_format::snapshot::lock_exclusive;
use pinakes_format::storage::manifest::{FileEntry, MANIFEST, Manifest};
use rayon::prelude::*;
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};

use crate::directory::{linked, remove_tree, temporary_path};
use crate::error::{Result, StoreError};
use crate::files::{hash_of, open_regular, sync_directory};
use crate::{history, next, suppressed};

/// A snapshot that has its final name.
pub struct Placed {
    /// The snapshot's directory.
    pub path: PathBuf,
    /// Whether a damaged snapshot of that name was replaced.
    pub was_damaged: bool,
}

/// Moves the finished directory to its final name and points a link at it: `current` or `next`.
///
/// A temporary link to the snapshot exists before the snapshot has its final name, and becomes the link
/// by a rename. If a run dies in between, the next run finds the link and removes the snapshot.
///
/// # Errors
///
/// The system refuses a step; the snapshot published before is still current.
pub fn move_into_place(finished: &Path, snapshots: &Path, id: &str, link: &str) -> Result<Placed> {
    next::make_way(snapshots, link)?;
    let place = snapshots.join(id);
    let before = linked(snapshots, link);
    history::append(snapshots, id)?;
    // An equal id means equal bytes, unless the disk damaged some.
    let is_new = fs::symlink_metadata(&place).is_err();
    let is_damaged = !is_new && !matches_finished(finished, &place);
    let fresh = temporary_path(snapshots, if is_new { "placed" } else { link });
    let put = || {
        symlink(id, &fresh).map_err(StoreError::write(&fresh))?;
        if is_new || is_damaged {
            finalize(finished, snapshots, &place).map_err(StoreError::write(&place))?;
        }
        sync_directory(snapshots).map_err(StoreError::write(&place))?;
        let path = snapshots.join(link);
        fs::rename(&fresh, &path)
            .and_then(|()| sync_directory(snapshots))
            .map_err(StoreError::write(&path))
    };
    put().inspect_err(|_| {
        if linked(snapshots, link) != before {
            restore_link(snapshots, link, before.as_deref());
        }
        if is_new && linked(snapshots, link).as_deref() != Some(id) {
            let _ = remove_snapshot(snapshots, id);
        }
        remove_tree(&fresh);
    })?;
    Ok(Placed { path: place, was_damaged: is_damaged })
}

/// Whether the published snapshot has exactly the files that the finished one's manifest lists.
fn matches_finished(finished: &Path, place: &Path) -> bool {
    let manifest = fs::read(finished.join(MANIFEST)).ok();
    let manifest = manifest.and_then(|text| Manifest::read(&text).ok());
    manifest.is_some_and(|manifest| is_intact(place, &manifest, |_| ()))
}

/// Points `current` or `next` at a complete snapshot and returns the snapshot's path.
///
/// # Errors
///
/// The system refuses a step; the link is unchanged.
pub fn switch_link(snapshots: &Path, id: &str, link: &str) -> Result<PathBuf> {
    next::make_way(snapshots, link)?;
    let before = linked(snapshots, link);
    history::append(snapshots, id)?;
    // Also if the link points there already: a new link tells servers to read the publication again.
    point_link(snapshots, link, id).map_err(|error| {
        if linked(snapshots, link) != before {
            restore_link(snapshots, link, before.as_deref());
        }
        StoreError::write(snapshots.join(link))(error)
    })?;
    Ok(snapshots.join(id))
}

/// Whether a snapshot's directory holds the bytes that a manifest lists. Reads every file; calls
/// `advance` with the size of each file read.
pub fn is_intact(place: &Path, manifest: &Manifest, advance: impl Fn(u64) + Sync) -> bool {
    let has_hash = |entry: &FileEntry| -> io::Result<bool> {
        let file = open_regular(&place.join(&entry.path))?;
        if file.metadata()?.len() != entry.size_bytes {
            return Ok(false);
        }
        let found = hash_of(&file)?;
        advance(entry.size_bytes);
        Ok(found == entry.blake3)
    };
    fs::read(place.join(MANIFEST)).is_ok_and(|text| text == manifest.text())
        && manifest.files.par_iter().all(|entry| has_hash(entry).unwrap_or(false))
}

/// Makes a finished directory read-only and gives it its final name.
///
/// Renames it into the same parent directory first: moving a read-only directory to another parent
/// needs more than ownership.
fn finalize(finished: &Path, snapshots: &Path, place: &Path) -> io::Result<()> {
    let beside = temporary_path(snapshots, "finished");
    fs::rename(finished, &beside)?;
    let renamed = make_read_only(&beside).and_then(|()| rename_or_exchange(&beside, place));
    // Either the damaged snapshot that was exchanged, or the new one after a failure. A process that has
    // the directory open keeps its files.
    remove_tree(&beside);
    renamed
}

/// Renames a directory to its final name. If a damaged snapshot has that name, exchanges the two in one
/// step, because a reader may follow `current` at any moment.
fn rename_or_exchange(beside: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(beside, place);
    }
    let exchanged = renameat_with(CWD, beside, CWD, place, RenameFlags::EXCHANGE);
    match exchanged {
        // Not every file system can exchange two names.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            let aside = beside.with_extension("damaged");
            fs::rename(place, &aside)?;
            let placed = fs::rename(beside, place);
            remove_tree(&aside);
            placed
        }
        exchanged => Ok(exchanged?),
    }
}

/// Points a link back at `before`, after syncing the moved link failed.
fn restore_link(snapshots: &Path, link: &str, before: Option<&str>) {
    // Ignores failures here: the run reports the first error.
    match before {
        Some(id) => drop(point_link(snapshots, link, id)),
        None => drop(fs::remove_file(snapshots.join(link))),
    }
}

/// Points a link at a snapshot in one step and syncs the directory.
pub fn point_link(snapshots: &Path, link: &str, id: &str) -> io::Result<()> {
    let fresh = temporary_path(snapshots, link);
    let pointed = symlink(id, &fresh).and_then(|()| fs::rename(&fresh, snapshots.join(link)));
    if pointed.is_err() {
        remove_tree(&fresh);
    }
    pointed.and_then(|()| sync_directory(snapshots))
}

/// Removes a snapshot and returns whether it is gone; keeps it if a process has it open. Renames it
/// first, so that a half-removed snapshot never has a snapshot's name.
pub fn remove_snapshot(snapshots: &Path, id: &str) -> Result<bool> {
    let place = snapshots.join(id);
    let Some(_lock) = lock_exclusive(&place).map_err(StoreError::write(&place))? else {
        return Ok(false);
    };
    let gone = temporary_path(snapshots, format!("gone-{id}"));
    fs::rename(&place, &gone).map_err(StoreError::write(&place))?;
    suppressed::forget(snapshots, id);
    remove_tree(&gone);
    if gone.exists() {
        let error = io::Error::other("part of it cannot be removed; the next run tries again");
        return Err(StoreError::write(&gone)(error));
    }
    Ok(true)
}

/// Makes a directory and all below read-only, and syncs the directories.
pub fn make_read_only(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            make_read_only(&path)?;
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444))?;
        }
    }
    sync_directory(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o555))
}
