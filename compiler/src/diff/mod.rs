//! `diff`: the ids that differ between two snapshots.
//!
//! Each record is rendered as `export` writes it, in the order
//! of the rows, and hashed. The hashes are sorted by id, and merged:
//!
//! ```text
//! A: rows ─► (id, hash, row) ─► sorted by id ─┐     id only in B: added     only in A: merged or removed
//! B: rows ─► (id, hash, row) ─► sorted by id ─┴──►  hashes differ: both records are rendered and compared
//! ```
//!
//! Cost: one pass over the records of both snapshots by all threads, and one write and one read of 28 bytes a
//! record if `--memory` does not hold them.
//!
//! Imports `error`, `external_sort`, `frontend`, `terminal`.

mod deleted;
mod hashes;
mod members;

use std::io;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;
use serde_json::json;

use crate::diff::deleted::DeletedIds;
use crate::diff::hashes::{RecordHash, sorted_hashes};
use crate::diff::members::ComparedRecords;
use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::external_sort::Sorted;
use crate::terminal::progress::Progress;

#[derive(Debug)]
pub(crate) struct DiffOptions {
    /// Entities to compare; all if empty.
    pub(crate) entities: Vec<Entity>,
    pub(crate) format: Format,
    /// Lists of ids that the source deleted.
    pub(crate) deleted: Vec<PathBuf>,
    pub(crate) memory_bytes: u64,
    pub(crate) is_quiet: bool,
}

/// The format of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line of words for each id: change, entity, id, and the members or the id merged into.
    Text,
    /// A JSON object for each id.
    Ndjson,
}

/// The difference of an id.
enum Change {
    Added,
    /// The members whose values differ.
    Changed(Vec<String>),
    /// The id merged into.
    Merged(u64),
    /// A list of deleted ids has the id.
    Deleted,
    Removed,
}

/// Names of the changes, in the order of [`Counts`].
const NAMES: [&str; 5] = ["added", "changed", "merged", "deleted", "removed"];

/// Ids of an entity by change.
type Counts = [u64; NAMES.len()];

/// Writes the ids that differ to standard output.
pub(crate) fn run(options: &DiffOptions, before: &Snapshot, after: &Snapshot) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let deleted = DeletedIds::read(&options.deleted, options.memory_bytes / MEMORY_SHARE)?;
    let mut diff = Diff { options, before, after, deleted, out: &mut out };
    let all = options.entities.is_empty();
    let is_asked = |entity: &Entity| all || options.entities.contains(entity);
    // The id of a snapshot is the hash of its bytes.
    let is_same = before.manifest().id == after.manifest().id;
    for entity in Entity::all().filter(is_asked).filter(|_| !is_same) {
        let counts = diff.compare(entity);
        // Checked first: a failed read of a snapshot explains any other error.
        for snapshot in [before, after] {
            snapshot.check_readable().map_err(|error| Error::Refused(error.to_string()))?;
        }
        let counts = counts?;
        if !options.is_quiet && counts.iter().any(|count| *count > 0) {
            let words: Vec<String> = NAMES
                .iter()
                .zip(counts)
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| format!("{count} {name}"))
                .collect();
            eprintln!("{entity}: {}", words.join(", "));
        }
    }
    out.flush().map_err(Error::output(STANDARD_OUTPUT))
}

/// The memory for the hashes of one snapshot, or for the deleted ids: one of this many parts of `--memory`.
const MEMORY_SHARE: u64 = 3;

/// A comparison of two snapshots.
struct Diff<'a, W> {
    options: &'a DiffOptions,
    before: &'a Snapshot,
    after: &'a Snapshot,
    deleted: DeletedIds,
    out: &'a mut W,
}

impl<W: Write> Diff<'_, W> {
    /// Compares the records of an entity. Entities come in ascending order.
    fn compare(&mut self, entity: Entity) -> Result<Counts> {
        let (before, after) = (self.before, self.after);
        let records = [before, after].map(|snapshot| ComparedRecords::new(snapshot, entity));
        let total = u64::from(before.count(entity)) + u64::from(after.count(entity));
        let progress = Progress::detect(self.options.is_quiet);
        let bar = progress.begin("diff", "records", total, total);
        let memory_bytes = self.options.memory_bytes / MEMORY_SHARE;
        let sorted = |records: &ComparedRecords<'_>| sorted_hashes(records, memory_bytes, &bar);
        // Rows ascend by rank, so the ids of both sides are sorted before they are paired.
        let mut hashes = [sorted(&records[0])?.peekable(), sorted(&records[1])?.peekable()];
        bar.end();
        let mut counts = Counts::default();
        while let Some((id, found)) = next_pair(&mut hashes)? {
            let change = match found {
                [Some(old), Some(new)] if old.hash == new.hash => continue,
                [Some(old), Some(new)] => {
                    let members = members::differing(&records, [old.row, new.row])?;
                    Change::Changed(members)
                }
                [None, _] => Change::Added,
                // A merge says where the record went, so the redirect is read before the list of deleted ids.
                [Some(_), None] => match records[1].merged_into(id)? {
                    Some(target) => Change::Merged(target),
                    None if self.deleted.has(entity, id)? => Change::Deleted,
                    None => Change::Removed,
                },
            };
            counts[change.number()] += 1;
            write_change(self.options.format, entity, id, &change, self.out)
                .map_err(Error::output(STANDARD_OUTPUT))?;
        }
        Ok(counts)
    }
}

impl Change {
    /// The place in [`NAMES`].
    fn number(&self) -> usize {
        match self {
            Change::Added => 0,
            Change::Changed(_) => 1,
            Change::Merged(_) => 2,
            Change::Deleted => 3,
            Change::Removed => 4,
        }
    }
}

type Hashes = std::iter::Peekable<Sorted<RecordHash>>;

/// The smallest id that is left, and its records in both snapshots; `None` at the end.
fn next_pair(hashes: &mut [Hashes; 2]) -> Result<Option<(u64, [Option<RecordHash>; 2])>> {
    let mut ids = [None; 2];
    for (id, hashes) in ids.iter_mut().zip(hashes.iter_mut()) {
        *id = match hashes.peek() {
            Some(Ok(hash)) => Some(hash.id),
            // Fails.
            Some(Err(_)) => next(hashes)?.map(|hash| hash.id),
            None => None,
        };
    }
    let Some(id) = ids.into_iter().flatten().min() else { return Ok(None) };
    let mut found = [None; 2];
    for ((found, hashes), _) in
        found.iter_mut().zip(hashes).zip(ids).filter(|(_, at)| *at == Some(id))
    {
        *found = next(hashes)?;
    }
    Ok(Some((id, found)))
}

fn next(hashes: &mut Hashes) -> Result<Option<RecordHash>> {
    hashes.next().transpose().map_err(Error::output(std::env::temp_dir()))
}

/// Writes the line of an id.
fn write_change(
    format: Format,
    entity: Entity,
    id: u64,
    change: &Change,
    out: &mut impl Write,
) -> io::Result<()> {
    let (id, of) = (entity.id_text(id), entity.facts().plural);
    let name = NAMES[change.number()];
    if format == Format::Ndjson {
        let mut line = json!({ "change": name, "entity": of, "id": id });
        match change {
            Change::Changed(members) => line["members"] = json!(members),
            Change::Merged(target) => line["into"] = entity.id_text(*target).into(),
            Change::Added | Change::Deleted | Change::Removed => {}
        }
        return writeln!(out, "{line}");
    }
    match change {
        Change::Changed(members) => writeln!(out, "{name} {of} {id} {}", members.join(",")),
        Change::Merged(target) => writeln!(out, "{name} {of} {id} {}", entity.id_text(*target)),
        Change::Added | Change::Deleted | Change::Removed => writeln!(out, "{name} {of} {id}"),
    }
}
