//! Writes a dump: part files on several threads, then manifests and merged ids.

mod manifest;
mod parts;
mod summary;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::{Compression, GzBuilder};

use crate::emit::{Short, put};
use crate::{Entity, Plan, unresolved_authors};
use parts::Part;
pub use summary::{EntitySummary, Summary};

/// Bytes of JSON gathered before they are compressed.
const CHUNK_BYTES: usize = 1 << 16;

/// Compresses like the producer's files (about 4.5 to 1) at half the cost of the default level; level 1 gives 3.4 to 1.
const GZ_LEVEL: u32 = 2;

/// The date of the merged ids.
const MERGE_DATE: &str = "2026-01-15";

/// Why a dump was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory already holds a dump, whose parts would mix with the new ones.
    #[error("`{0}` already exists; name another directory or remove it")]
    Exists(PathBuf),
    /// A file or directory could not be created or written.
    #[error("cannot write `{path}`: {cause}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        cause: std::io::Error,
    },
}

/// Sizes of a written part.
#[derive(Clone, Copy, Debug)]
struct Written {
    json_bytes: u64,
    gz_bytes: u64,
}

/// Writes the dump of `plan` below `out_dir/data` with `threads` workers (at least 1).
///
/// The bytes do not depend on the number of threads. Memory is about 4 MB per worker, twice the
/// longest line, whatever the dump's size.
///
/// # Errors
///
/// [`Error::Exists`] if `out_dir/data` exists, [`Error::Write`] if a file cannot be written. Files written before the
/// error stay.
pub fn write_dump(plan: &Plan, out_dir: &Path, threads: usize) -> Result<Summary, Error> {
    let root = out_dir.join("data");
    if root.exists() {
        return Err(Error::Exists(root));
    }
    let parts = parts::all(plan);
    for part in &parts {
        create_dir(&root.join(part.folder()))?;
    }
    let written = write_parts(plan, &root, &parts, threads.max(1))?;
    manifest::write(&root, &parts, &written)?;
    write_merges(plan, &root)?;
    Ok(Summary::of(&parts, &written))
}

fn write_parts(
    plan: &Plan,
    root: &Path,
    parts: &[Part],
    threads: usize,
) -> Result<Vec<Written>, Error> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(parts.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(parts.len()) {
            scope.spawn(|| {
                let mut line = Vec::with_capacity(2 * CHUNK_BYTES);
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(part) = parts.get(index) else { return };
                    let result = write_part(plan, root, part, &mut line);
                    if result.is_err() {
                        next.store(parts.len(), Ordering::Relaxed);
                    }
                    results
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn write_part(
    plan: &Plan,
    root: &Path,
    part: &Part,
    lines: &mut Vec<u8>,
) -> Result<Written, Error> {
    let path = root.join(part.path());
    let failed = |cause| Error::Write { path: path.clone(), cause };
    let file = File::create(&path).map_err(failed)?;
    let mut encoder = GzBuilder::new().write(file, Compression::new(GZ_LEVEL));
    let mut json_bytes = 0;
    lines.clear();
    for position in part.lines.clone() {
        part.put_line(plan, position, lines);
        lines.push(b'\n');
        if lines.len() >= CHUNK_BYTES {
            json_bytes += lines.len() as u64;
            encoder.write_all(lines).map_err(failed)?;
            lines.clear();
        }
    }
    json_bytes += lines.len() as u64;
    encoder.write_all(lines).map_err(failed)?;
    let file = encoder.finish().map_err(failed)?;
    Ok(Written { json_bytes, gz_bytes: file.metadata().map_err(failed)?.len() })
}

/// Merges of authors without a record into authors that have one.
fn write_merges(plan: &Plan, root: &Path) -> Result<(), Error> {
    let folder = root.join("merged_ids").join(Entity::Authors.folder());
    create_dir(&folder)?;
    let (authors, referenced) = (plan.count(Entity::Authors), plan.referenced(Entity::Authors));
    let mut csv = b"merge_date,id,merge_into_id\n".to_vec();
    for merge in 0..unresolved_authors(plan) / 2 {
        let [from, into] = [referenced + merge, merge * 37 % authors]
            .map(|author| Short(plan.id(Entity::Authors, author)));
        put!(&mut csv; MERGE_DATE, ",", from, ",", into, "\n");
    }
    let path = folder.join(format!("{MERGE_DATE}.csv.gz"));
    let write = |path: &Path| {
        let mut encoder = GzBuilder::new().write(File::create(path)?, Compression::new(GZ_LEVEL));
        encoder.write_all(&csv)?;
        encoder.finish().map(drop)
    };
    write(&path).map_err(|cause| Error::Write { path, cause })
}

fn create_dir(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|cause| Error::Write { path: path.to_owned(), cause })
}
