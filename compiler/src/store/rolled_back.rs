//! Which snapshots were rolled back from: no run makes one of them current again, until `rollback --to` does.
//!
//! `.rolled-back` beside them: an id a line. It is a file of its own since the order of publishing does not
//! tell such a snapshot from one that a run put in its place and died, and outlasts the snapshot itself: a
//! mirror would only fetch it again.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::error::{Error, Result};
use crate::store::directory::{current, is_id, unfinished};
use crate::terminal::escape::shown;

/// The file's name.
const ROLLED_BACK: &str = ".rolled-back";

/// A snapshot that is not made current, since it was rolled back from.
#[derive(Debug)]
pub struct HeldBack {
    /// Its id.
    pub id: String,
    /// The snapshot that `current` leads to still.
    pub path: PathBuf,
    /// Whether it is there.
    is_there: bool,
}

impl HeldBack {
    /// What is said of it: that nothing was published, why, and how it would be.
    pub fn text(&self) -> String {
        let HeldBack { id, path, is_there } = self;
        let snapshots = path.parent().unwrap_or(Path::new("."));
        let leads = shown(Path::new(path.file_name().unwrap_or_default()));
        let again = match is_there {
            true => format!("`pinakes-compiler rollback {} --to {id}`", shown(snapshots)),
            false => {
                format!("remove it from `{}` and run again", shown(&snapshots.join(ROLLED_BACK)))
            }
        };
        format!(
            "nothing was published: {id} was rolled back from, and `current` leads to {leads} still; to take \
             it again: {again}"
        )
    }
}

/// Whether a snapshot is held back: it was rolled back from, and another is current.
///
/// # Errors
///
/// Where it cannot be read which were.
pub fn held_back(snapshots: &Path, id: &str) -> Result<Option<HeldBack>> {
    let Some(leads) = current(snapshots).filter(|leads| leads != id) else { return Ok(None) };
    let (path, place) = (snapshots.join(leads), snapshots.join(id));
    let is_held = read(snapshots)?.contains(id) && path.is_dir();
    Ok(is_held.then(|| HeldBack { id: id.to_owned(), path, is_there: place.is_dir() }))
}

/// Notes what is rolled back from: of the snapshots in the order of publishing those after the one that
/// `current` is to lead to, up to where it leads. The one it is to lead to is held back no more. Those that
/// are held back then.
///
/// # Errors
///
/// Where it cannot be read which were, or written which are.
pub(crate) fn note(
    snapshots: &Path,
    ids: &[String],
    from: Option<&str>,
    to: &str,
) -> Result<BTreeSet<String>> {
    let before = read(snapshots)?;
    let mut now = before.clone();
    let at = |id: &str| ids.iter().position(|other| other == id);
    if let (Some(to), Some(from)) = (at(to), from.and_then(at)) {
        now.extend(ids.iter().take(from + 1).skip(to + 1).cloned());
    }
    now.remove(to);
    if now == before {
        return Ok(now);
    }
    let path = snapshots.join(ROLLED_BACK);
    let fresh = unfinished(snapshots, "rolled-back");
    let write = || {
        let mut file = File::create(&fresh)?;
        now.iter().try_for_each(|id| writeln!(file, "{id}"))?;
        file.sync_all()?;
        fs::rename(&fresh, &path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&fresh);
        Error::output(&path)(error)
    })?;
    Ok(now)
}

/// The ids of those that were rolled back from.
///
/// # Errors
///
/// Where it cannot be read which were.
pub(crate) fn read(snapshots: &Path) -> Result<BTreeSet<String>> {
    let path = snapshots.join(ROLLED_BACK);
    match fs::read(&path) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            Ok(text.lines().map(str::trim).filter(|id| is_id(id)).map(str::to_owned).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(Error::input(path)(error)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_is_rolled_back_from_until_it_is_led_to() {
        let directory = tempfile::tempdir().unwrap();
        let snapshots = directory.path();
        let ids = ["a", "b", "c", "d"].map(|letter| letter.repeat(16));
        let [a, b, c, d] = &ids;
        for (from, to, expected) in [
            (Some(c), b, vec![c]),
            (Some(b), a, vec![b, c]),
            // Forward, past one that is held back, to one that is not.
            (Some(a), d, vec![b, c]),
            (Some(d), c, vec![b, d]),
            (None, d, vec![b]),
            (Some(d), d, vec![b]),
            (Some(d), b, vec![c, d]),
        ] {
            let noted = note(snapshots, &ids, from.map(String::as_str), to).unwrap();
            let found = read(snapshots).unwrap();
            assert_eq!(noted, found);
            assert!(found.iter().eq(expected.iter().copied()), "{from:?} to {to}: {found:?}");
        }
        // Held back beside another that is current, and there; not where nothing is.
        let held = |id: &str| held_back(snapshots, id).unwrap().map(|held| held.text());
        assert_eq!(held(c), None);
        fs::create_dir(snapshots.join(b)).unwrap();
        std::os::unix::fs::symlink(b, snapshots.join("current")).unwrap();
        let place = snapshots.display();
        let says = |again: String| {
            Some(format!(
                "nothing was published: {c} was rolled back from, and `current` leads to {b} still; to \
                 take it again: {again}"
            ))
        };
        assert_eq!(held(c), says(format!("remove it from `{place}/.rolled-back` and run again")));
        fs::create_dir(snapshots.join(c)).unwrap();
        assert_eq!(held(c), says(format!("`pinakes-compiler rollback {place} --to {c}`")));
        assert_eq!((held(a), held(b)), (None, None));
    }
}
