//! The commands `verify`, `inspect` and `rollback`.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use pinakes_format::snapshot::{PARTIAL, Snapshot, VerifiedChunks, read_manifest};
use pinakes_format::storage::mmap::survive_faults;
use pinakes_remote::host::{Host, RetryPolicy};
use pinakes_remote::signature::read_public;
use pinakes_store::directory::{find_snapshot, is_id};
use pinakes_store::fetched::FetchedSnapshot;
use pinakes_store::rollback::roll_back;

use crate::cli::inspect;
use crate::cli::layout_table::LayoutTable;
use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::remote::USER_AGENT;
use crate::remote::from::FromArgs;
use crate::terminal::escape::escape_path;

/// An open snapshot, and where its chunks come from.
pub(crate) struct OpenedSnapshot {
    pub snapshot: Snapshot,
    fetched: Option<FetchedSnapshot>,
}

impl OpenedSnapshot {
    /// The outcome of reading the snapshot. A transfer that failed is the cause of what came after it.
    pub fn outcome<T>(&self, outcome: Result<T>) -> Result<T> {
        let failure = self.fetched.as_ref().and_then(FetchedSnapshot::take_failure);
        match (outcome, failure) {
            (Err(_), Some(failure)) => Err(failure.into()),
            (outcome, _) => outcome,
        }
    }
}

/// Opens the snapshot that a host publishes; without `--from`, as [`open`].
pub(crate) fn open_from(path: &Path, from: &FromArgs) -> Result<OpenedSnapshot> {
    let Some(url) = &from.from else {
        return Ok(OpenedSnapshot { snapshot: open(path)?, fetched: None });
    };
    survive()?;
    let keys = from.pubkeys.iter().map(|path| read_public(path).map_err(Error::from));
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let host = Host::new(url, USER_AGENT, RetryPolicy::default(), from.tls_ca.as_deref())?;
    let fetched = FetchedSnapshot::open(path, host, &keys)?;
    if let Some(blocked) = &fetched.blocked {
        eprintln!("warning: {}", blocked.warning());
    }
    Ok(OpenedSnapshot { snapshot: fetched.snapshot.waiting(), fetched: Some(fetched) })
}

fn survive() -> Result<()> {
    survive_faults()
        .map_err(|error| Error::Internal(format!("cannot install signal handlers: {error}")))
}

/// Opens a snapshot, or the current one of a directory of snapshots, for reading. A mapped file that
/// fails while it is read does not end the process; the caller must check [`Snapshot::check_readable`] after reading.
pub(crate) fn open(path: &Path) -> Result<Snapshot> {
    survive()?;
    let place = find_snapshot(path)?;
    Snapshot::open(&place).map_err(|error| {
        let here = if place.join(PARTIAL).exists() { here_of(&place) } else { String::new() };
        Error::Refused(format!("{error}{here}"))
    })
}

/// How much of a partial snapshot is here, for a message.
fn here_of(place: &Path) -> String {
    let Ok(manifest) = read_manifest(place) else { return String::new() };
    let sizes = manifest.files.iter().map(|entry| {
        let here = fs::symlink_metadata(place.join(&entry.path));
        (here.map_or(0, |metadata| metadata.blocks() * 512).min(entry.size_bytes), entry.size_bytes)
    });
    let (here, all) = sizes.fold((0, 0), |sums, of| (sums.0 + of.0, sums.1 + of.1));
    format!("; about {here} of its {all} bytes are here")
}

pub(crate) fn verify(path: &Path, from: &FromArgs) -> Result<()> {
    let opened = open_from(path, from)?;
    let verified = opened.snapshot.verify().map_err(|error| Error::Refused(error.to_string()));
    opened.outcome(verified)?;
    print(&format!("{} verified: every byte and every record\n", opened.snapshot.manifest().id))
}

/// Verifies the chunks that differ from those of the snapshot `since` in the same directory.
pub(crate) fn verify_since(path: &Path, since: &str) -> Result<()> {
    let snapshot = open(path)?;
    if !is_id(since) {
        let reason = format!("`--since {since}` is no id of a snapshot; expected 16 hex digits");
        return Err(Error::Usage(reason));
    }
    let earlier = open(&snapshot.path().with_file_name(since))?;
    let chunks = snapshot.verify_since(&earlier);
    let VerifiedChunks { read, skipped } =
        chunks.map_err(|error| Error::Refused(error.to_string()))?;
    print(&format!(
        "{} verified since {since}: {read} chunks; {skipped} skipped, which are equal there\n",
        snapshot.manifest().id
    ))
}

pub(crate) fn show(path: &Path, json: bool, from: &FromArgs) -> Result<()> {
    let opened = open_from(path, from)?;
    let snapshot = &opened.snapshot;
    let text =
        if json { pretty(&inspect::as_json(snapshot))? } else { inspect::as_table(snapshot) };
    opened.outcome(print_read(snapshot, &text))
}

pub(crate) fn show_layout(path: &Path, json: bool, from: &FromArgs) -> Result<()> {
    let opened = open_from(path, from)?;
    let table = LayoutTable::measure(&opened.snapshot);
    let table = opened.outcome(table.map_err(|error| Error::Refused(error.to_string())))?;
    let text = if json { pretty(&table.as_json())? } else { table.as_text() };
    print_read(&opened.snapshot, &text)
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
