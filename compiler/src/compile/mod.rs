//! The compile stage: turns each part into an object, unless the object is cached.
//!
//! The name of an object is a hash of everything that its bytes depend on: the part's bytes and
//! kind, the limits, and the format version. This folder may import `input`, `frontend`, `object`,
//! `read`, `report` and `error`.

pub(crate) mod input;
pub(crate) mod part;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;

use crate::compile::input::Part;
use crate::compile::part::{open_rows, read_part};
use crate::error::{Error, Result};
use crate::object::directory::OBJECT_VERSION;
use crate::object::unfinished::remove_abandoned;
use crate::object::warnings::Warnings;
use crate::object::{Object, ObjectWriter};
use crate::read::lenient::Diagnostics;
use crate::read::limits::ReadLimits;
use crate::read::lines::{Container, Lines};
use crate::read::parquet::Batch;
use crate::read::part_file;
use crate::terminal::escape::escape_path;
use crate::terminal::progress::Progress;

/// A part and its object.
pub struct CompiledPart {
    pub part: Part,
    pub object: Object,
    /// Whether the object existed before the run.
    pub was_cached: bool,
}

/// The result of [`compile`].
pub struct CompileStage {
    /// Sorted by path.
    pub parts: Vec<CompiledPart>,
    /// Uncompressed bytes of the parts that were not cached.
    pub parsed_bytes: u64,
    pub warnings: Warnings,
}

/// Compiles every part whose object is not in the directory `objects`.
///
/// Of several parts with the same bytes and kind, the first by path is compiled, and the others
/// count as warnings.
///
/// # Errors
///
/// The error of the first part that failed; the finished objects stay.
pub fn compile(
    parts: Vec<Part>,
    objects: &Path,
    limits: &ReadLimits,
    progress: Progress,
) -> Result<CompileStage> {
    fs::create_dir_all(objects).map_err(Error::output(objects))?;
    remove_abandoned(objects)?;
    let mut named = parts
        .into_par_iter()
        .map(|part| name_part(part, limits))
        .collect::<Result<Vec<NamedPart>>>()?;
    named.sort_by(|a, b| (&a.name, &a.part.path).cmp(&(&b.name, &b.part.path)));
    let mut warnings = Warnings::default();
    named.dedup_by(|same, kept| {
        let is_same = same.name == kept.name;
        warnings.add("same_parts", is_same.into(), || escape_path(&same.part.path));
        is_same
    });
    for named in &named {
        warnings
            .add("misnamed_container", named.is_misnamed.into(), || escape_path(&named.part.path));
    }

    let parsed_bytes = AtomicU64::new(0);
    let total = named.iter().map(|named| named.part.size_bytes).sum();
    let bar = progress.begin("compile", "parts", named.len() as u64, total);
    // The largest parts come first, so that no thread starts a large part last.
    named.sort_by(|a, b| {
        b.part.size_bytes.cmp(&a.part.size_bytes).then_with(|| a.part.path.cmp(&b.part.path))
    });
    let mut compiled = named
        .into_par_iter()
        .map(|named| {
            let compiled = compile_part(named, objects, limits, &parsed_bytes)?;
            bar.advance(compiled.part.size_bytes);
            Ok(compiled)
        })
        .collect::<Result<Vec<CompiledPart>>>()?;
    bar.end();
    compiled.sort_by(|a, b| a.part.path.cmp(&b.part.path));
    Ok(CompileStage { parts: compiled, parsed_bytes: parsed_bytes.into_inner(), warnings })
}

/// A part, its hash, and the name of its object.
struct NamedPart {
    part: Part,
    /// The metadata from before the hash was computed.
    metadata: fs::Metadata,
    hash: String,
    name: String,
    /// Whether the container differs from the one that the extension announces.
    is_misnamed: bool,
}

fn name_part(part: Part, limits: &ReadLimits) -> Result<NamedPart> {
    let metadata = fs::metadata(&part.path).map_err(Error::input(&part.path))?;
    let hash = hash_file(&part.path)?;
    let name = object_name(&part, &hash, limits);
    let container = Container::detect(&part.path)?;
    let is_misnamed = metadata.len() > 0 && container != Container::from_extension(&part.path);
    Ok(NamedPart { part, metadata, hash, name, is_misnamed })
}

fn compile_part(
    named: NamedPart,
    objects: &Path,
    limits: &ReadLimits,
    parsed_bytes: &AtomicU64,
) -> Result<CompiledPart> {
    let NamedPart { part, metadata, hash, name, .. } = named;
    let path = objects.join(format!("{name}.object"));
    let known = Object::open(&path).map_err(Error::input(&path))?;
    let was_cached = known.is_some();
    let object = match known {
        Some(known) => known,
        None => {
            let mut writer = ObjectWriter::create(&path)?;
            let parsed = read_part(&part, limits, &mut writer);
            // A change explains any parse error, so the change is reported first.
            if !is_unchanged(&part.path, &metadata)? {
                let reason =
                    "the file changed while it was read; run again when it is complete".into();
                return Err(Error::Damaged { path: part.path, reason });
            }
            parsed_bytes.fetch_add(parsed?, Ordering::Relaxed);
            writer.finish(&hash)?;
            let written = Object::open(&path).map_err(Error::input(&path))?;
            written.ok_or_else(|| Error::Damaged {
                path,
                reason: "the object does not read back as written; check the disk".into(),
            })?
        }
    };
    part_file::drop_pages(&part.path);
    check_record_count(&part, &object, limits)?;
    Ok(CompiledPart { part, object, was_cached })
}

/// Whether device, inode, size and modification time of a file are unchanged.
fn is_unchanged(path: &Path, before: &fs::Metadata) -> Result<bool> {
    let after = fs::metadata(path).map_err(Error::input(path))?;
    let version = |file: &fs::Metadata| {
        (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec())
    };
    Ok(version(before) == version(&after))
}

/// Hashes the compressed bytes of a part; the result is in hexadecimal.
fn hash_file(path: &Path) -> Result<String> {
    let file = part_file::open(path).map_err(Error::input(path))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(Error::input(path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The name of an object: a hash of everything that its bytes depend on.
fn object_name(part: &Part, hash: &str, limits: &ReadLimits) -> String {
    let schema = pinakes_format::schema::layout::schema_hash();
    let limits = limits.fingerprint();
    let name = format!("{OBJECT_VERSION} {schema:016x} {:?} {limits} {hash}", part.kind);
    blake3::hash(name.as_bytes()).to_hex()[..32].to_string()
}

/// Checks the number of records read against the manifest.
fn check_record_count(part: &Part, object: &Object, limits: &ReadLimits) -> Result<()> {
    let Some(listed) = part.listed_records else { return Ok(()) };
    let read: u64 = object.report().read.values().sum();
    if read == listed || (limits.allow_truncated && read < listed) {
        return Ok(());
    }
    let reason = format!("{read} records, expected {listed} by its manifest; fetch it again");
    Err(Error::Damaged { path: part.path.clone(), reason })
}

/// Decompresses and parses a part, drops the records, and returns the number of uncompressed bytes.
///
/// Benchmarks compare the speed of a build with this lower bound.
///
/// # Errors
///
/// Where the part cannot be read.
pub fn parse_only(part: &Part) -> Result<u64> {
    let Some((front_end, entity)) = part.kind.front_end() else { return Ok(0) };
    if Container::detect(&part.path)? == Container::Parquet {
        return each_batch(part, |batch| {
            let columns = batch.columns();
            // As of a bad line, only a build reports a bad row.
            columns.rows().for_each(|(_, row)| _ = front_end.parse_row(entity, row));
        });
    }
    let diagnostics = Diagnostics::default();
    let mut lines = Lines::open(&part.path, &ReadLimits::default(), &diagnostics)?;
    while let Some(line) = lines.next_line()? {
        let text = simdutf8::basic::from_utf8(line.bytes).unwrap_or_default();
        // A bad line counts towards the cost too; only a build reports it.
        let _ = front_end.parse_line(entity, text);
    }
    Ok(lines.offset_bytes())
}

/// Decodes the columns of a Parquet part that are read, drops them, and returns the number of uncompressed
/// bytes: the lower bound of [`parse_only`] for such a part.
///
/// # Errors
///
/// Where the part cannot be read.
pub fn decode_only(part: &Part) -> Result<u64> {
    each_batch(part, drop)
}

fn each_batch(part: &Part, mut visit: impl FnMut(Batch)) -> Result<u64> {
    let Some((front_end, entity)) = part.kind.front_end() else { return Ok(0) };
    let (limits, diagnostics) = (ReadLimits::default(), Diagnostics::default());
    let mut rows = open_rows(part, front_end, entity, &limits, &diagnostics)?;
    while let Some(batch) = rows.next_batch()? {
        visit(batch);
    }
    Ok(rows.inflated_bytes())
}
