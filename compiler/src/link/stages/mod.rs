//! The stages of a link, as types that only go forward.
//!
//! ```text
//! Merged     the picked copy of each record, in list order
//! Resolved   the row of every symbol of every segment, and the side tables
//! Selected   the rows that --where and --suppress keep; all rows without these options
//! Written    records, ids, names and the citation graph, as files
//! Indexed    term lists, orders, dictionaries and target rows, as files
//! Published  report, hash tree and manifest: a complete snapshot
//! ```
//!
//! Each stage consumes the one before: what a later stage does not need is freed with it. The previous snapshot is an
//! argument of the two stages that take something over.
//!
//! Imports `link/{citations, context, enrich, index, merge, previous, publish, record, resolve, select,
//! selection, take_over, tally, write}`.

mod accounting;
mod indexed;
mod merged;
mod selected;
mod written;

use pinakes_store::lock::LockedDirectory;
use std::fs;

use crate::error::{Error, Result};
use crate::link::context::Linker;
use crate::link::previous::{Previous, UnchangedSource};
use crate::link::publish::{Published, self_check};
use crate::link::selection::RecordSelection;
use crate::link::stages::merged::Merged;
use crate::link::take_over::TakenPart;
use crate::object::Object;
use crate::parallel::cost::Phase;
use crate::terminal::progress::Progress;

/// Links objects, or the selected records of them, into a complete and checked snapshot in the
/// scratch directory. The snapshot is not published yet.
pub fn link(
    objects: &[&Object],
    lock: &LockedDirectory,
    selection: Option<&RecordSelection>,
    unchanged: UnchangedSource,
    memory_bytes: usize,
    progress: Progress,
) -> Result<Published> {
    objects.iter().for_each(|object| object.read_by_page());
    let mut linker = Linker::new(objects, lock.scratch(), memory_bytes, progress);
    linker.has_search = selection.is_none_or(RecordSelection::has_search);
    let selection = selection.filter(|selection| !selection.is_whole());
    let directory = lock.scratch().join("snapshot");
    fs::create_dir(&directory).map_err(Error::output(&directory))?;
    // A subset has other rows than the full snapshot, so that nothing fits.
    let previous = match selection.is_none() && unchanged == UnchangedSource::Current {
        true => {
            let previous = Previous::open(lock.directory());
            linker.not_taken_over.or_note(TakenPart::Snapshot, None, previous)?.flatten()
        }
        false => None,
    };
    let finished = Merged::merge(&linker)?
        .resolve()?
        .select(selection)?
        .write(previous, &directory)?
        .index(&directory)?
        .finish(selection, directory.clone())?;
    for part in &finished.not_taken_over {
        eprintln!("warning: not taken over from the previous snapshot: {part}");
    }
    let bar = progress
        .begin("check", "files", finished.manifest.files.len() as u64, 0)
        .recorded(Phase::Link);
    self_check(&directory)?;
    bar.end();
    Ok(finished)
}
