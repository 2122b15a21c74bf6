//! The commands `verify`, `inspect` and `rollback`.

use std::{
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::mmap::survive_faults;

use crate::cli::inspect;
use crate::cli::layout_table::LayoutTable;
use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::store::directory::find_snapshot;
use crate::store::rollback::roll_back;
use crate::terminal::escape::escape_path;

/// Opens a snapshot, or the current one of a directory of snapshots, for reading. A mapped file that
/// fails while it is read does not end the process; the caller must check [`Snapshot::check_readable`] after reading.
pub(crate) fn open(path: &Path) -> Result<Snapshot> {
    survive_faults()
        .map_err(|error| Error::Internal(format!("cannot install signal handlers: {error}")))?;
    Snapshot::open(&find_snapshot(path)?).map_err(|error| Error::Refused(error.to_string()))
}

pub(crate) fn verify(path: &Path) -> Result<()> {
    let snapshot = open(path)?;
    snapshot.verify().map_err(|error| Error::Refused(error.to_string()))?;
    print(&format!("{} verified: every byte and every record\n", snapshot.manifest().id))
}

pub(crate) fn show(path: &Path, json: bool) -> Result<()> {
    let snapshot = open(path)?;
    let text =
        if json { pretty(&inspect::as_json(&snapshot))? } else { inspect::as_table(&snapshot) };
    print_read(&snapshot, &text)
}

pub(crate) fn show_layout(path: &Path, json: bool) -> Result<()> {
    let snapshot = open(path)?;
    let table = LayoutTable::measure(&snapshot);
    let table = table.map_err(|error| Error::Refused(error.to_string()))?;
    let text = if json { pretty(&table.as_json())? } else { table.as_text() };
    print_read(&snapshot, &text)
}

fn pretty(value: &serde_json::Value) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| Error::Internal(error.to_string()))? + "\n")
}

/// Prints what was read of a snapshot, unless a file could not be read.
fn print_read(snapshot: &Snapshot, text: &str) -> Result<()> {
    snapshot.check_readable().map_err(|error| Error::Refused(error.to_string()))?;
    print(text)
}

/// Prints a result. The reader of standard output may have left.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::output(STANDARD_OUTPUT))
}

pub(crate) fn roll_back_to(snapshots: &Path, id: Option<&str>) -> Result<()> {
    let rollback = roll_back(snapshots, id)?;
    let name = rollback.path.file_name().unwrap_or_default().to_string_lossy();
    let newest = rollback.newest_updated_date.as_deref().unwrap_or("none");
    let before = match &rollback.from {
        Some(from) if *from == name => "unchanged".to_owned(),
        Some(from) => format!("before: {from}"),
        None => "before: none".to_owned(),
    };
    eprintln!("`current` points at {name} ({before}); its newest updated_date is {newest}");
    if let Some(shown) = &rollback.unsuppressed {
        eprintln!(
            "warning: it shows what the previous one left out: {shown}; suppress it with `pinakes-server \
             --suppress`, or build again"
        );
    }
    if let Some(withdrawn) = &rollback.withdrawn {
        eprintln!("withdrew {withdrawn}, which was scheduled");
    }
    if let Some(blocked) = &rollback.blocked {
        let place = escape_path(snapshots);
        eprintln!(
            "no build or pull makes {blocked} current again; to do so, run `rollback {place} --to {blocked}`"
        );
    }
    let line = [rollback.path.as_os_str().as_bytes(), b"\n"].concat();
    io::stdout().write_all(&line).map_err(Error::output(STANDARD_OUTPUT))
}
