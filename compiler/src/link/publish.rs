//! From linked files to a published snapshot, atomically.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{Page, Shape};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::manifest::{MANIFEST, Manifest};

use crate::error::{Error, Result};
use crate::link::merge::orphans::Orphans;
use crate::link::selection::Selection;
use crate::link::{Linker, SideTally, Tally};
use crate::object::Object;
use crate::store::interrupt::publishing;
use crate::store::{OutputLock, lead_to, put_in_place};

/// Rows of each entity that the self-check renders.
const CHECKED_ROWS: u32 = 1_000;

/// A finished snapshot.
#[derive(Debug)]
pub struct Published {
    /// Where it lies: in its place once it is published, in the scratch directory before.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// The accounting by entity.
    pub tallies: BTreeMap<String, Tally>,
    /// The accounting by side table, of those there were.
    pub side_tallies: BTreeMap<String, SideTally>,
    /// Warnings by code.
    pub warnings: BTreeMap<String, u64>,
    /// The topics set aside because a parent of theirs has no record.
    pub orphans: Orphans,
}

/// Links objects, or the selected part of them, into a snapshot that is whole and checked, but not
/// published yet.
///
/// # Errors
///
/// Where something cannot be written or an object makes no sense.
pub fn link(
    objects: &[&Object],
    lock: &OutputLock,
    selection: Option<&Selection>,
    memory_bytes: usize,
    progress: crate::report::progress::Progress,
) -> Result<Published> {
    let linker = Linker::new(objects, lock.scratch(), memory_bytes, progress);
    let directory = lock.scratch().join("snapshot");
    fs::create_dir(&directory).map_err(Error::output(&directory))?;
    let finished = linker.write_snapshot(selection, &directory)?;
    self_check(&directory)?;
    Ok(finished)
}

/// Puts a finished snapshot in its place and makes it the current one.
///
/// # Errors
///
/// Where the system refuses; `current` is then what it was.
pub fn publish(finished: &mut Published, lock: &OutputLock) -> Result<()> {
    let id = &finished.manifest.id;
    finished.path = publishing(|| put_in_place(&finished.path, lock.directory(), id))?;
    Ok(())
}

/// Checks a snapshot that lies whole in a directory beside where it belongs, and publishes it as
/// [`publish`] does; its path.
///
/// # Errors
///
/// Where its own reader refuses it, or the system does; `current` is then what it was.
pub fn publish_directory(directory: &Path, lock: &OutputLock, id: &str) -> Result<PathBuf> {
    self_check(directory)?;
    publishing(|| put_in_place(directory, lock.directory(), id))
}

/// Makes a snapshot that is in its place, and whole, the current one; its path.
///
/// # Errors
///
/// Where the system refuses; `current` is then what it was.
pub fn make_current(lock: &OutputLock, id: &str) -> Result<PathBuf> {
    publishing(|| lead_to(lock.directory(), id))
}

/// Refuses a snapshot in which an entity has less than four fifths of the records it has in the
/// current one: half a download looks like that. Where no snapshot is current, or one of another part
/// of its dump, there is nothing to compare; nor is there where its manifest cannot be read, which a new
/// snapshot mends.
///
/// # Errors
///
/// [`Error::Shrunk`], of the first such entity.
pub fn refuse_shrinking(snapshots: &Path, fresh: &Manifest) -> Result<()> {
    let Ok(text) = fs::read(snapshots.join("current").join(MANIFEST)) else { return Ok(()) };
    let Ok(current) = Manifest::read(&text) else { return Ok(()) };
    let chosen = |of: &Manifest| of.selection.as_ref().map(|selection| selection.filters.clone());
    if chosen(&current) != chosen(fresh) {
        return Ok(());
    }
    for entity in Entity::all() {
        let name = entity.facts().plural;
        // What is suppressed is there, and left out.
        let count = |of: &Manifest| {
            let suppressed = of.suppressed.get(name).copied().unwrap_or_default();
            of.counts.get(name).map_or(0, |counts| counts.published) + suppressed
        };
        let (before, after) = (count(&current), count(fresh));
        if after * 5 < before * 4 {
            return Err(Error::Shrunk { entity: name, before, after });
        }
    }
    Ok(())
}

/// Opens the finished snapshot as a server would, and renders records spread over every entity.
fn self_check(directory: &Path) -> Result<()> {
    let snapshot = Snapshot::open(directory).map_err(Error::self_check)?;
    let mut page = Page::new(&snapshot, Shape::Single);
    for entity in Entity::all() {
        let count = snapshot.count(entity);
        for row in (0..count).step_by((count / CHECKED_ROWS).max(1) as usize) {
            page.out.clear();
            snapshot
                .render(entity, row, &mut page)
                .map_err(|error| Error::SelfCheck(format!("row {row} of {entity}: {error}")))?;
        }
    }
    Ok(())
}
