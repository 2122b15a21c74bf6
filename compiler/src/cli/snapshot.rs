//! The commands that read a published snapshot, or go back to one.

use std::{io::Write, os::unix::ffi::OsStrExt, path::Path};

use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::mmap::survive_faults;

use crate::cli::inspect;
use crate::error::{Error, Result};
use crate::store::rollback::roll_back;
use crate::terminal::escape::shown;

/// Opens a snapshot to be read and no more: a file of it that is cut or fails under this process does not
/// end it, and whoever has read asks whether one was ([`Snapshot::check_readable`]).
pub(crate) fn open(path: &Path) -> Result<Snapshot> {
    survive_faults().map_err(|error| Error::Internal(format!("signals: {error}")))?;
    let place = std::fs::canonicalize(path).map_err(Error::input(path))?;
    Snapshot::open(&place).map_err(|error| Error::Refused(error.to_string()))
}

pub(crate) fn verify(path: &Path) -> Result<()> {
    let snapshot = open(path)?;
    snapshot.verify().map_err(|error| Error::Refused(error.to_string()))?;
    println!("{} verified: every byte and every record", snapshot.manifest().id);
    Ok(())
}

pub(crate) fn show(path: &Path, json: bool) -> Result<()> {
    let snapshot = open(path)?;
    let text = if json {
        let text = serde_json::to_string_pretty(&inspect::as_json(&snapshot))
            .map_err(|error| Error::Internal(error.to_string()))?;
        text + "\n"
    } else {
        inspect::as_table(&snapshot)
    };
    snapshot.check_readable().map_err(|error| Error::Refused(error.to_string()))?;
    print!("{text}");
    Ok(())
}

pub(crate) fn roll_back_to(snapshots: &Path, id: Option<&str>) -> Result<()> {
    let back = roll_back(snapshots, id)?;
    let name = back.path.file_name().unwrap_or_default().to_string_lossy();
    let newest = back.newest_updated_date.as_deref().unwrap_or("none");
    let led = match &back.from {
        Some(from) if *from == name => "as it did".to_owned(),
        Some(from) => format!("it led to {from}"),
        None => "it led nowhere".to_owned(),
    };
    eprintln!("`current` leads to {name} ({led}); its newest updated_date is {newest}");
    if back.shown_again > 0 {
        eprintln!(
            "warning: it shows {} records more that `--suppress` left out of the one before; withhold them by \
             `pinakes-server --suppress`, or build again",
            back.shown_again
        );
    }
    if let Some(from) = back.from.filter(|_| back.is_held_back) {
        let place = shown(snapshots);
        eprintln!(
            "no build or pull leads to {from} again unless it is asked for: `rollback {place} --to {from}`"
        );
    }
    let line = [back.path.as_os_str().as_bytes(), b"\n"].concat();
    std::io::stdout().write_all(&line).map_err(Error::output("standard output"))
}
