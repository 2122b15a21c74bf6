//! The link `next`: the snapshot that a directory of snapshots serves from a stated time on.
//!
//! `pull` writes the link for a publication with `activate_at`. The publication beside the snapshots states
//! the time. From then on the link means what `current` means, and the next run of the compiler renames it
//! to `current`:
//!
//! ```text
//! 05:10  pull      current -> 11…   next -> 22…   publications/22….json: activate_at 06:00
//! 06:00            every reader takes 22…
//! 05:10  pull      current -> 22…
//! ```
//!
//! A link that is older than `current` has no effect: `current` was changed after it, for example by hand.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use chrono::{DateTime, Utc};

use crate::storage::publication::{kept_path, read_kept};

/// Name of the link to the snapshot that becomes current at a stated time.
pub const NEXT: &str = "next";
/// Name of the link to the current snapshot.
pub const CURRENT: &str = "current";

/// A snapshot that becomes current at a stated time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextSnapshot {
    /// The snapshot's id.
    pub id: String,
    /// The snapshot's directory.
    pub path: PathBuf,
    /// The time from which the snapshot is current.
    pub activates_at: DateTime<Utc>,
}

/// Why a link to a snapshot cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The link leads to no directory in its own directory.
    #[error("cannot follow `{}`: {reason}", path.display())]
    Target {
        /// Path of the link.
        path: PathBuf,
        /// Why the link was refused.
        reason: String,
    },
    /// No publication states the time of the link `next`.
    #[error(
        "cannot follow `{}`: `{}` is no publication of that snapshot with `activate_at`; pull again",
        path.display(), publication.display()
    )]
    Time {
        /// Path of the link.
        path: PathBuf,
        /// Expected path of the publication.
        publication: PathBuf,
    },
}

impl NextSnapshot {
    /// Reads the link `next` of a directory of snapshots. Returns `None` if there is none, or if `current` is
    /// newer.
    ///
    /// Cost: one system call without a link.
    ///
    /// # Errors
    ///
    /// The link leads to no snapshot of `snapshots`, or no publication states the time.
    pub fn read(snapshots: &Path) -> Result<Option<NextSnapshot>, LinkError> {
        let link = snapshots.join(NEXT);
        let written = match fs::symlink_metadata(&link).and_then(|metadata| metadata.modified()) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(LinkError::Target { path: link, reason: error.to_string() });
            }
        };
        let current = fs::symlink_metadata(snapshots.join(CURRENT));
        if current.and_then(|metadata| metadata.modified()).is_ok_and(|at| at > written) {
            return Ok(None);
        }
        let path = resolve_link(&link)?;
        let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let publication = read_kept(snapshots, &id);
        match publication.and_then(|publication| publication.activates_at()) {
            Some(activates_at) => Ok(Some(NextSnapshot { id, path, activates_at })),
            None => {
                let publication = kept_path(snapshots, &id);
                Err(LinkError::Time { path: link, publication })
            }
        }
    }

    /// Reads the link `next`, if the snapshot's time has come.
    pub fn read_due(snapshots: &Path, now: DateTime<Utc>) -> Option<NextSnapshot> {
        NextSnapshot::read(snapshots).ok().flatten().filter(|next| next.activates_at <= now)
    }
}

/// Returns the directory that a link leads to: a directory beside the link, named without a path.
///
/// # Errors
///
/// The link cannot be read, or leads elsewhere.
pub fn resolve_link(link: &Path) -> Result<PathBuf, LinkError> {
    let refused = |reason: String| LinkError::Target { path: link.to_path_buf(), reason };
    let target = fs::read_link(link).map_err(|error: io::Error| refused(error.to_string()))?;
    let mut components = target.components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(name)), None) => {
            let path = link.with_file_name(name);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => Ok(path),
                Ok(_) => {
                    Err(refused(format!("the target `{}` is not a directory", path.display())))
                }
                Err(error) => Err(refused(format!("the target `{}`: {error}", path.display()))),
            }
        }
        _ => Err(refused(format!("the target is `{}`", target.display()))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_only_lead_to_a_directory_beside_it() {
        let directory = std::env::temp_dir().join(format!("pinakes-link-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let link = directory.join("current");
        fs::create_dir_all(directory.join("0123456789abcdef")).unwrap();
        std::os::unix::fs::symlink("/etc", directory.join("hop")).unwrap();
        let targets =
            [("0123456789abcdef", true), ("../x", false), ("/etc", false), ("a/b", false)];
        for (target, is_accepted) in targets.into_iter().chain([("hop", false), ("absent", false)])
        {
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(resolve_link(&link).is_ok(), is_accepted, "{target}");
            fs::remove_file(&link).unwrap();
        }
        assert!(resolve_link(&link).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}
