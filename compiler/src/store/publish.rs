//! Putting a finished snapshot in its place, and having `current` lead to it: both or neither.

use std::{
    fs::{self, File},
    io,
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

use crate::error::{Error, Result};
use crate::store::directory::{CURRENT, current, remove_tree, unfinished};
use crate::store::files::open_regular;
use crate::store::history;
use crate::terminal::escape::shown;

/// Moves the finished directory to its name and makes it the current one.
///
/// A link that leads to it is made before it has its name and becomes `current` by a rename. So what a
/// run that died in between put there is known to the next, and removed.
///
/// # Errors
///
/// Where the system refuses; what was published before is then as it was.
pub(crate) fn put_in_place(finished: &Path, snapshots: &Path, id: &str) -> Result<PathBuf> {
    let place = snapshots.join(id);
    let before = current(snapshots);
    history::note(snapshots, id)?;
    // The same id is the same bytes, unless a disk lost some.
    let is_new = fs::symlink_metadata(&place).is_err();
    let is_damaged = !is_new && !is_as(finished, &place);
    if is_damaged {
        eprintln!("`{}` was damaged; it is made anew", shown(&place));
    }
    let link = unfinished(snapshots, if is_new { "placed" } else { CURRENT });
    let put = || {
        symlink(id, &link).map_err(Error::output(&link))?;
        if is_new || is_damaged {
            settle(finished, snapshots, &place).map_err(Error::output(&place))?;
        }
        sync_directory(snapshots).map_err(Error::output(&place))?;
        let path = snapshots.join(CURRENT);
        fs::rename(&link, &path)
            .and_then(|()| sync_directory(snapshots))
            .map_err(Error::output(&path))
    };
    put().inspect_err(|_| {
        if current(snapshots) != before {
            take_back(snapshots, before.as_deref());
        }
        if is_new && current(snapshots).as_deref() != Some(id) {
            let _ = discard(snapshots, id);
        }
        remove_tree(&link);
    })?;
    Ok(place)
}

/// Whether a snapshot that is in its place is whole, by the manifest of one that is finished.
fn is_as(finished: &Path, place: &Path) -> bool {
    let manifest = fs::read(finished.join(MANIFEST)).ok();
    let manifest = manifest.and_then(|text| Manifest::read(&text).ok());
    manifest.is_some_and(|manifest| is_whole(place, &manifest, |_| ()))
}

/// Has `current` lead to a snapshot that is in its place, and whole; its path.
///
/// # Errors
///
/// Where the system refuses; `current` is then what it was.
pub(crate) fn lead_to(snapshots: &Path, id: &str) -> Result<PathBuf> {
    let before = current(snapshots);
    history::note(snapshots, id)?;
    // Where it leads there already, too: by a link that is another servers know that there is news of it.
    point(snapshots, id).map_err(|error| {
        if current(snapshots) != before {
            take_back(snapshots, before.as_deref());
        }
        Error::output(snapshots.join(CURRENT))(error)
    })?;
    Ok(snapshots.join(id))
}

/// Whether what lies in a snapshot's place is what a manifest lists, byte for byte. Cost: reads all of it;
/// `look` is told of the bytes as they are read.
pub(crate) fn is_whole(place: &Path, manifest: &Manifest, look: impl Fn(u64) + Sync) -> bool {
    let has_hash = |entry: &FileEntry| -> io::Result<bool> {
        let file = open_regular(&place.join(&entry.path))?;
        if file.metadata()?.len() != entry.size_bytes {
            return Ok(false);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        look(entry.size_bytes);
        Ok(hasher.finalize().to_hex().as_str() == entry.blake3)
    };
    fs::read(place.join(MANIFEST)).is_ok_and(|text| text == manifest.text())
        && manifest.files.par_iter().all(|entry| has_hash(entry).unwrap_or(false))
}

/// Gives a finished directory its name, when nothing in it can be changed any more.
///
/// It is renamed beside its place first: to move what is read-only to another directory takes more
/// than owning it.
fn settle(finished: &Path, snapshots: &Path, place: &Path) -> io::Result<()> {
    let beside = unfinished(snapshots, "finished");
    fs::rename(finished, &beside)?;
    let settled = make_read_only(&beside).and_then(|()| take_place(&beside, place));
    // What stood there before, or what did not come to stand there; who has it open keeps its files.
    remove_tree(&beside);
    settled
}

/// Moves a directory to its place, in one step also where a damaged one stands there: somebody may
/// follow `current` to it at any moment. The other is where it came from then.
fn take_place(beside: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(beside, place);
    }
    let exchanged = renameat_with(CWD, beside, CWD, place, RenameFlags::EXCHANGE);
    match exchanged {
        // Not every file system can.
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

/// Has `current` lead to where it led, where it moved and the disk would not say that it is so for good.
fn take_back(snapshots: &Path, before: Option<&str>) {
    // Whatever fails here: the run ends with what failed first.
    match before {
        Some(id) => drop(point(snapshots, id)),
        None => drop(fs::remove_file(snapshots.join(CURRENT))),
    }
}

/// Has `current` lead to a snapshot beside it, at once and for good.
///
/// # Errors
///
/// Where the system refuses.
pub(crate) fn point(snapshots: &Path, id: &str) -> io::Result<()> {
    let link = unfinished(snapshots, CURRENT);
    let pointed = symlink(id, &link).and_then(|()| fs::rename(&link, snapshots.join(CURRENT)));
    if pointed.is_err() {
        remove_tree(&link);
    }
    pointed.and_then(|()| sync_directory(snapshots))
}

/// Removes a snapshot, unless somebody has it open; whether it is gone. First it loses its name, so
/// that half of one never bears it.
///
/// # Errors
///
/// Where the system refuses.
pub(crate) fn discard(snapshots: &Path, id: &str) -> Result<bool> {
    let place = snapshots.join(id);
    let Some(_seized) = lock_exclusive(&place).map_err(Error::output(&place))? else {
        return Ok(false);
    };
    let gone = unfinished(snapshots, format!("gone-{id}"));
    fs::rename(&place, &gone).map_err(Error::output(&place))?;
    remove_tree(&gone);
    if gone.exists() {
        let error = io::Error::other("some of it cannot be removed; the next run tries again");
        return Err(Error::output(&gone)(error));
    }
    Ok(true)
}

fn make_read_only(directory: &Path) -> io::Result<()> {
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

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
