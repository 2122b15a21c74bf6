//! Locks the output directory; records of links, and pruning. The crate `pinakes-store` has the directory of snapshots.
//!
//! - `link_record` keeps the inputs of the link of each snapshot.
//! - `prune` removes old snapshots and objects.
//! - `interrupt` handles signals.
//!
//! Imports `error`, `object`, `read`, `terminal`.

pub(crate) mod interrupt;
pub(crate) mod link_record;
pub(crate) mod prune;

use std::{fs, path::Path};

use pinakes_store::lock::LockedDirectory;

use crate::error::{Error, Result};
use crate::terminal::escape::escape_path;

/// Refuses an output directory whose name means standard output or another device.
pub(crate) fn refuse_standard_output(out: &Path) -> Result<()> {
    // A regular file behind these names is where the shell sends the output.
    let is_stream = ["-", "/dev/stdout", "/dev/stderr"].map(Path::new).contains(&out)
        || out.starts_with("/dev/fd");
    let is_device = || fs::metadata(out).is_ok_and(|found| !found.is_dir() && !found.is_file());
    if !is_stream && !is_device() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the output `{}` is no directory; the output is several files, so give a directory for them",
        escape_path(out)
    )))
}

/// Locks the output directory, as [`LockedDirectory::lock`] does. Refuses names that mean no directory.
pub fn lock_output(directory: &Path) -> Result<LockedDirectory> {
    refuse_standard_output(directory)?;
    Ok(LockedDirectory::lock(directory)?)
}
