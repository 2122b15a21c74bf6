//! The suppression lists of snapshots, so that a later snapshot does not show what an earlier one left out.
//!
//! ```text
//! SNAPSHOTS/.suppressed/ID     one id a line, readable by the owner alone
//! ```

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::suppression_list::SuppressionList;
use pinakes_format::snapshot::{SUPPRESSION_LISTS, read_manifest};

use crate::error::{Result, StoreError};
use crate::files::{remove_temporary_files, write_atomically};

/// Ids that a message names; of further ids it tells the number.
const NAMED_MAX: usize = 20;

/// Keeps the list of a snapshot, before the snapshot is published, and removes what killed runs left. The caller
/// holds the lock on the directory of snapshots.
pub fn keep(snapshots: &Path, id: &str, list: &SuppressionList) -> Result<()> {
    let directory = snapshots.join(SUPPRESSION_LISTS);
    let made = fs::DirBuilder::new().mode(0o700).create(&directory);
    if let Err(error) = made
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(StoreError::write(&directory)(error));
    }
    remove_temporary_files(&directory)?;
    let path = directory.join(id);
    write_atomically(&path, list.text().as_bytes())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(StoreError::write(&path))
}

/// Removes the list of a removed snapshot.
pub fn forget(snapshots: &Path, id: &str) {
    // A list that stays harms nobody.
    let _ = fs::remove_file(snapshots.join(SUPPRESSION_LISTS).join(id));
}

/// The ids that the snapshot `before` leaves out and a snapshot built with `list` shows. `None` if
/// the list of `before` is not here, and differs from `list`.
pub fn shown_again(
    snapshots: &Path,
    before: &str,
    list: &SuppressionList,
) -> Option<Vec<(Entity, u64)>> {
    let Ok(manifest) = read_manifest(&snapshots.join(before)) else { return Some(Vec::new()) };
    let Some(digits) = manifest.suppression else { return Some(Vec::new()) };
    if *digits == **list.digits() {
        return Some(Vec::new());
    }
    let known = SuppressionList::read(&snapshots.join(SUPPRESSION_LISTS).join(before));
    let known = known.ok().filter(|known| *digits == **known.digits())?;
    Some(known.without(list).collect())
}

/// The list that a snapshot was built with; `None` if it is not here.
pub fn list_of(snapshots: &Path, id: &str) -> Option<SuppressionList> {
    match read_manifest(&snapshots.join(id)).ok()?.suppression {
        None => Some(SuppressionList::default()),
        Some(_) => SuppressionList::read(&snapshots.join(SUPPRESSION_LISTS).join(id)).ok(),
    }
}

/// Names ids in a message.
pub fn name_ids(ids: &[(Entity, u64)]) -> String {
    let name = |(entity, id): &(Entity, u64)| {
        let mut text = match entity.facts().letter {
            Some(_) => Vec::new(),
            None => format!("{}/", entity.facts().plural).into_bytes(),
        };
        entity.write_id(*id, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let mut names: Vec<String> = ids.iter().take(NAMED_MAX).map(name).collect();
    if let Some(more) = ids.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_list_replaces_the_remains_of_killed_runs() {
        let directory = tempfile::tempdir().unwrap();
        let lists = directory.path().join(SUPPRESSION_LISTS);
        fs::create_dir(&lists).unwrap();
        for name in ["other", "new.tmp-3"] {
            fs::write(lists.join(name), "").unwrap();
        }
        keep(directory.path(), "new", &SuppressionList::default()).unwrap();
        let entries = fs::read_dir(lists).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["new", "other"]);
    }
}
