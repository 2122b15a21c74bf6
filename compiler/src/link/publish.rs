//! Publishing: checks a finished snapshot and makes it the current one, atomically.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::snapshot::next::CURRENT;
use pinakes_format::storage::{MANIFEST, Manifest};
use pinakes_store::lock::LockedDirectory;
use pinakes_store::publish::{move_into_place, switch_link};

use crate::error::{Error, Result};
use crate::link::merge::orphans::Orphans;
use crate::link::take_over::NotTakenOver;
use crate::link::tally::{SideTally, Tally};
use crate::parallel;
use crate::store::interrupt::publish_uninterrupted;
use crate::terminal::escape::escape_path;

/// Records of each entity that the self-check renders, about.
const CHECKED_ROWS: u32 = 1_000;
/// Records that one task of the self-check renders.
const CHECKED_TOGETHER: usize = 64;

#[derive(Debug)]
pub struct Published {
    /// Its directory: in the scratch directory until [`publish`] moves it.
    pub path: PathBuf,
    pub manifest: Manifest,
    /// The accounting by entity.
    pub tallies: BTreeMap<String, Tally>,
    /// The accounting by side table.
    pub side_tallies: BTreeMap<String, SideTally>,
    /// Warnings by code.
    pub warnings: BTreeMap<String, u64>,
    pub orphans: Orphans,
    /// The records of each entity whose index entries were taken over from the previous snapshot.
    pub rows_reused: BTreeMap<String, u64>,
    /// The parts of the previous snapshot that were made from the objects instead, because they are damaged.
    pub not_taken_over: Vec<NotTakenOver>,
    /// The file with what the next link takes over, in the scratch directory; `None` of a subset.
    pub state: Option<PathBuf>,
}

/// Moves a finished snapshot to the output directory and makes it the current one. After an error
/// `current` is unchanged.
pub fn publish(finished: &mut Published, lock: &LockedDirectory) -> Result<()> {
    let id = &finished.manifest.id;
    finished.path = place(&finished.path, lock, id, CURRENT)?;
    Ok(())
}

fn place(finished: &Path, lock: &LockedDirectory, id: &str, link: &str) -> Result<PathBuf> {
    let placed = publish_uninterrupted(|| move_into_place(finished, lock.directory(), id, link))?;
    if placed.was_damaged {
        eprintln!("`{}` was damaged; this run replaces it", escape_path(&placed.path));
    }
    Ok(placed.path)
}

/// Checks a complete snapshot in a directory next to the output, publishes it like [`publish`] as `current` or
/// `next`, and returns its path. After an error the link is unchanged.
pub fn publish_directory(
    directory: &Path,
    lock: &LockedDirectory,
    id: &str,
    link: &str,
) -> Result<PathBuf> {
    self_check(directory)?;
    place(directory, lock, id, link)
}

/// Points `current` or `next` at a complete snapshot of the output directory and returns its path. After an
/// error the link is unchanged.
pub fn link_snapshot(lock: &LockedDirectory, id: &str, link: &str) -> Result<PathBuf> {
    Ok(publish_uninterrupted(|| switch_link(lock.directory(), id, link))?)
}

/// Refuses a snapshot in which an entity has less than four fifths of the current snapshot's records,
/// as after an incomplete download. The error names the first such entity.
///
/// Compares nothing if there is no current snapshot, if its manifest cannot be read, or if it has
/// another `--where` selection.
pub fn refuse_shrinking(snapshots: &Path, fresh: &Manifest) -> Result<()> {
    let Ok(text) = fs::read(snapshots.join("current").join(MANIFEST)) else { return Ok(()) };
    let Ok(current) = Manifest::read(&text) else { return Ok(()) };
    let filters = |of: &Manifest| of.selection.as_ref().map(|selection| selection.filters.clone());
    if filters(&current) != filters(fresh) {
        return Ok(());
    }
    for entity in Entity::all() {
        let name = entity.facts().plural;
        // The inputs have the suppressed records, too.
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

/// Opens the snapshot as a server does and renders up to about 1,000 records of every entity, evenly
/// spread.
pub(crate) fn self_check(directory: &Path) -> Result<()> {
    let snapshot = Snapshot::open(directory).map_err(Error::self_check)?;
    let rows = |entity| {
        let count = snapshot.count(entity);
        let rows: Vec<u32> = (0..count).step_by((count / CHECKED_ROWS).max(1) as usize).collect();
        rows.chunks(CHECKED_TOGETHER).map(|rows| (entity, rows.to_vec())).collect::<Vec<_>>()
    };
    let check = |(entity, rows): (Entity, Vec<u32>)| {
        let mut page = JsonWriter::new(&snapshot, Shape::Single);
        rows.into_iter().try_for_each(|row| {
            page.out.clear();
            let failed = |error| Error::SelfCheck(format!("row {row} of {entity}: {error}"));
            snapshot.render(entity, row, &mut page).map_err(failed)
        })
    };
    parallel::try_map(Entity::all().flat_map(rows).collect(), check)?;
    Ok(())
}
